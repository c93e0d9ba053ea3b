"""The targets that the figures are held against."""

from collections.abc import Mapping
from typing import Any

from decoding_kit.peers import GENERATE, OURS, PLAIN

MILLION = 1_000_000


def targets(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each target with what was measured, for the parts that were run."""
    return _latency(figures) + _peers(figures) + _growth(figures)


def _target(what: str, measured: float, bound: float, at_most: bool) -> dict[str, Any]:
    met = measured <= bound if at_most else measured >= bound
    wanted = f"{'at most' if at_most else 'at least'} {bound:g}"
    return {"what": what, "measured": measured, "wanted": wanted, "met": bool(met)}


def _latency(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        _target(
            f"constraint's share, 110k, beam 100, {row['spelling']}, {row['search']}",
            row["constraint_share"],
            0.15,
            at_most=True,
        )
        for row in figures.get("latency", [])
        if row["beam"] == 100
    ]


def _peers(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = {(row["spelling"], row["system"]): row for row in figures.get("peers", [])}
    found = []
    for kind in dict.fromkeys(spelling for spelling, _ in rows):
        generate, plain = rows[kind, GENERATE], rows[kind, PLAIN]
        cheaper = generate["constraint_times_slower"]
        found.append(_target(f"{kind}: constraint cheaper than generate's", cheaper, 20, False))
        faster = generate["times_slower"]
        found.append(_target(f"{kind}: full: times faster than generate", faster, 2, False))
        likely = plain["full_as_likely"]
        found.append(_target(f"{kind}: queries ranked as well as plain's", likely, 0.95, False))
        for ours in OURS:
            found += _against_plain(f"{kind}: {ours}", rows[kind, ours], plain)
    return found


def _against_plain(
    name: str, ours: Mapping[str, Any], plain: Mapping[str, Any]
) -> list[dict[str, Any]]:
    faster = ours["times_faster_than_plain"]
    found = [_target(f"{name}: times faster than plain", faster, 5, False)]
    for measure in ("M@10", "R@10", "R@100"):
        if ours[measure] or plain[measure]:  # where neither finds anything nothing is compared
            what = f"{name}: {measure} over plain's"
            found.append(_target(what, ours[measure] - plain[measure], 0, False))
    return found


def _growth(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = {
        (row["documents"], row["beam"], row["search"]): row
        for row in figures.get("growth", [])
        if row["n"] == 12
    }
    found = []
    for (documents, beam, kind), row in rows.items():
        if documents == MILLION and beam == 100:
            share = row["constraint_share"]
            what = f"constraint's share, 1M, beam 100, {kind}"
            found.append(_target(what, share, 0.25, at_most=True))
        if documents == MILLION and (10_000, beam, kind) in rows:
            ratio = row["seconds"] / rows[10_000, beam, kind]["seconds"]
            what = f"time at 1M over 10k, beam {beam}, {kind}"
            found.append(_target(what, ratio, 1.5, at_most=True))
    large = [row["peak_gb"] for row in figures.get("growth", []) if row["documents"] > MILLION]
    if large:
        found.append(_target("peak GB at 8.8M", max(large), 4, at_most=True))
    return found
