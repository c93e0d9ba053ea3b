"""Plots as SVG or PNG: term frequencies on two logarithmic axes, lines, horizontal bars.

Figures are drawn without pyplot, so no state is shared, and equal data give equal files.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from tsgen.artifact import write_beside
from tsgen.errors import ConfigError
from tsgen.evaluate.tables import format_value

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""

INK, RULE = "#333333", "#dddddd"
DASHES = ("-", "--", ":", "-.")  # the palette's second round differs by its line


def frequency_plot(
    path: Path,
    series: Mapping[str, ArrayLike],
    *,
    title: str = "",
    x: str = "rank of the term",
    y: str = "documents",
) -> None:
    """Zipf plot: frequencies by rank for each name, both axes logarithmic."""
    figure, axes = _axes(title, x, y)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for i, (name, frequencies) in enumerate(series.items()):
        falling = np.sort(np.asarray(frequencies))[::-1]
        ranks = np.arange(1, len(falling) + 1)
        axes.plot(ranks, falling, label=name, **_line(i), drawstyle="steps-mid")
    axes.grid(axis="both", color=RULE, linewidth=0.6)
    _write(path, figure, legend=len(series) > 1)


def line_plot(
    path: Path,
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    title: str = "",
    x: str = "",
    y: str = "",
    log_x: bool = False,
    log_y: bool = False,
) -> None:
    """A line for each name through its (x values, y values), such as a learning curve."""
    figure, axes = _axes(title, x, y)
    axes.set_xscale("log" if log_x else "linear")
    axes.set_yscale("log" if log_y else "linear")
    for i, (name, (xs, ys)) in enumerate(series.items()):
        marker = "o" if np.size(np.asarray(xs)) <= 30 else None
        axes.plot(xs, ys, label=name, marker=marker, markersize=4, **_line(i))
    if not log_x and all(np.asarray(xs).dtype.kind in "iu" for xs, _ in series.values()):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _write(path, figure, legend=len(series) > 1)


def ranked_plot(
    path: Path,
    series: Mapping[str, Mapping[str, float]],
    *,
    title: str = "",
    x: str = "",
    decimals: int = 3,
) -> None:
    """Horizontal bars: a line for each label, from the top down, with a bar for each series.

    Args:
        path: The file, .svg or .png.
        series: Name → label → value; a label may be missing from a series.
        title: The plot's title.
        x: The name of the axis.
        decimals: Decimals of the values beside the bars.
    """
    labels = list(dict.fromkeys(label for values in series.values() for label in values))
    figure, axes = _axes("", x, "", height=1.2 + 0.13 * len(labels) * (len(series) + 1))
    figure.suptitle(title, x=0.02, ha="left", fontsize=11, color=INK)  # labels leave it no room
    places, width = np.arange(len(labels)), 0.84 / len(series)
    for i, (name, values) in enumerate(series.items()):
        offset = (i - (len(series) - 1) / 2) * width
        lengths = [values.get(label, np.nan) for label in labels]
        bars = axes.barh(places + offset, lengths, width * 0.92, label=name, color=_colour(i))
        texts = ["" if np.isnan(value) else format_value(value, decimals) for value in lengths]
        axes.bar_label(bars, texts, padding=2, fontsize=7, color=INK)
    axes.set_yticks(places, labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=RULE, linewidth=0.6)
    axes.margins(x=0.1)
    _write(path, figure, legend=len(series) > 1)


def _axes(title: str, x: str, y: str, height: float = 4.0) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.4, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE)
    axes.tick_params(colors=INK, which="both")
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _line(place: int) -> dict[str, Any]:
    dash = DASHES[place // len(COLOURS) % len(DASHES)]
    return {"color": _colour(place), "linestyle": dash, "linewidth": 1.8}


def _write(path: Path, figure: Figure, *, legend: bool) -> None:
    kind = path.suffix.removeprefix(".").lower()
    if kind not in ("svg", "png"):
        raise ConfigError(f"{path}: a plot's name must end in .svg or .png")
    if legend:
        figure.legend(loc="outside right upper", frameon=False, labelcolor=INK)
    # Neither a date nor random ids in the file: equal data give equal bytes.
    metadata = {"Date": None} if kind == "svg" else {}
    with write_beside(path) as beside, matplotlib.rc_context({"svg.hashsalt": "tsgen"}):
        figure.savefig(beside, format=kind, dpi=150, metadata=metadata)
