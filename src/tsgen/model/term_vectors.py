"""A generator that learns the collection while it is indexed: `model.backbone = "term-vectors"`.

The whole encoder stays as it comes. It reads a query Q and every document D into a sentence vector
v(Q), v(D) of length 1 (see `terms.sentence_vectors`). Indexing gives each term t a vector e(t) such
that the terms of a document add up to the document's vector,

    v(D) = m + Σ_{t ∈ T(D)} √ŵ_D(t) e(t) + r(D),

where m is the mean of all v(D), ŵ_D(t) are the weights of the document's terms with sum 1, and r(D)
is what the terms leave unsaid. The vectors e are those that make Σ_D |r(D)|² + RIDGE · Σ_t |e(t)|²
smallest: a ridge regression with one solution, which conjugate gradients find in seconds. No query
is needed for it. Then

    p(t | Q, X) = softmax_t(scale · e(t) · v(Q))

for every set X of terms that were generated before: what is still valid after X decides what X
means for the next term. All orders of a set of terms are equally likely, so a permutation costs
nothing, and no step needs the encoder again.

r(D) is the document's own symbol, known as an atomic identifier from DSI: beside its words, each
document is one output of the model. Its score is r(D) · v(Q), and the score of all that identifies
D, words and symbol, is v(D) · v(Q) up to a constant of the query. So the engine keeps v(D) with
T(D), and a document that is added later is known at once, even where its terms have no vectors.

A search uses both parts. The terms with the largest e(t) · v(Q), which the model would write first,
find a pool of documents (`decode.first_stage`); where each term and the symbol are counted, all of
a document's score is v(D) · v(Q), and that puts the pool in order (`decode.pool_ranking`).

A document that is longer than the encoder's window has several vectors, one for each passage, and
each passage has one for each sentence (see `terms.passages`). Its terms are learned from the mean
of those of passages.

`tsgen fit` goes on from there: the encoder learns to read queries by the loss `documents`, while
documents stay where they are and are read by the encoder as it came.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from tsgen.artifact import write_beside
from tsgen.constrain.constraint import Int32, Ragged
from tsgen.errors import ConfigError
from tsgen.model.backbone import BACKBONES, Architecture, Backbone, OutputSymbols
from tsgen.model.term_table import (
    CONFIG_FILE,
    DOCUMENTS,
    SCALE,
    VECTORS,
    WEIGHTS_FILE,
    TermTable,
    not_a_model,
    saved_config,
)
from tsgen.model.vocabulary import shared
from tsgen.settings import TERM_VECTORS, ModelConfig
from tsgen.terms.encoder import load_encoder
from tsgen.terms.sentence_vectors import longer_than, read_texts, text_vectors
from tsgen.terms.sentences import TextVectors
from tsgen.terms.text_encoder import OnnxEncoder

RIDGE = 1.0  # smaller values give rare terms, which say little of other documents, large vectors
TOLERANCE, ROUNDS = 1e-2, 50  # of conjugate gradients
SCALES = (5.0, 10.0, 20.0, 40.0, 80.0)
SAMPLE = 512  # documents by which the scale is chosen

Float32 = NDArray[np.float32]


@dataclass(slots=True)
class QueryTree:
    """The cache of a search: the vectors of the queries, and which query each node belongs to."""

    vectors: Tensor  # [Q, d]
    queries: Tensor  # [nodes]

    def append(self, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Add nodes of these queries [R]; returns the nodes [R] and their states [R, d]."""
        nodes = len(self.queries) + torch.arange(len(queries), device=queries.device)
        self.queries = torch.cat((self.queries, queries))
        return nodes, self.vectors[queries]


class TermVectors(Backbone):
    """An encoder, and a vector for each term."""

    def __init__(
        self,
        config: ModelConfig,
        encoder: Any,
        tokenizer: Any,
        vectors: Tensor,
        scale: float = 20.0,
    ) -> None:
        """Join an encoder with the vectors [V, d] of the terms."""
        super().__init__()
        encoder.pooler = None  # made for another task of the encoder's own training
        self.config, self.encoder, self.tokenizer = config, encoder, tokenizer
        self._document_tokenizer = deepcopy(tokenizer)  # the other may be reading in another thread
        self.register_buffer("vectors", vectors)
        self.vectors: Tensor
        self.scale = scale
        self.tuned = False  # whether the encoder was trained to read queries
        self.query_reader: OnnxEncoder | None = None  # the encoder as a search uses it
        self.document_reader: OnnxEncoder | None = None

    @classmethod
    def create(cls, config: ModelConfig, symbols: OutputSymbols) -> Self:
        """A model that has not learned any collection: all of its term vectors are zero."""
        if symbols is None or isinstance(symbols, int):
            raise ConfigError(
                f"model.backbone = {TERM_VECTORS!r} writes words, each as one symbol; expected "
                "terms. Set model.spelling=word, or another backbone for this kind of identifier."
            )
        encoder, tokenizer = load_encoder(config.encoder)
        vectors = torch.zeros(len(symbols), encoder.config.hidden_size)
        return cls(config, encoder, tokenizer, vectors).eval()

    @property
    def query_encoder(self) -> Any:
        """The BERT-like encoder, which reads queries and documents alike."""
        return self.encoder

    @property
    def spelling(self) -> str:
        """Return `word`: each term is one output symbol."""
        return "word"

    @property
    def output_size(self) -> int:
        """The number of terms."""
        return len(self.vectors)

    @property
    def order_free(self) -> bool:
        """Return True: every state is the query's vector."""
        return True

    @torch.no_grad()
    def encode(self, queries: Sequence[str]) -> tuple[QueryTree, Tensor, Tensor]:
        """Read the queries once; the cache, a node for each query, and their vectors [Q, d]."""
        if self.query_reader is not None and self._on_cpu:
            read = self.query_reader.vectors(queries, self.config.query_tokens)
            vectors = torch.from_numpy(read)
        else:
            vectors = self.query_vectors(queries)
        tree = QueryTree(vectors, torch.arange(0, device=vectors.device))
        nodes, _ = tree.append(torch.arange(len(queries), device=vectors.device))
        return tree, nodes, vectors

    def step(
        self,
        cache: QueryTree,
        parents: Tensor,
        tokens: Tensor,  # noqa: ARG002
        lengths: Tensor | None = None,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Append terms to nodes; the state stays the query's vector."""
        return cache.append(cache.queries[parents])

    def keep(self, cache: QueryTree, nodes: Tensor) -> Tensor:
        """Forget all other nodes; returns the new numbers [R] of these."""
        cache.queries = cache.queries[nodes]
        return torch.arange(len(nodes), device=nodes.device)

    def logits(self, hidden: Tensor, tokens: Tensor | None = None) -> Tensor:
        """Scores [R, V] of all terms, or [R, len(tokens)] of some, for the vectors [R, d]."""
        vectors = self.vectors if tokens is None else self.vectors[tokens]
        return functional.linear(hidden, vectors) * self.scale

    def forward(
        self, queries: Sequence[str], targets: Tensor, tokens: Tensor | None = None
    ) -> Tensor:
        """Scores [Q, T, V] that predict `targets` [Q, T]: the same at each of the T positions."""
        scores = self.logits(self.query_vectors(queries), tokens)
        return scores[:, None].expand(-1, targets.shape[1], -1)

    def document_vectors(
        self, texts: Sequence[str], watch: Callable[[int], None] = lambda _: None
    ) -> TextVectors:
        """Read the beginnings of documents, up to the window, into vectors of the whole and of
        its sentences."""
        window = self.config.document_tokens
        reader = (self.document_reader or self._exact_reader) if self._on_cpu else None
        if reader is not None:
            return reader.text_vectors(texts, window, watch)
        encoder = self._reads_documents
        return text_vectors(encoder, self._document_tokenizer, texts, window, watch)

    def longer_than_window(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each text [T] has more than `model.document_tokens` tokens; with
        `model.passages` off, nothing is looked for after these."""
        if not self.config.passages:
            return super().longer_than_window(texts)
        return longer_than(self._document_tokenizer, texts, self.config.document_tokens)

    @property
    def _on_cpu(self) -> bool:
        """Whether ONNX Runtime is at least as fast as torch: a GPU is left to torch."""
        return self.vectors.device.type == "cpu"

    @property
    def _reads_documents(self) -> Any:
        """The encoder of documents."""
        return self._original if self.tuned else self.encoder

    @cached_property
    def _exact_reader(self) -> OnnxEncoder | None:
        """The encoder of documents as a graph in full precision; None if it cannot be one."""
        return OnnxEncoder.of(self._reads_documents, self._document_tokenizer, "float32")

    @cached_property
    def _original(self) -> Any:
        """The encoder as it came, which reads documents where the other was trained on queries."""
        return load_encoder(self.config.encoder)[0].to(self.vectors.device).eval()

    def train(self, mode: bool = True) -> Self:
        """Switch modes; a model that was trained has an encoder of its own for queries, and what
        it was saved as reads them no more."""
        self.tuned = self.tuned or mode
        if mode:
            self.query_reader = None
        return super().train(mode)

    def learned(self, sets: Ragged, shares: Float32, documents: NDArray[np.floating]) -> Self:
        """The same model with term vectors that were learned from documents.

        Args:
            sets: T(D) of every document, by number.
            shares: Beside the terms of `sets`: each document's weights with sum 1.
            documents: [D, d] the documents' vectors v(D).
        """
        other = shared(self)
        vectors = documents.astype(np.float32)
        other.vectors = torch.from_numpy(solve(sets, shares, vectors, self.output_size))
        other.vectors = other.vectors.to(self.vectors.device)
        other.scale = _likeliest_scale(other.vectors.cpu().numpy(), sets, shares, vectors)
        return other

    def with_symbols(self, kept: Int32, new: Ragged) -> Self:  # noqa: ARG002
        """The same model with other terms; vectors of new terms are zero until they are learned."""
        other = shared(self)
        rows = torch.from_numpy(kept.astype(np.int64)).to(self.vectors.device)
        vectors = self.vectors.new_zeros(len(kept), self.vectors.shape[1])
        vectors[rows >= 0] = self.vectors[rows[rows >= 0]]
        other.vectors = vectors
        return other

    def save(self, folder: Path) -> None:
        """Write the term vectors in half precision, what reads texts for a search, and, if it was
        trained, the encoder, which is otherwise where it came from."""
        self._write(folder, self.state_dict() if self.tuned else {VECTORS: self.vectors})
        _write_reader(self.encoder, self.tokenizer, folder)
        if self.tuned:
            _write_reader(self._original, self._document_tokenizer, folder / DOCUMENTS)

    def save_terms(self, folder: Path) -> None:
        """Write the term vectors alone, for `with_saved_terms` of a model that has the encoder."""
        self._write(folder, {VECTORS: self.vectors})

    def with_saved_terms(self, folder: Path) -> Self:
        """The same model with the term vectors that `save_terms` wrote."""
        table, other = TermTable.open(folder), shared(self)
        vectors = torch.from_numpy(table.vectors.astype(np.float32))
        other.vectors, other.scale = vectors.to(self.vectors.device), table.scale
        return other

    def _write(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with write_beside(folder / WEIGHTS_FILE) as beside:
            save_file({name: _half(value) for name, value in weights.items()}, beside)
        settings = self.config.model_dump(mode="json") | {SCALE: self.scale}
        with write_beside(folder / CONFIG_FILE) as beside:
            beside.write_text(json.dumps(settings, indent=1) + "\n")

    def query_vectors(self, queries: Sequence[str]) -> Tensor:
        """The vectors v(Q) [Q, d] of queries, with gradients."""
        return read_texts(self.encoder, self.tokenizer, queries, self.config.query_tokens)


def _write_reader(encoder: Any, tokenizer: Any, folder: Path) -> None:
    """Write an encoder as the graph that a search uses, if it can be one."""
    reader = OnnxEncoder.of(encoder, tokenizer, "blocks")
    if reader is not None:
        folder.mkdir(exist_ok=True)
        reader.save(folder)


def _half(value: Tensor) -> Tensor:
    """A tensor as it is saved: numbers in half precision."""
    return (value.half() if value.is_floating_point() else value).contiguous()


def solve(sets: Ragged, shares: Float32, documents: Float32, terms: int) -> Float32:
    """The term vectors E [V, d] that make |V − m − W E|² + RIDGE · |E|² smallest, W [D, V] having
    √ŵ_D(t): E = Wᵀ A for the solution A of (W Wᵀ + RIDGE · I) A = V − m."""
    shape = len(documents), terms
    weights = csr_array((np.sqrt(shares), sets.values, sets.offsets), shape)
    transposed = csr_array(weights.T)
    residual = documents - documents.mean(axis=0)
    solution, direction = np.zeros_like(residual), residual.copy()
    squares = (residual**2).sum(axis=0)
    enough = TOLERANCE**2 * squares.sum()
    for _ in range(ROUNDS):
        if squares.sum() <= enough:
            break
        image = weights @ (transposed @ direction) + RIDGE * direction
        step = squares / np.maximum((direction * image).sum(axis=0), 1e-30)
        solution += step * direction
        residual -= step * image
        before, squares = squares, (residual**2).sum(axis=0)
        direction = residual + squares / np.maximum(before, 1e-30) * direction
    found: Float32 = (transposed @ solution).astype(np.float32)
    return found


def _likeliest_scale(vectors: Float32, sets: Ragged, shares: Float32, documents: Float32) -> float:
    """The scale at which documents' own terms, weighted by their shares, are likeliest."""
    chosen = np.linspace(0, len(documents) - 1, min(SAMPLE, len(documents)), dtype=np.int64)
    scores = torch.from_numpy(documents[chosen] @ vectors.T)  # [S, V]
    rows = [slice(*sets.offsets[d : d + 2]) for d in chosen]

    def likelihood(scale: float) -> float:
        log_p = torch.log_softmax(scale * scores, dim=-1).numpy()
        pairs = zip(log_p, rows, strict=True)
        return float(sum(shares[row] @ own[sets.values[row]] for own, row in pairs))

    return max(SCALES, key=likelihood)


def load_term_vectors(
    folder: Path, config: ModelConfig, terms: Sequence[str] | None = None
) -> TermVectors:
    """Read what `TermVectors.save` wrote."""
    saved, scale = saved_config(folder)
    try:
        weights = load_file(folder / WEIGHTS_FILE)
        vectors = weights[VECTORS].float()
    except (OSError, KeyError, SafetensorError) as error:
        raise not_a_model(folder, error) from None
    encoder, tokenizer = load_encoder(saved.encoder)
    backbone = TermVectors(saved, encoder, tokenizer, vectors, scale).eval()
    backbone.query_reader = OnnxEncoder.open(folder)
    backbone.document_reader = OnnxEncoder.open(folder / DOCUMENTS) or backbone.query_reader
    if len(weights) > 1:
        backbone.load_state_dict(weights)
        backbone.tuned = True
    return backbone if terms is None else backbone.with_terms(terms)


BACKBONES.register(Architecture(TERM_VECTORS, TermVectors.create, load_term_vectors, ready=True))
