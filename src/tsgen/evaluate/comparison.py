"""What a comparison of systems found, as a table with significance marks and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from tsgen.evaluate.efficiency import Cost
from tsgen.evaluate.metrics import MEASURES, Scores
from tsgen.evaluate.significance import LEVEL, Comparison, compare_with
from tsgen.evaluate.tables import Column, Row, Table, to_json
from tsgen.version import __version__

BETTER, WORSE = "†", "‡"


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """Every system's scores on each group of queries; the first system is the reference."""

    title: str  # what was compared on: data set and split
    k: int
    limit: int | None
    scores: Mapping[str, Mapping[str, Scores]]  # system → group (all, seen, unseen) → scores
    seed: int = 0
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by system
    minutes: Mapping[str, float | None] = field(default_factory=dict)  # of training, if limited
    costs: Sequence[Cost] = ()

    @property
    def reference(self) -> str:
        """The system that the others are tested against."""
        return next(iter(self.scores))

    def significance(self, group: str, measure: str) -> list[Comparison]:
        """Paired t-tests of the other systems against the reference, Holm-corrected."""
        by_system = {name: groups[group] for name, groups in self.scores.items()}
        return compare_with(by_system.pop(self.reference), by_system, measure)

    def table(self) -> Table:
        """Groups as sections, systems as rows; marks where a system differs from the reference."""
        groups = list(self.scores[self.reference])
        rows = [row for group in groups for row in self._rows(group, len(groups) > 1)]
        columns = [Column("n", best=None), *(Column(measure) for measure in MEASURES)]
        return Table(columns, rows, self.title, self._notes())

    def as_json(self) -> dict[str, Any]:
        """The table with full figures, each test's outcome, and all systems' settings."""
        tests = [
            {
                "queries": group,
                "system": test.system,
                "reference": self.reference,
                "measure": measure,
                "difference": test.mean_difference,
                "p": test.p,
                "corrected_p": test.corrected_p,
            }
            for group in self.scores[self.reference]
            for measure in MEASURES
            for test in self.significance(group, measure)
        ]
        made: dict[str, Any] = {"date": date.today().isoformat(), "tsgen": __version__}
        made |= {"seed": self.seed, "settings": self.settings, "minutes": dict(self.minutes)}
        return to_json(self.table()) | {"significance": tests} | made

    def _rows(self, group: str, several: bool) -> Iterator[Row]:
        marks = self._marks(group)
        for name, groups in self.scores.items():
            scores = groups[group]
            values = [len(scores), *(scores.means[measure] for measure in MEASURES)]
            yield Row(name, values, group if several else "", marks.get(name, {}))

    def _marks(self, group: str) -> dict[str, dict[str, str]]:
        marks: dict[str, dict[str, str]] = {}
        for measure in MEASURES:
            for test in self.significance(group, measure):
                if test.significant:
                    mark = BETTER if test.mean_difference > 0 else WORSE
                    marks.setdefault(test.system, {})[measure] = mark
        return marks

    def _notes(self) -> dict[str, str]:
        notes = {"hits": f"at most {self.k} a query"}
        if self.limit is not None:
            notes["limit"] = f"{self.limit:,} queries, evenly spread"
        limited = {name: minutes for name, minutes in self.minutes.items() if minutes is not None}
        if limited:
            told = ", ".join(f"{name} {minutes:g}" for name, minutes in limited.items())
            notes["minutes of training"] = told
        if len(self.scores) > 1:
            test = f"paired t-test, p < {LEVEL}, Holm-corrected"
            notes |= {f"{BETTER} / {WORSE}": f"better / worse than {self.reference} ({test})"}
        return notes
