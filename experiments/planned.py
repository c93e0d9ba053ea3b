"""The planned search: the set prior chooses a pool of documents, a narrow beam generates inside it,
and what it loses of them is added.

    python experiments/planned.py ENGINE DATA [--wide 100] [--queries 1000] [--out docs/results]

Of plans with pools and beams of several widths the fastest one that is no worse on development
queries than the plain search with a wide beam (M@10), or else the best one, is compared with that
on test queries. Times are those of both on the same queries in one run, a batch of each in turn.
Writes planned-NAME.json and .md.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.corpus.dataset import DataSet, some_judged
from tsgen.corpus.load import load
from tsgen.evaluate.compare import SystemComparison, query_groups
from tsgen.evaluate.metrics import DEPTH, evaluate, evaluate_groups
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.progress import show
from tsgen.records import Judgments, Run
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.snapshot import Snapshot
from tsgen.settings import DecodeConfig

POOLS, BEAMS = (50, 100, 200), (5, 10, 20)
BATCH = 64  # queries that one search answers before the next one has its turn
PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Tried:
    """What searches with some settings found, and how long they took."""

    runs: dict[str, Run]
    seconds: dict[str, float]


def main(arguments: list[str] | None = None) -> None:
    """Choose on dev, report on test."""
    options = _options(arguments)
    engine, data = Engine.load(options.engine), load(options.data)
    plain = engine.config.decode.with_beam(options.wide).model_copy(update={"pool": 0, "fill": 0})
    plans = {_name(pool, beam): _plan(plain, pool, beam) for pool in POOLS for beam in BEAMS}
    with progress():
        asked = some_judged(data, "dev", options.queries)
        on_dev = search_in_turn(engine, data, asked, {PLAIN: plain} | plans)
        chosen = choose(on_dev, asked)
        asked = some_judged(data, "test", options.queries)
        on_test = search_in_turn(engine, data, asked, {PLAIN: plain, chosen: plans[chosen]})
    tables = _tables(data, options, on_dev, on_test, asked)
    seconds = {"dev": on_dev.seconds, "test": on_test.seconds}
    publish(options.out / f"planned-{data.name}", {"seconds": seconds} | made(), *tables)


def search_in_turn(
    engine: Engine, data: DataSet, asked: Judgments, settings: dict[str, DecodeConfig]
) -> Tried:
    """Every search answers a batch before any goes on to the next."""
    engines = {name: _with(engine, decode) for name, decode in settings.items()}
    tried = Tried({name: {} for name in settings}, dict.fromkeys(settings, 0.0))
    ids = list(asked)
    for one in engines.values():
        one.search([data.queries()[id].text for id in ids[:8]], DEPTH)
    for start in range(0, len(ids), BATCH):
        show("queries", start, len(ids))
        some = ids[start : start + BATCH]
        texts = [data.queries()[id].text for id in some]
        for name, one in engines.items():
            since = time.perf_counter()
            found = one.search(texts, DEPTH)
            tried.seconds[name] += time.perf_counter() - since
            tried.runs[name].update(zip(some, found, strict=True))
    return tried


def choose(tried: Tried, asked: Judgments) -> str:
    """The fastest plan that is no worse than the plain search, or the best one."""
    figures = {name: evaluate(run, asked).means["M@10"] for name, run in tried.runs.items()}
    plans = [name for name in figures if name != PLAIN]
    as_good = [name for name in plans if figures[name] >= figures[PLAIN]]
    if as_good:
        return min(as_good, key=tried.seconds.__getitem__)
    return max(plans, key=figures.__getitem__)


def _tables(
    data: DataSet, options: Namespace, on_dev: Tried, on_test: Tried, asked: Judgments
) -> Sequence[Table]:
    groups = query_groups(data, "test")
    scores = {name: evaluate_groups(run, asked, groups) for name, run in on_test.runs.items()}
    title = f"{data.name}, test"
    found = SystemComparison(title, DEPTH, options.queries, scores)
    judged = some_judged(data, "dev", options.queries)
    rows = [
        Row(name, [evaluate(run, judged).means["M@10"], *_times(on_dev, name)])
        for name, run in on_dev.runs.items()
    ]
    columns = [Column("M@10"), Column("ms a query", "low", 1), Column("of plain", "low", 2)]
    chosen = next(name for name in on_test.seconds if name != PLAIN)
    share = on_test.seconds[chosen] / on_test.seconds[PLAIN]
    table = found.table()
    notes = {"time of the plan / of the plain search": f"{share:.2f}", "plain beam": options.wide}
    notes = {**table.notes, **{name: str(value) for name, value in notes.items()}} | made()
    return [Table(columns, rows, f"{data.name}, dev"), replace(table, notes=notes)]


def _times(tried: Tried, name: str) -> list[float]:
    seconds, queries = tried.seconds[name], len(tried.runs[name])
    return [1000 * seconds / queries, seconds / tried.seconds[PLAIN]]


def _plan(plain: DecodeConfig, pool: int, beam: int) -> DecodeConfig:
    return plain.model_copy(update={"pool": pool, "fill": DEPTH, "beam": beam, "prior": "weighted"})


def _name(pool: int, beam: int) -> str:
    return f"pool {pool}, beam {beam}"


def _with(engine: Engine, decode: DecodeConfig) -> Snapshot:
    config = engine.config.model_copy(update={"decode": decode})
    return Snapshot(engine.generator, config, engine.documents)


def _options(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("engine", type=Path)
    parser.add_argument("data")
    parser.add_argument("--wide", type=int, default=100, help="the plain search's beam")
    parser.add_argument("--queries", type=int, default=1000, help="of dev, and of test")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
