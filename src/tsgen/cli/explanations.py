"""Favourite permutations for a reader, as in the paper's case study."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tsgen.cli.hits import highlighted
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.explaining import Explanation
from tsgen.retrieve.snippet import mark, query_keys
from tsgen.terms.words import Splitter


def explanation_view(engine: Engine, document_id: str, found: Sequence[Explanation]) -> Group:
    """The document, and below it every query with its order."""
    document = engine.document(document_id)
    splitter = Splitter(engine.config.terms.words)
    heading = Text(document.title or document.id, style="bold")
    heading.append(f"  {document.id}" * bool(document.title), style="not bold dim")
    lines: list[RenderableType] = [heading]
    for one in found:
        lines += ["", *_lines(one, splitter)]
    return Group(*lines)


def _lines(one: Explanation, splitter: Splitter) -> list[Text]:
    keys = query_keys(one.query, splitter)
    terms = [
        highlighted(mark(term, keys, splitter)) + Text(f" {log_prob:.2f}", style="dim")
        for term, log_prob in zip(one.terms, one.log_probs, strict=True)
    ]
    likelihoods = f"log p = {one.log_prob:.2f}, by weight {one.by_weight:.2f}"
    return [
        Text(one.query, style="bold"),
        Text("  ") + Text(" › ").join(terms),
        Text(f"  {likelihoods}", style="dim"),
    ]
