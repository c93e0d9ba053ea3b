"""A system beside its peers and controls on several data sets, tested against the best peer.

    python experiments/peers.py DATA… [--systems tsgen-index,…] [--minutes N] [--name zero-shot]

writes docs/results/NAME.json and .md: M@10 and R@100 on the test queries. The first system is the
one that is tested; systems whose names begin with `tsgen` are no peers. By default these are the
engine of `tsgen index`, which has seen no query, and its controls: the generator alone and the
query's words alone; the peers are BM25, the cosine of MiniLM, and their fusion by reciprocal ranks.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.corpus.load import load
from tsgen.evaluate.compare import SystemComparison, compare
from tsgen.evaluate.tables import Column, Row, Table, p_value

MEASURES = ("M@10", "R@100")
ZERO_SHOT = "tsgen-index,tsgen-generator,tsgen-words,bm25,dense,bm25-dense"


def main() -> None:
    """Compare on each data set, print, and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--systems", default=ZERO_SHOT)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--name", default="zero-shot")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    systems = options.systems.split(",")
    found = {}
    with progress():
        for source in options.data:
            data = load(source)
            found[data.name] = compare(data, systems, minutes=options.minutes)
    table = _table(found, systems, options.minutes)
    figures = {name: comparison.as_json() for name, comparison in found.items()}
    publish(options.out / options.name, figures | {"notes": dict(table.notes)}, table)


def _table(
    found: dict[str, SystemComparison], systems: Sequence[str], minutes: float | None
) -> Table:
    """A row for each system of each data set, and the p of the first one against the best peer."""
    columns = [Column("n", best=None), *map(Column, MEASURES), Column("p", best=None)]
    rows = []
    for name, comparison in found.items():
        peer, p = against_best_peer(comparison)
        for system in systems:
            scores = comparison.scores[system]["all"]
            told = p_value(p) if system == systems[0] else "best peer" if system == peer else ""
            values: list[Any] = [len(scores), *(scores.means[measure] for measure in MEASURES)]
            rows.append(Row(system, [*values, told], name))
    notes = {"p": f"of {systems[0]} against the best peer by {MEASURES[0]}, paired t-test"}
    if minutes is not None:
        notes |= {"training": f"{minutes:g} minutes for each system that trains"}
    notes |= made()
    return Table(columns, rows, f"{systems[0]} beside its peers, test queries", notes)


def against_best_peer(comparison: SystemComparison) -> tuple[str, float]:
    """The peer with the best M@10, and the p of the first system against it."""
    measure = MEASURES[0]
    peers = [name for name in comparison.scores if not name.startswith("tsgen")]
    best = max(peers, key=lambda name: comparison.scores[name]["all"].means[measure])
    tests = {test.system: test for test in comparison.significance("all", measure)}
    return best, tests[best].p


if __name__ == "__main__":
    main()
