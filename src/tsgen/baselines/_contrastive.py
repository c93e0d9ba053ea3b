"""Training bi-encoders: a contrastive loss over BM25's and the batch's other documents.

L = −log exp(s(Q, D+) / τ) / Σ_D exp(s(Q, D) / τ) + penalty,   D of the batch
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.artifact import LOGS, stage, stage_key
from tsgen.baselines._bi_encoder import BiEncoder, Tokens, in_chunks
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.queries.pairs import Pair
from tsgen.queries.training_set import TrainingSet, learned_from, training_sets
from tsgen.training_loop import (
    CURVE,
    TIME,
    Report,
    TrainingLoop,
    remove_checkpoint,
    shard,
    shown,
)

DEPTH = 10  # validation is M@10
WEIGHT_DECAY = 0.01

Mine = Callable[[BiEncoder, Sequence[str], TrainingSet], TrainingSet]
"""Other negatives for the pairs, by a model and the texts of all documents."""


def trained(
    kind: str,
    start: Callable[[], BiEncoder],
    data: DataSet,
    config: Any,
    seed: int,
    cache: Path,
    mine: Mine | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Path:
    """The folder in `cache` of a bi-encoder trained on this data with these settings; trains it if
    it is not there. `inputs` are the hashes of what it depends on beside the data."""
    known = (
        {"documents": data.fingerprint} | judged_inputs(data, "train", "dev") | dict(inputs or {})
    )
    name = f"trained-{kind}"
    key = stage_key(name, config.model_dump(mode="json"), known, seed)
    folder = cache / f"{name}-{key[:12]}"

    def work(partial: Path) -> None:
        torch.manual_seed(seed)
        documents = list(data.documents())
        texts, model = [document.contents for document in documents], start()
        sizes = config.negatives, config.candidates, config.validation_queries
        training, validation = training_sets(data, documents, *sizes, seed)
        model.begin(texts, [pair.query for pair in training.pairs])
        if mine is not None:
            training = mine(model.eval(), texts, training)
        report = shown(f"training {kind} on {learned_from(data)}")
        Contrast(model, texts, training, validation, seed).train(partial, report)
        model.save(partial)
        remove_checkpoint(partial)

    stage(folder, work, kind=name, config=config, inputs=known, seed=seed, keep_pieces=True)
    return folder


def finish(retriever: Any, data: DataSet, stages: Sequence[Path], folder: Path) -> None:
    """Fill a system's folder: all documents read with what the last of the stages trained, and the
    learning curves and minutes of all of them."""
    retriever.fit(data, retriever.kind.load(stages[-1])).save(folder)
    for number, kept in enumerate(stages):
        into = folder / "training" / str(number)
        (into / LOGS).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept / CURVE, into / CURVE)
        shutil.copyfile(kept / LOGS / TIME, into / LOGS / TIME)


class Contrast:
    """The loss and the validation figure of a bi-encoder on some pairs."""

    def __init__(
        self,
        model: BiEncoder,
        texts: Sequence[str],
        training: TrainingSet,
        validation: TrainingSet,
        seed: int,
    ) -> None:
        self.model, self.config = model, model.config
        self._texts, self._training, self._validation = texts, training, validation
        self._seed = seed
        self._length = self.config.training_tokens or self.config.document_tokens
        self._read: dict[int, Sequence[int]] = {}

    def train(self, folder: Path, report: Report) -> float:
        """Train until the epochs or minutes are over or validation stops improving; the best
        weights stay in the model. Returns the best validation figure."""
        config = self.config
        loop = TrainingLoop(
            self.model,
            optimizer(self.model),
            steps=round(self._training.steps(config.batch_size) * config.epochs),
            warm_up=config.warm_up,
            validate_every=config.validate_every,
            patience=config.patience,
            seed=self._seed,
            folder=folder,
            report=report,
            minutes=config.minutes,
        )
        return loop.run(self.loss, self.figure)

    def loss(self, step: int) -> torch.Tensor:
        """The loss of a step's batch."""
        training, config = self._training, self.config
        batch = shard(training.batch(step, config.batch_size, self._seed))
        pairs = [training.pairs[i] for i in batch]
        asked = self._queries(pairs)  # [Q, d]
        negatives = training.negatives[batch].ravel()
        tokens = [*self._right(pairs), *self._documents(negatives)]
        found = in_chunks(self.model.documents, tokens)  # [Q + Q · M, d]
        allowed = torch.from_numpy(training.allowed(batch, config.in_batch)).to(asked.device)
        logits = (asked @ found.T / config.temperature).masked_fill(~allowed, -torch.inf)
        right = torch.arange(len(pairs), device=logits.device)
        contrast = torch.nn.functional.cross_entropy(logits, right)
        return contrast + self.model.penalty(asked, found, step)

    def figure(self) -> float:
        """M@10 of the validation queries among all their documents and BM25's best others."""
        pairs, negatives = self._validation.pairs, self._validation.negatives
        positions = [pair.document for pair in pairs]
        others = np.setdiff1d(negatives, positions)
        tokens = [*self._right(pairs), *self._documents(others)]
        found = in_chunks(self.model.documents, tokens)
        scores = (self._queries(pairs) @ found.T).float().cpu().numpy()  # [Q, D]
        known = np.concatenate([positions, others])
        ranks = [
            1 + int((row[known != pair.document] >= row[i]).sum())
            for i, (pair, row) in enumerate(zip(pairs, scores, strict=True))
        ]
        return sum(1 / rank for rank in ranks if rank <= DEPTH) / max(len(ranks), 1)

    def _queries(self, pairs: Sequence[Pair]) -> torch.Tensor:
        texts = [pair.query for pair in pairs]
        tokens = self.model.tokens(texts, self.config.query_tokens)
        return in_chunks(self.model.queries, tokens)

    def _right(self, pairs: Sequence[Pair]) -> Tokens:
        """The documents that answer, without the query where it was cut out of its document."""
        own = list(self._documents([pair.document for pair in pairs]))
        for i, pair in enumerate(pairs):
            if pair.text is not None:
                (own[i],) = self.model.tokens([pair.text], self._length)
        return own

    def _documents(self, positions: Sequence[int] | NDArray[np.int64]) -> Tokens:
        new = sorted({int(p) for p in positions} - self._read.keys())
        if new:
            tokens = self.model.tokens([self._texts[p] for p in new], self._length)
            self._read.update(zip(new, tokens, strict=True))
        return [self._read[int(p)] for p in positions]


def optimizer(model: BiEncoder) -> torch.optim.Optimizer:
    """AdamW; what was not trained before learns at a rate of its own."""
    config = model.config
    for encoder in model.encoders():
        encoder.get_input_embeddings().requires_grad_(not config.freeze_embeddings)
    known = {id(weights) for encoder in model.encoders() for weights in encoder.parameters()}
    learned = [weights for weights in model.parameters() if weights.requires_grad]
    groups = [
        {"params": [p for p in learned if (id(p) in known) == old], "lr": lr, "peak": lr}
        for old, lr in ((True, config.learning_rate), (False, config.head_learning_rate))
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], weight_decay=WEIGHT_DECAY)
