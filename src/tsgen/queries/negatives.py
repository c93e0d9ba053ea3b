"""Hard negatives, documents that BM25 ranks high for a query and that do not answer it, and the
contrastive training sets that are made with them."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tsgen.corpus.dataset import DataSet
from tsgen.errors import DataError
from tsgen.queries.lexical import LexicalIndex
from tsgen.queries.pairs import Pair, judged_pairs, pseudo_pairs
from tsgen.records import Document


def hard_negatives(
    index: LexicalIndex,
    queries: Sequence[str],
    relevant: Sequence[Collection[int]],
    count: int,
    seed: int,
) -> NDArray[np.int64]:
    """[Q, count] positions of the best-ranked documents outside `relevant`, best first.

    Where BM25 finds fewer, random other documents fill the row.
    """
    most = max((len(documents) for documents in relevant), default=0)
    found, _ = index.top_k(queries, count + most)
    rng = np.random.default_rng(seed)
    rows = [
        without_answers([int(d) for d in ranked if d >= 0], right, count, index.size, rng)
        for ranked, right in zip(found, relevant, strict=True)
    ]
    return np.asarray(rows, np.int64).reshape(len(queries), count)


def without_answers(
    ranked: Sequence[int], right: Collection[int], count: int, size: int, rng: np.random.Generator
) -> list[int]:
    """The first `count` documents of a ranking that are no answers.

    Args:
        ranked: Documents, best first.
        right: The documents that answer the query.
        count: How many documents to return; random others fill up a ranking with too few.
        size: How many documents there are in all.
        rng: Draws the random others.
    """
    row = [document for document in ranked if document not in right][:count]
    while len(row) < count:
        other = int(rng.integers(size))
        if size < count + len(right) or (other not in right and other not in row):
            row.append(other)
    return row


# Contrastive training sets: pairs with hard negatives, and the batch of every step.

PSEUDO = "title → text and sentence → rest pairs (the data has no training queries)"
HELD_OUT = 0.05  # share of the training pairs that validate where there is no dev split


@dataclass(frozen=True)
class ContrastiveSet:
    """Pairs of a query and a document that answers it, each with hard negatives."""

    pairs: Sequence[Pair]
    negatives: NDArray[np.int64]  # [P, M] document positions

    @cached_property
    def answers(self) -> dict[str, set[int]]:
        """Every query's text with all documents that answer it."""
        return answers_of(self.pairs)

    def steps(self, batch_size: int) -> int:
        """The number of batches in an epoch."""
        return -(-len(self.pairs) // batch_size)

    def batch(self, step: int, batch_size: int, seed: int) -> NDArray[np.int64]:
        """The pairs of a step; the seed gives each epoch an order of its own."""
        epoch, at = divmod(step, self.steps(batch_size))
        order = np.random.default_rng((seed, epoch)).permutation(len(self.pairs))
        return order[at * batch_size : (at + 1) * batch_size]

    def documents(self, batch: NDArray[np.int64]) -> NDArray[np.int64]:
        """[Q + Q · M] the documents of a batch: each pair's answer, then each pair's negatives."""
        right = [self.pairs[i].document for i in batch]
        return np.concatenate([right, self.negatives[batch].ravel()])

    def allowed(self, batch: NDArray[np.int64], in_batch: bool) -> NDArray[np.bool_]:
        """[Q, Q + Q · M] which documents of a batch compete for each query: its own answer and
        negatives, or with `in_batch` all except other answers to the same query."""
        rows = np.arange(len(batch))
        owner = np.concatenate([rows, np.repeat(rows, self.negatives.shape[1])])
        own: NDArray[np.bool_] = owner == rows[:, None]
        if not in_batch:
            return own
        documents = self.documents(batch)
        right = [np.isin(documents, list(self.answers[self.pairs[i].query])) for i in batch]
        return np.logical_or(own, ~np.stack(right))


def training_sets(
    data: DataSet,
    documents: Sequence[Document],
    negatives: int,
    candidates: int,
    validation_queries: int,
    seed: int,
) -> tuple[ContrastiveSet, ContrastiveSet]:
    """Make the training pairs and the validation pairs of a data set.

    Args:
        data: Where judgments come from; without any, pairs are made from the texts.
        documents: The data set's documents, in order.
        negatives: BM25 negatives of each training pair.
        candidates: BM25 negatives of each validation pair.
        validation_queries: The most validation pairs.
        seed: Decides which pairs validate and what fills up short rankings.
    """
    pairs, held_out = _pairs(data, documents, seed)
    if not pairs:
        raise DataError(
            f"{data.name}: nothing to learn from: no training judgments, and no document has a "
            "title or a second sentence. Add judgments named train, or use what needs no training: "
            "--weights tfidf, --systems bm25."
        )
    index = LexicalIndex.build(document.contents for document in documents)
    return (
        with_negatives(index, pairs, negatives, seed),
        with_negatives(index, held_out[:validation_queries], candidates, seed),
    )


def learned_from(data: DataSet) -> str:
    """Describe the training pairs, for the progress display."""
    return "judged pairs" if "train" in data.splits else PSEUDO


def _pairs(
    data: DataSet, documents: Sequence[Document], seed: int
) -> tuple[list[Pair], list[Pair]]:
    """Training pairs and, in random order, validation pairs."""
    if "train" in data.splits:
        positions = {document.id: i for i, document in enumerate(documents)}
        pairs = judged_pairs(data, "train", positions)
        held_out = judged_pairs(data, "dev", positions) if "dev" in data.splits else []
    else:
        pairs, held_out = pseudo_pairs(documents, seed), []
    rng = np.random.default_rng(seed)
    if not held_out:
        order = rng.permutation(len(pairs))
        cut = max(int(len(pairs) * HELD_OUT), min(1, len(pairs)))
        held_out = [pairs[i] for i in order[:cut]]
        return [pairs[i] for i in sorted(order[cut:])] or held_out, held_out
    return pairs, [held_out[i] for i in rng.permutation(len(held_out))]


def with_negatives(
    index: LexicalIndex, pairs: Sequence[Pair], count: int, seed: int
) -> ContrastiveSet:
    """Give each pair `count` hard negatives."""
    answers = answers_of(pairs)
    relevant = [answers[pair.query] for pair in pairs]
    found = hard_negatives(index, [pair.query for pair in pairs], relevant, count, seed)
    return ContrastiveSet(pairs, found)


def answers_of(pairs: Sequence[Pair]) -> dict[str, set[int]]:
    """Map the text of each query to all documents that answer it."""
    found = defaultdict(set)
    for pair in pairs:
        found[pair.query].add(pair.document)
    return dict(found)
