"""Documents longer than the encoder's window: found by any passage, which the hit names."""

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import fitted
import tsgen
from tsgen.cli.views import hits_view, why_view
from tsgen.decode.hypotheses import Found
from tsgen.records import Document, Hit
from tsgen.retrieve.explain import why
from tsgen.retrieve.results import hit_snippet, hits_json, nearest_passage
from tsgen.terms.words import Splitter

FILLING = " ".join(["salt and sugar and"] * 60)
NEEDLE = "what is frozen plum"
LONG = Document("long", f"{FILLING}\n\n{NEEDLE}\n\n{FILLING}", "Food")
QUERY = f"Food {NEEDLE} {FILLING}"  # as the passage begins; both are read up to the window
SHORT = [Document(food, f"what is {food}, fresh {food}", "Food") for food in fitted.FOODS[:6]]
SETTINGS = {
    "terms": {"weights": "tfidf", "n": 4},
    "decode": {"lexical_weight": 0.0, "sentence_share": 0.0},
    "search": {"correct": False},
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> tsgen.Engine:
    bert = fitted.write_bert(tmp_path_factory.mktemp("bert"))
    model = {"model": {"encoder": str(bert), "document_tokens": 16, "query_tokens": 16}}
    out = tmp_path_factory.mktemp("runs") / "engine"
    return tsgen.index([*SHORT, LONG], out=out, settings=SETTINGS | model)


def shown(hit: Hit, engine: tsgen.Engine) -> str:
    """The text of the passage that a hit names."""
    document = engine[hit.document_id]
    place = nearest_passage(hit, document)
    assert place is not None
    return document.text[place.start : place.end]


def needle(engine: tsgen.Engine) -> Hit:
    """The best hit for what stands in the middle of a long document."""
    return engine.search(QUERY, k=1)[0]


def test_what_stands_deep_in_a_document_is_found_and_its_place_named(engine: tsgen.Engine) -> None:
    hit = needle(engine)
    assert hit.document_id == "long"
    assert hit.passage is not None
    assert hit.passage > 0
    assert NEEDLE in shown(hit, engine)
    keys = {"plum", "frozen"}
    assert "frozen plum" in hit_snippet(hit, engine["long"], keys, Splitter()).text


def test_a_short_document_has_no_passage(engine: tsgen.Engine) -> None:
    hit = engine.search("Food what is egg, fresh egg", k=1)[0]
    assert (hit.document_id, hit.passage) == ("egg", None)
    assert nearest_passage(hit, engine["egg"]) is None


def test_the_score_is_that_of_the_best_passage(engine: tsgen.Engine) -> None:
    query = f"Food {NEEDLE}"
    hit = next(hit for hit in engine.search(query, k=9) if hit.document_id == "long")
    generator = engine.generator
    _, _, read = generator.backbone.encode([query])
    vectors = generator.constraint.document_vectors
    number = engine.snapshot.number("long")
    products = vectors.row(number)[: vectors.passages[number]] / 256 @ read.numpy()[0]
    weight = engine.config.decode.prior_weight
    assert hit.passage == np.argmax(products)
    if engine.config.decode.generated_weight == 0:
        assert hit.score == pytest.approx(weight * products.max(), rel=1e-3)


def test_a_long_document_that_is_added_is_found_before_and_after_a_compaction(
    engine: tsgen.Engine, tmp_path: Path
) -> None:
    engine.save(tmp_path)
    other = tsgen.Engine.load(tmp_path)
    assert needle(other) == needle(engine)
    text = f"{FILLING}\n\nsmoked fish with corn {FILLING}"
    other.add([Document("new", text, "Smoked"), Document("tea", "fresh tea", "Tea")])
    other.remove("egg")

    def answers() -> list[tuple[str, int | None, float]]:
        found = other.search(f"Smoked smoked fish with corn {FILLING}", k=9)
        return [(hit.document_id, hit.passage, round(hit.score, 2)) for hit in found]

    before = answers()
    best = other.search(f"Smoked smoked fish with corn {FILLING}", k=9)[0]
    assert best.document_id == "new"
    assert "smoked fish" in shown(best, other)
    vectors = other.generator.sets.doc_vectors
    assert vectors is not None
    assert len(vectors) == len(other)
    other.compact()
    assert [row[:2] for row in answers()][:1] == [row[:2] for row in before][:1]
    again = tsgen.Engine.load(tmp_path)
    kept = again.generator.sets.doc_vectors
    assert kept is not None
    np.testing.assert_array_equal(kept.offsets, vectors.offsets)
    np.testing.assert_array_equal(kept.values, vectors.values)
    assert "smoked fish" in shown(again.search(f"Smoked smoked fish with corn {FILLING}")[0], again)


def test_a_compaction_keeps_every_passage_of_the_base(engine: tsgen.Engine, tmp_path: Path) -> None:
    engine.save(tmp_path)
    other = tsgen.Engine.load(tmp_path)
    other.remove(["bread", "milk"])
    other.compact()
    assert NEEDLE in shown(needle(other), other)


def test_json_and_the_command_line_say_where_the_passage_is(engine: tsgen.Engine) -> None:
    query, hit = f"Food {NEEDLE}", needle(engine)
    shown = hits_json(query, query, [(hit, engine["long"])], Splitter())
    place = nearest_passage(hit, engine["long"])
    assert place is not None
    assert shown["hits"][0]["passage"] == {"start": place.start, "end": place.end}
    assert "frozen plum" in shown["hits"][0]["snippet"]
    console = Console(file=StringIO(), width=300)
    console.print(hits_view(engine, Splitter(), query, [hit], explain=False))
    assert isinstance(console.file, StringIO)
    length = len(engine["long"].text)
    assert f"(at {place.start:,} of {length:,} characters)" in console.file.getvalue()


def test_why_a_document_was_found_shows_its_passage(engine: tsgen.Engine) -> None:
    found = why(engine, QUERY, "long")
    assert found.passage is not None
    assert NEEDLE in found.passage
    assert why(engine, QUERY, "egg").passage is None
    console = Console(file=StringIO(), width=300)
    console.print(why_view(found))
    assert isinstance(console.file, StringIO)
    assert f"its nearest passage: {NEEDLE}" in console.file.getvalue()


def test_a_document_that_was_replaced_by_a_shorter_one_is_shown_from_its_start() -> None:
    hit, document = Hit("d", 1.0, passage=7), Document("d", "some words")
    assert nearest_passage(hit, document) is None
    assert hit_snippet(hit, document, {"words"}, Splitter()).text == "some words"
    assert Found(0, 1.0, (), (), ()).passage is None
