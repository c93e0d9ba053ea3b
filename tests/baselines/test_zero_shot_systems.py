"""Systems that need no training: tsgen-mini, and BM25 over the terms alone."""

from pathlib import Path

from fitted import write_foods
from tsgen.corpus.load import load
from tsgen.evaluate.compare import compare
from tsgen.model.shipped import weights_hash
from tsgen.retrieve.systems import SYSTEMS


def test_both_find_what_the_terms_say(tmp_path: Path) -> None:
    data = load(write_foods(tmp_path / "set", "test"))
    found = compare(data, ["bm25", "bm25-terms", "tsgen-mini"], cache=tmp_path / "cache")
    for name in ("bm25-terms", "tsgen-mini"):
        assert found.scores[name]["all"].means["R@1"] > 0.8, name
    assert found.settings["tsgen-mini"]["weights"] == weights_hash()


def test_fewer_terms_find_less(tmp_path: Path) -> None:
    data = load(write_foods(tmp_path / "set", "test"))
    one = {"bm25-terms": {"n": 1}}
    found = compare(data, ["bm25", "bm25-terms"], cache=tmp_path / "cache", configs=one)
    assert found.scores["bm25-terms"]["all"].means["M@10"] < 1


def test_settings_reach_the_engine(tmp_path: Path) -> None:
    data, each = load(write_foods(tmp_path / "set", "test")), SYSTEMS.get("tsgen-mini")
    settings = each.settings({"tsgen-mini": {"n": 3, "beam": 2}})
    (tmp_path / "engine").mkdir()
    each.fit(data, settings, 0, tmp_path / "engine")
    engine = each.load(tmp_path / "engine")
    assert engine.config.decode.beam == 2  # type: ignore[attr-defined]
    (hits,) = engine.search(["brown egg"], 1)
    assert len(hits[0].reason.terms) <= 3  # type: ignore[union-attr]
