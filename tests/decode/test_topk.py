import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.decode.topk import best_entries, valid_normaliser


@st.composite
def expansions(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """Cursors of two queries with few different scores, so that ties are common."""
    size = draw(st.integers(1, 6))
    values = st.sampled_from([-np.inf, -3.0, -2.0, -1.0, -0.5])
    ends = np.cumsum(draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)))
    entries = int(ends[-1])
    split = draw(st.integers(0, size))
    return {
        "logits": np.array(
            draw(st.lists(st.lists(values, min_size=4, max_size=4), min_size=size, max_size=size)),
            dtype=np.float32,
        ),
        "score": np.array(draw(st.lists(values, min_size=size, max_size=size))),
        "normaliser": np.zeros(size),
        "floor": np.array(draw(st.lists(values, min_size=2, max_size=2))),
        "first": np.array([0, split, size]),
        "starts": np.concatenate(([0], ends[:-1])),
        "ends": ends,
        "column": np.array(
            draw(st.lists(st.integers(0, 3), min_size=entries, max_size=entries)), dtype=np.int32
        ),
        "closes": np.array(
            draw(st.lists(st.booleans(), min_size=entries, max_size=entries)), dtype=np.bool_
        ),
    }


def slowly(given: dict[str, np.ndarray], closing: bool, room: int) -> list[list[tuple]]:
    answers = []
    for q in range(2):
        entries = [
            (-(given["score"][c] + given["logits"][c, given["column"][e]]), c, e)
            for c in range(given["first"][q], given["first"][q + 1])
            for e in range(given["starts"][c], given["ends"][c])
            if given["closes"][e] == closing
        ]
        kept = [entry for entry in sorted(entries) if -entry[0] >= given["floor"][q]]
        answers.append(kept[:room])
    return answers


@settings(deadline=None, max_examples=300)
@given(expansions(), st.integers(0, 5), st.integers(0, 5))
def test_best_entries(given: dict[str, np.ndarray], closed_room: int, open_room: int) -> None:
    found = best_entries(*given.values(), closed_room, open_room)
    for best, closing, room in zip(found, (True, False), (closed_room, open_room), strict=True):
        for q, expected in enumerate(slowly(given, closing, room)):
            count = best.counts[q]
            rows = (-best.scores[q, :count], best.cursors[q, :count], best.entries[q, :count])
            assert list(zip(*(row.tolist() for row in rows), strict=True)) == expected


def test_an_entry_never_scores_more_than_its_prefix() -> None:
    one, zero = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    rounded_up = np.array([[1e-7]], dtype=np.float32)
    closed, _ = best_entries(
        rounded_up,
        np.array([-2.0]),
        np.zeros(1),
        np.full(1, -np.inf),
        np.array([0, 1]),
        zero,
        one,
        np.zeros(1, dtype=np.int32),
        np.ones(1, dtype=np.bool_),
        1,
        0,
    )
    assert closed.scores.tolist() == [[-2.0]]


def test_normaliser_over_valid_tokens() -> None:
    logits = np.log(np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]], dtype=np.float32))
    column = np.array([0, 2, 1], dtype=np.int32)
    normaliser = valid_normaliser(logits, np.array([0, 1]), np.array([2, 3]), column)
    np.testing.assert_allclose(np.exp(normaliser), [1 + 4, 32 + 16], rtol=1e-6)
