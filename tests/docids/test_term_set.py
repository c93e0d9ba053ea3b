from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.arrays import Strings
from tsgen.docids.term_set import SavedKeys, TermSets
from tsgen.errors import ArtifactError
from tsgen.records import TermSet
from tsgen.settings import WordsConfig
from tsgen.terms.words import Lookup, Splitter

RECORDS = [
    TermSet("d1", ("white", "bread"), (2.0, 0.5)),
    TermSet("d2", ("rye", "bread", "dark"), (3.0, 1.0, 0.25)),
    TermSet("d3", ("egg",), (1.0,)),
]


@pytest.fixture
def sets(tmp_path: Path) -> TermSets:
    TermSets.of(RECORDS).save(tmp_path)
    return TermSets.load(tmp_path)


def test_sets_come_back_from_disk(sets: TermSets) -> None:
    assert [sets.term_set(i) for i in range(len(sets))] == RECORDS


def test_terms_are_numbered_in_order_of_spelling(sets: TermSets) -> None:
    assert list(sets.vocabulary) == ["bread", "dark", "egg", "rye", "white"]
    assert sets.terms(1).tolist() == [3, 0, 1]
    assert (sets.term_id("rye"), sets.term(3)) == (3, "rye")
    assert sets.term_id("toast") is None


def test_how_words_were_split_is_kept(tmp_path: Path) -> None:
    whole = TermSets.of(RECORDS)
    whole.words = WordsConfig(stem="none")
    whole.save(tmp_path)
    kept = TermSets.load(tmp_path)
    assert kept.words == whole.words
    assert kept.query_terms("rye breads, eggs").tolist() == [3]


def test_postings_are_the_documents_of_a_term(sets: TermSets) -> None:
    assert sets.postings(0).tolist() == [0, 1]
    assert sets.post_offsets.tolist() == [0, 2, 3, 4, 5, 6]


def test_documents_are_known_by_number_and_id(sets: TermSets) -> None:
    assert sets.document_id(2) == "d3"
    assert sets.document_numbers() == {"d1": 0, "d2": 1, "d3": 2}


def test_arrays_are_mapped_and_small(sets: TermSets) -> None:
    assert isinstance(sets.doc_terms.base, np.memmap)
    assert isinstance(sets.vocabulary.blob.base, np.memmap)
    sizes = sets.nbytes()
    assert sizes["doc_terms"] == sizes["post_docs"] == 4 * 6
    assert sizes["doc_offsets"] == 4 * 4
    assert sizes["post_offsets"] == 4 * 6
    assert sizes["doc_weights"] == 2 * 6
    assert sizes["vocabulary"] == len("breaddarkeggryewhite") + 4 * 6


def test_weights_may_be_left_out(tmp_path: Path) -> None:
    offsets, terms = np.array([0, 2]), np.array([2, 0], np.int32)
    TermSets.build(["d"], ["a", "unused", "b"], offsets, terms).save(tmp_path)
    sets = TermSets.load(tmp_path)
    assert sets.term_set(0) == TermSet("d", ("b", "a"), (0.0, 0.0))
    assert sets.doc_weights is None
    assert len(sets.vocabulary) == 2


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    TermSets.of(RECORDS).save(tmp_path)
    (tmp_path / "post_docs.npy").unlink()
    with pytest.raises(ArtifactError, match=r"post_docs\.npy: missing"):
        TermSets.load(tmp_path)


SETS = st.lists(st.lists(st.sampled_from("abcdefé"), unique=True, max_size=4), max_size=8)


@settings(deadline=None)
@given(SETS)
def test_postings_are_the_inverse_of_the_sets(rows: list[list[str]]) -> None:
    sets = TermSets.of(
        TermSet(f"d{i}", tuple(row), (1.0,) * len(row)) for i, row in enumerate(rows)
    )
    expected = {
        term: [i for i, row in enumerate(rows) if term in row]
        for term in sorted({term for row in rows for term in row})
    }
    found = {sets.term(t): sets.postings(t).tolist() for t in range(len(sets.vocabulary))}
    assert found == expected
    assert list(found) == list(expected)


@given(st.lists(st.text("abcdeings", min_size=1, max_size=9), min_size=1, unique=True))
def test_saved_keys_find_what_a_lookup_of_all_terms_finds(words: list[str]) -> None:
    vocabulary = Strings.pack(sorted(words))
    splitter = Splitter()
    saved = Lookup(splitter, (), SavedKeys.of(vocabulary, splitter))
    slow = Lookup(splitter, vocabulary)
    for query in (*words, " ".join(words), "baking bread"):
        assert saved(query) == slow(query)


def test_an_engine_s_sets_stem_no_term_when_they_are_opened(tmp_path: Path) -> None:
    made = TermSets.of([TermSet("d", ("bakes", "baking", "bread"), (1.0, 0.5, 0.2))])
    made.save(tmp_path)
    opened = TermSets.load(tmp_path)
    opened.lookup._splitter.key = forbidden = Mock(side_effect=opened.lookup._splitter.key)
    assert opened.query_terms("I bake").tolist() == made.query_terms("I bake").tolist() == [0, 1]
    assert forbidden.call_count == 1
    (tmp_path / "key_terms.npy").unlink()
    with pytest.raises(ArtifactError, match="key_terms"):
        TermSets.load(tmp_path)
