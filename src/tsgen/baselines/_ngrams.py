"""Systems that generate n-grams of documents and rank documents by them: SEAL, MINDER.

A document has several *views* (title, text, synthetic queries). The model reads the view's name
before the query and generates n-grams that occur in that view of some document; every n-gram that
the beam search keeps at some step counts. The n-grams of all views rank the documents together, by
the intersective score of SEAL's Section 3.3:

    p(n) = F(n, R) / Σ_d |d|                      the n-gram's share of the corpus R
    w(n, q) = max(0, log p(n | q) (1 − p(n)) / (p(n) (1 − p(n | q))))
    W(d, q) = Σ_{n ∈ K(d)} w(n, q)^α · cover(n, K(d))
    cover(n, K(d)) = 1 − β + β |set(n) \\ C| / |set(n)|

K(d) has the n-grams with an occurrence in d that overlaps none of a heavier n-gram; C are the
tokens of the heavier n-grams in K(d).

In training a target is an n-gram of the relevant document, drawn anew each time a pair is met with
p ∝ exp(overlap / τ), overlap being the share of the query's tokens, weighed by idf, in the n-gram.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
import torch
from pydantic import Field

from tsgen.arrays import Strings
from tsgen.constrain.constraint import Bool, Int, Int32, Ragged, spans
from tsgen.constrain.kernels import kernel
from tsgen.constrain.ngrams import SubstringConstraint, Suffixes
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.decode.beam import Step
from tsgen.decode.search import search
from tsgen.decode.topk import Float
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone, tokenizer_of
from tsgen.model.generator import load_backbone
from tsgen.reciprocal_rank import DEPTH, mean_reciprocal_rank
from tsgen.records import Hit, Reason
from tsgen.retrieve.sequence_systems import SequenceConfig, SequenceFit
from tsgen.retrieve.systems import Fitted
from tsgen.settings import DecodeConfig
from tsgen.synthetic.writing import QUERIES, make_queries
from tsgen.train.examples import numbered_examples, padded, read_pairs
from tsgen.train.iterate import MODEL
from tsgen.train.loop import Batches, minimise
from tsgen.train.objective import TokenObjective
from tsgen.train.sequence_generator import new_backbone
from tsgen.training_loop import remove_checkpoint, shown

# N-grams that a search keeps.


@dataclass(frozen=True, slots=True)
class Kept:
    """Hypotheses as slices of the constraint's list of units, in the order they were kept."""

    low: Int  # [H]
    high: Int  # [H]
    depth: Int  # [H] tokens
    score: Float  # [H] log p

    @classmethod
    def none(cls) -> Self:
        """An empty set of hypotheses."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, np.zeros(0))


class Collector:
    """Observer of a search that collects the hypotheses kept at any step, for each query."""

    def __init__(self) -> None:
        self._before, self._queries = 0, 0  # those of earlier batches; of all up to this one
        self._parts: list[tuple[Int, Kept]] = []

    def step(self, step: Step) -> None:
        """Collect the hypotheses that a step keeps."""
        if step.number == 1:
            self._before, self._queries = self._queries, self._queries + len(step.bar)
        kept = step.closed.kept
        slices = Kept(kept.cursor.low, kept.cursor.high, kept.cursor.depth, kept.score)
        self._parts.append((self._before + kept.query, slices))

    def kept(self) -> list[Kept]:
        """The hypotheses kept for each query."""
        found: list[list[Kept]] = [[] for _ in range(self._queries)]
        for query, part in self._parts:
            bounds = np.searchsorted(query, np.arange(self._queries + 1))
            for number in np.unique(query).tolist():
                found[number].append(_rows(part, slice(bounds[number], bounds[number + 1])))
        return [_joined(parts) for parts in found]


def _rows(kept: Kept, rows: slice) -> Kept:
    return Kept(kept.low[rows], kept.high[rows], kept.depth[rows], kept.score[rows])


def _joined(parts: list[Kept]) -> Kept:
    parts = parts or [Kept.none()]
    return Kept(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.depth for part in parts]),
        np.concatenate([part.score for part in parts]),
    )


# The score of documents by n-grams.

NEARLY_SURE = 1 - 1e-9  # p(n | q) at the most: log odds of 1 are infinite


@dataclass(frozen=True, slots=True)
class Ngrams:
    """N-grams as slices of sorted suffixes, heaviest first."""

    low: Int  # [G]
    high: Int  # [G]
    size: Int  # [G] tokens
    log_prob: Float  # [G] log p(n | q)
    weight: Float  # [G] w(n, q) > 0


@dataclass(frozen=True, slots=True)
class Ranked:
    """Documents, best first, and for each the n-grams in its K(d) by number, heaviest first."""

    documents: Int
    scores: Float
    reasons: list[Int]


def weighed(
    suffixes: Suffixes, low: Int, high: Int, size: Int, log_prob: Float, most: int
) -> Ngrams:
    """Weigh n-grams: each once, with w > 0, and in at most `most` places of the corpus."""
    order = np.lexsort((-log_prob, size, low))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (np.diff(low[order]) != 0) | (np.diff(size[order]) != 0)
    picks = order[first]
    weight = log_odds(log_prob[picks], (high - low)[picks] / max(len(suffixes), 1))
    said = (weight > 0) & ((high - low)[picks] <= most)
    picks, weight = picks[said], weight[said]
    by_weight = np.argsort(-weight, kind="stable")
    picks = picks[by_weight]
    return Ngrams(low[picks], high[picks], size[picks], log_prob[picks], weight[by_weight])


def log_odds(log_prob: Float, frequency: Float) -> Float:
    """The weights w(n, q) [G] from log p(n | q) and p(n)."""
    prob, frequency = np.minimum(np.exp(log_prob), NEARLY_SURE), np.minimum(frequency, NEARLY_SURE)
    odds = log_prob - np.log1p(-prob) - np.log(frequency) + np.log1p(-frequency)
    weight: Float = np.maximum(0.0, odds)
    return weight


def ranked(suffixes: Suffixes, ngrams: Ngrams, k: int, alpha: float, beta: float) -> Ranked:
    """The `k` documents of highest W(d, q), ties in document order."""
    counts = ngrams.high - ngrams.low
    number = np.repeat(np.arange(len(counts)), counts)  # [M] the n-gram of each occurrence
    places = np.arange(len(number)) + np.repeat(ngrams.low - counts.cumsum() + counts, counts)
    place = suffixes.suffixes[places]
    owner = suffixes.owners(place)
    order = np.lexsort((number, owner))
    place, number, owner = place[order], number[order], owner[order]
    start = np.flatnonzero(np.diff(owner, prepend=-1))  # [D] where each document's begin
    bounds = np.append(start, len(owner))
    score, taken = _scores(
        suffixes.text,
        int(suffixes.alphabet[-1]) + 1 if len(suffixes.alphabet) else 0,
        bounds,
        place,
        number,
        ngrams.size,
        ngrams.weight**alpha,
        beta,
    )
    best = np.argsort(-score, kind="stable")[:k]
    reasons = [
        number[bounds[d] : bounds[d + 1]][taken[bounds[d] : bounds[d + 1]]] for d in best.tolist()
    ]
    return Ranked(owner[start][best].astype(np.int64), score[best], reasons)


@kernel
def _scores(
    text: Int32,
    tokens: int,
    bounds: Int,
    place: Int32,
    number: Int,
    size: Int,
    power: Float,
    beta: float,
) -> tuple[Float, Bool]:
    """W(d, q) [D], and whether an occurrence is the first one of an n-gram of K(d) [M].

    Document d has the occurrences bounds[d]:bounds[d + 1], heaviest n-gram first. Places are those
    of the whole text, so what one document covers is none of another's.
    """
    documents = len(bounds) - 1
    score, taken = np.zeros(documents), np.zeros(len(place), dtype=np.bool_)
    covered = np.zeros(len(text), dtype=np.bool_)
    said = np.full(tokens, -1, dtype=np.int64)  # the document whose K(d) a token was last seen in
    met = np.full(tokens, -1, dtype=np.int64)  # the occurrence that a token was last counted for
    for d in range(documents):
        i = bounds[d]
        while i < bounds[d + 1]:
            ngram, first, free = number[i], i, False
            while i < bounds[d + 1] and number[i] == ngram:
                free |= not covered[place[i] : place[i] + size[ngram]].any()
                i += 1
            for j in range(first, i):
                covered[place[j] : place[j] + size[ngram]] = True
            if free:
                taken[first] = True
                distinct, new = 0, 0
                for at in range(place[first], place[first] + size[ngram]):
                    token = text[at]
                    if met[token] != first:
                        met[token] = first
                        distinct += 1
                        new += said[token] != d
                for at in range(place[first], place[first] + size[ngram]):
                    said[text[at]] = d
                score[d] += power[ngram] * (1 - beta + beta * new / distinct)
    return score, taken


# N-grams as training targets.


@dataclass(frozen=True, slots=True)
class View:
    """One kind of text of every document: its title, its body or the queries written for it."""

    name: str
    pieces: Ragged  # [P] tokens, in document order
    owner: Int32  # [P] ascending
    whole: bool  # whether a target begins where a piece does, as titles and queries do

    def of(self, document: int) -> range:
        """The numbers of a document's pieces."""
        return range(*np.searchsorted(self.owner, (document, document + 1)).tolist())


@dataclass(frozen=True, slots=True)
class NgramTargets:
    """Training targets: for each row (a pair and a view) n-grams of that view of its document."""

    views: Sequence[View]
    view: Int  # [R] the view of each row
    document: Int  # [R]
    queries: Ragged  # [R] the query's tokens
    idf: Float  # [V] of each token
    longest: int
    temperature: float  # τ

    def lengths(self) -> Int:
        """The most tokens that each row's target can have [R]."""
        return np.full(len(self.view), self.longest)

    def batch(
        self,
        rows: Int,
        queries: Sequence[str],  # noqa: ARG002 - their tokens are known
        rng: np.random.Generator,
    ) -> tuple[Int, Bool]:
        """Draw n-grams for some rows: their tokens [B, T], and the mask of real ones [B, T]."""
        return padded([self.draw(row, rng) for row in rows.tolist()])

    def draw(self, row: int, rng: np.random.Generator) -> Int32:
        """Draw one n-gram for a row."""
        view, overlaps, windows = self.views[self.view[row]], [], []
        gain = np.zeros(len(self.idf))
        query = np.unique(self.queries.row(row))
        gain[query] = self.idf[query] / max(self.idf[query].sum(), 1e-9)
        for piece in view.of(int(self.document[row])):
            tokens = view.pieces.row(piece)
            starts = 1 if view.whole else max(len(tokens) - self.longest, 0) + 1
            before = np.append(0.0, np.cumsum(gain[tokens]))
            first = np.arange(starts)
            overlaps.append(before[np.minimum(first + self.longest, len(tokens))] - before[first])
            windows += [(piece, start) for start in range(starts)]
        weight = np.exp((np.concatenate(overlaps) - max(map(np.max, overlaps))) / self.temperature)
        piece, start = windows[int(rng.choice(len(weight), p=weight / weight.sum()))]
        drawn: Int32 = view.pieces.row(piece)[start : start + self.longest]
        return drawn


def make_targets(
    views: Sequence[View],
    queries: Ragged,
    documents: Int,
    idf: Float,
    longest: int,
    temperature: float,
) -> tuple[Int, NgramTargets]:
    """Make a row for every pair and every view that its document has: the pair of each row [R], and
    the targets of the rows."""
    has = [np.bincount(view.owner, minlength=int(documents.max(initial=0)) + 1) for view in views]
    rows = [np.flatnonzero(counts[documents] > 0) for counts in has]
    pair = np.concatenate(rows)
    view = np.repeat(np.arange(len(views)), [len(each) for each in rows])
    parts = queries.take(pair), idf, longest, temperature
    return pair, NgramTargets(views, view, documents[pair], *parts)


# The retriever.

IDS, EVERYTHING, SETTINGS, VIEW = "documents", "everything", "settings.json", "view-"
BODY = "body"  # the view whose n-grams may come from anywhere


class NgramConfig(SequenceConfig):
    """The settings of a sequence system, and of n-grams and their scores."""

    longest: int = Field(10, ge=1)
    """Tokens of an n-gram, at the most."""

    alpha: float = Field(2.0, ge=0)
    """The power of an n-gram's weight: how much more heavy n-grams count than light ones."""

    beta: float = Field(0.8, ge=0, le=1)
    """How much less an n-gram counts for tokens that heavier ones of the document have already."""

    most: int = Field(1500, ge=1)
    """An n-gram that occurs in more places than this says too little to be looked up."""

    temperature: float = Field(0.1, gt=0)
    """τ of drawing the n-grams to learn: the smaller, the more they overlap with the query."""


@dataclass(frozen=True)
class NgramRetriever:
    """A model of n-grams, an index of all text, and an index of each view but the body."""

    backbone: Backbone
    ids: Strings
    everything: Suffixes
    views: dict[str, Suffixes]  # all but the body
    config: NgramConfig = field(default_factory=NgramConfig)

    @classmethod
    def of(
        cls, backbone: Backbone, ids: Strings, views: Sequence[View], config: NgramConfig
    ) -> Self:
        """Index the views of all documents."""
        own = {
            view.name: Suffixes.build(view.pieces, view.owner)
            for view in views
            if view.name != BODY
        }
        return cls(_ready(backbone), ids, _together(views), own, config)

    @property
    def constraint(self) -> SubstringConstraint:
        """The constraint that admits every n-gram of every view."""
        return self._constraints[BODY]

    @property
    def encoder(self) -> Any:
        """The part of the model that reads queries and holds the input embeddings."""
        return self.backbone.query_encoder

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
        """For each query the n-grams that the searches of all views kept, and the documents."""
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
        """Search one view: for each query the n-grams as slices of all text, sizes, log p."""
        constraint, collector = self._constraints[view], Collector()
        prompts = [prompt(view, query) for query in queries]
        search(self.backbone, constraint, prompts, 1, config, observer=collector)
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
        backbone = load_backbone(folder / MODEL, config.model)
        ids, everything = Strings.load(folder, IDS), Suffixes.load(folder / EVERYTHING)
        return cls(_ready(backbone), ids, everything, views, config)


def _ready(backbone: Backbone) -> Backbone:
    """On the GPU if there is one."""
    backbone.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    return backbone


def prompt(view: str, query: str) -> str:
    """The model's input: the name of the view to generate from, and the query."""
    return f"{view}: {query}"


def _spelled(index: Suffixes, low: Int, size: Int) -> Ragged:
    """The tokens of n-grams, which the first suffix of each slice begins with."""
    return spans(index.text, index.suffixes[low].astype(np.int64), size)


def _together(views: Sequence[View]) -> Suffixes:
    """Index all pieces of all views, document by document."""
    owner = np.concatenate([view.owner for view in views])
    values = np.concatenate([view.pieces.values for view in views])
    sizes = np.concatenate([np.diff(view.pieces.offsets) for view in views])
    order = np.argsort(owner, kind="stable")
    pieces = Ragged(np.append(0, np.cumsum(sizes)), values).take(order)
    return Suffixes.build(pieces, owner[order])


Tokenize = Callable[[Sequence[str]], list[list[int]]]


def view_of(name: str, texts: Sequence[tuple[int, str]], tokenize: Tokenize, whole: bool) -> View:
    """Make a view of (document, text) pairs in document order; texts without tokens are out."""
    rows = tokenize([text for _, text in texts]) if texts else []
    kept = [(number, row) for (number, _), row in zip(texts, rows, strict=True) if row]
    offsets = np.cumsum([0, *(len(row) for _, row in kept)], dtype=np.int64)
    values = np.array([token for _, row in kept for token in row], dtype=np.int32)
    return View(name, Ragged(offsets, values), np.array([n for n, _ in kept], np.int32), whole)


# Fitting a system.

TITLE, QUERY = "title", "query"


def fit_ngrams(
    data: DataSet, config: NgramConfig, seed: int, folder: Path, with_queries: bool
) -> None:
    """Index the views, train the model on n-grams as targets, and save the retriever.

    Args:
        data: The data set.
        config: The settings.
        seed: Of the weights and of all that is drawn.
        folder: The system's folder; an interrupted call goes on from its checkpoint.
        with_queries: Whether synthetic queries are a view.
    """
    written = SequenceFit(data, config, seed, folder).synthetic()
    if with_queries and written is None:
        raise ConfigError(
            "no synthetic queries, of which this system makes a view; expected a writer of them. "
            "Set queries.writer=extractive, or give a file with train.pairs.queries."
        )
    since = time.monotonic()  # queries are shared between systems and do not count
    tokenizer = tokenizer_of(config.model)
    numbers, views = views_of(data, tokenizer, written if with_queries else None)
    backbone = new_backbone(config.model, seed)
    retriever = NgramRetriever.of(backbone, Strings.pack(numbers), views, config)
    _train(retriever, data, numbers, views, written, seed, folder, since)
    retriever.save(folder)
    remove_checkpoint(folder)


def views_of(
    data: DataSet, tokenizer: Any, written: Path | None
) -> tuple[dict[str, int], list[View]]:
    """The number of each document, and the views of all: titles, texts, and the queries in a file
    if there is one."""
    documents = [(each.id, each.title, each.text) for each in watched_documents(data)]
    numbers = {id: number for number, (id, _, _) in enumerate(documents)}
    texts = {
        TITLE: [(number, title) for number, (_, title, _) in enumerate(documents)],
        BODY: [(number, text) for number, (_, _, text) in enumerate(documents)],
    }
    if written is not None:
        pairs = sorted(read_pairs(written, numbers), key=lambda pair: pair.document)
        texts[QUERY] = [(pair.document, pair.query) for pair in pairs]
    views = [
        view_of(name, rows, lambda some: tokenized(tokenizer, some), whole=name != BODY)
        for name, rows in texts.items()
    ]
    return numbers, views


def reindex_ngrams(fitted: Fitted, data: DataSet, with_queries: bool) -> NgramRetriever:
    """The fitted model over the n-grams of other documents; where queries are a view, they are
    written for these by a writer that does not learn from their judgments."""
    config: NgramConfig = fitted.config
    written = None
    if with_queries and config.queries is not None:
        options = {k: v for k, v in config.queries.options.items() if k != "tune"}
        own = config.queries.model_copy(update={"options": options})
        written = make_queries(data, own, fitted.seed, fitted.cache) / QUERIES
    backbone = load_backbone(fitted.folder / MODEL, config.model)
    numbers, views = views_of(data, backbone.tokenizer, written)
    return NgramRetriever.of(backbone, Strings.pack(numbers), views, config)


def tokenized(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """The tokens of texts of any length."""
    rows: list[list[int]] = tokenizer(list(texts), add_special_tokens=False, verbose=False)[
        "input_ids"
    ]
    return rows


def _train(
    retriever: NgramRetriever,
    data: DataSet,
    numbers: dict[str, int],
    views: Sequence[View],
    written: Path | None,
    seed: int,
    folder: Path,
    since: float,
) -> None:
    config, train = retriever.config, retriever.config.train
    wanted = train.pairs.model_copy(update={"queries": written and str(written)})
    pairs, validation = numbered_examples(data, numbers, wanted, train.validation_queries, seed)
    queries = _ragged(tokenized(retriever.backbone.tokenizer, [pair.query for pair in pairs]))
    documents = np.array([pair.document for pair in pairs], dtype=np.int64)
    idf = inverse_frequency(retriever.everything, retriever.backbone.output_size)
    row, targets = make_targets(views, queries, documents, idf, config.longest, config.temperature)
    prompts = [
        prompt(views[view].name, pairs[pair].query)
        for pair, view in zip(row.tolist(), targets.view.tolist(), strict=True)
    ]
    over = retriever.constraint.alphabet if train.normalise == "docid" else None
    objective = TokenObjective(retriever.backbone, over)
    batches = Batches(objective, prompts, targets, train.batch_size, seed, train.micro_batch)

    def figure() -> float:
        found = retriever.rank(validation.queries, DEPTH, train.validation)
        documents = [one.documents.tolist() for _, one in found]
        return mean_reciprocal_rank(documents, validation.answers)

    steps = batches.per_epoch * train.epochs
    where = train, seed, folder, shown("training"), since, figure
    minimise(batches.loss, steps, retriever, validation, *where, parts=batches.parts)


def _ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(offsets, np.array([token for row in rows for token in row], dtype=np.int32))


def inverse_frequency(everything: Suffixes, tokens: int) -> Float:
    """The idf log(N / (1 + F)) of every token [V], at least 0: N tokens in all, F of this one."""
    counts = np.bincount(everything.text[everything.text >= 0], minlength=tokens)
    idf: Float = np.maximum(0.0, np.log(max(len(everything), 1) / (1 + counts)))
    return idf
