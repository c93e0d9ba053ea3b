"""The targets that the figures are held against."""

from collections.abc import Mapping
from typing import Any

from decoding_kit.peers import OURS, OURS_VALID

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
            f"constraint's share, 110k, beam 100, {row['spelling']}, log p over {row['log_p']}",
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
        generate, plain = rows[kind, "generate"], rows[kind, "plain"]
        cheaper = generate["constraint_times_slower"]
        found.append(_target(f"{kind}: constraint cheaper than generate's", cheaper, 20, False))
        for ours in (OURS, OURS_VALID):
            seconds = rows[kind, ours]["seconds"]
            for name, peer, bound in (("generate", generate, 2), ("plain", plain, 5)):
                what = f"{kind}: {ours}: times faster than {name}"
                found.append(_target(what, peer["seconds"] / seconds, bound, False))
            for measure in ("M@10", "R@10", "R@100"):
                mine, other = rows[kind, ours][measure], plain[measure]
                if mine or other:  # where neither finds anything there is nothing to compare
                    what = f"{kind}: {ours}: {measure} over plain's"
                    found.append(_target(what, mine - other, 0, False))
        likely = plain["ours_as_likely"]
        found.append(_target(f"{kind}: queries ranked as well as plain's", likely, 0.95, False))
    return found


def _growth(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = {(r["documents"], r["n"], r["beam"]): r for r in figures.get("growth", [])}
    found = []
    if (MILLION, 12, 100) in rows:
        share = rows[MILLION, 12, 100]["constraint_share"]
        found.append(_target("constraint's share, 1M, beam 100", share, 0.25, at_most=True))
    for beam in (10, 100):
        if (MILLION, 12, beam) in rows and (10_000, 12, beam) in rows:
            ratio = rows[MILLION, 12, beam]["seconds"] / rows[10_000, 12, beam]["seconds"]
            found.append(_target(f"time at 1M over 10k, beam {beam}", ratio, 1.5, at_most=True))
    large = [row["peak_gb"] for row in rows.values() if row["documents"] > MILLION]
    if large:
        found.append(_target("peak GB at 8.8M", max(large), 4, at_most=True))
    return found
