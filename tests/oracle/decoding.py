"""Decoding the slow way: every permutation of every document's set, in plain Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from types import SimpleNamespace

import numpy as np

from oracle.toy_backbone import ToyBackbone
from tsgen.constrain.constraint import Ragged
from tsgen.docids.spelling import Spelling, subwords, words

Order = tuple[int, ...]
PIECES = 4  # subword tokens 0..3; the terminator follows
TERMINATOR = PIECES


@dataclass(frozen=True)
class Corpus:
    """Term sets over few terms, and how these are spelled."""

    sets: tuple[tuple[int, ...], ...]
    terms: int
    spelling: Spelling
    outputs: int

    @property
    def arrays(self) -> SimpleNamespace:
        forward = ragged(self.sets)
        holders = [[d for d, s in enumerate(self.sets) if t in s] for t in range(self.terms)]
        postings = ragged(holders)
        return SimpleNamespace(
            doc_offsets=forward.offsets,
            doc_terms=forward.values,
            post_offsets=postings.offsets,
            post_docs=postings.values,
        )


def ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(offsets, np.array([x for row in rows for x in row], dtype=np.int32))


def word_corpus(sets: Sequence[Sequence[int]]) -> Corpus:
    """One token a term, and one output that no term uses."""
    count = 1 + max(max(s) for s in sets)
    return Corpus(tuple(map(tuple, sets)), count, words(count), count + 1)


def subword_corpus(sets: Sequence[Sequence[int]], spelled: Sequence[Sequence[int]]) -> Corpus:
    """Several tokens a term, and one output that no term uses."""
    texts = [bytes(48 + piece for piece in pieces).decode() for pieces in spelled]
    spelling = subwords(texts, tokenize, TERMINATOR)
    return Corpus(tuple(map(tuple, sets)), len(spelled), spelling, PIECES + 7)


def tokenize(texts: Sequence[str]) -> list[list[int]]:
    """The digits 0 to 3 are pieces; the other digits only number terms that look alike."""
    return [
        [digit if (digit := ord(c) - 48) < PIECES else digit + 1 for c in text] for text in texts
    ]


def valid_terms(corpus: Corpus, chosen: Order, pool: Sequence[int] | None = None) -> set[int]:
    """V: the terms of all documents that hold the chosen ones, without these."""
    documents = range(len(corpus.sets)) if pool is None else pool
    holders = [set(corpus.sets[d]) for d in documents if set(chosen) <= set(corpus.sets[d])]
    return set().union(*holders) - set(chosen)


def term_log_prob(
    corpus: Corpus,
    backbone: ToyBackbone,
    query: str,
    chosen: Order,
    term: int,
    normalise: str = "full",
    temperature: float = 1.0,
) -> float:
    """log p of a term's tokens after the chosen terms, under each definition."""
    prefix = tuple(corpus.spelling.sequence(chosen).tolist())
    spelled = [tuple(corpus.spelling.spell(t).tolist()) for t in valid_terms(corpus, chosen)]
    total = 0.0
    own = tuple(corpus.spelling.spell(term).tolist())
    for depth, token in enumerate(own):
        logits = backbone.row(query, prefix + own[:depth]).astype(np.float64) / temperature
        over = {
            "full": np.arange(corpus.outputs),
            "docid": corpus.spelling.alphabet,
            "valid": np.array(sorted({s[depth] for s in spelled if s[:depth] == own[:depth]})),
        }[normalise]
        total += logits[token] - np.log(np.exp(logits[over]).sum())
    return total


def order_log_prob(corpus: Corpus, backbone: ToyBackbone, query: str, order: Order, **how) -> float:
    """log p of a whole permutation."""
    steps = range(len(order))
    return sum(term_log_prob(corpus, backbone, query, order[:i], order[i], **how) for i in steps)


def brute_force(
    corpus: Corpus, backbone: ToyBackbone, query: str, **how
) -> Mapping[int, list[tuple[float, Order]]]:
    """For each document the log p of every permutation of its set, best first."""
    memory: dict[tuple[Order, int], float] = {}

    def term(chosen: Order, t: int) -> float:
        if (chosen, t) not in memory:
            memory[chosen, t] = term_log_prob(corpus, backbone, query, chosen, t, **how)
        return memory[chosen, t]

    def total(order: Order) -> float:
        return sum(term(order[:i], order[i]) for i in range(len(order)))

    return {
        d: sorted(((total(order), order) for order in permutations(s)), reverse=True)
        for d, s in enumerate(corpus.sets)
    }
