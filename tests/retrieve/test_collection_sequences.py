"""Whatever is done to a collection, in whatever order: it answers like an engine freshly built."""

from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from living import DOCUMENTS, PLANTS, copied, rebuilt, rounded, write_engine
from tsgen.docids.term_set import ARRAYS, TermSets
from tsgen.errors import DataError
from tsgen.records import Document
from tsgen.retrieve.collection import Changed
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.engine_audit import audit_engine
from tsgen.terms.words import Splitter

WORDS = [*PLANTS, "vine", "reed", "sedge"]
IDS = [f"d{i}" for i in range(12)]
QUERIES = ["moss and vine", "the oak", "reed"]

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
puts = st.dictionaries(st.sampled_from(IDS), texts, min_size=1, max_size=4)
removals = st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True)
operations = st.one_of(
    st.tuples(st.just("put"), puts),
    st.tuples(st.just("remove"), removals),
    st.tuples(st.sampled_from(["compact", "open again", "search"]), st.none()),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_engine(tmp_path_factory.mktemp("living"), DOCUMENTS)


@settings(max_examples=12, deadline=None)
@given(st.lists(operations, min_size=1, max_size=8))
def test_like_an_engine_freshly_built(engine: Path, steps: list[tuple[str, Any]]) -> None:
    expected = {document.id: document for document in DOCUMENTS}
    with TemporaryDirectory() as work:
        collection = Engine.load(copied(engine, Path(work) / "engine"))
        for what, value in steps:
            collection = perform(collection, expected, what, value)
        check(collection, expected)
        collection.close()


def perform(collection: Engine, expected: dict[str, Document], what: str, value: Any) -> Engine:
    if what == "put":
        documents = [Document(id, text, "", {"words": text}) for id, text in value.items()]
        there = expected.keys() & value.keys()
        assert collection.add(documents) == Changed(len(value) - len(there), len(there))
        expected |= {document.id: document for document in documents}
    elif what == "remove" and expected.keys() >= set(value):
        assert collection.remove(value) == len(value)
        for document_id in value:
            del expected[document_id]
    elif what == "remove":
        with pytest.raises(DataError, match="not in the collection"):
            collection.remove(value)
    elif what == "compact":
        collection.compact()
    elif what == "open again":
        collection.close()
        return Engine.load(collection.folder)
    else:
        collection.search(QUERIES[:1])
    return collection


def check(collection: Engine, expected: dict[str, Document]) -> None:
    now = collection.snapshot
    assert {document.id: document for document in now.documents} == expected
    assert all(one.metadata == expected[one.id].metadata for one in now.documents)
    assert len(collection) == len(expected)
    assert all(collection.document(id) == document for id, document in expected.items())
    same_arrays(now.generator.sets)
    unique(collection)
    found, fresh = collection.search(QUERIES, 5), rebuilt(collection).search(QUERIES, 5)
    assert rounded(found) == rounded(fresh)
    if expected:
        assert all(len(hits) == min(5, len(expected)) for hits in found)
    audit = audit_engine(collection.folder, str(collection.folder / "model/encoder/tokenizer.json"))
    assert (audit.unreachable, audit.problems) == (0, [])


def same_arrays(sets: TermSets) -> None:
    fresh = TermSets.of(sets.term_set(number) for number in range(len(sets)))
    assert list(sets.vocabulary) == list(fresh.vocabulary)
    assert list(sets.documents) == list(fresh.documents)
    for name in ARRAYS:
        assert getattr(sets, name).tolist() == getattr(fresh, name).tolist()


def unique(collection: Engine) -> None:
    """Only documents with the same words have the same set."""
    splitter, engine = Splitter(), collection.snapshot
    rows = []
    for number, document in enumerate(engine.documents):
        words = frozenset(map(splitter.key, splitter.spellings(document.contents)))
        terms = sorted(engine.generator.sets.term_set(number).terms)
        assert {splitter.key(term) for term in terms} <= (words or {f"#{document.id}"})
        rows.append((terms, words))
    rows.sort(key=lambda row: row[0])
    for _, same in groupby(rows, key=lambda row: row[0]):
        assert len({words for _, words in same}) == 1
