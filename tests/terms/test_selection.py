import numpy as np

from tsgen.terms.selection import RankedTerms, Selection, select, smallest_n


def corpus(**rows: str) -> RankedTerms:
    """Each document's terms, heaviest first, a letter each; the first weighs 9, the next 8, …"""
    letters = sorted(set("".join(rows.values())))
    return RankedTerms(
        list(rows),
        np.cumsum([0, *map(len, rows.values())]),
        np.array([letters.index(letter) for row in rows.values() for letter in row], np.int32),
        np.concatenate([np.arange(9, 9 - len(row), -1) for row in rows.values()]).astype("f4"),
        letters,
    )


def sets(candidates: RankedTerms, n: int | None) -> dict[str, str]:
    chosen = select(candidates, n)
    return {
        document: "".join(candidates.spellings[term] for term in row(chosen, i))
        for i, document in enumerate(candidates.document_ids)
    }


def row(chosen: Selection, document: int) -> list[int]:
    return chosen.terms[chosen.offsets[document] : chosen.offsets[document + 1]].tolist()


def test_the_n_heaviest_are_taken() -> None:
    candidates = corpus(x="cab", y="bad")
    assert sets(candidates, 2) == {"x": "ca", "y": "ba"}
    assert select(candidates, 2).weights.tolist() == [9, 8, 9, 8]


def test_a_document_with_fewer_words_has_all_of_them() -> None:
    assert sets(corpus(x="a", y="abc"), 2) == {"x": "a", "y": "ab"}


def test_a_colliding_document_swaps_its_last_term_for_the_next() -> None:
    # All three have {a, b}: x keeps it, y takes {a, c}, for z {a, c} is gone.
    candidates = corpus(z="abcd", x="abc", y="abce")
    assert sets(candidates, 2) == {"x": "ab", "y": "ac", "z": "ad"}
    assert select(candidates, 2).moved == 2


def test_the_document_with_the_fewest_candidates_keeps_its_set() -> None:
    assert sets(corpus(x="abc", y="ba"), 2) == {"x": "ac", "y": "ba"}


def test_a_set_that_another_document_starts_with_is_not_taken() -> None:
    assert sets(corpus(x="abc", y="abcd", z="acb"), 2) == {"x": "ab", "y": "ad", "z": "ac"}


def test_when_all_swaps_are_taken_sets_grow() -> None:
    # y has the same N heaviest as x and only {a, b}, {a, c}, {b, c} to choose from.
    candidates = corpus(x="ab", y="abc", v="acx", w="bcx")
    assert sets(candidates, 2) == {"x": "ab", "v": "ac", "w": "bc", "y": "abc"}


def test_duplicates_share_a_set_and_move_together() -> None:
    candidates = corpus(x="abc", y="abd", z="bad")
    chosen = select(candidates, 2)
    assert sets(candidates, 2) == {"x": "ab", "y": "ad", "z": "ad"}
    assert chosen.first.tolist() == [0, 1, 1]
    assert chosen.moved == 2


def test_the_same_words_with_other_weights_are_no_duplicates() -> None:
    candidates = corpus(x="abc", y="cba")
    assert sets(candidates, 1) == {"x": "a", "y": "c"}
    assert select(candidates, 1).first.tolist() == [0, 1]


def test_auto_takes_the_smallest_n_without_collisions() -> None:
    assert smallest_n(corpus(x="ab", y="ac")) == 2
    assert smallest_n(corpus(x="ab", y="ba")) == 1
    assert smallest_n(corpus(x="abc", y="abc", z="d")) == 1  # duplicates need not differ


def test_auto_does_not_take_uniqueness_for_monotone() -> None:
    # N = 1 is unique, N = 2 is not: {a, b} twice.
    assert smallest_n(corpus(x="abc", y="bad")) == 1
    assert select(corpus(x="abc", y="bad"), None).moved == 0
