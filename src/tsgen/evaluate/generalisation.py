"""Table 2: what a system finds of documents that training queries asked for, and of the others."""

from collections.abc import Container

from tsgen.errors import DataError
from tsgen.evaluate.comparison import SystemComparison
from tsgen.evaluate.tables import Column, Row, Table

GROUPS = ("seen", "unseen", "all")
SHOWN = ("M@10", "R@10")


def check_groups(groups: Container[str], title: str) -> None:
    """Refuse queries that are all seen or all unseen."""
    if not all(group in groups for group in GROUPS[:2]):
        raise DataError(
            f"{title}: all queries are seen or all are unseen; expected both. "
            "`tsgen split DATA --out FOLDER` keeps the training queries of half of the documents."
        )


def seen_unseen_table(comparison: SystemComparison) -> Table:
    """Systems as rows; M@10 and R@10 of the seen, of the unseen and of all queries."""
    groups = comparison.scores[comparison.reference]
    check_groups(groups, comparison.title)
    columns = [Column(f"{group} {measure}") for group in GROUPS for measure in SHOWN]
    rows = [
        Row(name, [scores[group].means[measure] for group in GROUPS for measure in SHOWN])
        for name, scores in comparison.scores.items()
    ]
    counts = ", ".join(f"{group} {len(groups[group]):,}" for group in GROUPS)
    return Table(columns, rows, f"{comparison.title}: seen and unseen", {"queries": counts})
