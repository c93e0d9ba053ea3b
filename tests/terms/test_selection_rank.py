import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.terms.selection import pack, rank, sort_rows, unpack
from tsgen.terms.weights import Weighed
from tsgen.terms.words import Splitter


def weighed(*rows: dict[str, float]) -> Weighed:
    words = list(dict.fromkeys(word for row in rows for word in row))
    return Weighed(
        [f"d{i}" for i in range(len(rows))],
        np.cumsum([0, *map(len, rows)]),
        np.array([words.index(word) for row in rows for word in row], np.int32),
        np.array([weight for row in rows for weight in row.values()], np.float32),
        words,
    )


def ranked(*rows: dict[str, float]) -> list[list[tuple[str, float]]]:
    candidates = rank(weighed(*rows), Splitter().key)
    return [
        [
            (candidates.spellings[candidates.terms[at]], float(candidates.weights[at]))
            for at in range(candidates.offsets[d], candidates.offsets[d + 1])
        ]
        for d in range(len(rows))
    ]


def test_the_heaviest_word_of_a_stem_counts_and_the_heaviest_spelling_is_shown() -> None:
    # Over the corpus "breads" weighs 1 + 3, "bread" 2: both documents show "breads".
    first, second = ranked({"bread": 2.0, "breads": 1.0, "rye": 1.5}, {"breads": 3.0})
    assert first == [("breads", 2.0), ("rye", 1.5)]
    assert second == [("breads", 3.0)]


def test_ties_are_in_order_of_key_and_spelling() -> None:
    assert ranked({"rye": 1.0, "egg": 1.0, "eggs": 1.0}) == [[("egg", 1.0), ("rye", 1.0)]]


def test_words_that_weigh_nothing_are_candidates() -> None:
    assert ranked({"rye": 0.0, "egg": -0.0}) == [[("egg", 0.0), ("rye", 0.0)]]


def test_reserved_terms_are_not_stemmed() -> None:
    assert ranked({"#running": 0.0}, {"running": 1.0}) == [[("#running", 0.0)], [("running", 1.0)]]


ROWS = st.lists(
    st.lists(st.tuples(st.floats(0, 8, width=32), st.integers(0, 5))), min_size=1, max_size=6
)


@settings(deadline=None)
@given(ROWS)
def test_sorting_rows_equals_the_slow_way(rows: list[list[tuple[float, int]]]) -> None:
    weights = np.array([weight for row in rows for weight, _ in row], np.float32)
    terms = np.array([term for row in rows for _, term in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    packed = pack(weights, terms)
    kept = sort_rows(offsets, packed, 6)
    for i, row in enumerate(rows):
        best = {term: max(weight for weight, t in row if t == term) for _, term in row}
        expected = sorted(best.items(), key=lambda entry: (-entry[1], entry[0]))
        part = slice(offsets[i], offsets[i + 1])
        found_weights, found_terms = unpack(packed[part][kept[part]])
        found = zip(found_terms.tolist(), found_weights.tolist(), strict=True)
        assert list(found) == expected
