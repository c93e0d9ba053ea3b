"""What the generator learns from: (query, document) pairs, and the queries that validate it.

Pairs are the training judgments, and as far as wanted those of a file (synthetic queries), and the
documents' own titles and pieces of text (indexing).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import offsets_of
from tsgen.constrain.constraint import Int, Int32, Ragged
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.sources import BadRecord, numbered_lines
from tsgen.corpus.tables import json_object
from tsgen.docids.spelling import Spelling
from tsgen.docids.term_set import TermSets
from tsgen.errors import DataError
from tsgen.queries.pairs import Pair, judged_pairs
from tsgen.records import Document
from tsgen.settings import PairsConfig
from tsgen.terms.words import Splitter

# Another order of a target's terms each time that its pair is met.

Reorder = Callable[[Int32, str, np.random.Generator], Int32]
"""(terms, query, random numbers) → the same terms in the order to learn."""

ANY = 0.25  # how often a query's own terms come where chance puts them


def at_random(terms: Int32, query: str, rng: np.random.Generator) -> Int32:
    """Any order."""
    return rng.permutation(terms)


class QueryFirst:
    """The terms that the query has, by stem, then the others, both at random: a search goes by such
    prefixes, and what must be learned is what to say after them. At times any order."""

    def __init__(self, sets: TermSets, splitter: Splitter | None = None) -> None:
        self._splitter = splitter or Splitter()
        self._keys = [self._splitter.key(term) for term in sets.vocabulary]

    def __call__(self, terms: Int32, query: str, rng: np.random.Generator) -> Int32:
        """The terms of one target."""
        order = rng.permutation(terms)
        if rng.random() < ANY:
            return order
        in_query = set(self._splitter.keys(query))
        later = [self._keys[term] not in in_query for term in order]
        return order[np.argsort(later, kind="stable")]


def reorder(order: str, sets: TermSets) -> Reorder | None:
    """For a setting `train.order`; None where the order stays as it is."""
    if order == "query":
        return QueryFirst(sets)
    return at_random if order == "random" else None


# What the decoder is to write for a pair: the tokens of T(D)'s terms, in some order.


def weight_order(sets: TermSets, documents: Sequence[int] | Int) -> Ragged:
    """Each document's terms, heaviest first."""
    every = Ragged(sets.doc_offsets.astype(np.int64), sets.doc_terms)
    return every.take(np.asarray(documents, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Targets:
    """The terms of every pair's document in the order to learn, and how terms are spelled."""

    spelling: Spelling
    orders: Ragged  # [P] terms
    reorder: Reorder | None = None  # instead of that order another each time

    def lengths(self) -> Int:
        """[P] tokens of each target; no order changes them."""
        of_term = np.diff(self.spelling.offsets)[self.spelling.rank_of]
        ends = offsets_of(of_term[self.orders.values])
        return np.diff(ends[self.orders.offsets])

    def batch(
        self, rows: Int, queries: Sequence[str], rng: np.random.Generator
    ) -> tuple[Int, NDArray[np.bool_]]:
        """The tokens [B, T] of some pairs with their queries, and where they are not padding
        [B, T]."""
        orders = [self.orders.row(row) for row in rows]
        if self.reorder is not None:
            both = zip(orders, queries, strict=True)
            orders = [self.reorder(order, query, rng) for order, query in both]
        return padded([self.spelling.sequence(order) for order in orders])


def padded(sequences: Sequence[Int32]) -> tuple[Int, NDArray[np.bool_]]:
    """Sequences one below the other, filled up at their ends with their own first tokens (any
    valid token will do), and where they are themselves."""
    lengths = np.array([len(sequence) for sequence in sequences])
    places = np.arange(lengths.max(initial=0))
    tokens = np.stack([np.resize(sequence, len(places)) for sequence in sequences])
    return tokens.astype(np.int64), places < lengths[:, None]


def batches(lengths: Int, size: int, rng: np.random.Generator) -> list[Int]:
    """All rows in random batches of `size`, those of similar length together: rows are shuffled,
    sorted by length within a stretch of many batches, cut, and the batches are shuffled."""
    rows, stretch = rng.permutation(len(lengths)), size * 64
    cut: list[Int] = []
    for start in range(0, len(rows), stretch):
        together = rows[start : start + stretch]
        together = together[np.argsort(lengths[together], kind="stable")]
        cut += [together[at : at + size] for at in range(0, len(together), size)]
    return [cut[i] for i in rng.permutation(len(cut))]


HELD_OUT = 0.05  # share of the training queries that validate where there is no dev split


@dataclass(frozen=True, slots=True)
class Validation:
    """Queries, and the documents that answer each."""

    queries: Sequence[str]
    answers: Sequence[set[int]]


def examples(
    data: DataSet, sets: TermSets, config: PairsConfig, limit: int, seed: int
) -> tuple[list[Pair], Validation]:
    """`numbered_examples` for the documents of term sets; those without a term are not learned."""
    pairs, validation = numbered_examples(data, sets.document_numbers(), config, limit, seed)
    return [pair for pair in pairs if len(sets.terms(pair.document))], validation


def numbered_examples(
    data: DataSet, numbers: Mapping[str, int], config: PairsConfig, limit: int, seed: int
) -> tuple[list[Pair], Validation]:
    """The pairs to train on, and at most `limit` queries to validate with: those of the dev split,
    or some that are held out of training. `numbers` are the documents' by id."""
    pairs = judged_pairs(data, "train", numbers) if "train" in data.splits else []
    if config.queries is not None:
        pairs += read_pairs(Path(config.queries), numbers)
    own = own_pairs(data, config, seed)
    if not pairs and not own:
        raise DataError(
            f"{data.name}: no training queries: it has no judgments named train. Give a file of "
            'them with --queries (lines like {"query": "…", "document": "id"}), or learn from the '
            "documents' own words with --set train.pairs.titles=true --set train.pairs.pieces=4."
        )
    if "dev" in data.splits:
        held_out = judged_pairs(data, "dev", numbers)
    else:
        pairs, held_out = _held_out(pairs, seed) if pairs else ([], own)
    return pairs + own, sampled(held_out, limit, seed)


def read_pairs(path: Path, numbers: Mapping[str, int]) -> list[Pair]:
    """The pairs of a JSONL file, in file order; a document that is not there is an error."""
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
    if config.titles and document.title:
        yield document.title
    words = document.text.split()
    starts = rng.integers(max(len(words) - config.piece_words, 0) + 1, size=config.pieces)
    for start in starts if words else ():
        yield " ".join(words[start : start + config.piece_words])


def _held_out(pairs: Sequence[Pair], seed: int) -> tuple[list[Pair], list[Pair]]:
    """Some queries with all their pairs taken out; a single query stays and validates, too."""
    queries = list(dict.fromkeys(pair.query for pair in pairs))
    order = np.random.default_rng(seed).permutation(len(queries))
    chosen = {queries[i] for i in order[: max(int(len(queries) * HELD_OUT), 1)]}
    rest = [pair for pair in pairs if pair.query not in chosen]
    return rest or list(pairs), [pair for pair in pairs if pair.query in chosen]


def sampled(pairs: Sequence[Pair], limit: int, seed: int) -> Validation:
    """At most `limit` of the pairs' queries, with all their answers."""
    answers: dict[str, set[int]] = defaultdict(set)
    for pair in pairs:
        answers[pair.query].add(pair.document)
    queries = list(answers)
    order = np.random.default_rng(seed).permutation(len(queries))[:limit]
    chosen = [queries[i] for i in order]
    return Validation(chosen, [answers[query] for query in chosen])
