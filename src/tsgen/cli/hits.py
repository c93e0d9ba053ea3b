"""Hits of an engine for a reader: title, snippet, score, and the permutation that led there."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tsgen.records import Hit
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.snippet import Marked, mark, query_keys, snippet
from tsgen.terms.words import Splitter

HIGHLIGHT = "bold yellow"
SHOWN = 12  # terms of a permutation; --explain and --json have all


def hits_view(engine: Engine, query: str, hits: Sequence[Hit], explain: bool) -> Group:
    """All hits of a query; `explain` adds log p of each term and |Y| after it."""
    splitter = Splitter(engine.config.terms.words)
    read_as = engine.read(query)
    keys = query_keys(read_as, splitter)
    lines: list[Any] = [Text(query, style="bold")]
    if read_as != query:
        lines.append(Text(f"    read as: {read_as}", style="dim"))
    for rank, hit in enumerate(hits, 1):
        document = engine.document(hit.document_id)
        name = mark(document.title, keys, splitter) if document.title else Marked(document.id, ())
        score = f"  {hit.score:.2f}" + f"  {document.id}" * bool(document.title)
        score += "" if hit.confidence is None else f"  confidence {hit.confidence:.2f}"
        lines.append(Text(f"{rank:>2}. ") + highlighted(name) + Text(score, style="dim"))
        lines.append(Text("    ") + highlighted(snippet(document.text, keys, splitter)))
        if hit.reason is not None:
            marked = [highlighted(mark(term, keys, splitter)) for term in hit.reason.terms]
            lines.append(Text("    ") + permutation(marked))
            if explain:
                lines.append(_steps(hit, marked))
    return Group(*lines, *(() if hits else (Text("    no hits"),)))


def permutation(marked: Sequence[Text]) -> Text:
    """The first terms in the order they were generated."""
    more = [Text("…")] if len(marked) > SHOWN else []
    return Text(" › ").join([*marked[:SHOWN], *more])


def highlighted(marked: Marked) -> Text:
    """With the query's words in colour."""
    text = Text(marked.text)
    for start, end in marked.spans:
        text.stylize(HIGHLIGHT, start, end)
    return text


def _steps(hit: Hit, marked: Sequence[Text]) -> Table:
    table = Table("step", "term", "log p", "documents left", box=None, padding=(0, 1, 0, 4))
    assert hit.reason is not None
    path = zip(marked, hit.reason.log_probs, hit.reason.valid_documents, strict=True)
    for step, (term, log_prob, valid) in enumerate(path, 1):
        table.add_row(str(step), term, f"{log_prob:.2f}", f"{valid:,}")
    return table
