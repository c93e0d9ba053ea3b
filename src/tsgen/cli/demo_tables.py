"""What the demo says on the terminal."""

import platform

from rich.console import Console
from rich.text import Text

from tsgen.corpus.sources import SourcedDataSet
from tsgen.corpus.stdlib import missing_names
from tsgen.evaluate.demo import SPLIT, SYSTEMS, Search
from tsgen.terms.learned import PSEUDO


def introduction(data: SourcedDataSet, preset: str) -> str:
    """What is about to be done, with which documents and questions."""
    lines = [
        f"Documents: {len(data.document_ids()):,} modules, classes, functions and methods of the "
        f"standard library, read from this Python {platform.python_version()}.",
        f"Questions: {len(data.judgments(SPLIT)):,}, written by hand, not in the documents' words.",
    ]
    if missing := missing_names(SPLIT):
        lines.append(
            f"Left out {len(missing)} answers unknown to this Python: {', '.join(missing)}"
        )
    lines.append(f"Fitting {' and '.join(SYSTEMS)} with the preset {preset}.")
    if "train" not in data.splits:
        lines.append(f"The weigher learns from {PSEUDO}. Term sets are of tf-idf weights.")
    return "\n".join(lines)


def print_search(search: Search, console: Console) -> None:
    """The first hits, one a line, right ones marked; and the term set of the best."""
    console.print(Text(search.query, "bold"))
    width = max((len(document.id) for document in search.hits), default=0)
    for document in search.hits:
        mark = "✓" if document.id in search.answers else " "
        line = Text(f"  {mark} {document.id:{width}}  ")
        line.append(" ".join(document.text.split()), "dim")
        console.print(line, no_wrap=True, overflow="ellipsis")
    if search.terms:
        console.print(
            Text(f"    T({search.terms.document_id}) = {{{', '.join(search.terms.terms)}}}")
        )
    console.print()
