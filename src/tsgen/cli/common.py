"""What the verbs share: option types, the two consoles, progress, JSON output."""

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from tsgen import parallel as processes
from tsgen.errors import DataError
from tsgen.progress import Reporter, reporting

STDOUT = 1  # its descriptor
WIDE = 200  # columns for tables that go into a file or a pipe, where nothing wraps


class QuotingConsole(Console):
    """A console that shows control characters of texts (`\\x1b`) instead of obeying them: a title
    could else move the cursor, change colours, or set the name of the window."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as any console, then quote what is text."""
        for segment in super().render(renderable, options):
            quoted = segment.text if segment.control else quote_controls(segment.text)
            yield segment if quoted is segment.text else segment._replace(text=quoted)


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def quote_controls(text: str) -> str:
    """A text with its control characters, but for tabs and line ends, as escapes."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def speak_safely() -> None:
    """Let streams that cannot write a character (in an ASCII locale, say) escape it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def typed_text(argument: str, what: str = "query") -> str:
    """A query or a filter as it was typed: in UTF-8, whatever the locale says."""
    from tsgen.corpus.input_limits import check_text

    with suppress(UnicodeEncodeError):  # it came from elsewhere than the command line
        try:
            argument = os.fsencode(argument).decode()
        except UnicodeDecodeError as error:
            raise _not_utf8(what, error) from None
    check_text(argument, what)
    return argument


def stdin_lines(what: str) -> list[str]:
    """The lines of stdin, in UTF-8, without those that are blank."""
    lines = []
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            lines.append(line.decode().strip())
        except UnicodeDecodeError as error:
            raise _not_utf8(f"{what} in line {number} of stdin", error) from None
    return [line for line in lines if line]


def _not_utf8(what: str, error: UnicodeDecodeError) -> DataError:
    byte = error.object[error.start]
    return DataError(
        f"found the byte 0x{byte:02x} in the {what}, which is not valid UTF-8 there; expected "
        "UTF-8 (convert with: iconv -f latin1 -t utf-8)."
    )


console = QuotingConsole(stderr=True)
"""For progress and remarks."""

output = QuotingConsole(width=None if sys.stdout.isatty() else WIDE)
"""For results."""

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A data folder or file, irds:NAME, hf:NAME, or stdlib:.",
        show_default=False,
    ),
]
QrelsOption = Annotated[
    str, typer.Option("--qrels", metavar="FOLDER", help="Judgments: a folder in DATA or a path.")
]
SplitOption = Annotated[str, typer.Option("--split", help="The judgments to evaluate on.")]
JsonOption = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write the figures as JSON; - for stdout."),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="Only N queries, evenly spread.")
]
CacheOption = Annotated[
    Path | None,
    typer.Option("--cache", envvar="TSGEN_CACHE", metavar="DIR", help="Default: ~/.cache/tsgen."),
]
PresetOption = Annotated[
    str, typer.Option("--preset", help="Settings to start from, e.g. tiny, cpu, gpu-base, paper.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="TABLE.KEY=VALUE", help="A setting over the preset's, e.g. train.epochs=3."
    ),
]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Skip bad records and report how many there were.")
]


def _table_suffix(path: Path | None) -> Path | None:
    if path is not None and path.suffix not in (".md", ".tex"):
        raise typer.BadParameter(f"{path}: expected a name that ends in .md or .tex")
    return path


EngineArgument = Annotated[
    Path, typer.Argument(metavar="ENGINE", help="A folder that tsgen fit or index wrote.")
]
SeedOption = Annotated[int, typer.Option(help="For systems that train.")]
TableOption = Annotated[
    Path | None,
    typer.Option(
        "--table",
        metavar="FILE",
        callback=_table_suffix,
        help="Write the table as Markdown (.md) or LaTeX (.tex).",
    ),
]


def names_in(text: str) -> list[str]:
    """The names in an option that takes several, separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def numbers_in(text: str) -> list[int]:
    """The whole numbers in an option that takes several, separated by commas."""
    try:
        found = [int(name) for name in names_in(text)]
    except ValueError:
        found = []
    if not found or len(set(found)) < len(found):
        raise typer.BadParameter(f"{text!r}: expected different whole numbers, e.g. 0,1,2")
    return found


def report(tables: Any, figures: Any, json_target: str | None, table_target: Path | None) -> None:
    """Print a `Table` or several, and write them and the full figures where the user wants them."""
    from tsgen.artifact import write_beside
    from tsgen.evaluate.tables import to_latex, to_markdown, to_rich

    listed = tables if isinstance(tables, list) else [tables]
    for table in listed:
        results_console(json_target).print(to_rich(table))
    write_json(json_target, figures)
    if table_target is not None:
        written = to_markdown if table_target.suffix == ".md" else to_latex
        text = "\n".join(written(table) for table in listed)
        with write_beside(table_target) as beside:
            beside.write_text(text, encoding="utf-8")


def results_console(json_target: str | None) -> Console:
    """The console for tables: stdout, unless that is reserved for JSON."""
    if json_target is None:
        return output
    from tsgen.artifact import descriptor_of

    to_stdout = json_target == "-" or descriptor_of(Path(json_target)) == STDOUT
    return console if to_stdout else output


def write_json(target: str | None, value: Any) -> None:
    """Write `value` to a file, complete or not at all; to stdout for `-`; nowhere for None. A
    device or a named pipe is written to as it is."""
    if target is None:
        return
    import orjson

    from tsgen.artifact import write_beside

    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    data = orjson.dumps(value, default=_plain, option=options | orjson.OPT_APPEND_NEWLINE)
    if target == "-":
        text = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", data.decode())
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())  # JSON is UTF-8, whatever the locale says
        sys.stdout.flush()  # a reader that has gone is noticed here, not at exit
        return
    with write_beside(Path(target)) as beside:
        beside.write_bytes(data)


def _plain(value: Any) -> Any:
    """A value that orjson does not know as one that it does: mappings and sets of other types,
    paths."""
    if hasattr(value, "items"):
        return dict(value.items())
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


@contextmanager
def progress() -> Iterator[Reporter]:
    """Show what the stages report: bars on a terminal, elsewhere a line every ten seconds. Of
    several processes only the first one speaks."""
    with _bars() as bars:
        reporter = _on_bars(bars) if console.is_terminal else _as_lines()
        with reporting(_nowhere if processes.rank() else reporter):
            yield reporter


def _nowhere(what: str, done: int, total: int | None, note: str) -> None:
    """Progress reporter that shows nothing."""


def _bars() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
    )
    shown = console.is_terminal and not processes.rank()
    return Progress(*columns, console=console, transient=True, disable=not shown)


def _on_bars(bars: Progress) -> Reporter:
    tasks: dict[str, Any] = {}
    pace = Pace()

    def show(what: str, done: int, total: int | None, note: str) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total, note="")
        parts = [pace.left(what, done, total, time.monotonic()), note]
        bars.update(tasks[what], completed=done, total=total, note=", ".join(filter(None, parts)))

    return show


def _as_lines(interval: float = 10.0) -> Reporter:
    last = time.monotonic()
    pace = Pace()

    def show(what: str, done: int, total: int | None, note: str) -> None:
        nonlocal last
        now = time.monotonic()
        left = pace.left(what, done, total, now)
        if now - last >= interval:
            last = now
            of_total = f" of {total:,}" if total else ""
            line = ", ".join(filter(None, [f"{what}: {done:,}{of_total}", left, note]))
            console.print(line, highlight=False, soft_wrap=True)

    return show


class Pace:
    """An estimate of how long work will still take, at the pace since it began."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[int, float]] = {}
        self._last: dict[str, int] = {}

    def left(self, what: str, done: int, total: int | None, now: float) -> str:
        """`0:02:05 left` (hours, minutes, seconds), or nothing while that is unknown."""
        if what not in self._first or done < self._last[what]:
            self._first[what] = done, now
        self._last[what] = done
        start, since = self._first[what]
        if not total or done <= start or done >= total:
            return ""
        seconds = round((total - done) * (now - since) / (done - start))
        return f"{timedelta(seconds=seconds)} left"
