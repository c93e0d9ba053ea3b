"""Many queries: in batches, in pieces on disk, each searched once."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tsgen.records import Hit, Query
from tsgen.retrieve.bench import BATCH, PIECE, keep_run, read_kept_run, run_queries

QUERIES = [Query(f"q{n}", f"text {n}") for n in range(PIECE * 2 + 10)]


class Echo:
    """Answers with the query's own text; dies after so many queries."""

    def __init__(self, lives: int = 10**9) -> None:
        self.asked: list[str] = []
        self.largest = 0
        self.lives = lives

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if len(self.asked) + len(queries) > self.lives:
            raise KeyboardInterrupt
        self.asked += queries
        self.largest = max(self.largest, len(queries))
        return [[Hit(text, 1 / 3 + rank) for rank in range(k)] for text in queries]

    def save(self, folder: Path) -> None: ...

    @classmethod
    def load(cls, folder: Path) -> "Echo":
        return cls()


def test_every_query_gets_its_own_hits() -> None:
    echo = Echo()
    run = run_queries(echo, QUERIES, 2)
    assert list(run) == [query.id for query in QUERIES]
    assert run["q300"] == [Hit("text 300", 1 / 3), Hit("text 300", 4 / 3)]
    assert echo.largest == BATCH


def test_mapping_of_queries_and_no_queries() -> None:
    assert list(run_queries(Echo(), {"q1": Query("q1", "x")}, 1)) == ["q1"]
    assert run_queries(Echo(), [], 1) == {}


def test_progress_counts_the_queries() -> None:
    seen: list[int] = []
    run_queries(Echo(), QUERIES[: BATCH + 36], 1, seen.append)
    assert seen == [BATCH, BATCH + 36]


def test_kept_run_reads_back_the_same(tmp_path: Path) -> None:
    keep_run(Echo(), QUERIES, 2, tmp_path)
    assert read_kept_run(tmp_path) == run_queries(Echo(), QUERIES, 2)
    assert list(read_kept_run(tmp_path)) == [query.id for query in QUERIES]
    assert len(list(tmp_path.iterdir())) == 3


def test_odd_ids_survive(tmp_path: Path) -> None:
    queries = [Query('a "quoted"\nid\u2028', "x"), Query("", "y\r")]
    keep_run(Echo(), queries, 1, tmp_path)
    assert read_kept_run(tmp_path) == run_queries(Echo(), queries, 1)


def test_interrupted_run_goes_on_from_its_pieces(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        keep_run(Echo(lives=PIECE + BATCH - 1), QUERIES, 1, tmp_path)
    again, seen = Echo(), []
    keep_run(again, QUERIES, 1, tmp_path, seen.append)
    assert again.asked == [query.text for query in QUERIES[PIECE:]]
    assert (seen[0], seen[-1]) == (PIECE + min(BATCH, PIECE), len(QUERIES))
    assert read_kept_run(tmp_path) == run_queries(Echo(), QUERIES, 1)
