"""Systems that generate n-grams of documents and rank documents by them: SEAL, MINDER.

A document is seen in several *views* (title, text, synthetic queries). The model reads the view's
name before the query and writes n-grams inside it; those of all views are scored together.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
import torch
from pydantic import Field

from tsgen.baselines._intersective import Ngrams, Ranked, ranked, weighed
from tsgen.baselines._ngram_targets import View
from tsgen.constrain.constraint import Int, Ragged, spans
from tsgen.constrain.substrings import SubstringConstraint
from tsgen.constrain.suffixes import Suffixes
from tsgen.decode.collect import Collector, Kept
from tsgen.decode.config import DecodeConfig
from tsgen.decode.search import search
from tsgen.decode.select import Float
from tsgen.records import Hit, Reason
from tsgen.retrieve.sequences import SequenceConfig
from tsgen.terms.strings import Strings
from tsgen.train.generator import TrainableBackbone, load_backbone
from tsgen.train.iterate import MODEL

IDS, EVERYTHING, SETTINGS, VIEW = "documents", "everything", "settings.json", "view-"
BODY = "body"  # the view whose n-grams may come from anywhere


class NgramConfig(SequenceConfig):
    """The settings of a system of n-grams."""

    longest: int = Field(10, ge=1)  # tokens of an n-gram
    alpha: float = Field(2.0, ge=0)  # how much more heavy n-grams count than light ones
    beta: float = Field(0.8, ge=0, le=1)  # how much less a token counts that was said before
    most: int = Field(1500, ge=1)  # an n-gram in more places says too little to look them up
    temperature: float = Field(0.1, gt=0)  # of drawing n-grams that overlap with the query


@dataclass(frozen=True)
class NgramRetriever:
    """A backbone, all text of all documents, and the views that have an index of their own."""

    backbone: TrainableBackbone
    ids: Strings
    everything: Suffixes
    views: dict[str, Suffixes]  # all but the body
    config: NgramConfig = field(default_factory=NgramConfig)

    @classmethod
    def of(
        cls, backbone: TrainableBackbone, ids: Strings, views: Sequence[View], config: NgramConfig
    ) -> Self:
        """Index the views."""
        own = {
            view.name: Suffixes.build(view.pieces, view.owner)
            for view in views
            if view.name != BODY
        }
        return cls(_ready(backbone), ids, _together(views), own, config)

    @property
    def constraint(self) -> SubstringConstraint:
        """All n-grams."""
        return self._constraints[BODY]

    @property
    def encoder(self) -> Any:
        """The part that reads queries; it holds the input embeddings."""
        return self.backbone.encoder

    @cached_property
    def _constraints(self) -> dict[str, SubstringConstraint]:
        indexes = {**self.views, BODY: self.everything}
        return {
            name: SubstringConstraint(each, self.config.longest) for name, each in indexes.items()
        }

    def search(self, queries: Sequence[str], k: int, beam: int | None = None) -> list[list[Hit]]:
        """At most `k` hits for each query, best first, each with the n-grams of K(d) as reason:
        their log p(n | q), and how many documents have them."""
        config = self.config.decode.with_beam(beam)
        return [self._hits(*found) for found in self.rank(queries, k, config)]

    def rank(
        self, queries: Sequence[str], k: int, config: DecodeConfig
    ) -> Iterator[tuple[Ngrams, Ranked]]:
        """For each query the n-grams that the beams of all views have met, and the documents."""
        met = [self._met(name, queries, config) for name in self._constraints]
        for views in zip(*met, strict=True):
            low, high, size, log_prob = (
                np.concatenate(parts) for parts in zip(*views, strict=True)
            )
            ngrams = weighed(self.everything, low, high, size, log_prob, self.config.most)
            yield ngrams, ranked(self.everything, ngrams, k, self.config.alpha, self.config.beta)

    def _met(
        self, view: str, queries: Sequence[str], config: DecodeConfig
    ) -> list[tuple[Int, Int, Int, Float]]:
        """For each query slices of all text, sizes and log p of a view's n-grams."""
        constraint, collector = self._constraints[view], Collector()
        asked = [prompt(view, query) for query in queries]
        search(self.backbone, constraint, asked, 1, config, observer=collector)
        return [self._everywhere(constraint.suffixes, kept) for kept in collector.kept()]

    def _everywhere(self, index: Suffixes, kept: Kept) -> tuple[Int, Int, Int, Float]:
        if index is self.everything:
            return kept.low, kept.high, kept.depth, kept.score
        low, high = self.everything.find(_spelled(index, kept.low, kept.depth))
        return low, high, kept.depth, kept.score

    def _hits(self, ngrams: Ngrams, found: Ranked) -> list[Hit]:
        told = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found.reasons]))
        rows = _spelled(self.everything, ngrams.low[told], ngrams.size[told])
        texts = [self.backbone.tokenizer.decode(rows.row(i).tolist()) for i in range(len(told))]
        holders = [len(self.everything.documents(rows.row(i).tolist())) for i in range(len(told))]
        known = dict(zip(told.tolist(), zip(texts, holders, strict=True), strict=True))

        def reason(numbers: Int) -> Reason:
            shown = [known[number] for number in numbers.tolist()]
            log_probs = tuple(ngrams.log_prob[numbers].tolist())
            return Reason(tuple(t for t, _ in shown), log_probs, tuple(h for _, h in shown))

        rows_found = zip(
            found.documents.tolist(), found.scores.tolist(), found.reasons, strict=True
        )
        return [Hit(self.ids[d], score, reason(numbers)) for d, score, numbers in rows_found]

    def save(self, folder: Path) -> None:
        """Write the model, the indexes and the settings."""
        self.backbone.save(folder / MODEL)
        self.ids.save(folder, IDS)
        self.everything.save(folder / EVERYTHING)
        for name, index in self.views.items():
            index.save(folder / f"{VIEW}{name}")
        values = self.config.model_dump(mode="json")
        (folder / SETTINGS).write_bytes(orjson.dumps(values, option=orjson.OPT_INDENT_2))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` wrote."""
        source = folder / SETTINGS
        config = NgramConfig.from_mapping(orjson.loads(source.read_bytes()), source=f"{source}")
        views = {
            path.name.removeprefix(VIEW): Suffixes.load(path)
            for path in sorted(folder.glob(f"{VIEW}*"))
        }
        backbone = load_backbone(folder / MODEL, config.model.query_tokens)
        ids, everything = Strings.load(folder, IDS), Suffixes.load(folder / EVERYTHING)
        return cls(_ready(backbone), ids, everything, views, config)


def _ready(backbone: TrainableBackbone) -> TrainableBackbone:
    """On the GPU if there is one."""
    backbone.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    return backbone


def prompt(view: str, query: str) -> str:
    """What the model reads: which view is wanted, and the query."""
    return f"{view}: {query}"


def _spelled(index: Suffixes, low: Int, size: Int) -> Ragged:
    """The tokens of n-grams, from the first of their slices."""
    return spans(index.text, index.suffixes[low].astype(np.int64), size)


def _together(views: Sequence[View]) -> Suffixes:
    """All pieces of all views, document by document."""
    owner = np.concatenate([view.owner for view in views])
    values = np.concatenate([view.pieces.values for view in views])
    sizes = np.concatenate([np.diff(view.pieces.offsets) for view in views])
    order = np.argsort(owner, kind="stable")
    pieces = Ragged(np.append(0, np.cumsum(sizes)), values).take(order)
    return Suffixes.build(pieces, owner[order])


Tokenize = Callable[[Sequence[str]], list[list[int]]]


def view_of(name: str, texts: Sequence[tuple[int, str]], tokenize: Tokenize, whole: bool) -> View:
    """A view from (document, text) in document order; texts without a token are left out."""
    rows = tokenize([text for _, text in texts]) if texts else []
    kept = [(number, row) for (number, _), row in zip(texts, rows, strict=True) if row]
    offsets = np.cumsum([0, *(len(row) for _, row in kept)], dtype=np.int64)
    values = np.array([token for _, row in kept for token in row], dtype=np.int32)
    return View(name, Ragged(offsets, values), np.array([n for n, _ in kept], np.int32), whole)
