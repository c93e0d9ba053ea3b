"""The search without a beam and without torch, beside the one with the whole model."""

import gc
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fitted
import tsgen
from tsgen.records import Hit
from tsgen.retrieve.snapshot import Snapshot

SETTINGS = {"terms": {"weights": "tfidf", "n": 8}}
QUERIES = ["what is sweet egg", "bread with plum", "rice", "nothing known", "food food"]
LONG = " ".join(f"The word{i} of the sweet cake goes with honey." for i in range(60))

HEAVY = "torch transformers numba scipy pandas fastapi matplotlib accelerate bm25s"
CHILD = f"""
import sys
import tsgen
engine = tsgen.Engine.load(sys.argv[1])
assert [hit.document_id for hit in engine.search("sweet egg", k=3)]
%s
print([name for name in "{HEAVY}".split() if name in sys.modules])
"""


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fitted.write_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def made(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    data = fitted.write_foods(tmp_path_factory.mktemp("foods"), "dev")
    options = SETTINGS | {"model": {"encoder": str(bert), "document_tokens": 32}}
    engine = tsgen.index(data, out=folder / "engine", settings=options)
    engine.close()
    return folder / "engine"


@pytest.fixture
def engine(made: Path, tmp_path: Path) -> Iterable[tsgen.Engine]:
    with tsgen.Engine.load(made) as opened:
        opened.save(tmp_path)
    with tsgen.Engine.load(tmp_path) as copy:
        yield copy


def assert_explained(now: Snapshot, hit: Hit) -> None:
    """The reason's terms are of the document, and so many documents have each and all before."""
    assert hit.reason is not None
    number = now.number(hit.document_id)
    assert set(hit.reason.terms) <= set(now.sets.term_set(number).terms)
    left: set[int] | None = None
    for term, valid in zip(hit.reason.terms, hit.reason.valid_documents, strict=True):
        having = set(now.sets.postings(now.sets.term_id(term)).tolist())
        left = having if left is None else left & having
        assert valid == len(left)
    assert left is None or number in left


def assert_equal_to_the_whole_model(now: Snapshot, where: str | None = None) -> None:
    assert now.by_vectors is not None
    whole = replace(now, by_vectors=None)
    for k in (1, 4, 1000):
        lean, slow = (each.search(QUERIES, k, where=where) for each in (now, whole))
        for mine, other in zip(lean, slow, strict=True):
            scores = [[hit.score for hit in hits] for hits in (mine, other)]
            np.testing.assert_allclose(*scores, atol=2e-3)
            whole_scores = {hit.document_id: (hit.score, hit.passage) for hit in other}
            for one in mine:
                assert_explained(now, one)
                if one.document_id in whole_scores:  # not where the last ones are equally good
                    score, passage = whole_scores[one.document_id]
                    assert (one.score, one.passage) == (pytest.approx(score, abs=2e-3), passage)


def test_it_finds_what_the_whole_model_finds(engine: tsgen.Engine) -> None:
    assert_equal_to_the_whole_model(engine.snapshot)


def test_it_finds_the_same_after_changes_and_a_compaction(engine: tsgen.Engine) -> None:
    engine.add([{"id": "new", "text": "The zabaglione is a sweet food with egg.", "kind": "a"}])
    engine.add([{"id": "long", "text": LONG, "kind": "a"}, {"id": "gone", "text": "Rice."}])
    engine.remove(["gone", "d3"])
    assert_equal_to_the_whole_model(engine.snapshot)
    assert_equal_to_the_whole_model(engine.snapshot, where='kind = "a"')
    assert_equal_to_the_whole_model(engine.snapshot, where='kind = "none"')
    before = engine.search(QUERIES, 5)
    engine.compact()
    assert_equal_to_the_whole_model(engine.snapshot)
    with tsgen.Engine.load(engine.folder) as again:
        assert_equal_to_the_whole_model(again.snapshot)
        for one, two in zip(again.search(QUERIES, 5), before, strict=True):
            assert [(h.document_id, h.passage) for h in one] == [
                (h.document_id, h.passage) for h in two
            ]


def test_a_long_document_names_its_nearest_passage(engine: tsgen.Engine) -> None:
    engine.add([{"id": "long", "text": LONG}])
    hits = engine.search("word59 sweet cake honey", 30)
    assert next(hit for hit in hits if hit.document_id == "long").passage is not None


def test_an_engine_without_documents_answers_with_nothing(engine: tsgen.Engine) -> None:
    engine.remove([document.id for document in engine])
    assert engine.search(["sweet egg", "bread"]) == [[], []]


@pytest.mark.parametrize("more", ["", 'engine.add(["A sour cake."])\nengine.search("cake")'])
def test_a_search_imports_nothing_heavy(engine: tsgen.Engine, more: str) -> None:
    code = CHILD % more
    allowed = {"numba", "scipy"}  # which compile loops over arrays
    ran = subprocess.run(
        [sys.executable, "-c", code, str(engine.folder)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert set(eval(ran.stdout)) <= allowed


def test_the_command_imports_nothing_heavy(engine: tsgen.Engine) -> None:
    code = (
        "import sys\nfrom tsgen.__main__ import run\n"
        f"sys.argv[1:] = ['search', {str(engine.folder)!r}, 'sweet egg']\n"
        "try:\n    run()\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print([name for name in {HEAVY!r}.split() if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert set(eval(ran.stdout.splitlines()[-1])) <= {"numba", "scipy"}
    assert "1." in ran.stdout


def test_compaction_writes_the_terms_that_were_learned(engine: tsgen.Engine) -> None:
    engine.add([{"id": "new", "text": "The zabaglione is a sweet food with egg and sugar."}])
    term = engine.sets.term_id("zabaglione")
    assert not engine.generator.backbone.vectors[term].norm()
    engine.compact()
    learned = engine.generator.learned().backbone.vectors
    for each in (engine, tsgen.Engine.load(engine.folder)):
        np.testing.assert_allclose(each.generator.backbone.vectors, learned, atol=1e-3)
        assert each.generator.backbone.vectors[each.sets.term_id("zabaglione")].norm() > 0


def test_an_engine_that_is_closed_keeps_no_file_open(made: Path) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def use() -> None:
        with tsgen.Engine.load(made) as opened:
            opened.search("sweet egg", where='kind = "a"')

    use()
    gc.collect()
    before = open_files()
    gc.disable()  # files go when the last reference goes, not when cycles are looked for
    try:
        for _ in range(3):
            use()
        assert open_files() <= before
    finally:
        gc.enable()
