"""Why a document was found or not, over an engine and over a collection."""

from pathlib import Path

import pytest

from small_engine import QUERY, TEXTS, term_set, write_small_engine
from tsgen.errors import DataError
from tsgen.records import Document
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.explain import shortened, smallest_beam, trace, why


@pytest.fixture(scope="module", params=[{}, {"normalise": "full", "merge": "max"}])
def engine(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Engine:
    return Engine.load(
        write_small_engine(tmp_path_factory.mktemp("why") / "engine", **request.param)
    )


def test_the_trace_is_of_the_engines_own_search(engine: Engine) -> None:
    for beam in (1, 3, None):
        found = trace(engine, QUERY, 5, beam)
        assert list(found.hits) == engine.search([QUERY], 5, beam=beam)[0]
        assert (found.beam, found.documents) == (beam or 4, len(TEXTS))
        for hit, path in zip(found.hits, found.paths, strict=True):
            places = [step.hypotheses[i] for step, i in zip(found.steps, path, strict=False)]
            assert [one.term for one in places] == list(hit.reason.terms[: len(path)])
            assert hit.document_id in places[-1].found


def test_a_shortened_trace_keeps_what_led_to_the_hits(engine: Engine) -> None:
    whole = trace(engine, QUERY, 5)
    short = shortened(whole, 1)
    assert sum(len(step.hypotheses) for step in short.steps) < sum(
        len(step.hypotheses) for step in whole.steps
    )
    for number, step in enumerate(short.steps):
        assert step.stayed == whole.steps[number].stayed
    for hit, path in zip(short.hits, short.paths, strict=True):
        assert path
        below = -1
        for step, place in zip(short.steps, path, strict=False):
            assert step.hypotheses[place].parent == below
            below = place
        terms = [s.hypotheses[i].term for s, i in zip(short.steps, path, strict=False)]
        assert terms == list(hit.reason.terms[: len(path)])


def test_every_document_is_found_or_has_a_beam_that_keeps_it(engine: Engine) -> None:
    lost = 0
    for document in TEXTS:
        found = why(engine, QUERY, document, 5, beam=1)
        answer = [hit.document_id for hit in engine.search([QUERY], 1000, beam=1)[0]]
        assert found.rank == (answer.index(document) + 1 if document in answer else None)
        assert found.found == (document in answer[:5])
        assert sorted(found.terms) == sorted(term_set(document).terms)
        if found.rank is not None:
            assert found.fall is None
            continue
        lost += 1
        assert found.fall.step == len(found.standings) + 1
        assert set(found.fall.terms) <= set(found.terms)
        wide, half = (
            [hit.document_id for hit in engine.search([QUERY], 1000, beam=beam)[0]]
            for beam in (found.needed_beam, max(1, found.needed_beam // 2))
        )
        assert wide.index(document) + 1 == found.rank_then
        assert document not in half
    assert lost


def test_the_beam_is_searched_up_to_a_limit(engine: Engine) -> None:
    asked = (why(engine, QUERY, document, beam=1, widest=1) for document in reversed(TEXTS))
    found = next(one for one in asked if one.rank is None)
    assert (found.needed_beam, found.rank_then, found.widest) == (None, None, 1)


def test_filters(engine: Engine) -> None:
    where = 'folder = "soup"'
    found = trace(engine, QUERY, 3, where=where)
    assert list(found.hits) == engine.search([QUERY], 3, where=where)[0]
    assert found.documents == 3
    assert why(engine, QUERY, "bread/rye.md", where=where).fall.cause == "filtered"
    assert why(engine, QUERY, "soup/onion.md", where=where).found
    nothing = trace(engine, QUERY, 3, where='folder = "none"')
    assert (nothing.hits, nothing.steps) == ((), ())
    assert why(engine, QUERY, "soup/onion.md", where='folder = "none"').fall.cause == "filtered"


def test_unknown_document(engine: Engine) -> None:
    with pytest.raises(DataError, match=r"'soup/pea.md': no such document.*tsgen search"):
        why(engine, QUERY, "soup/pea.md")


def test_over_a_collection(tmp_path: Path) -> None:
    with Engine.load(write_small_engine(tmp_path / "engine")) as collection:
        assert list(trace(collection, QUERY, 3).hits) == collection.search([QUERY], 3)[0]
        collection.remove(["bread/rye.md"])
        with pytest.raises(DataError, match="no such document"):
            why(collection, QUERY, "bread/rye.md")
        assert trace(collection, QUERY, 3).documents == len(TEXTS) - 1
        assert isinstance(collection.document("bread/white.md"), Document)


def test_smallest_beam() -> None:
    tried: list[int] = []

    def keeps(beam: int) -> bool:
        tried.append(beam)
        return beam >= 23

    assert smallest_beam(keeps, 4, 100) == 23
    assert tried == [8, 16, 32, 24, 20, 22, 23, 11]
    assert smallest_beam(keeps, 4, 22) is None
    assert smallest_beam(keeps, 4, 23) == 23
    # What a beam of 4 loses one of 3 may keep, and then 6 is more than is needed.
    assert smallest_beam(lambda beam: beam != 4, 4, 100) == 1
