"""The table of how many synthetic queries were written, left out and kept."""

from collections.abc import Mapping

from tsgen.evaluate.tables import Column, Row, Table
from tsgen.write.stage import QueriesConfig


def counts_table(name: str, config: QueriesConfig, counts: Mapping[str, float]) -> Table:
    """One row: what became of the queries that were written."""
    names = [key.replace("_", " ") for key in counts]
    decimals = [1 if isinstance(value, float) else 0 for value in counts.values()]
    columns = [Column(*each) for each in zip(names, [None] * len(names), decimals, strict=True)]
    trip = f"document among {config.finder}'s first {config.keep_top}" if config.keep_top else "off"
    return Table(
        columns,
        [Row(config.writer, list(counts.values()))],
        caption=f"Synthetic queries for {name}, {config.n} a document",
        notes={"round trip": trip},
        label="writer",
    )
