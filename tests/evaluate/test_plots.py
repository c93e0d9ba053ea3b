"""Plots are complete files of the right kind, with what they should say."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tsgen.errors import ConfigError
from tsgen.evaluate.plots import frequency_plot, line_plot, ranked_plot

DRAW: dict[str, Callable[[Path], None]] = {
    "frequency": lambda path: frequency_plot(
        path, {"learned": [5, 1, 9], "tfidf": [1, 1, 1]}, title="Terms"
    ),
    "line": lambda path: line_plot(
        path, {"learned": ([1, 2, 3], [0.1, 0.4, 0.3]), "tfidf": ([1, 3], [0.2, 0.2])}, y="M@10"
    ),
    "ranked": lambda path: ranked_plot(
        path,
        {"learned": {"all": 0.727, "seen": 0.6}, "tfidf": {"all": 0.5, "seen": 0.4}},
        x="M@10",
    ),
}


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_png(tmp_path: Path, draw: Callable[[Path], None]) -> None:
    draw(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["plot.png"]


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_svg_is_the_same_every_time_and_names_its_series(
    tmp_path: Path, draw: Callable[[Path], None]
) -> None:
    for name in ("a.svg", "b.svg"):
        draw(tmp_path / name)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert {"learned", "tfidf"} <= set(re.findall(r"<!-- (.*?) -->", text))


def test_bars_carry_their_values(tmp_path: Path) -> None:
    DRAW["ranked"](tmp_path / "plot.svg")
    assert "<!-- .727 -->" in (tmp_path / "plot.svg").read_text(encoding="utf-8")


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"plot\.jpg: a plot's name must end in \.svg or \.png"):
        DRAW["ranked"](tmp_path / "plot.jpg")
    assert list(tmp_path.iterdir()) == []
