"""The demo: systems fitted on the documentation of Python's standard library, and searches."""

import platform
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsgen.config import read_settings
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.stdlib import missing_names
from tsgen.docids.stage import select_terms, terms_config
from tsgen.docids.term_set import TermSets
from tsgen.evaluate.compare import compare
from tsgen.evaluate.comparison import SystemComparison
from tsgen.evaluate.runs import read_trec
from tsgen.records import Document, Run, TermSet

SPLIT = "test"
SYSTEMS = ("bm25", "weigher")
SEARCHES = (
    "merge two sorted lists",
    "five most frequent words in a book",
    "get rid of a folder and everything inside it",
    "type a password without it appearing on screen",
    "ip address of a domain",
)
SHOWN = 5  # hits of a search


@dataclass(frozen=True, slots=True)
class Search:
    """A question, its first hits, the names that answer it, and T(D) of the first hit."""

    query: str
    hits: Sequence[Document]
    answers: Collection[str]
    terms: TermSet | None  # None if there are no hits


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo found, for the terminal and as JSON."""

    comparison: SystemComparison
    searcher: str  # the system that answers the searches: the best of the comparison
    weights: str  # of the term sets
    searches: Sequence[Search]

    def as_json(self) -> dict[str, Any]:
        """The comparison's figures, and each search with its hits by name."""
        searches = [
            {
                "query": each.query,
                "hits": [document.id for document in each.hits],
                "answers": sorted(each.answers),
                "terms": each.terms,
            }
            for each in self.searches
        ]
        return self.comparison.as_json() | {
            "python": platform.python_version(),
            "missing": missing_names(SPLIT),
            "searcher": self.searcher,
            "weights": self.weights,
            "searches": searches,
        }


def demo(data: DataSet, out: Path, preset: str, seed: int = 0) -> Demo:
    """Compare the systems on the questions, select term sets, and look at some searches.

    Run files and term sets go to `out`, what was fitted to the cache: a second run finds it there.
    """
    settings = read_settings(None, [], preset)
    comparison = compare(
        data,
        SYSTEMS,
        split=SPLIT,
        seed=seed,
        configs={name: settings[name] for name in SYSTEMS if name in settings},
        runs_dir=out / "runs",
        title=f"Python {platform.python_version()} standard library, questions written by hand",
    )
    chosen = settings | {"terms": settings.get("terms", {}) | {"weights": term_weights(data)}}
    sets = select_terms(data, terms_config(chosen), out / "terms", seed)
    best = max(SYSTEMS, key=lambda name: comparison.scores[name]["all"].means["M@10"])
    run = read_trec(out / "runs" / f"{best}.trec")
    return Demo(comparison, best, term_weights(data), _searches(data, run, sets))


def term_weights(data: DataSet) -> str:
    """Learned weights are worth it where there are queries to learn them from."""
    return "learned" if "train" in data.splits else "tfidf"


def _searches(data: DataSet, run: Run, sets: TermSets) -> list[Search]:
    documents = {document.id: document for document in data.documents()}
    numbers, judgments = sets.document_numbers(), data.judgments(SPLIT)
    ids = {query.text: query.id for query in data.queries().values() if query.id in judgments}
    found = []
    for text in SEARCHES:
        if text in ids:  # else this Python lacks all its answers
            hits = [documents[hit.document_id] for hit in run.get(ids[text], [])[:SHOWN]]
            terms = sets.term_set(numbers[hits[0].id]) if hits else None
            found.append(Search(text, hits, judgments[ids[text]], terms))
    return found
