"""Hybrid: parts shared with the systems themselves, weights from dev, saved as a whole."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from fitted import settings, write_bert, write_foods
from toy import write_beir
from tsgen.config import StageConfig, read_settings
from tsgen.corpus.load import load
from tsgen.corpus.runs import read_trec
from tsgen.errors import ConfigError, DataError
from tsgen.evaluate.compare import compare
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, System, open_retriever

ANIMALS = {"d1": "a cat", "d2": "a dog", "d3": "a cow", "d4": "a hen"}
SYNONYMS = {"feline": "d1", "hound": "d2", "cattle": "d3", "fowl": "d4"}
QUERIES = {f"q{i}": word for i, word in enumerate(SYNONYMS)} | {"q4": "cat", "q5": "hen"}
JUDGED = [*((f"q{i}", id) for i, id in enumerate(SYNONYMS.values())), ("q4", "d1"), ("q5", "d4")]


class Thesaurus:
    """Knows synonyms only, and prefers d2 for everything else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [[Hit(id, -float(i)) for i, id in enumerate(_ranked(q)[:k])] for q in queries]

    def save(self, folder: Path) -> None:
        (folder / "thesaurus").touch()


def _ranked(query: str) -> list[str]:
    first = SYNONYMS.get(query, "d2")
    return [first, *(id for id in ANIMALS if id != first)]


@pytest.fixture
def animals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def fit(_data: Any, _config: Any, _seed: int, folder: Path) -> None:
        (folder / "thesaurus").touch()

    toy = System("thesaurus", StageConfig, fit, Thesaurus)  # type: ignore[arg-type]
    monkeypatch.setitem(SYSTEMS._entries, "thesaurus", toy)
    return write_beir(tmp_path / "set", ANIMALS, QUERIES, dev=JUDGED, test=JUDGED)


def hybrid(**values: Any) -> dict[str, dict[str, Any]]:
    return {"hybrid": {"generative": "thesaurus"} | values}


def test_weights_come_from_dev(animals: Path, tmp_path: Path) -> None:
    data, systems = load(animals), ["bm25", "thesaurus", "hybrid"]
    found = compare(data, systems, cache=tmp_path / "cache", configs=hybrid())
    means = {name: groups["all"].means["R@1"] for name, groups in found.scores.items()}
    assert means == pytest.approx({"bm25": 2 / 6, "thesaurus": 4 / 6, "hybrid": 1.0})
    (folder,) = (tmp_path / "cache").glob("set-*/hybrid-[0-9a-f]*")
    facts = orjson.loads((folder / "fusion.json").read_bytes())
    assert 0 < facts["shares"][1] < 1
    assert {tuple(w): m for w, m in facts["M@10"]}[tuple(facts["shares"])] == 1.0
    assert len(facts["M@10"]) == 21
    hits = open_retriever(folder).search(["cat", "hound"], 1)
    assert [row[0].document_id for row in hits] == ["d1", "d2"]
    (tmp_path / "copy").mkdir()
    open_retriever(folder).save(tmp_path / "copy")
    assert SYSTEMS.get("hybrid").load(tmp_path / "copy").search(["cat", "hound"], 1) == hits


def test_a_run_is_fused_from_those_of_the_parts(
    animals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, cache = load(animals), tmp_path / "c"
    compare(data, ["bm25", "thesaurus"], cache=cache, configs=hybrid(fusion="ranks"))
    runs = tmp_path / "runs"
    with monkeypatch.context() as nothing_is_searched_again:
        nothing_is_searched_again.setattr(Thesaurus, "search", None)
        compare(data, ["hybrid"], cache=cache, configs=hybrid(fusion="ranks"), runs_dir=runs)
    (folder,) = cache.glob("set-*/hybrid-[0-9a-f]*")
    fused = read_trec(runs / "hybrid.trec")
    hits = open_retriever(folder).search(list(QUERIES.values()), 100)
    for id, found in zip(QUERIES, hits, strict=True):
        assert [hit.document_id for hit in fused[id]] == [hit.document_id for hit in found]


def test_parts_are_those_of_the_systems(animals: Path, tmp_path: Path) -> None:
    compare(load(animals), ["hybrid", "thesaurus", "bm25"], cache=tmp_path / "c", configs=hybrid())
    for name in ("bm25", "thesaurus"):
        assert len(list((tmp_path / "c").glob(f"set-*/{name}-[0-9a-f]*"))) == 1


@pytest.mark.parametrize("fusion", ["ranks", "scores"])
def test_without_tuning_no_dev_is_needed(animals: Path, tmp_path: Path, fusion: str) -> None:
    (animals / "qrels" / "dev.tsv").unlink()
    configs = hybrid(fusion=fusion)
    found = compare(load(animals), ["hybrid"], cache=tmp_path / "cache", configs=configs)
    assert found.scores["hybrid"]["all"].means["R@10"] == 1.0
    with pytest.raises(DataError, match=r"no judgments named dev .* hybrid\.fusion=ranks"):
        compare(load(animals), ["hybrid"], cache=tmp_path / "cache", configs=hybrid())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"generative": "bm25"}, "parts bm25, bm25; expected different systems"),
        ({"beside": ["hybrid"]}, "none of them 'hybrid'"),
        ({"beside": ["bm52"]}, "unknown system 'bm52'; did you mean 'bm25'"),
        ({"beside": []}, "beside"),
        ({"fuse": 1}, "unknown setting 'fuse'"),
    ],
)
def test_mistakes(animals: Path, tmp_path: Path, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compare(load(animals), ["hybrid"], cache=tmp_path / "c", configs=hybrid(**values))


def test_an_engine_is_trained_once(tmp_path: Path) -> None:
    write_foods(tmp_path / "set", "train", "dev", "test")
    assignments = [*settings(write_bert(tmp_path / "bert"), epochs=4), "train.iterations=1"]
    configs = read_settings(None, assignments, "tiny")
    data, cache = load(tmp_path / "set"), tmp_path / "cache"
    found = compare(data, ["bm25", "tsgen", "hybrid"], cache=cache, configs=configs)
    assert len(list(cache.glob("set-*/tsgen-[0-9a-f]*"))) == 1
    assert len(list(cache.glob("set-*/iteration-1-[0-9a-f]*"))) == 1
    parts = [found.scores[name]["all"].means["M@10"] for name in ("bm25", "tsgen")]
    assert found.scores["hybrid"]["all"].means["M@10"] >= max(parts)
