from pathlib import Path

import pytest

from toy import write_beir
from tsgen.corpus.load import load
from tsgen.docids.term_set import TermSets
from tsgen.evaluate.coverage import coverage
from tsgen.records import TermSet
from tsgen.terms.words import Splitter

DOCUMENTS = {"d1": "white bread", "d2": "rye"}
SETS = TermSets.of(
    [TermSet("d1", ("breads", "white"), (1.0, 1.0)), TermSet("d2", ("rye",), (1.0,))]
)


def covered(folder: Path, queries: dict[str, str], *pairs: tuple[str, str]) -> float:
    data = load(write_beir(folder / "data", DOCUMENTS, queries, test=pairs))
    return coverage(SETS, data, "test", Splitter())


def test_the_share_of_a_querys_words_that_are_terms(tmp_path: Path) -> None:
    # "the" is a stop word, "bread" meets "breads" by its stem: 2 of 3.
    found = covered(tmp_path, {"q": "the sodium in white bread bread"}, ("q", "d1"))
    assert found == pytest.approx(2 / 3)


def test_relevant_documents_count_equally_within_a_query(tmp_path: Path) -> None:
    queries = {"q1": "rye bread", "q2": "rye"}
    pairs = ("q1", "d1"), ("q1", "d2"), ("q2", "d2")
    assert covered(tmp_path, queries, *pairs) == pytest.approx((0.5 + 1.0) / 2)


def test_a_query_without_words_is_left_out(tmp_path: Path) -> None:
    assert covered(tmp_path, {"q1": "the", "q2": "rye"}, ("q1", "d1"), ("q2", "d2")) == 1.0
