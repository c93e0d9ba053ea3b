"""The search of an engine whose score needs no beam: encode the query, score, explain. No torch.

Where p(T(D) | Q) does not count (see `tsgen.decode.ranking` for the whole formula), what is left of
the score is

    score(Q, D) = prior_weight · v(D) · v(Q) + lexical_weight · o(Q, D),

and all that it needs of the model is v(Q), which an ONNX graph computes. The reasons of the hits
need the vectors of their terms, a few rows of a mapped table. So nothing of the model is loaded but
the encoder, and what `tsgen.decode.search` computes with the whole model is the oracle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int32
from tsgen.decode.hypotheses import Found
from tsgen.decode.ranking import FLATTENING, idf, largest
from tsgen.docids.term_set import TermSets
from tsgen.model.term_table import DOCUMENTS, TermTable, saved_config
from tsgen.settings import TERM_VECTORS, DecodeConfig, ModelConfig
from tsgen.terms.passages import PassageVectors
from tsgen.terms.text_encoder import OnnxEncoder, Watch

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Encoders:
    """What reads queries and documents for one engine."""

    queries: OnnxEncoder
    documents: OnnxEncoder
    config: ModelConfig

    @classmethod
    def open(cls, folder: Path, config: ModelConfig) -> Self | None:
        """The encoders that a model saved into a folder; None if it is of another kind, or its
        encoder could not be written as a graph."""
        if config.backbone != TERM_VECTORS or (queries := OnnxEncoder.open(folder)) is None:
            return None
        saved, _ = saved_config(folder)
        return cls(queries, OnnxEncoder.open(folder / DOCUMENTS) or queries, saved)

    def query_vectors(self, queries: Sequence[str]) -> Float32:
        """The vectors v(Q) [Q, d] of queries."""
        return self.queries.vectors(queries, self.config.query_tokens)

    def document_vectors(self, texts: Sequence[str], watch: Watch = lambda _: None) -> Float32:
        """The vectors [D, d] of documents or passages."""
        return self.documents.vectors(texts, self.config.document_tokens, watch)

    def longer_than_window(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether `document_vectors` leaves out the end of each of these texts [T]."""
        if not self.config.passages:
            return np.zeros(len(texts), np.bool_)
        return self.documents.longer_than(texts, self.config.document_tokens)


class VectorSearch:
    """Searches the documents of one moment."""

    def __init__(self, encoders: Encoders, table: TermTable, sets: TermSets) -> None:
        """Join what reads queries with the terms' vectors and the documents' sets and vectors."""
        assert sets.doc_vectors is not None
        self._encoders, self._table, self._sets = encoders, table, sets
        self._vectors: PassageVectors | None = None

    @property
    def whole_words(self) -> frozenset[str]:
        """The words that the encoder knows as wholes."""
        return self._encoders.queries.whole_words

    def __call__(
        self, queries: Sequence[str], k: int, config: DecodeConfig, among: Int32 | None = None
    ) -> list[list[Found]]:
        """The best k documents of each query, best first; ties by document number.

        Args:
            queries: Texts, as the encoder is to read them.
            k: Documents for each query, at most.
            config: The weights of the score; `needs_no_beam` holds for it.
            among: The only documents to be found (ascending numbers); None: all of them.
        """
        answers: list[list[Found]] = []
        for start in range(0, len(queries), config.batch):
            together = queries[start : start + config.batch]
            read = self._encoders.query_vectors(together)
            products = read @ self._document_vectors().values.T  # [Q, P]
            for query, vector, row in zip(together, read, products, strict=True):
                answers.append(self._answer(query, vector, row, k, config, among))
        return answers

    def prepare(self) -> None:
        """Make what the first search would have to make."""
        self._document_vectors()
        _ = self._sets.relative_weights, self._sets.lookup

    def _document_vectors(self) -> PassageVectors:
        if self._vectors is None:
            assert self._sets.doc_vectors is not None
            self._vectors = self._sets.doc_vectors.astype(np.float32)
        return self._vectors

    def _answer(
        self,
        query: str,
        vector: Float32,
        products: Float32,
        k: int,
        config: DecodeConfig,
        among: Int32 | None,
    ) -> list[Found]:
        """The hits of a query with the vector [d] and the products v_i(D) · v(Q) [P]."""
        vectors = self._document_vectors()
        scores = config.prior_weight * vectors.largest(products[None])[0]
        if config.lexical_weight:
            scores += config.lexical_weight * self._lexical(query)
        inside = np.arange(len(scores), dtype=np.int32) if among is None else among
        best = inside[largest(scores[inside], k)] if len(inside) else inside
        found = [
            Found(d, s, (), (), (), vectors.best_passage(products, d))
            for d, s in zip(best.tolist(), scores[best].tolist(), strict=True)
        ]
        return self._with_reasons(found, vector)

    def _lexical(self, query: str) -> Float32:
        """o(Q, D) [D] of every document."""
        sets = self._sets
        scores = np.zeros(len(sets), np.float32)
        offsets = sets.post_offsets
        for term in sets.query_terms(query).tolist():
            having = slice(offsets[term], offsets[term + 1])
            weights = sets.relative_weights[having] ** (1 / FLATTENING)
            scores[sets.post_docs[having]] += weights * idf(len(weights), len(scores))
        return scores

    def _with_reasons(self, found: Sequence[Found], query: Float32) -> list[Found]:
        """The documents with their terms as the reasons, likeliest first: log p of each term as
        the first one among the terms of all documents found, and how many documents have it and
        all terms before it."""
        if not found:
            return []
        sets = [self._sets.terms(one.document) for one in found]
        terms, places = np.unique(np.concatenate(sets), return_inverse=True)
        log_probs = self._table.log_probs(terms, query)[places]
        own = np.split(log_probs, np.cumsum([len(row) for row in sets])[:-1])
        return [self._reason(*parts) for parts in zip(found, sets, own, strict=True)]

    def _reason(self, one: Found, terms: Int32, log_probs: Float32) -> Found:
        order = np.argsort(-log_probs, kind="stable")
        terms, sizes = terms[order], list[int]()
        left: Int32 | None = None
        for term in terms.tolist():
            if left is None or len(left) > 1:
                having = self._sets.postings(term)
                left = having if left is None else _common(left, having)
            sizes.append(len(left))
        return replace(
            one,
            units=tuple(terms.tolist()),
            log_probs=tuple(log_probs[order].tolist()),
            valid_documents=tuple(sizes),
        )


def _common(few: Int32, documents: Int32) -> Int32:
    """The members of two ascending lists; the first is the shorter one, or as long."""
    if len(few) > len(documents):
        few, documents = documents, few
    places = np.searchsorted(documents, few)
    places[places == len(documents)] = 0
    found: Int32 = few[documents[places] == few]
    return found
