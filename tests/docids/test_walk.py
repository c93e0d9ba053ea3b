from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.docids.audit import walk
from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet

SETS = st.lists(st.frozensets(st.sampled_from("abcde"), max_size=4), max_size=8)


def term_sets(rows: list[frozenset[str]]) -> TermSets:
    return TermSets.of(
        TermSet(f"d{i}", tuple(sorted(row)), (1.0,) * len(row)) for i, row in enumerate(rows)
    )


@settings(deadline=None)
@given(SETS)
def test_walking_equals_comparing_all_sets(rows: list[frozenset[str]]) -> None:
    found = walk(term_sets(rows))
    assert found.reached.tolist() == [bool(row) for row in rows]
    assert found.first.tolist() == [rows.index(row) if row else -1 for row in rows]
    assert found.supersets.tolist() == [sum(row < other for other in rows if row) for row in rows]


def test_a_document_that_its_postings_do_not_have_is_not_reached() -> None:
    sets = term_sets([frozenset("ab"), frozenset("bc"), frozenset("ac")])
    sets.post_docs[sets.post_offsets[1]] = 2  # b: documents 0 and 1 becomes 2 and 1
    sets.post_docs[sets.post_offsets[1] : sets.post_offsets[2]].sort()
    assert walk(sets).reached.tolist() == [False, True, True]
