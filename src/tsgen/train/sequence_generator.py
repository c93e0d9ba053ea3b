"""A generator of sequences: a language model with the identifiers it writes, and its training."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from tsgen.constrain.constraint import Bool, Int, Ragged
from tsgen.constrain.trie import SequenceTrie
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone, architecture
from tsgen.model.generator import load_backbone
from tsgen.settings import ModelConfig, SequenceTrainConfig
from tsgen.train.examples import Validation, padded
from tsgen.train.loop import Batches, Searchable, minimise
from tsgen.train.objective import TokenObjective
from tsgen.training_loop import Report


@dataclass(frozen=True, slots=True)
class SequenceGenerator:
    """The backbone, the documents' sequences, and the trie that keeps generation inside them."""

    backbone: Backbone
    ids: SequenceIds
    constraint: SequenceTrie

    @classmethod
    def of(cls, backbone: Backbone, ids: SequenceIds) -> Self:
        """The backbone on the GPU if there is one; hypotheses compete token by token."""
        backbone.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        rows = Ragged(ids.offsets.astype(np.int64), ids.tokens)
        return cls(backbone, ids, SequenceTrie(rows, end=ids.end, labels=rows))

    @classmethod
    def load(cls, folder: Path, ids: SequenceIds, config: ModelConfig) -> Self:
        """From the folder that the backbone's `save` wrote."""
        return cls.of(load_backbone(folder, config), ids)

    @property
    def encoder(self) -> Any:
        """The part of the backbone that reads queries; it holds the input embeddings."""
        return self.backbone.query_encoder

    def targets(self, documents: Sequence[int]) -> Ragged:
        """The tokens to write for each of these documents, with the end token."""
        return Ragged(*self.ids.closed()).take(np.asarray(documents, dtype=np.int64))


def new_backbone(config: ModelConfig, seed: int, symbols: int | None = None) -> Backbone:
    """A backbone to train that writes sequences.

    `mini` was pre-trained to write sets of whole words. As a writer of sequences it keeps the
    weights that read queries and decide by them, and gets other output symbols.

    Args:
        config: which backbone.
        seed: of fresh weights.
        symbols: the number of output symbols with vectors of their own; None: the pieces of the
            tokenizer.
    """
    torch.manual_seed(seed)
    pieces = {"spelling": "subword", "decoder": "sequence"}
    return architecture(config.backbone).create(config.model_copy(update=pieces), symbols)


def end_token(tokenizer: Any) -> int:
    """The token that closes a text as an identifier."""
    for token in (tokenizer.eos_token_id, tokenizer.sep_token_id):
        if token is not None:
            return int(token)
    raise ConfigError(
        "the backbone's tokenizer has no token that ends a text (eos or sep); expected one, for "
        "identifiers that are texts. Use another backbone, such as mini-flat."
    )


@dataclass(frozen=True, slots=True)
class SequenceTargets:
    """The tokens to be written for each pair."""

    sequences: Ragged  # [P]

    def lengths(self) -> Int:
        """[P] tokens of each target."""
        return np.diff(self.sequences.offsets)

    def batch(
        self,
        rows: Int,
        queries: Sequence[str],  # noqa: ARG002 - a target does not depend on the query
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[Int, Bool]:
        """The tokens [B, T] of some pairs, and where they are not padding [B, T]."""
        return padded([self.sequences.row(row) for row in rows])


def train_sequences(
    generator: Searchable,
    queries: Sequence[str],
    targets: Ragged,
    validation: Validation,
    config: SequenceTrainConfig,
    seed: int,
    folder: Path,
    report: Report,
) -> float:
    """Learn to write `targets` [P] after `queries` [P]; returns the best validation M@10.

    The best weights end up in the generator; an interrupted call goes on from what is in `folder`.
    """
    over = generator.constraint.alphabet if config.normalise == "docid" else None
    objective = TokenObjective(generator.backbone, over)
    sizes = config.batch_size, seed, config.micro_batch
    batch = Batches(objective, queries, SequenceTargets(targets), *sizes)
    steps, parts = batch.per_epoch * config.epochs, batch.parts
    where = config, seed, folder, report
    return minimise(batch.loss, steps, generator, validation, *where, parts=parts)
