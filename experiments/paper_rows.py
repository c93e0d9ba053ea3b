"""Whether the experiments have every row of the paper's tables, with the paper's figures.

    python experiments/paper_rows.py PAGE

PAGE is a Markdown page about the paper with a paragraph for each table, begun by `**Table N, …**`:
Tables 1 and 2 as pipe tables, with a line of figures for each method, Tables 3 to 6 as sentences,
their rows separated by semicolons or commas. Every row of figures that is found there must be a
row of the experiment `tableN` in its form `paper`, with the same figures as `expected`. Prints the
count for each table, and what is missing; ends with 1 if anything is.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tsgen.evaluate.experiment import read_experiment

Figures = tuple[float, ...]
FORM = "paper"
SHARE = re.compile(r"(?<![\w.])\.\d+")  # a measure between 0 and 1, as the page writes it
CELL = re.compile(r"(?:\.\d+|\d+(?:,\d{3})*|–)(?:/(?:\.\d+|–))+|(?<![\w.])\.\d+")


def main() -> int:
    """Count, print, and say whether anything is missing."""
    page = Path(sys.argv[1]).read_text("utf-8")
    missing = 0
    for number in range(1, 8):
        rows = list(rows_of(page, number))
        known = expected_rows(number)
        absent = [row for row in rows if not any(matches(row[1], own) for own in known.values())]
        named = len(read_experiment(f"table{number}").chosen(FORM))
        told = f"{len(rows) - len(absent)} of {len(rows)} rows of the page, {named} rows in all"
        print(f"table{number}: {told}")  # noqa: T201
        for name, figures in absent:
            print(f"  missing: {name} {figures}")  # noqa: T201
        missing += len(absent) + (not rows)
    return 1 if missing else 0


def expected_rows(number: int) -> dict[str, Figures]:
    """Row → all figures that the experiment of a table expects of it, on all data sets."""
    found = read_experiment(f"table{number}").specs(FORM)
    return {
        name: tuple(value for figures in row.expected.values() for value in figures.values())
        for name, row in found.items()
    }


def matches(figures: Figures, own: Figures) -> bool:
    """Whether all figures of a row of the page are among a row's own."""
    left = list(own)
    for figure in figures:
        if figure not in left:
            return False
        left.remove(figure)
    return True


def rows_of(page: str, number: int) -> Iterator[tuple[str, Figures]]:
    """The rows of one table of the page, each with a name for messages and its figures."""
    found = re.search(rf"^\*\*Table {number}, .*?(?=^\*\*Table|^\*\*Named|\Z)", page, re.M | re.S)
    if found is None:
        return
    text = found[0]
    if number == 7:
        yield "case study", ()
    elif "\n|" in text:
        lines = [line for line in text.splitlines() if line.startswith("|")]
        for line in lines[2:]:
            name, *cells = line.strip("|").split("|")
            yield name.strip(" *"), numbers(" ".join(cells))
    else:
        yield from _sentences(text.partition(":**")[2] or text.partition("):")[2] or text, number)


def _sentences(text: str, number: int) -> Iterator[tuple[str, Figures]]:
    """The rows of a table that is told in a sentence."""
    body = " ".join(text.split("\n\n")[0].split())
    if number == 3:
        for shard in re.findall(r"(?:seen|unseen) [\d,]+ documents[^;.]*", body):
            yield shard, numbers(shard)
        return
    for part in re.split(r";", body):
        if number != 6:
            yield part.strip(), numbers(part) if number == 5 else shares(part)
            continue
        for cell in CELL.finditer(part):
            before = part[: cell.start()].rsplit(",", 1)[-1]
            yield f"{before.strip()} {cell[0]}", numbers(cell[0])


def shares(text: str) -> Figures:
    """The figures of measures in a text, which are written without a leading zero."""
    return tuple(map(float, SHARE.findall(text)))


def numbers(text: str) -> Figures:
    """All figures in a text: decimals and whole numbers."""
    found = re.findall(r"(?<![\w.])\d*\.\d+|\d{1,3}(?:,\d{3})+|(?<![\w.,])\d+(?![\w.,%])", text)
    return tuple(float(one.replace(",", "")) for one in found)


if __name__ == "__main__":
    raise SystemExit(main())
