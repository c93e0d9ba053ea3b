"""All tables of a comparison, and their figures."""

from typing import Any

from tsgen.evaluate.comparison import SystemComparison
from tsgen.evaluate.differences import differences_table
from tsgen.evaluate.efficiency import efficiency_table
from tsgen.evaluate.generalisation import seen_unseen_table
from tsgen.evaluate.tables import Table, to_json


def compared(
    comparison: SystemComparison, seen_unseen: bool = False
) -> tuple[list[Table], dict[str, Any]]:
    """Table 1 with its tests, and as far as wanted or measured Tables 2 and 5; then everything as
    JSON, which has the tests of all measures."""
    tables, figures = [comparison.table()], comparison.as_json()
    if len(comparison.scores) > 1:
        tables.append(differences_table(comparison))
    if seen_unseen:
        tables.append(seen_unseen_table(comparison))
        figures["seen_unseen"] = to_json(tables[-1])
    if comparison.costs:
        tables.append(efficiency_table(comparison.costs, f"{comparison.title}: efficiency"))
        figures["efficiency"] = to_json(tables[-1])
    return tables, figures
