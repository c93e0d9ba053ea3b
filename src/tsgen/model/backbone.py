"""What a language model must offer to tsgen, and the registry of those that do.

A backbone reads queries and writes output symbols, one after another. A search encodes a query once
and then extends any known prefix; training asks for the scores of whole targets at once; an engine
saves a backbone and loads it again, sometimes with the terms of other documents as its symbols.

An architecture of your own is one file: a subclass of `Backbone`, and an `Architecture` that says
how one is made and loaded, registered under the name that `model.backbone` has in the settings.
From an installed package it is registered through the entry-point group `tsgen.backbones`.

    class Mine(Backbone): ...

    BACKBONES.register(Architecture("mine", create=Mine.create, load=Mine.load))
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tsgen.artifact import hash_strings
from tsgen.constrain.constraint import Int32, Ragged
from tsgen.errors import ConfigError
from tsgen.model.vocabulary import word_pieces
from tsgen.registry import Registry
from tsgen.settings import MINI, MINI_FLAT, MINILM, TERM_VECTORS, ModelConfig
from tsgen.terms.sentences import TextVectors

OutputSymbols = Sequence[str] | int | None
"""What a new backbone writes: terms, each as one symbol; so many symbols that mean nothing before
training (codes); or, with None, the pieces of its own tokenizer."""


class Backbone(nn.Module, ABC):
    """A language model: an encoder-decoder, or a decoder-only model with the query as its prompt.

    The cache of a search is a tree. A *node* stands for one decoded token together with the path
    that led to it; `step` extends any set of nodes by one token each, whatever their depths. Beams
    that share a prefix share its nodes, and reordering beams is choosing other node numbers:
    nothing is copied. `tsgen.model.tree_cache` stores keys and values in that way.
    """

    tokenizer: Any
    """The fast tokenizer of transformers that reads queries and spells terms."""

    @property
    @abstractmethod
    def query_encoder(self) -> Any:
        """The module that reads queries. Training gives it a learning rate of its own and may
        freeze what its `get_input_embeddings()` returns."""

    @property
    @abstractmethod
    def spelling(self) -> str:
        """`word` where each term is one output symbol, `subword` where a term is spelled by pieces
        of the tokenizer."""

    @property
    @abstractmethod
    def output_size(self) -> int:
        """V, the number of output symbols, over which `logits` without `tokens` is defined."""

    @property
    def order_free(self) -> bool:
        """Whether a state after whole terms is the same in whatever order these were generated."""
        return False

    @abstractmethod
    def encode(self, queries: Sequence[str]) -> tuple[Any, torch.Tensor, torch.Tensor]:
        """Read the queries once.

        Returns the cache, the node [Q] at which each query's DocID starts, and the hidden state
        [Q, d] that predicts its first token.
        """

    @abstractmethod
    def step(
        self,
        cache: Any,
        parents: torch.Tensor,
        tokens: torch.Tensor,
        lengths: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append tokens to nodes; returns the new nodes [R] and hidden states [R, d].

        Args:
            cache: What `encode` returned; it is changed.
            parents: [R] the nodes to extend; a node may occur several times.
            tokens: [R] one token for each parent.
            lengths: [R] so many tokens for each parent, path after path in `tokens`, are appended
                at once; the nodes and hidden states returned are those of the paths' last tokens.
        """

    @abstractmethod
    def keep(self, cache: Any, nodes: torch.Tensor) -> torch.Tensor:
        """Forget everything but the paths of `nodes` [R]; returns their new numbers [R]."""

    @abstractmethod
    def logits(self, hidden: torch.Tensor, tokens: torch.Tensor | None = None) -> torch.Tensor:
        """Scores [R, V] over all output symbols, or [R, len(tokens)] over some of them."""

    def log_normaliser(self, hidden: torch.Tensor) -> torch.Tensor:
        """log Σ exp of all scores of each state, [R] in single precision."""
        return torch.logsumexp(self.logits(hidden).float(), dim=-1)

    @abstractmethod
    def forward(
        self, queries: Sequence[str], targets: torch.Tensor, tokens: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Scores [Q, T, V] that predict `targets` [Q, T], each from those before it, for training.

        `tokens` limits the scores to some symbols, as in `logits`. Targets are padded at the end
        with any symbol; what stands after a position never changes its scores.
        """

    @abstractmethod
    def with_symbols(self, kept: Int32, new: Ragged) -> Self:
        """The same model, its weights shared, with other terms as its symbols (`word` spelling).

        Args:
            kept: [V'] symbol i becomes this model's symbol kept[i] or, where that is −1, the next
                of `new`.
            new: The tokenizer's pieces of each new term, from which its vector is made.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write all that the architecture's `load` needs, without anything pickled."""

    def save_terms(self, folder: Path) -> None:
        """Write what the model has learned of its terms, for a collection that was changed since
        the model was saved; nothing for a model that learns none."""

    def with_saved_terms(self, folder: Path) -> Self:  # noqa: ARG002
        """The same model with what `save_terms` wrote."""
        return self

    def query_vectors(self, queries: Sequence[str]) -> torch.Tensor:  # noqa: ARG002
        """Vectors [Q, d] of queries, with gradients, to compare with those of documents."""
        raise ConfigError(
            "train.loss = 'documents' needs a model with document vectors, and "
            f"{type(self).__name__} keeps none; set model.backbone=term-vectors, or "
            "train.loss=any_remaining."
        )

    def document_vectors(
        self,
        texts: Sequence[str],  # noqa: ARG002
        watch: Callable[[int], None] = lambda _: None,  # noqa: ARG002
    ) -> TextVectors | None:
        """Vectors of documents or passages and of their sentences, for a model that keeps such;
        None for all others, which know documents by their terms alone.

        Args:
            texts: The documents' contents.
            watch: Called with the number of documents read so far.
        """
        return None

    def longer_than_window(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether `document_vectors` leaves out the end of each of these texts [T]."""
        return np.zeros(len(texts), np.bool_)

    def learned(
        self,
        sets: Ragged,  # noqa: ARG002
        shares: NDArray[np.float32],  # noqa: ARG002
        documents: NDArray[np.floating],  # noqa: ARG002
    ) -> Self:
        """The model after it has learned a collection from the documents' vectors; a model that
        keeps none stays as it is.

        Args:
            sets: T(D) of every document, by number.
            shares: Beside the terms of `sets`: each document's weights with sum 1.
            documents: [D, d] what `document_vectors` made of the documents; of a long one the
                mean of what it made of its passages.
        """
        return self

    def with_terms(self, terms: Sequence[str]) -> Self:
        """The same model with these terms as its symbols in place of those it has. A model that
        spells by pieces can write any term and stays as it is."""
        if self.spelling != "word":
            return self
        none = np.full(len(terms), -1, np.int32)
        return self.with_symbols(none, word_pieces(self.tokenizer, terms))


def _nothing_required(_: ModelConfig) -> None:
    """Accept every setting: an architecture that needs no download and no extra."""


def _no_weights(_: ModelConfig) -> str:
    """Return "": an architecture that starts from no weights of the package."""
    return ""


def _tokenizer_of_a_new_one(config: ModelConfig) -> Any:
    """Make a whole backbone for its tokenizer."""
    return architecture(config.backbone).create(config, None).tokenizer


@dataclass(frozen=True, slots=True)
class Architecture:
    """How to get a backbone of one kind.

    Args:
        name: What `model.backbone` says in the settings.
        create: Makes an untrained backbone from the settings `[model]` with these output symbols.
            What is random in it comes from torch's global generator, which was seeded before.
        load: Reads what `Backbone.save` wrote to a folder, given the settings `[model]`; with terms
            as the third argument, as `Backbone.with_terms` changes it.
        require: Raises a `ConfigError` at once if the model cannot be had: a missing extra, an
            unknown name, no network. Called before work that takes hours.
        tokenizer: The tokenizer alone, where there is a faster way to it than a whole backbone.
        version: A hash of weights that `create` starts from and that another release of the package
            may change: it becomes part of the cache key of everything trained from them.
        ready: Whether it writes sensible terms before it is trained with queries.
    """

    name: str
    create: Callable[[ModelConfig, OutputSymbols], Backbone]
    load: Callable[[Path, ModelConfig, Sequence[str] | None], Backbone]
    require: Callable[[ModelConfig], None] = _nothing_required
    tokenizer: Callable[[ModelConfig], Any] = _tokenizer_of_a_new_one
    version: Callable[[ModelConfig], str] = _no_weights
    ready: bool = False


FLAN_T5, SMOLLM2, TRANSFORMERS = "flan-t5-small", "smollm2", "transformers"

BACKBONES: Registry[Architecture] = Registry(
    "backbone",
    "tsgen.backbones",
    {
        MINI: "tsgen.model.shipped",
        MINI_FLAT: "tsgen.model.mini",
        TERM_VECTORS: "tsgen.model.term_vectors",
        **dict.fromkeys((MINILM, FLAN_T5, SMOLLM2, TRANSFORMERS), "tsgen.model.pretrained"),
    },
)


def architecture(name: str) -> Architecture:
    """The architecture of that name; any other name is a model of transformers, from a folder or
    from the hub."""
    return BACKBONES.get(name if name in BACKBONES.names() else TRANSFORMERS)


def tokenizer_of(config: ModelConfig) -> Any:
    """The tokenizer of the backbone that the settings name."""
    return architecture(config.backbone).tokenizer(config)


def backbone_version(config: ModelConfig) -> dict[str, str]:
    """What a cache key must say of the backbone beside its settings: the weights that it starts
    from, and the code of an architecture that is not ours; empty if there is neither."""
    kind = architecture(config.backbone)
    parts = kind.version(config), BACKBONES.code_version(kind.name)
    return {"backbone": hash_strings(*parts)} if any(parts) else {}
