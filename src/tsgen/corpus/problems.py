"""What is wrong with a data set: the first problem stops the work, or all of them are collected."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tsgen.errors import DataError

ADVICE = "Correct it, or go on without such records with --skip-bad (in Python: skip_bad=True)."


class BadRecord(Exception):
    """Raised while one record is read: what kind of problem it is, what was found and expected;
    and its place (file, line), where that is not the record's in its source."""

    def __init__(self, kind: str, message: str, place: tuple[str, int] | None = None) -> None:
        super().__init__(message)
        self.kind, self.place = kind, place


@dataclass(frozen=True, slots=True)
class Problem:
    """One bad record: where it is, and what was found and expected."""

    kind: str
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class Problems:
    """A collector. Unless bad records are to be skipped, the first report raises `DataError`."""

    def __init__(self, *, skip_bad: bool) -> None:
        self.skip_bad = skip_bad
        self._found: dict[tuple[str, str, int], Problem] = {}

    def report(self, problem: Problem) -> None:
        """Raise, or keep the problem once, however often its file is read."""
        if not self.skip_bad:
            raise DataError(f"{problem}. {ADVICE}")
        self._found.setdefault((problem.kind, problem.file, problem.line), problem)

    @property
    def counts(self) -> dict[str, int]:
        """The number of problems of each kind, most frequent first."""
        return dict(Counter(problem.kind for problem in self).most_common())

    def summary(self) -> str:
        """One line for a log, e.g. `skipped 3 bad records: duplicate id 2, broken JSON 1`."""
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.counts.items())
        return f"skipped {len(self):,} bad records: {kinds}" if kinds else "no bad records"

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)
