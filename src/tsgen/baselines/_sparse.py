"""Learned sparse retrieval: a text is a vector over a vocabulary, most of its weights zero.

    s(Q, D) = Σ_t w_Q(t) · w_D(t) over the terms t that both have

Search is exact: the terms' weights in all documents are one sparse matrix, a query is one product
with it. SPLADEv2 and UniCOIL weigh the tokens of a tokenizer's vocabulary; the system `weigher` has
words for terms, and shares the matrix.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
import torch
from pydantic import Field
from scipy import sparse

from tsgen.baselines._bi_encoder import BiEncoder, BiEncoderConfig, Tokens, in_chunks
from tsgen.corpus.dataset import DataSet
from tsgen.progress import show
from tsgen.queries.lexical import top_documents
from tsgen.records import Document, Hit

IDS, POSTINGS = "ids.json", "postings.npz"
BATCH = 128  # texts whose whole vectors are held at once


@dataclass(frozen=True, slots=True)
class Postings:
    """The ids of all documents and the weights of the terms in them."""

    ids: Sequence[str]
    weights: sparse.csr_array  # [terms, documents]

    def best(self, terms: Sequence[int], weights: Sequence[float], k: int) -> list[Hit]:
        """The `k` documents of the highest Σ w^Q · w^D > 0 over a query's terms, ties in document
        order."""
        if not terms:
            return []
        scores = np.asarray(weights, np.float32) @ self.weights[list(terms)]  # [documents]
        return [Hit(self.ids[i], float(scores[i])) for i in top_documents(scores, k)]

    def save(self, folder: Path) -> None:
        """Write the ids and the weights."""
        (folder / IDS).write_bytes(orjson.dumps(self.ids))
        sparse.save_npz(folder / POSTINGS, self.weights, compressed=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` wrote."""
        ids = orjson.loads((folder / IDS).read_bytes())
        return cls(ids, sparse.csr_array(sparse.load_npz(folder / POSTINGS)))


class SparseConfig(BiEncoderConfig):
    """The settings of a bi-encoder, and how much of a document is read."""

    windows: int | None = Field(1, ge=1)
    """Windows of `document_tokens` that are read of a document, of which a term keeps its largest
    weight; unset: all."""


class SparseEncoder(BiEncoder):
    """A bi-encoder that gives every token of the vocabulary a weight ≥ 0, in queries and documents
    alike."""

    def queries(self, tokens: Tokens) -> torch.Tensor:
        """The weights [Q, V] of tokens in queries."""
        return self.weights(tokens)

    def documents(self, tokens: Tokens) -> torch.Tensor:
        """The weights [D, V] of tokens in documents."""
        return self.weights(tokens)

    def weights(self, tokens: Tokens) -> torch.Tensor:
        """The weights [B, V] of tokens in texts."""
        raise NotImplementedError


class SparseRetriever:
    """A sparse encoder (of the class `kind`) and the postings of all documents."""

    kind: type[SparseEncoder]

    def __init__(self, model: SparseEncoder, postings: Postings) -> None:
        self._model, self._postings = model, postings

    @classmethod
    def fit(cls, data: DataSet, model: SparseEncoder) -> Self:
        """Weigh the tokens of every document of the data set."""
        ids: list[str] = []
        rows = [_document_rows(model, batch) for batch in _batches(data, ids)]
        return cls(model, Postings(ids, sparse.vstack(rows).T.tocsr()))

    @torch.inference_mode()
    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The `k` documents of highest s(Q, D) > 0, ties in document order."""
        found = []
        for start in range(0, len(queries), BATCH):
            texts = queries[start : start + BATCH]
            tokens = self._model.tokens(texts, self._model.config.query_tokens)
            for row in in_chunks(self._model.queries, tokens).float().cpu().numpy():
                terms = np.flatnonzero(row)
                found.append(self._postings.best(terms.tolist(), row[terms].tolist(), k))
        return found

    def save(self, folder: Path) -> None:
        """Write the encoder and the weights of all documents."""
        self._model.save(folder)
        self._postings.save(folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read back what `save` wrote."""
        return cls(cls.kind.load(folder), Postings.load(folder))


def _batches(data: DataSet, ids: list[str]) -> Iterator[list[Document]]:
    """The documents, `BATCH` at a time; appends their ids to `ids`."""
    documents = iter(data.documents())
    while batch := list(islice(documents, BATCH)):
        ids.extend(document.id for document in batch)
        yield batch
        show("weighing documents", len(ids))


@torch.inference_mode()
def _document_rows(model: SparseEncoder, documents: Sequence[Document]) -> Any:
    """The weights [D, V] of documents: of each token the largest in any window."""
    windows = _windows(model, [document.contents for document in documents])
    weights = in_chunks(model.documents, [window for own in windows for window in own])
    first = np.cumsum([0, *(len(own) for own in windows[:-1])])
    pooled = np.maximum.reduceat(weights.float().cpu().numpy(), first, axis=0)
    return sparse.csr_array(pooled)


def _windows(model: SparseEncoder, texts: Sequence[str]) -> list[list[Sequence[int]]]:
    """For each text the tokens of its first `windows` windows."""
    encoded = model.tokenizer(
        list(texts),
        truncation=True,
        max_length=model.config.document_tokens,
        return_overflowing_tokens=True,
        return_attention_mask=False,
    )
    found: list[list[Sequence[int]]] = [[] for _ in texts]
    owners = encoded["overflow_to_sample_mapping"]
    for owner, tokens in zip(owners, encoded["input_ids"], strict=True):
        found[owner].append(tokens)
    return [own[: model.config.windows] for own in found]
