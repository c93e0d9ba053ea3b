"""The sum over all output symbols, beside the sum over all scores."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tsgen.model import output_sum
from tsgen.model.output_sum import OutputSum


def drawn(rows: int, symbols: int, width: int, seed: int) -> tuple[torch.Tensor, ...]:
    source = torch.Generator().manual_seed(seed)
    shapes = (rows, width), (symbols, width), (symbols,)
    states, vectors, bias = (3 * torch.randn(*shape, generator=source) for shape in shapes)
    return states, vectors, bias


def slow(states: torch.Tensor, vectors: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    scores = states.double() @ vectors.double().T
    return torch.logsumexp(scores if bias is None else scores + bias.double(), dim=-1)


@pytest.mark.parametrize("arranged", [True, False])
@given(
    st.integers(1, 70), st.integers(1, 200), st.integers(1, 40), st.integers(0, 99), st.booleans()
)
def test_as_the_sum_over_all_scores(
    arranged: bool, rows: int, symbols: int, width: int, seed: int, biased: bool
) -> None:
    states, vectors, bias = drawn(rows, symbols, width, seed)
    given_bias = bias if biased else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_sum, "BLOCK", 64)
        if not arranged:
            patch.setattr(output_sum, "_arranges", lambda _: False)
        found = OutputSum(vectors, given_bias)(states)
    assert found.dtype == torch.float32
    assert torch.allclose(found.double(), slow(states, vectors, given_bias), atol=1e-3, rtol=1e-5)


def test_single_precision_loses_no_small_terms() -> None:
    states, vectors = torch.zeros(1, 2), torch.zeros(300_000, 2)
    assert float(OutputSum(vectors)(states)) == pytest.approx(12.61153773, abs=1e-5)


def test_it_belongs_to_its_tensors() -> None:
    _, vectors, bias = drawn(1, 5, 3, 0)
    assert OutputSum(vectors).is_of(vectors)
    assert not OutputSum(vectors).is_of(vectors.clone())
    assert not OutputSum(vectors).is_of(vectors, bias)
    assert OutputSum(vectors, bias).is_of(vectors, bias[:])
    assert not OutputSum(vectors, bias).is_of(vectors, bias.clone())
