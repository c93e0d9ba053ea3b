"""Training the weigher: the paper's contrastive loss over BM25 hard negatives.

    L = −log exp s(Q, D+) / (exp s(Q, D+) + Σ_m exp s(Q, D−_m)),   m = 1 … M

With `in_batch` the other queries' documents of the batch join the negatives (a document that
answers the query is left out). A weigher with a selector learns it in the same steps.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from tsgen.config import StageConfig
from tsgen.queries.pairs import Pair
from tsgen.queries.training_set import TrainingSet
from tsgen.records import Document
from tsgen.terms import scoring
from tsgen.terms.align import Aligner
from tsgen.terms.scoring import Text, scores, weigh
from tsgen.terms.selector import selected_share, selection_loss
from tsgen.terms.weigher import Weigher
from tsgen.training_loop import Report, TrainingLoop, shard

SELECTED = 12  # terms a document, as in the paper, at which a selector is validated


class WeigherTraining(StageConfig):
    """How the weigher is trained. The defaults are the paper's; presets trade them for time."""

    negatives: int = Field(default=7, ge=1)  # M
    in_batch: bool = False
    batch_size: int = Field(default=16, ge=1)
    window: int = Field(default=512, ge=8)  # a document's first so many tokens are trained on
    epochs: float = Field(default=3, ge=0)
    learning_rate: float = Field(default=5e-5, gt=0)  # of the encoder
    head_learning_rate: float = Field(default=1e-3, gt=0)  # of the MLP
    selector_learning_rate: float = Field(default=1e-2, gt=0)
    temperature: float = Field(default=1.0, gt=0)  # scores are divided by it; the paper's is 1
    warm_up: float = Field(default=0.05, ge=0, le=1)  # share of all steps
    freeze_embeddings: bool = False
    validate_every: int = Field(default=200, ge=1)  # steps
    validation_queries: int = Field(default=200, ge=1)
    candidates: int = Field(default=16, ge=1)  # BM25's best that a validation query ranks
    patience: int = Field(default=4, ge=1)  # validations without a better figure


class WeigherTrainer:
    """Trains a weigher on pairs; what it needs to go on after a kill is kept in `folder`."""

    def __init__(
        self,
        weigher: Weigher,
        documents: Sequence[Document],
        training: TrainingSet,
        validation: TrainingSet,
        config: WeigherTraining,
        seed: int,
        folder: Path,
        report: Report,
    ) -> None:
        self.weigher, self.documents, self.config = weigher, documents, config
        self.seed = seed
        self.training, self.validation = training, validation
        self.folder, self.report = folder, report
        self.prepared: dict[int, Text] = {}
        self.aligner = Aligner(weigher.splitter, weigher.tokenizer, config.window, 0)
        self.per_epoch = training.steps(config.batch_size)

    def run(self) -> float:
        """Train until the epochs are over or validation stops improving; the best weights stay in
        the weigher. Returns the best validation figure."""
        loop = TrainingLoop(
            self.weigher,
            _optimizer(self.weigher, self.config),
            steps=round(self.per_epoch * self.config.epochs),
            warm_up=self.config.warm_up,
            validate_every=self.config.validate_every,
            patience=self.config.patience,
            seed=self.seed,
            folder=self.folder,
            report=self.report,
        )
        return loop.run(lambda step: self._loss(self._batch(step)), self._figure)

    def _batch(self, step: int) -> NDArray[np.int64]:
        return shard(self.training.batch(step, self.config.batch_size, self.seed))

    def _loss(self, batch: NDArray[np.int64]) -> torch.Tensor:
        pairs = [self.training.pairs[i] for i in batch]
        negatives = self.training.negatives[batch]  # [Q, M]
        texts = self._positives(pairs) + self._documents(negatives.ravel())
        queries = scoring.queries(self.weigher, [pair.query for pair in pairs])
        asked, found = weigh(self.weigher, queries), weigh(self.weigher, texts)
        similarity = scores(asked, found) / self.config.temperature  # [Q, Q + Q·M]
        allowed = torch.from_numpy(self.training.allowed(batch, self.config.in_batch))
        logits = similarity.masked_fill(~allowed.to(similarity.device), -torch.inf)
        right = torch.arange(len(pairs)).to(logits.device)
        contrast = torch.nn.functional.cross_entropy(logits, right)
        if self.weigher.selector is None:
            return contrast
        right_ones = found.head(len(pairs))
        return contrast + selection_loss(self.weigher.select(right_ones.states), asked, right_ones)

    def _positives(self, pairs: Sequence[Pair]) -> list[Text]:
        own = self._documents([pair.document for pair in pairs])
        cut = {i: Document("", p.text) for i, p in enumerate(pairs) if p.text is not None}
        for i, text in zip(cut, self._prepare(list(cut.values())), strict=True):
            own[i] = text
        return own

    def _documents(self, positions: Sequence[int] | NDArray[np.int64]) -> list[Text]:
        new = sorted({int(p) for p in positions} - self.prepared.keys())
        texts = self._prepare([self.documents[p] for p in new])
        self.prepared.update(zip(new, texts, strict=True))
        return [self.prepared[int(p)] for p in positions]

    def _prepare(self, documents: Sequence[Document]) -> list[Text]:
        return scoring.documents(self.weigher, documents, self.aligner)

    def _figure(self) -> float:
        """The mean over the validation queries of the reciprocal rank of their document among
        BM25's best others, ties counted against it. With a selector, the mean of that and of the
        share of the words that query and document have in common among the document's best."""
        figures = []
        for pair, others in zip(self.validation.pairs, self.validation.negatives, strict=True):
            documents = self._positives([pair]) + self._documents(others)
            asked = weigh(self.weigher, scoring.queries(self.weigher, [pair.query]))
            found = weigh(self.weigher, documents)
            row = scores(asked, found)[0]
            figures.append(1.0 / (1 + int((row[1:] >= row[0]).sum())))
            if self.weigher.selector is not None:
                right = found.head(1)
                logits = self.weigher.select(right.states)
                figures.append(selected_share(logits, asked, right, SELECTED))
        return sum(figures) / max(len(figures), 1)


def _optimizer(weigher: Weigher, config: WeigherTraining) -> torch.optim.Optimizer:
    weigher.encoder.embeddings.requires_grad_(not config.freeze_embeddings)
    groups: list[tuple[torch.nn.Module, float]] = [
        (weigher.encoder, config.learning_rate),
        (weigher.mlp, config.head_learning_rate),
    ]
    if weigher.selector is not None:
        groups.append((weigher.selector, config.selector_learning_rate))
    return torch.optim.AdamW(
        [
            {"params": [p for p in part.parameters() if p.requires_grad], "lr": lr, "peak": lr}
            for part, lr in groups
        ],
        weight_decay=0.01,
    )
