"""Output vectors that depend on the prefix: what `adaptive` adds, and that it is learned."""

import torch
from backbones import TINY, sharpened

from tsgen.model.mini import Mini


def made(adaptive: int | None) -> Mini:
    torch.manual_seed(3)
    return sharpened(TINY.mini(free_symbols=6, adaptive=adaptive))


def effective(backbone: Mini, prefix: list[int]) -> torch.Tensor:
    """How the scores after a prefix follow the state: the Jacobian of the adapted state."""
    assert backbone.adaptive is not None
    inputs = torch.cat((backbone.start[None], backbone.table(torch.tensor(prefix))))[None]
    places = backbone.positions.weight[: inputs.shape[1]]

    def adapted(state: torch.Tensor) -> torch.Tensor:
        hidden = state.expand(1, inputs.shape[1], -1)
        return backbone.table() @ backbone.adaptive(hidden, inputs + places)[0, -1]

    return torch.autograd.functional.jacobian(adapted, torch.zeros(TINY.width))


def test_vectors_differ_by_prefix_and_its_order() -> None:
    backbone = made(4)
    plain = backbone.table().detach()
    one, other, turned = (effective(backbone, prefix) for prefix in ([1, 2], [3, 2], [2, 1]))
    assert not torch.allclose(one, other, atol=1e-3)
    assert not torch.allclose(one, turned, atol=1e-3)
    assert not torch.allclose(one, plain, atol=1e-3)
    assert torch.linalg.matrix_rank(one - plain) <= 4


def test_without_it_nothing_adapts() -> None:
    backbone = made(None)
    assert backbone.adaptive is None
    assert not any("adaptive" in name for name, _ in backbone.named_parameters())


def test_it_is_learned() -> None:
    backbone = made(4)
    backbone(["egg"], torch.tensor([[1, 2, 3]])).logsumexp(-1).sum().backward()
    for name, weights in backbone.named_parameters():
        if name.startswith("adaptive"):
            assert weights.grad is not None, name
            assert weights.grad.abs().sum() > 0, name
