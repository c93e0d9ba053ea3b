"""Dense retrieval: one vector a text from an encoder's states, exact inner product search."""

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
from tsgen.terms.encoder import empty_encoder

IDS, VECTORS = "ids.json", "vectors.npy"

Floats = NDArray[np.float32]


class DenseConfig(BiEncoderConfig):
    """How vectors are made."""

    pooling: Literal["cls", "mean"] = "cls"
    normalise: bool = False  # to length 1: the product is the cosine
    separate: bool = False  # queries and documents have an encoder each
    projection: bool = False  # a linear map from pooled states to vectors


class DenseEncoder(BiEncoder):
    """The first token's state, or the mean over all."""

    settings: ClassVar[type[BiEncoderConfig]] = DenseConfig

    def __init__(self, config: Any, encoder: Any, tokenizer: Any) -> None:
        """With `separate` queries start from a copy of the documents' encoder, a projection from
        the map that changes nothing."""
        super().__init__(config, encoder, tokenizer)
        self.asking = copy.deepcopy(encoder) if config.separate else None
        self.projection: torch.nn.Linear | None = None
        if config.projection:
            width = encoder.config.hidden_size
            self.projection = torch.nn.Linear(width, width, bias=False)
            torch.nn.init.eye_(self.projection.weight)

    @staticmethod
    def empty(folder: Path) -> tuple[Any, Any]:
        """An encoder of a saved shape, and its tokenizer; of a T5 no decoder."""
        hf: Any = import_module("transformers")
        config = hf.AutoConfig.from_pretrained(folder)
        if "t5" not in config.model_type:
            return empty_encoder(folder)
        encoder = hf.AutoModelForTextEncoding.from_config(config)
        return encoder, hf.AutoTokenizer.from_pretrained(folder, use_fast=True)

    def encoders(self) -> list[Any]:
        """One or both."""
        return [self.encoder] if self.asking is None else [self.encoder, self.asking]

    def queries(self, tokens: Tokens) -> torch.Tensor:
        """[Q, d]."""
        return self._vectors(self.asking or self.encoder, tokens)

    def documents(self, tokens: Tokens) -> torch.Tensor:
        """[D, d]."""
        return self._vectors(self.encoder, tokens)

    def _vectors(self, encoder: Any, tokens: Tokens) -> torch.Tensor:
        ids, mask = self.padded(tokens)
        states = encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state  # [B, S, d]
        vectors = _pool(states, mask, self.config.pooling)
        if self.projection is not None:
            vectors = self.projection(vectors)
        return torch.nn.functional.normalize(vectors, dim=-1) if self.config.normalise else vectors


def _pool(states: torch.Tensor, mask: torch.Tensor, how: str) -> torch.Tensor:
    if how == "cls":
        return states[:, 0]
    weights = mask.unsqueeze(-1).to(states)
    return (states * weights).sum(1) / weights.sum(1)


class DenseRetriever:
    """The documents' vectors in faiss' exact index."""

    kind: ClassVar[type[DenseEncoder]] = DenseEncoder

    def __init__(self, model: DenseEncoder, ids: Sequence[str], vectors: Floats) -> None:
        self._model, self._ids, self._vectors = model, ids, vectors
        self._index = flat_index(vectors)

    @classmethod
    def fit(cls, data: DataSet, model: DenseEncoder) -> Self:
        """Read every document."""
        documents = list(data.documents())
        vectors = document_vectors(model, [document.contents for document in documents])
        return cls(model, [document.id for document in documents], vectors)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The `k` documents of the highest product, ties in document order."""
        if not queries or not self._ids:
            return [[] for _ in queries]
        asked = query_vectors(self._model, queries)
        scores, found = self._index.search(asked, min(k, len(self._ids)))
        order = np.lexsort((found, -scores))
        found, scores = (np.take_along_axis(each, order, 1) for each in (found, scores))
        return [
            [Hit(self._ids[p], s) for p, s in zip(row, values, strict=True)]
            for row, values in zip(found.tolist(), scores.tolist(), strict=True)
        ]

    def save(self, folder: Path) -> None:
        """Write the encoder and the vectors."""
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
    """faiss' exact index of the inner product."""
    try:
        faiss: Any = import_module("faiss")
    except ImportError:
        raise MissingExtraError("dense retrieval (faiss)", "baselines") from None
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors))
    return index


@torch.inference_mode()
def document_vectors(
    model: DenseEncoder, texts: Sequence[str], longest: int | None = None
) -> Floats:
    """[D, d], of so many tokens at most; None: as many as a search looks at."""
    tokens = model.tokens(texts, longest or model.config.document_tokens)
    return in_chunks(model.documents, tokens, "reading documents").float().cpu().numpy()


@torch.inference_mode()
def query_vectors(model: DenseEncoder, texts: Sequence[str]) -> Floats:
    """[Q, d]."""
    tokens = model.tokens(texts, model.config.query_tokens)
    return in_chunks(model.queries, tokens).float().cpu().numpy()
