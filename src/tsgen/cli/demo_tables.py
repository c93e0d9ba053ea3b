"""What the demo says on the terminal."""

import platform

from rich.console import Group
from rich.text import Text

from tsgen.cli.hits import highlighted, permutation
from tsgen.corpus.sources import SourcedDataSet
from tsgen.corpus.stdlib import missing_names
from tsgen.evaluate.demo import SPLIT, SYSTEMS, Search
from tsgen.queries.training_set import PSEUDO
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.snippet import mark, query_keys
from tsgen.terms.words import Splitter

SHOWN_CHARACTERS = 100


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
    training = "train" in data.splits
    learned = f"{len(data.judgments('train')):,} generated ones" if training else PSEUDO
    lines.append(f"Fitting {', '.join(SYSTEMS)} with the preset {preset} on {learned}.")
    return "\n".join(lines)


def search_view(engine: Engine, search: Search) -> Group:
    """The first hits of a question: name, first words, and the terms that led there."""
    splitter = Splitter(engine.config.terms.words)
    keys = query_keys(search.query, splitter)
    lines = [Text(search.query, "bold")]
    for hit in search.hits:
        mark_right = "✓" if hit.document_id in search.answers else " "
        text = " ".join(engine.document(hit.document_id).text.split())
        name = Text(f"  {mark_right} {hit.document_id}  ").append(text, "dim")
        name.truncate(SHOWN_CHARACTERS, overflow="ellipsis")
        lines.append(name)
        if hit.reason is not None:
            marked = [highlighted(mark(term, keys, splitter)) for term in hit.reason.terms]
            lines.append(Text("      ") + permutation(marked))
    return Group(*lines, Text())
