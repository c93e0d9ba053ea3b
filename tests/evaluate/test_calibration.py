"""Calibration: bins and their error by hand; from judged queries to --min-confidence."""

from pathlib import Path

import numpy as np
import orjson
import pytest
from typer.testing import CliRunner

from small_engine import TEXTS, write_small_engine
from toy import write_beir
from tsgen.cli.main import app
from tsgen.corpus.load import load
from tsgen.errors import DataError
from tsgen.evaluate.calibration import calibrate, reliability
from tsgen.retrieve.engine import Engine

CONFIDENCE = np.array([0.05, 0.15, 0.15, 0.95, 1.0, 1.0])
RIGHT = np.array([False, True, False, True, True, False])


def test_bins_of_equal_width() -> None:
    found = reliability(CONFIDENCE, RIGHT, "width")
    assert found.count.tolist() == [1, 2, 3]
    assert found.confidence == pytest.approx([0.05, 0.15, 2.95 / 3])
    assert found.right == pytest.approx([0, 1 / 2, 2 / 3])
    assert found.error == pytest.approx((0.05 + 2 * 0.35 + 0.95) / 6)


def test_bins_of_equal_mass() -> None:
    found = reliability(CONFIDENCE, RIGHT, "mass", 2)
    assert found.count.tolist() == [3, 3]
    assert found.error == pytest.approx((abs(0.35 / 3 - 1 / 3) + 0.95 / 3) / 2)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Each document's first words, which it alone has, and a word that does not tell."""
    texts = dict(TEXTS)
    queries = {f"sure{i}": " ".join(text.split()[:2]) for i, text in enumerate(texts.values())}
    queries |= {f"unsure{i}": f"{text.split()[3]}" for i, text in enumerate(texts.values())}
    judged = [(f"{kind}{i}", id) for kind in ("sure", "unsure") for i, id in enumerate(texts)]
    return write_beir(tmp_path / "set", texts, queries, dev=judged, test=judged[:18])


def test_an_engine_learns_when_it_is_right(data: Path, tmp_path: Path) -> None:
    engine = write_small_engine(tmp_path / "engine")
    found = calibrate(engine, load(data), check="test")
    assert list(found.confidence) == ["dev", "test"]
    sure, right = found.confidence["dev"], found.right["dev"]
    assert 0.5 < right.mean() < 1
    assert sure.mean() == pytest.approx(right.mean(), abs=0.01)
    assert sure[right].mean() > sure[~right].mean() + 0.2
    found.plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
    row = found.as_json()["rows"][1]
    assert row["split"] == "test"
    assert row["values"]["n"] == 18
    assert found.as_json()["calibration"]["source"]["split"] == "dev"
    (hits,) = Engine.load(engine).search(["Sourdough bread"], 1)
    assert hits[0].confidence is not None


def test_on_the_command_line(data: Path, tmp_path: Path) -> None:
    engine, figures = write_small_engine(tmp_path / "engine"), tmp_path / "figures.json"
    asked = ["calibrate", str(engine), str(data), "--json", str(figures)]
    assert CliRunner().invoke(app, asked).exit_code == 0
    assert set(orjson.loads(figures.read_bytes())["bins"]["dev"]) == {"width", "mass"}
    search = ["search", str(engine), "sourdough bread", "-k", "1", "--json", "-"]
    (answer,) = orjson.loads(CliRunner().invoke(app, search).stdout)
    assert 0 < answer["hits"][0]["confidence"] < 1
    unsure = CliRunner().invoke(app, [*search, "--min-confidence", "1"])
    assert orjson.loads(unsure.stdout)[0]["hits"] == []


def test_too_few_queries(data: Path, tmp_path: Path) -> None:
    engine = write_small_engine(tmp_path / "engine")
    with pytest.raises(DataError, match="18 queries were answered; expected at least 20"):
        calibrate(engine, load(data), split="test")
    with pytest.raises(DataError, match="no split named 'tset'"):
        calibrate(engine, load(data), check="tset")
    assert not (engine / "confidence.json").exists()
