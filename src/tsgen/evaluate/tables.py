"""Tables of figures, and how they are printed: on a terminal, in Markdown, in LaTeX, as JSON.

In text a figure has three decimals and no leading zero (.727); in JSON it is the full float. The
best of a column, within each group of rows, is bold; values that print the same are equally good.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from rich.table import Table as RichTable
from rich.text import Text

Value = float | int | str | None
MISSING = "–"
LEAST_P = 0.001  # smaller p are printed as "< .001"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of figures: whether high or low ones are best, and how many decimals are printed."""

    name: str
    best: Literal["high", "low"] | None = "high"
    decimals: int = 3


@dataclass(frozen=True, slots=True)
class Row:
    """A label and one value per column; `marks`: column name → significance mark, e.g. †."""

    label: str
    values: Sequence[Value]
    group: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures; consecutive rows of one group (all, seen, unseen) form a section.

    `notes` say how the figures were made (protocol, date, seed) and what a mark means; `label` and
    `group_label` head the columns of the rows' labels and groups.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    label: str = "system"
    group_label: str = "queries"

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.values) != len(self.columns):
                found = f"{len(row.values)} values for {len(self.columns)} columns"
                raise ValueError(f"row {row.label!r} has {found}")


def one_row_table(
    row: str, values: Mapping[str, float], *, caption: str, notes: Mapping[str, str], label: str
) -> Table:
    """A table with a column for each value: counts as they are, other numbers with one decimal."""
    columns = [Column(name, None, int(isinstance(v, float))) for name, v in values.items()]
    return Table(columns, [Row(row, list(values.values()))], caption, notes, label)


def format_value(value: Value, decimals: int = 3) -> str:
    """.727 for 0.7271, 1.000 for 1.0, 7,613 for the int 7613, – for None; strings as they are."""
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:,.{decimals}f}")


def p_value(p: float) -> float | str:
    """p as a table's value: the text `< .001` where p is smaller, else p itself."""
    return f"< {format_value(LEAST_P)}" if p < LEAST_P else p


def to_rich(table: Table) -> RichTable:
    """Format a table for the terminal: `Console().print(to_rich(table))`."""
    title, notes = Text(table.caption, "bold"), Text(_notes(table, "\n"))
    shown = RichTable(title=title if title else None, caption=notes if notes else None)
    shown.title_justify = shown.caption_justify = "left"
    leading = len(_header(table)) - len(table.columns)
    for i, name in enumerate(_header(table)):
        shown.add_column(Text(name), justify="left" if i < leading else "right", no_wrap=True)
    sections = _sections(table)
    for section in sections:
        for cells in section:
            shown.add_row(*(_rich_cell(cell) for cell in cells))
        if _ruled(sections):
            shown.add_section()
    return shown


def to_markdown(table: Table) -> str:
    """Format a table for a page: a pipe table, its caption above it and its notes below."""
    header = _header(table)
    leading = len(header) - len(table.columns)
    rule = [":---"] * leading + ["---:"] * len(table.columns)
    body = [[_markdown_cell(cell) for cell in cells] for part in _sections(table) for cells in part]
    lines = [[_markdown(name) for name in header], rule, *body]
    pipes = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    parts = [_markdown(table.caption), pipes, _markdown(_notes(table))]
    return "\n\n".join(part for part in parts if part) + "\n"


def to_latex(table: Table) -> str:
    """Format a table for a paper: LaTeX, with the rules of the package booktabs."""
    header = _header(table)
    alignment = "l" * (len(header) - len(table.columns)) + "r" * len(table.columns)
    sections = _sections(table)
    bodies = [
        "".join(_latex_line(_latex_cell(cell) for cell in cells) for cells in section)
        for section in sections
    ]
    return (
        "\\begin{table}\n\\centering\n"
        + (f"\\caption{{{_latex(table.caption)}}}\n" if table.caption else "")
        + f"\\begin{{tabular}}{{{alignment}}}\n\\toprule\n"
        + _latex_line(_latex(name) for name in header)
        + "\\midrule\n"
        + ("\\midrule\n" if _ruled(sections) else "").join(bodies)
        + "\\bottomrule\n\\end{tabular}\n"
        + (f"\\par\\smallskip\\footnotesize {_latex(_notes(table))}\n" if table.notes else "")
        + "\\end{table}\n"
    )


def to_json(table: Table) -> dict[str, Any]:
    """Plain values of a table for a JSON file: full floats by column name."""
    names = [column.name for column in table.columns]
    rows = [
        {
            table.label: row.label,
            table.group_label: row.group,
            "values": dict(zip(names, row.values, strict=True)),
            "marks": dict(row.marks),
        }
        for row in table.rows
    ]
    return {"caption": table.caption, "columns": names, "rows": rows, "notes": dict(table.notes)}


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    bold: bool = False
    mark: str = ""


def _header(table: Table) -> list[str]:
    group = [table.group_label] if _grouped(table) else []
    return [table.label, *group, *(column.name for column in table.columns)]


def _grouped(table: Table) -> bool:
    return any(row.group for row in table.rows)


def _notes(table: Table, separator: str = "; ") -> str:
    return separator.join(f"{name}: {text}" for name, text in table.notes.items())


def _sections(table: Table) -> list[list[list[_Cell]]]:
    """The cells of each row of each section, those of label and group included."""
    grouped = groupby(table.rows, key=lambda row: row.group)
    return [_section(table, list(rows)) for _, rows in grouped]


def _ruled(sections: list[list[list[_Cell]]]) -> bool:
    """Whether there are rules between the sections: not where each is a single row."""
    return any(len(section) > 1 for section in sections)


def _section(table: Table, rows: Sequence[Row]) -> list[list[_Cell]]:
    leading = [[_Cell(row.label), *([_Cell(row.group)] if _grouped(table) else [])] for row in rows]
    columns = [_column_cells(table, rows, i) for i in range(len(table.columns))]
    return [first + [cells[i] for cells in columns] for i, first in enumerate(leading)]


def _column_cells(table: Table, rows: Sequence[Row], place: int) -> list[_Cell]:
    column = table.columns[place]
    texts = [format_value(row.values[place], column.decimals) for row in rows]
    best = _best(column, [row.values[place] for row in rows])
    return [
        _Cell(text, text == best, row.marks.get(column.name, ""))
        for text, row in zip(texts, rows, strict=True)
    ]


def _best(column: Column, values: Sequence[Value]) -> str | None:
    """The printed form of the best value; None where there are not two to compare."""
    figures = [value for value in values if isinstance(value, int | float)]
    if column.best is None or len(figures) < 2:
        return None
    best = max(figures) if column.best == "high" else min(figures)
    return format_value(best, column.decimals)


def _rich_cell(cell: _Cell) -> Text:
    text = Text(cell.text, style="bold" if cell.bold else "")
    return text.append(cell.mark, style="not bold")


def _markdown_cell(cell: _Cell) -> str:
    text = _markdown(cell.text)
    return (f"**{text}**" if cell.bold else text) + _markdown(cell.mark)


def _latex_cell(cell: _Cell) -> str:
    text = f"\\textbf{{{_latex(cell.text)}}}" if cell.bold else _latex(cell.text)
    return f"{text}\\textsuperscript{{{_latex(cell.mark)}}}" if cell.mark else text


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + " \\\\\n"


def _markdown(text: str) -> str:
    """Escape text so that Markdown shows it as it is, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(text.split()))


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "−": "$-$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\to$",
    "[": "{[}",  # a line that starts with [ or * would become an argument of the \\ before it
    "*": "{*}",
} | {character: f"\\{character}" for character in "&%$#_{}"}


def _latex(text: str) -> str:
    """Escape text so that LaTeX prints it as it is."""
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))
