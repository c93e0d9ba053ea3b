"""The demo: an engine of the documentation of Python's standard library, and searches.

The engine learns the documents alone. It is compared with BM25, with the cosine of its encoder and
with the fusion of both on questions written by hand, and searches for some of them.
"""

import platform
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsgen.config import read_settings
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.stdlib import missing_names
from tsgen.evaluate.compare import SystemComparison, compare
from tsgen.records import Hit
from tsgen.retrieve.build import index_config, index_documents
from tsgen.retrieve.engine import Engine

SPLIT = "test"
SYSTEMS = ("bm25", "dense", "bm25-dense", "tsgen-index", "tsgen-generator", "tsgen-words")
SEARCHES = (  # of the 321 test questions, five of those that it answers; the table has the rate
    "merge two sorted lists",
    "type a password without it appearing on screen",
    "is there enough room left on the disk",
    "break a long paragraph so that no line has more than 70 characters",
    "what changed between two versions of a text, like diff -u",
)
SHOWN = 3  # hits of a search
ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class Search:
    """A question, the engine's first hits with their reasons, and the ids of relevant documents."""

    query: str
    hits: Sequence[Hit]
    answers: Collection[str]


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo's comparison of systems, its engine and its searches."""

    comparison: SystemComparison
    engine: Engine
    searches: Sequence[Search]

    def as_json(self) -> dict[str, Any]:
        """The comparison's figures, and each search with its hits and the terms that led there."""
        searches = [
            {"query": each.query, "hits": each.hits, "answers": sorted(each.answers)}
            for each in self.searches
        ]
        return self.comparison.as_json() | {
            "python": platform.python_version(),
            "missing": missing_names(SPLIT),
            "searches": searches,
        }


def demo(data: DataSet, out: Path, preset: str, seed: int = 0) -> Demo:
    """Make an engine, compare it with other systems on the questions, and search with it.

    Args:
        data: The data set `stdlib:`.
        out: A folder for the engine and the run files; all else is kept in the cache.
        preset: The preset of the settings.
        seed: Of all that is trained.
    """
    settings = read_settings(None, [], preset)
    index_documents(data, index_config(settings), None, out / ENGINE)
    comparison = compare(
        data,
        SYSTEMS,
        split=SPLIT,
        seed=seed,
        configs=settings,
        runs_dir=out / "runs",
        title=f"Python {platform.python_version()} standard library, questions written by hand",
    )
    engine = Engine.load(out / ENGINE)
    return Demo(comparison, engine, _searches(data, engine))


def _searches(data: DataSet, engine: Engine) -> list[Search]:
    judgments = data.judgments(SPLIT)
    answers = {q.text: judgments[q.id] for q in data.queries().values() if q.id in judgments}
    texts = [text for text in SEARCHES if text in answers]  # else this Python lacks all answers
    hits = engine.search(texts, SHOWN)
    return [Search(text, own, answers[text]) for text, own in zip(texts, hits, strict=True)]
