"""A data report on the terminal."""

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tsgen.corpus.describe import DataReport

SNIPPET = 160  # characters of a sample


def print_report(report: DataReport, console: Console) -> None:
    """Counts, splits, lengths, samples and problems, in this order."""
    console.print(_sizes(report))
    if report.splits:
        console.print(_splits(report))
    if report.empty_splits:
        console.print(f"Splits without judgments: {', '.join(report.empty_splits)}")
    console.print(_samples(report))
    _print_problems(report, console)


def _sizes(report: DataReport) -> Table:
    table = Table(title=escape(report.name), box=box.SIMPLE_HEAD)
    for column in ("", "count", "words: mean", "median", "p95", "max"):
        table.add_column(column, justify="right" if column else "left")
    rows = (
        ("documents", report.documents, report.document_words),
        ("queries", report.queries, report.query_words),
    )
    for name, count, words in rows:
        figures = (f"{words.mean:,.1f}", f"{words.median:,.0f}", f"{words.p95:,.0f}")
        table.add_row(name, f"{count:,}", *figures, f"{words.max:,}")
    if report.titles < report.documents:
        table.caption = f"{report.titles:,} documents have a title"
    return table


def _splits(report: DataReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("split", "queries", "judgments", "relevant", "seen", "unseen"):
        table.add_column(column, justify="left" if column == "split" else "right")
    for name, split in report.splits.items():
        counts = (split.queries, split.judgments, split.relevant, split.seen, split.unseen)
        table.add_row(escape(name), *("–" if n is None else f"{n:,}" for n in counts))
    return table


def _samples(report: DataReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="samples")
    for column in ("id", "title", "text", "a query of it"):
        table.add_column(column, overflow="fold")
    for sample in report.samples:
        document = sample.document
        text = " ".join(document.text.split())
        snippet = text if len(text) <= SNIPPET else text[: SNIPPET - 1] + "…"
        cells = (document.id, document.title, snippet, sample.query or "–")
        table.add_row(*(escape(cell) for cell in cells))
    return table


def _print_problems(report: DataReport, console: Console) -> None:
    if not report.problems:
        console.print("No problems found.")
        return
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in report.problem_counts.items())
    console.print(f"[bold red]{len(report.problems):,} problems[/]: {escape(kinds)}")
    for problem in report.problems:
        console.print(escape(str(problem)), highlight=False, soft_wrap=True)
