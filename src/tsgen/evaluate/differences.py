"""How far each system is from the reference, and with which p: what † and ‡ stand for."""

from tsgen.evaluate.comparison import SystemComparison
from tsgen.evaluate.tables import Column, Row, Table, p_value

SHOWN = "M@10"


def differences_table(comparison: SystemComparison) -> Table:
    """Systems as rows; for each group of queries the difference in M@10 and its corrected p."""
    groups = list(comparison.scores[comparison.reference])
    rows: dict[str, list[float | str]] = {}
    for group in groups:
        for test in comparison.significance(group, SHOWN):
            told = test.mean_difference, p_value(test.corrected_p)
            rows.setdefault(test.system, []).extend(told)
    columns = [Column(f"{group}{what}", None) for group in groups for what in ("", ", p")]
    title = f"{comparison.title}: {SHOWN} less that of {comparison.reference}"
    notes = {"p": "paired t-test, Holm-corrected for the systems of the table"}
    return Table(columns, [Row(name, values) for name, values in rows.items()], title, notes)
