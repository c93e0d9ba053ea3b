"""wikipages-110k: real term sets, real queries, a briefly trained backbone in both spellings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from decoding_kit.measure import SEARCHES, OurSearch, summary
from decoding_kit.training import trained_mini
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.docids.assign import select_terms
from tsgen.docids.spelling import Spelling
from tsgen.docids.term_set import TermSets
from tsgen.model.mini import Mini
from tsgen.settings import DecodeConfig, TermsConfig

K = 100
Answers = list[list[tuple[int, float]]]  # for each query its documents with their scores


@dataclass(frozen=True)
class Setting:
    """One spelling of the real sets, and some judged queries."""

    kind: str
    sets: TermSets
    backbone: Mini
    spelling: Spelling
    constraint: PostingsConstraint
    queries: list[str]
    relevant: list[set[int]]

    def take(self, queries: int) -> "Setting":
        """The same with the first so many queries."""
        return Setting(
            self.kind,
            self.sets,
            self.backbone,
            self.spelling,
            self.constraint,
            self.queries[:queries],
            self.relevant[:queries],
        )


def open_settings(folder: Path, cache: Path, steps: dict[str, int], queries: int) -> list[Setting]:
    """Select terms by tf-idf and train, unless both are in the cache."""
    data = load(folder)
    sets = select_terms(data, TermsConfig(weights="tfidf", n=12), cache / f"{data.name}-tfidf-12")
    texts, relevant = _judged(data, sets, queries)
    settings = []
    for kind, count in steps.items():
        backbone, spelling = trained_mini(kind, data, sets, cache, count)
        constraint = PostingsConstraint(sets, spelling)
        settings.append(Setting(kind, sets, backbone, spelling, constraint, texts, relevant))
    return settings


def latency(setting: Setting, beam: int, kind: str) -> dict[str, Any]:
    """Seconds a query, and where they go; the first query is asked once before, to warm up."""
    config = DecodeConfig(beam=beam, **SEARCHES[kind])
    searching = OurSearch(setting.backbone, setting.constraint, config)
    searching.search(setting.queries[0], K)
    found: Answers = [searching.search(query, K) for query in setting.queries]
    row = {"spelling": setting.kind, "beam": beam, "search": kind}
    row |= summary(searching.times[1:]) | quality(found, setting.relevant)
    row["documents_found"] = float(np.mean([len(hits) for hits in found]))
    print(
        f"  {setting.kind}, beam {beam}, {kind}: "
        f"{row['seconds']:.3f} s a query, {row['constraint_share']:.1%} in the constraint"
    )
    return row


def shrinking(setting: Setting, beam: int) -> list[list[int]]:
    """|Y| after each term of the best document's permutation, for each query."""
    searching = OurSearch(setting.backbone, setting.constraint, DecodeConfig(beam=beam))
    found = (searching.found(query, 1) for query in setting.queries)
    return [list(hits[0].valid_documents) for hits in found if hits]


def quality(answers: Answers, relevant: list[set[int]]) -> dict[str, float]:
    """M@10, R@10 and R@100 of the answers, to compare searches with one another only."""
    first = [
        next((r for r, (d, _) in enumerate(hits[:10], 1) if d in wanted), None)
        for hits, wanted in zip(answers, relevant, strict=True)
    ]
    recalls = {
        f"R@{k}": np.mean(
            [
                len(wanted & {d for d, _ in hits[:k]}) / len(wanted)
                for hits, wanted in zip(answers, relevant, strict=True)
            ]
        ).item()
        for k in (10, 100)
    }
    return {"M@10": float(np.mean([1 / r if r else 0.0 for r in first]))} | recalls


def _judged(data: DataSet, sets: TermSets, queries: int) -> tuple[list[str], list[set[int]]]:
    """Some test queries, the same in every run, with the numbers of their relevant documents."""
    number, texts, judgments = sets.document_numbers(), data.queries(), data.judgments("test")
    chosen = np.random.default_rng(0).permutation(sorted(judgments))[:queries].tolist()
    relevant = [{number[document] for document in judgments[query]} for query in chosen]
    return [texts[query].text for query in chosen], relevant
