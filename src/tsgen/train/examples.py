"""What the generator learns from: pairs of a query and a document, and the target of each pair.

Pairs are the training judgments and, as far as the settings want them, those of a file (synthetic
queries) and the documents' own titles and pieces of text. The target of a pair is the document's
term set in some order. Queries that are held out validate.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import offsets_of
from tsgen.constrain.constraint import Bool, Int, Int32, Ragged
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.sources import BadRecord, numbered_lines
from tsgen.corpus.table_files import json_object
from tsgen.docids.spelling import Spelling
from tsgen.docids.term_set import TermSets
from tsgen.errors import DataError
from tsgen.queries.pairs import Pair, judged_pairs
from tsgen.records import Document
from tsgen.settings import PairsConfig
from tsgen.terms.words import Splitter

# Pairs, and queries that validate.

PIECE_WORDS = 16  # of a text that is learned as a query
HELD_OUT = 0.05  # share of the training queries that validate where there is no dev split


@dataclass(frozen=True, slots=True)
class Validation:
    """Queries that validate a training, each with the numbers of its relevant documents."""

    queries: Sequence[str]
    answers: Sequence[set[int]]


def examples(
    data: DataSet, sets: TermSets, config: PairsConfig, limit: int, seed: int
) -> tuple[list[Pair], Validation]:
    """The pairs and the validation of a data set, without pairs whose document has no term."""
    pairs, validation = numbered_examples(data, sets.document_numbers(), config, limit, seed)
    return [pair for pair in pairs if len(sets.terms(pair.document))], validation


def numbered_examples(
    data: DataSet, numbers: Mapping[str, int], config: PairsConfig, limit: int, seed: int
) -> tuple[list[Pair], Validation]:
    """The pairs to train on, and queries to validate with.

    Args:
        data: the data set with its judgments named train, and dev if there are any.
        numbers: document id → document number.
        config: which pairs are wanted beside the judged ones.
        limit: validation queries, at most; they are of the dev split, or else held out of the
            judged training queries, or of the others where none is judged.
        seed: of what is drawn.
    """
    judged = config.judged and "train" in data.splits
    pairs = judged_pairs(data, "train", numbers) if judged else []
    asked = list(pairs)
    if config.queries is not None:
        pairs += read_pairs(Path(config.queries), numbers)
    own = own_pairs(data, config, seed)
    if not pairs and not own:
        why = "it has no judgments named train" if config.judged else "train.pairs.judged = false"
        raise DataError(
            f"{data.name}: no training queries: {why}. To search without "
            "training, use `tsgen index`. To train, give a file of "
            'them with --queries (lines like {"query": "…", "document": "id"}), or learn from the '
            "documents' own words with --set train.pairs.titles=true --set train.pairs.pieces=4."
        )
    if "dev" in data.splits:
        held_out = judged_pairs(data, "dev", numbers)
    else:
        pairs, held_out = _held_out(pairs, asked or pairs, limit, seed) if pairs else ([], own)
    return pairs + own, sampled(held_out, limit, seed)


def read_pairs(path: Path, numbers: Mapping[str, int]) -> list[Pair]:
    """The pairs of a JSONL file, in file order; an unknown document is an error."""
    pairs = []
    for line, text in numbered_lines(path):
        try:
            record = json_object(text)
        except BadRecord as error:
            raise DataError(f"{path}:{line}: {error}") from None
        query, document = record.get("query"), record.get("document")
        if not isinstance(query, str) or str(document) not in numbers:
            raise DataError(
                f'{path}:{line}: found {record!r}; expected {{"query": text, "document": id}} with '
                "the id of a document in this data set. Correct the line, or make the file again."
            )
        pairs.append(Pair(query, numbers[str(document)]))
    return pairs


def own_pairs(data: DataSet, config: PairsConfig, seed: int) -> list[Pair]:
    """The documents' titles and random pieces of their texts, as queries for them."""
    if not (config.titles or config.pieces):
        return []
    return [
        Pair(query, number)
        for number, document in enumerate(data.documents())
        for query in _own_queries(document, config, np.random.default_rng((seed, number)))
    ]


def _own_queries(
    document: Document, config: PairsConfig, rng: np.random.Generator
) -> Iterator[str]:
    """The title and the pieces of one document."""
    if config.titles and document.title:
        yield document.title
    words = document.text.split()
    starts = rng.integers(max(len(words) - PIECE_WORDS, 0) + 1, size=config.pieces)
    for start in starts if words else ():
        yield " ".join(words[start : start + PIECE_WORDS])


def _held_out(
    pairs: Sequence[Pair], among: Sequence[Pair], limit: int, seed: int
) -> tuple[list[Pair], list[Pair]]:
    """The pairs to train on, and those of the queries that are held out; a single query is in both.

    Args:
        pairs: all pairs.
        among: the pairs of the queries that may be held out.
        limit: queries to hold out, at most.
        seed: of the choice.
    """
    queries = list(dict.fromkeys(pair.query for pair in among))
    order = np.random.default_rng(seed).permutation(len(queries))
    chosen = {queries[i] for i in order[: max(min(int(len(queries) * HELD_OUT), limit), 1)]}
    rest = [pair for pair in pairs if pair.query not in chosen]
    return rest or list(pairs), [pair for pair in among if pair.query in chosen]


def sampled(pairs: Sequence[Pair], limit: int, seed: int) -> Validation:
    """At most `limit` random queries of the pairs, each with all its relevant documents."""
    answers: dict[str, set[int]] = defaultdict(set)
    for pair in pairs:
        answers[pair.query].add(pair.document)
    queries = list(answers)
    order = np.random.default_rng(seed).permutation(len(queries))[:limit]
    chosen = [queries[i] for i in order]
    return Validation(chosen, [answers[query] for query in chosen])


@dataclass(frozen=True, slots=True)
class HardNegatives:
    """H hard negatives for each of P pairs, and what a teacher says of them and of the answer.

    `tsgen.train.hard_negatives` finds them.
    """

    documents: Int  # [P, H]
    teacher_probs: NDArray[np.float32] | None = None
    """[P, 1 + H] τ of the answer and of each negative, sum 1; None: the answer alone is right."""

    def repeated(self, times: int) -> Self:
        """The rows of each pair `times` times, one beside the other."""
        probs = self.teacher_probs
        repeated = None if probs is None else np.repeat(probs, times, axis=0)
        return type(self)(np.repeat(self.documents, times, axis=0), repeated)


# The order of a target's terms.

Reorder = Callable[[Int32, str, np.random.Generator], Int32]
"""(terms, query, random numbers) → the same terms in the order to learn this time."""

ANY_ORDER = 0.25  # the probability of a random order of all terms where the query's terms go first


def weight_order(sets: TermSets, documents: Sequence[int] | Int) -> Ragged:
    """The terms of each document, heaviest first."""
    every = Ragged(sets.doc_offsets.astype(np.int64), sets.doc_terms)
    return every.take(np.asarray(documents, dtype=np.int64))


def random_order(sets: TermSets, documents: Sequence[int] | Int, copies: int, seed: int) -> Ragged:
    """[copies · P] the terms of each document in `copies` random orders, one row after the other.

    The orders depend on the seed and the document alone, so all pairs of a document have the same.
    """
    distinct, place = np.unique(np.asarray(documents, dtype=np.int64), return_inverse=True)
    orders = [
        np.random.default_rng((seed, document, copy)).permutation(sets.terms(document))
        for document in distinct.tolist()
        for copy in range(copies)
    ]
    lengths = np.array([len(order) for order in orders], dtype=np.int64)
    values = np.concatenate([np.zeros(0, dtype=np.int32), *orders]).astype(np.int32)
    rows = copies * place[:, None] + np.arange(copies)
    return Ragged(offsets_of(lengths), values).take(rows.ravel())


def at_random(terms: Int32, query: str, rng: np.random.Generator) -> Int32:
    """A random order of the terms."""
    return rng.permutation(terms)


class QueryFirst:
    """A random order of the terms that occur in the query, by stem, then one of the other terms.

    A search generates such prefixes, so training learns what follows them. With the probability
    `ANY_ORDER` the order of all terms is random.
    """

    def __init__(self, sets: TermSets, splitter: Splitter | None = None) -> None:
        self._splitter = splitter or Splitter()
        self._keys = [self._splitter.key(term) for term in sets.vocabulary]

    def __call__(self, terms: Int32, query: str, rng: np.random.Generator) -> Int32:
        """The terms of one target in a new order."""
        order = rng.permutation(terms)
        if rng.random() < ANY_ORDER:
            return order
        in_query = set(self._splitter.keys(query))
        later = [self._keys[term] not in in_query for term in order]
        return order[np.argsort(later, kind="stable")]


def reorder(order: str, sets: TermSets) -> Reorder | None:
    """What a value of the setting `train.order` does to targets; None where their order stays."""
    if order == "query":
        return QueryFirst(sets)
    return at_random if order == "shuffled" else None


# Targets: the tokens that the decoder is to write for a pair.


@dataclass(frozen=True, slots=True)
class Targets:
    """The terms of each pair's document in the order to learn, and how terms are spelled."""

    spelling: Spelling
    orders: Ragged  # [P] terms
    reorder: Reorder | None = None  # makes another order each time that a pair is met

    def lengths(self) -> Int:
        """[P] the number of tokens of each target, which its order does not change."""
        of_term = np.diff(self.spelling.offsets)[self.spelling.rank_of]
        ends = offsets_of(of_term[self.orders.values])
        return np.diff(ends[self.orders.offsets])

    def batch(
        self, rows: Int, queries: Sequence[str], rng: np.random.Generator
    ) -> tuple[Int, Bool]:
        """The targets of some pairs as `padded` makes them: tokens [B, T] and mask [B, T].

        Args:
            rows: [B] the numbers of the pairs.
            queries: [B] their queries.
            rng: random numbers for new orders.
        """
        orders = [self.orders.row(row) for row in rows]
        if self.reorder is not None:
            both = zip(orders, queries, strict=True)
            orders = [self.reorder(order, query, rng) for order, query in both]
        return padded([self.spelling.sequence(order) for order in orders])


def padded(sequences: Sequence[Int32]) -> tuple[Int, Bool]:
    """Sequences as rows [B, T], and a mask [B, T] that is false where a row is padding.

    A row is padded with its own tokens from the first on, since any valid token will do.
    """
    lengths = np.array([len(sequence) for sequence in sequences])
    places = np.arange(lengths.max(initial=0))
    tokens = np.stack([np.resize(sequence, len(places)) for sequence in sequences])
    return tokens.astype(np.int64), places < lengths[:, None]


def batches(lengths: Int, size: int, rng: np.random.Generator) -> list[Int]:
    """All rows in random batches of `size` rows of similar length.

    Rows are shuffled, sorted by length within a stretch of many batches, and cut into batches;
    then the batches are shuffled.
    """
    rows, stretch = rng.permutation(len(lengths)), size * 64
    cut: list[Int] = []
    for start in range(0, len(rows), stretch):
        together = rows[start : start + stretch]
        together = together[np.argsort(lengths[together], kind="stable")]
        cut += [together[at : at + size] for at in range(0, len(together), size)]
    return [cut[i] for i in rng.permutation(len(cut))]
