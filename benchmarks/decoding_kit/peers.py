"""tsgen's search against two others: same model, same sets, same beams, same run."""

from collections.abc import Callable
from functools import partial
from statistics import mean
from time import perf_counter, process_time
from typing import Any, Protocol

from decoding_kit.generate import GenerateSearch
from decoding_kit.journal import Journal
from decoding_kit.measure import SEARCHES, OurSearch
from decoding_kit.plain import PlainSearch
from decoding_kit.real import K, Setting, quality
from tsgen.settings import DecodeConfig

OURS = {f"tsgen, {name}": settings for name, settings in SEARCHES.items()}
PAPER = next(iter(OURS))  # the one with the peers' definition of log p
GENERATE, PLAIN = "generate", "plain"
TOP = 10
ROUNDING = 1e-3

Record = dict[str, Any]  # one system's answer to one query, and what it took
Hits = list[tuple[int, float]]


class Search(Protocol):
    """What is compared."""

    @property
    def constraint_seconds(self) -> float:
        """All time spent so far on what may come next."""
        ...

    def search(self, query: str, k: int) -> Hits:
        """The k best documents with their log-likelihoods."""
        ...


class Contest:
    """One system's answers and times."""

    def __init__(self, setting: Setting, queries: int, make: Callable[[], Search]) -> None:
        self._setting, self.queries, self._make = setting, queries, make
        self._system: Search | None = None
        self.records: list[Record] = []

    def ask(self, number: int) -> Record:
        """Answer a query; the first one of a run is asked twice, because it warms up."""
        query = self._setting.queries[number]
        if self._system is None:
            self._system = self._make()
            self._system.search(query, K)
        before = self._system.constraint_seconds
        began, cpu = perf_counter(), process_time()
        hits = self._system.search(query, K)
        return {
            "seconds": perf_counter() - began,
            "cpu": process_time() - cpu,
            "constraint": self._system.constraint_seconds - before,
            "hits": hits,
        }

    def mean(self, what: str, queries: int) -> float:
        """A mean over the first queries."""
        return mean(record[what] for record in self.records[:queries])


def compare(setting: Setting, beam: int, few: int, journal: Journal) -> list[Record]:
    """A row for each system. Queries go to all systems in turn, so that all meet the same load;
    `generate`, which takes longest, gets the first few only."""
    contests = _contests(setting, beam, few)
    for number in range(len(setting.queries)):
        for name, contest in contests.items():
            if number < contest.queries:
                piece = f"peers: {setting.kind}: {name}: {number}"
                contest.records.append(journal.once(piece, partial(contest.ask, number)))
    return [_row(setting, beam, name, contests) for name in contests]


def _contests(setting: Setting, beam: int, few: int) -> dict[str, Contest]:
    pieces = sorted(setting.spelling.offsets[1:] - setting.spelling.offsets[:-1])
    longest = int(sum(pieces[-setting.constraint.longest :]))
    parts = setting.backbone, setting.constraint
    makers: dict[str, Callable[[], Search]] = {
        name: partial(OurSearch, *parts, DecodeConfig(beam=beam, **settings))
        for name, settings in OURS.items()
    }
    makers[GENERATE] = partial(GenerateSearch, *parts, beam, longest)
    makers[PLAIN] = partial(PlainSearch, setting.backbone, setting.sets, setting.spelling, beam)
    everything = len(setting.queries)
    return {
        name: Contest(setting, min(few, everything) if name == GENERATE else everything, make)
        for name, make in makers.items()
    }


def _row(setting: Setting, beam: int, name: str, contests: dict[str, Contest]) -> Record:
    ours, theirs, plain = contests[PAPER], contests[name], contests[PLAIN]
    common = min(ours.queries, theirs.queries)
    answers = [record["hits"] for record in theirs.records]
    row = {
        "spelling": setting.kind,
        "beam": beam,
        "system": name,
        "queries": len(answers),
        "seconds": theirs.mean("seconds", common),
        "cpu_seconds": theirs.mean("cpu", common),
        "constraint_seconds": theirs.mean("constraint", common),
        "times_slower": theirs.mean("seconds", common) / ours.mean("seconds", common),
        "constraint_times_slower": theirs.mean("constraint", common)
        / ours.mean("constraint", common),
        "times_faster_than_plain": plain.mean("seconds", common) / theirs.mean("seconds", common),
        "documents_found": mean(float(len(hits)) for hits in answers),
        "best_log_p": mean(hits[0][1] for hits in answers if hits),
        "full_as_likely": _as_likely(ours, theirs) if name in (PAPER, GENERATE, PLAIN) else None,
    } | quality(answers, setting.relevant[: len(answers)])
    print(
        f"  {setting.kind}, beam {beam}, {name}: {row['seconds']:.3f} s a query, plain takes "
        f"{row['times_faster_than_plain']:.1f} × as long; M@10 {row['M@10']:.3f}"
    )
    return row


def _as_likely(ours: Contest, theirs: Contest) -> float:
    """The share of queries where ours are as likely; for one definition of log p only."""
    pairs = zip(ours.records, theirs.records, strict=False)
    return mean(float(as_likely(mine["hits"], others["hits"])) for mine, others in pairs)


def as_likely(ours: Hits, theirs: Hits) -> bool:
    """Whether our r-th best document is at least as likely as theirs, for every r up to ten."""
    scores = [score for _, score in ours[:TOP]]
    others = [score for _, score in theirs[:TOP]]
    return len(scores) >= len(others) and all(
        mine >= other - ROUNDING for mine, other in zip(scores, others, strict=False)
    )
