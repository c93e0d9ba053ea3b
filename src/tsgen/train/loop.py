"""Training a generator on its targets, validated by the M@10 of a search."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from tsgen import parallel as processes
from tsgen.constrain.constraint import Bool, Constraint, Int, Ragged
from tsgen.decode.search import search
from tsgen.model.backbone import Backbone
from tsgen.model.generator import Generator
from tsgen.progress import show
from tsgen.queries.pairs import Pair
from tsgen.reciprocal_rank import DEPTH, mean_reciprocal_rank
from tsgen.settings import TrainConfig, TrainingConfig
from tsgen.train.examples import HardNegatives, Reorder, Targets, Validation, batches
from tsgen.train.objective import AnyObjective, DocumentObjective, Objective
from tsgen.training_loop import Report, TrainingLoop, shard

CHARACTERS = 4  # of a query, about one token


class Searchable(Protocol):
    """A generator for training: a backbone with the constraint of its validation searches."""

    @property
    def backbone(self) -> Backbone:
        """The language model that is trained."""
        ...

    @property
    def constraint(self) -> Constraint:
        """The constraint that keeps generation inside the identifiers."""
        ...

    @property
    def encoder(self) -> Any:
        """The part that reads queries; it holds the input embeddings."""
        ...


class AnyTargets(Protocol):
    """The tokens to write for each pair."""

    def lengths(self) -> Int:
        """[P] tokens of each target."""
        ...

    def batch(
        self, rows: Int, queries: Sequence[str], rng: np.random.Generator
    ) -> tuple[Int, Bool]:
        """The tokens [B, T] of some pairs, and a mask [B, T] that is false for padding."""
        ...


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The pairs to train on with their targets and their hard negatives."""

    pairs: Sequence[Pair]
    orders: Ragged  # [P] T(D) of each pair in the order to learn
    reorder: Reorder | None = None  # makes another order each time that a pair is met
    hard: HardNegatives | None = None


def train(
    generator: Generator,
    training: TrainingSet,
    validation: Validation,
    config: TrainConfig,
    seed: int,
    folder: Path,
    report: Report,
    since: float | None = None,
) -> float:
    """Train until the epochs are over or M@10 stops rising; returns the best M@10.

    Args:
        generator: the model; it ends up with the best weights.
        training: what to learn.
        validation: queries to search for M@10.
        config: losses, batches, learning rates, patience.
        seed: of all that is drawn.
        folder: where checkpoints are kept, from which an interrupted call goes on.
        report: called after each step.
        since: seconds of the monotonic clock at which the training time begins.
    """
    spelling = generator.constraint.spelling
    targets = Targets(spelling, training.orders, training.reorder)
    queries = [pair.query for pair in training.pairs]
    documents = np.array([pair.document for pair in training.pairs], dtype=np.int64)
    objective: AnyObjective = (
        DocumentObjective(generator, config, queries, documents)
        if config.loss == "documents"
        else Objective(generator, config, documents, training.hard)
    )
    batch = Batches(objective, queries, targets, config.batch_size, seed, config.micro_batch)
    steps = batch.per_epoch * config.epochs
    return minimise(
        batch.loss,
        steps,
        generator,
        validation,
        config,
        seed,
        folder,
        report,
        since,
        parts=batch.parts,
    )


def minimise(
    loss: Callable[..., torch.Tensor],
    steps: int,
    generator: Searchable,
    validation: Validation,
    config: TrainingConfig,
    seed: int,
    folder: Path,
    report: Report,
    since: float | None = None,
    figure: Callable[[], float] | None = None,
    parts: int = 1,
) -> float:
    """Train on any loss; the other arguments are those of `train`.

    Args:
        loss: step → the loss of its batch; with several parts, (step, part) → that of a part.
        steps: the number of steps.
        figure: validates in place of the M@10 of a search under the generator's constraint.
        parts: parts of a batch, whose losses and gradients are added up.
    """
    loop = TrainingLoop(
        generator.backbone,
        _optimizer(generator, config),
        steps=steps,
        warm_up=config.warm_up,
        validate_every=config.validate_every,
        patience=config.patience,
        seed=seed,
        folder=folder,
        report=report,
        since=time.monotonic() if since is None else since,
        minutes=config.minutes,
        parts=parts,
    )
    by_search = partial(validate_by_search, generator, validation, config)
    return loop.run(loss, figure or by_search)


class Batches:
    """The loss of each step on its batch, which depends on the seed and the step alone."""

    def __init__(
        self,
        objective: AnyObjective,
        queries: Sequence[str],
        targets: AnyTargets,
        size: int,
        seed: int,
        micro: int = 0,
    ) -> None:
        """Prepare the batches.

        Args:
            objective: the loss of some pairs.
            queries: [P] the query of each pair.
            targets: the tokens to write for each pair.
            size: pairs of a batch, those of all processes together.
            seed: of the order of the pairs, and of what is drawn for them.
            micro: pairs that are computed at once, at most; 0: a process's whole batch.
        """
        self._objective, self._queries, self._targets = objective, queries, targets
        self._size, self._seed = size, seed
        lengths = np.array([len(query) for query in queries], dtype=np.int64)
        self._tokens = self._targets.lengths()
        self._lengths = self._tokens + lengths // CHARACTERS
        own = -(-size // processes.count())
        self.parts = -(-own // micro) if micro else 1
        self.per_epoch = -(-len(queries) // size)
        self._epoch = lru_cache(maxsize=1)(self._new_epoch)

    def loss(self, step: int, part: int = 0) -> torch.Tensor:
        """The loss of one step's batch, or the share of one of its parts in that loss: the mean
        over all tokens is the sum of the parts' means, each times its share of the tokens."""
        epoch, at = divmod(step, self.per_epoch)
        whole = shard(self._epoch(epoch)[at])
        rows = np.array_split(whole, self.parts)[part]
        share = float(self._tokens[rows].sum() / max(self._tokens[whole].sum(), 1))
        if not len(rows):  # of a smaller last batch: every part takes part in the exchange
            rows = whole[:1]
        drawn = (self._seed, 1, step, part) if self.parts > 1 else (self._seed, 1, step)
        rng = np.random.default_rng(drawn)
        queries = [self._queries[row] for row in rows]
        loss = self._objective(queries, *self._targets.batch(rows, queries, rng), rows, rng)
        return loss if self.parts == 1 else loss * share

    def _new_epoch(self, epoch: int) -> list[Int]:
        rng = np.random.default_rng((self._seed, 0, epoch))
        return batches(self._lengths, self._size, rng)


def validate_by_search(
    generator: Searchable, validation: Validation, config: TrainingConfig
) -> float:
    """M@10 of the validation queries by constrained decoding with a small beam."""
    parts = generator.backbone, generator.constraint
    found = search(*parts, validation.queries, DEPTH, config.validation)
    documents = [[hit.document for hit in hits] for hits in found]
    return mean_reciprocal_rank(documents, validation.answers)


FACTORS = (1 / 3, 2 / 3, 1.0, 5 / 3, 3.0)  # of the lexical weight


def best_lexical_weight(
    generator: Searchable, validation: Validation, config: TrainingConfig
) -> float:
    """The lexical weight with the best M@10 on the validation queries, the smallest of equals;
    tried are the one of the settings and multiples of it."""
    weight = config.validation.lexical_weight

    def figure(factor: float) -> float:
        decode = config.validation.model_copy(update={"lexical_weight": weight * factor})
        changed = config.model_copy(update={"validation": decode})
        found = validate_by_search(generator, validation, changed)
        show(f"lexical weight {weight * factor:.2g}: M@10 {found:.3f}", 0)
        return found

    return weight * max(FACTORS, key=figure)


def _optimizer(generator: Searchable, config: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW; the encoder may have its own learning rate, its embeddings may stay as they are."""
    generator.encoder.get_input_embeddings().requires_grad_(not config.freeze_embeddings)
    encoder = {id(weights) for weights in generator.encoder.parameters()}
    rates = {
        True: config.encoder_learning_rate or config.learning_rate,
        False: config.learning_rate,
    }
    learned = [weights for weights in generator.backbone.parameters() if weights.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": [p for p in learned if (id(p) in encoder) == inside], "lr": lr, "peak": lr}
            for inside, lr in rates.items()
        ],
        weight_decay=config.weight_decay,
    )
