"""tsgen's search against two others: same model, same sets, same beams, same run."""

from statistics import mean
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from decoding_kit.generate import GenerateSearch
from decoding_kit.measure import OurSearch
from decoding_kit.plain import PlainSearch
from decoding_kit.real import Answers, K, Setting, quality
from tsgen.decode.config import DecodeConfig

OURS, OURS_VALID = "tsgen", "tsgen, valid"
TOP = 10
ROUNDING = 1e-3


class Search(Protocol):
    """What is compared."""

    @property
    def constraint_seconds(self) -> float:
        """All time spent so far on what may come next."""
        ...

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The k best documents with their log-likelihoods."""
        ...


class Contest:
    """One system's answers and times."""

    def __init__(self, system: Search) -> None:
        self._system = system
        self.answers: Answers = []
        self.seconds: list[float] = []
        self.constraint: list[float] = []

    def ask(self, query: str) -> None:
        """Answer one more query."""
        before, began = self._system.constraint_seconds, perf_counter()
        self.answers.append(self._system.search(query, K))
        self.seconds.append(perf_counter() - began)
        self.constraint.append(self._system.constraint_seconds - before)


def compare(setting: Setting, beam: int) -> list[dict[str, Any]]:
    """A row for each system. Queries go to all systems in turn, so that all meet the same load."""
    spelled = np.diff(setting.spelling.offsets)
    longest = int(np.sort(spelled)[-12:].sum())
    parts = setting.backbone, setting.constraint
    contests = {
        OURS: Contest(OurSearch(*parts, DecodeConfig(beam=beam))),
        OURS_VALID: Contest(OurSearch(*parts, DecodeConfig(beam=beam, normalise="valid"))),
        "generate": Contest(GenerateSearch(*parts, beam, longest)),
        "plain": Contest(PlainSearch(setting.backbone, setting.sets, setting.spelling, beam)),
    }
    for query in [setting.queries[0], *setting.queries]:  # the first one twice: it warms up
        for contest in contests.values():
            contest.ask(query)
    return [_row(setting, beam, name, contests) for name in contests]


def _row(setting: Setting, beam: int, name: str, contests: dict[str, Contest]) -> dict[str, Any]:
    ours, theirs = contests[OURS], contests[name]
    found = theirs.answers[1:]
    row = {
        "spelling": setting.kind,
        "beam": beam,
        "system": name,
        "queries": len(found),
        "seconds": mean(theirs.seconds[1:]),
        "constraint_seconds": mean(theirs.constraint[1:]),
        "times_slower": mean(theirs.seconds[1:]) / mean(ours.seconds[1:]),
        "constraint_times_slower": mean(theirs.constraint[1:]) / mean(ours.constraint[1:]),
        "documents_found": mean(float(len(hits)) for hits in found),
        "best_log_p": mean(hits[0][1] for hits in found if hits),
        "ours_as_likely": _as_likely(ours.answers[1:], found) if name != OURS_VALID else None,
    } | quality(found, setting.relevant)
    print(
        f"  {setting.kind}, beam {beam}, {name}: {row['seconds']:.3f} s a query "
        f"({row['times_slower']:.1f} ×), constraint {row['constraint_seconds'] * 1e3:.1f} ms "
        f"({row['constraint_times_slower']:.1f} ×)"
    )
    return row


def _as_likely(ours: Answers, theirs: Answers) -> float:
    """The share of queries where ours are as likely; for one definition of log p only."""
    pairs = zip(ours, theirs, strict=True)
    return mean(float(as_likely(mine, others)) for mine, others in pairs)


def as_likely(ours: list[tuple[int, float]], theirs: list[tuple[int, float]]) -> bool:
    """Whether our r-th best document is at least as likely as theirs, for every r up to ten."""
    scores = [score for _, score in ours[:TOP]]
    others = [score for _, score in theirs[:TOP]]
    return len(scores) >= len(others) and all(
        mine >= other - ROUNDING for mine, other in zip(scores, others, strict=False)
    )
