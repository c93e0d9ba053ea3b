"""Dense retrieval: a text is one vector, s(Q, D) = v(Q) · v(D), searched exactly by faiss.

    v = pool(h_1 … h_S), the state of [CLS] or the mean of all states;  then, as the settings say,
    v ← W v (a projection)  and  v ← v / |v| (so that the product is the cosine).

DPR, ANCE and GTR are such encoders with different settings and training.
"""

import copy
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import orjson
import torch
from numpy.typing import NDArray

from tsgen.baselines._bi_encoder import BiEncoder, BiEncoderConfig, Tokens, in_chunks
from tsgen.corpus.dataset import DataSet
from tsgen.errors import MissingExtraError
from tsgen.records import Hit
from tsgen.terms.encoder import DATA_ONLY, empty_encoder

IDS, VECTORS = "ids.json", "vectors.npy"

Floats = NDArray[np.float32]


class DenseConfig(BiEncoderConfig):
    """The settings of a bi-encoder, and how its states become one vector."""

    pooling: Literal["cls", "mean"] = "cls"
    """The vector is the state of the first token (`cls`) or the mean of all states (`mean`)."""

    normalise: bool = False
    """Whether vectors are scaled to length 1, so that the product is the cosine."""

    separate: bool = False
    """Whether queries have an encoder of their own."""

    projection: bool = False
    """Whether a linear map turns pooled states into vectors."""


class DenseEncoder(BiEncoder):
    """A bi-encoder of one vector a text: the first token's state, or the mean of all states."""

    settings: ClassVar[type[BiEncoderConfig]] = DenseConfig

    def __init__(self, config: Any, encoder: Any, tokenizer: Any) -> None:
        """Start the queries' encoder, if there is one, as a copy of the documents' encoder, and the
        projection, if there is one, as the identity."""
        super().__init__(config, encoder, tokenizer)
        self.query_encoder = copy.deepcopy(encoder) if config.separate else None
        self.projection: torch.nn.Linear | None = None
        if config.projection:
            width = encoder.config.hidden_size
            self.projection = torch.nn.Linear(width, width, bias=False)
            torch.nn.init.eye_(self.projection.weight)

    @staticmethod
    def empty(folder: Path) -> tuple[Any, Any]:
        """Make an encoder of the saved shape without its weights, of a T5 without the decoder."""
        hf: Any = import_module("transformers")
        config = hf.AutoConfig.from_pretrained(folder, **DATA_ONLY)
        if "t5" not in config.model_type:
            return empty_encoder(folder)
        encoder = hf.AutoModelForTextEncoding.from_config(config, **DATA_ONLY)
        return encoder, hf.AutoTokenizer.from_pretrained(folder, use_fast=True, **DATA_ONLY)

    def encoders(self) -> list[Any]:
        """The documents' encoder, and the queries' one if there is one."""
        return [self.encoder] if self.query_encoder is None else [self.encoder, self.query_encoder]

    def queries(self, tokens: Tokens) -> torch.Tensor:
        """Encode queries as vectors [Q, d]."""
        return self._vectors(self.query_encoder or self.encoder, tokens)

    def documents(self, tokens: Tokens) -> torch.Tensor:
        """Encode documents as vectors [D, d]."""
        return self._vectors(self.encoder, tokens)

    def _vectors(self, encoder: Any, tokens: Tokens) -> torch.Tensor:
        ids, mask = self.padded(tokens)
        states = encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state  # [B, S, d]
        vectors = _pool(states, mask, self.config.pooling)
        if self.projection is not None:
            vectors = self.projection(vectors)
        return torch.nn.functional.normalize(vectors, dim=-1) if self.config.normalise else vectors


def _pool(states: torch.Tensor, mask: torch.Tensor, pooling: str) -> torch.Tensor:
    if pooling == "cls":
        return states[:, 0]
    weights = mask.unsqueeze(-1).to(states)
    return (states * weights).sum(1) / weights.sum(1)


class DenseRetriever:
    """A dense encoder and the vectors of all documents in faiss' exact index."""

    kind: ClassVar[type[DenseEncoder]] = DenseEncoder

    def __init__(self, model: DenseEncoder, ids: Sequence[str], vectors: Floats) -> None:
        self._model, self._ids, self._vectors = model, ids, vectors
        self._index = flat_index(vectors)

    @classmethod
    def fit(cls, data: DataSet, model: DenseEncoder) -> Self:
        """Encode every document of the data set."""
        documents = list(data.documents())
        vectors = encode_documents(model, [document.contents for document in documents])
        return cls(model, [document.id for document in documents], vectors)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The `k` documents of the highest inner product, ties in document order."""
        if not queries or not self._ids:
            return [[] for _ in queries]
        vectors = encode_queries(self._model, queries)
        scores, found = self._index.search(vectors, min(k, len(self._ids)))
        order = np.lexsort((found, -scores))
        found, scores = (np.take_along_axis(each, order, 1) for each in (found, scores))
        return [
            [Hit(self._ids[p], s) for p, s in zip(row, values, strict=True)]
            for row, values in zip(found.tolist(), scores.tolist(), strict=True)
        ]

    def save(self, folder: Path) -> None:
        """Write the encoder, the documents' ids and their vectors."""
        self._model.save(folder)
        (folder / IDS).write_bytes(orjson.dumps(self._ids))
        np.save(folder / VECTORS, self._vectors, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read back what `save` wrote."""
        ids = orjson.loads((folder / IDS).read_bytes())
        vectors = np.load(folder / VECTORS, allow_pickle=False)
        return cls(cls.kind.load(folder), ids, vectors)


def flat_index(vectors: Floats) -> Any:
    """Index vectors [D, d] for exact inner product search by faiss."""
    try:
        faiss: Any = import_module("faiss")
    except ImportError:
        raise MissingExtraError("dense retrieval (faiss)", "baselines") from None
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors))
    return index


@torch.inference_mode()
def encode_documents(
    model: DenseEncoder, texts: Sequence[str], longest: int | None = None
) -> Floats:
    """The vectors [D, d] of documents cut off after `longest` tokens; None: as in search."""
    tokens = model.tokens(texts, longest or model.config.document_tokens)
    return in_chunks(model.documents, tokens, "encoding documents").float().cpu().numpy()


@torch.inference_mode()
def encode_queries(model: DenseEncoder, texts: Sequence[str]) -> Floats:
    """The vectors [Q, d] of queries."""
    tokens = model.tokens(texts, model.config.query_tokens)
    return in_chunks(model.queries, tokens).float().cpu().numpy()
