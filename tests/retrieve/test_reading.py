"""How an engine reads a misspelt query."""

from pathlib import Path

import pytest

from small_engine import QUERY, write_small_engine
from tsgen.records import Document
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.explain import explain, trace, why

MISSPELT = "braed flouur ovan"
DOCUMENT = "bread/rye.md"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_engine(tmp_path_factory.mktemp("reading") / "engine", correct=True)


def test_a_misspelt_query_is_answered_as_the_right_one(small: Path) -> None:
    engine = Engine.load(small)
    assert engine.correct_query(MISSPELT) == QUERY
    assert engine.search([MISSPELT]) == engine.search([QUERY])
    assert trace(engine, MISSPELT) == trace(engine, QUERY)
    assert why(engine, MISSPELT, DOCUMENT) == why(engine, QUERY, DOCUMENT)
    assert explain(engine, DOCUMENT, [MISSPELT]) == explain(engine, DOCUMENT, [QUERY])


def test_only_if_it_is_told_to(tmp_path: Path) -> None:
    assert Engine.load(write_small_engine(tmp_path / "engine")).correct_query(MISSPELT) == MISSPELT


def test_words_that_the_tokenizer_has_whole_are_not_misspelt(small: Path) -> None:
    engine = Engine.load(small)
    assert engine.documents.lexicon.nearest("leavest") == "leaves"
    assert engine.correct_query("leavest") == "leaves"
    other = Engine.load(small)
    other.generator.backbone.tokenizer.add_tokens(["leavest"])
    assert other.correct_query("leavest") == "leavest"


def test_terms_of_documents_that_were_added_are_known(folder: Path) -> None:
    with Engine.load(folder) as collection:
        assert collection.correct_query("marmalate") == "marmalate"
        collection.add([Document("new", "marmalade", "marmalade")])
        assert collection.correct_query("marmalate") == "marmalade"


def test_compaction_does_not_change_how_a_query_is_read(folder: Path) -> None:
    with Engine.load(folder) as collection:
        rest = "with many words more than it has terms, and rhubarb"
        collection.add([Document("new", f"marmalade marmalade {rest}", "marmalade")])
        collection.remove(["d0"])
        asked = ["marmalate", "rhubabr", "hil", "hilll", "ferns"]
        before = [collection.correct_query(query) for query in asked]
        collection.compact()
        assert [collection.correct_query(query) for query in asked] == before
