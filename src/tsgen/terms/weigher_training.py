"""The weights `learned`: training a term weigher on a data set, as a cached stage.

Training is the expensive part. It depends neither on N nor on what the weights are used for, so the
trained weigher is kept in the cache and shared by every term selection and by the system `weigher`.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.artifact import stage, stage_key
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.errors import ConfigError
from tsgen.queries.negatives import ContrastiveSet, learned_from, training_sets
from tsgen.queries.pairs import Pair
from tsgen.records import Document
from tsgen.settings import LearnedConfig, TfidfConfig, WeigherConfig, WeigherTraining, WordsConfig
from tsgen.terms import weigher as scoring
from tsgen.terms.weigher import (
    Aligner,
    Mixed,
    Selector,
    Text,
    Weigher,
    scores,
    selected_share,
    selection_loss,
    weigh,
)
from tsgen.terms.weights import TERM_WEIGHTS, Impact, TfidfWeights, Weights, WeightsKind, Workspace
from tsgen.terms.words import Splitter
from tsgen.training_loop import Report, TrainingLoop, remove_checkpoint, shard, shown

# Training the weigher: the paper's contrastive loss over BM25 hard negatives.
#
#     L = −log exp s(Q, D+) / (exp s(Q, D+) + Σ_m exp s(Q, D−_m)),   m = 1 … M
#
# With `in_batch` the other queries' documents of the batch join the negatives (a document that
# answers the query is left out). A weigher with a selector learns it in the same steps.

WARM_UP = 0.05  # share of all steps
SELECTOR_RATE = 1e-2  # the learning rate of the selector
SELECTED = 12  # terms a document, as in the paper, at which a selector is validated


class WeigherTrainer:
    """Trains a weigher on pairs of a query and a document, with hard negatives.

    `folder` holds the checkpoint from which an interrupted training goes on.
    """

    def __init__(
        self,
        weigher: Weigher,
        documents: Sequence[Document],
        training: ContrastiveSet,
        validation: ContrastiveSet,
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
            warm_up=WARM_UP,
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
        read, found = weigh(self.weigher, queries), weigh(self.weigher, texts)
        similarity = scores(read, found) / self.config.temperature  # [Q, Q + Q·M]
        allowed = torch.from_numpy(self.training.allowed(batch, self.config.in_batch))
        logits = similarity.masked_fill(~allowed.to(similarity.device), -torch.inf)
        right = torch.arange(len(pairs)).to(logits.device)
        contrast = torch.nn.functional.cross_entropy(logits, right)
        if self.weigher.selector is None:
            return contrast
        right_ones = found.head(len(pairs))
        return contrast + selection_loss(self.weigher.select(right_ones.states), read, right_ones)

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
            read = weigh(self.weigher, scoring.queries(self.weigher, [pair.query]))
            found = weigh(self.weigher, documents)
            row = scores(read, found)[0]
            figures.append(1.0 / (1 + int((row[1:] >= row[0]).sum())))
            if self.weigher.selector is not None:
                right = found.head(1)
                logits = self.weigher.select(right.states)
                figures.append(selected_share(logits, read, right, SELECTED))
        return sum(figures) / max(len(figures), 1)


def _optimizer(weigher: Weigher, config: WeigherTraining) -> torch.optim.Optimizer:
    weigher.encoder.embeddings.requires_grad_(not config.freeze_embeddings)
    groups: list[tuple[torch.nn.Module, float]] = [
        (weigher.encoder, config.learning_rate),
        (weigher.mlp, config.head_learning_rate),
    ]
    if weigher.selector is not None:
        groups.append((weigher.selector, SELECTOR_RATE))
    return torch.optim.AdamW(
        [
            {"params": [p for p in part.parameters() if p.requires_grad], "lr": lr, "peak": lr}
            for part, lr in groups
        ],
        weight_decay=0.01,
    )


KIND = "learned"


class _WeigherStage(StageConfig):
    weigher: WeigherConfig
    training: WeigherTraining
    words: WordsConfig


def weigher_stage(words: WordsConfig, config: LearnedConfig) -> StageConfig:
    """The settings that a trained weigher depends on."""
    return _WeigherStage(weigher=config.model, training=config.training, words=words)


def trained_weigher(
    data: DataSet, splitter: Splitter, config: LearnedConfig, seed: int, cache: Path
) -> Path:
    """The folder in `cache` of a weigher trained on this data with these settings; trains it if
    it is not there."""
    settings = weigher_stage(splitter.config, config)
    inputs = {"documents": data.fingerprint} | judged_inputs(data, "train", "dev")
    key = stage_key("weigher", settings.model_dump(mode="json"), inputs, seed)
    folder = cache / f"trained-weigher-{key[:12]}"

    def work(partial: Path) -> None:
        _train(data, splitter, config, seed, partial)

    stage(folder, work, kind="weigher", config=settings, inputs=inputs, seed=seed, keep_pieces=True)
    return folder


def _train(
    data: DataSet, splitter: Splitter, config: LearnedConfig, seed: int, folder: Path
) -> None:
    torch.manual_seed(seed)
    documents = list(data.documents())
    texts = [document.contents for document in documents]
    use_prior = config.model.prior == "bm25"
    impact = Impact.count(texts, splitter) if use_prior else None
    weigher = Weigher(config.model, splitter, impact)
    sizes = config.training
    training, validation = training_sets(
        data, documents, sizes.negatives, sizes.candidates, sizes.validation_queries, seed
    )
    report = shown(f"training the weigher on {learned_from(data)}")
    WeigherTrainer(
        weigher, documents, training, validation, config.training, seed, folder, report
    ).run()
    weigher.save(folder)
    remove_checkpoint(folder)


class Selected(Mixed):
    """The term probabilities of a trained weigher's selector, mixed with tf-idf."""

    def __init__(self, weigher: Weigher, impact: Impact, share: float) -> None:
        rare = TfidfWeights(weigher.splitter, impact, TfidfConfig())
        super().__init__(Selector(weigher), rare, share)
        self._weigher = weigher

    def save(self, folder: Path) -> None:
        """Write the weigher, which includes the word counts of its corpus."""
        self._weigher.save(folder)


def _build(
    data: DataSet, splitter: Splitter, config: LearnedConfig, workspace: Workspace
) -> Weights:
    trained = trained_weigher(data, splitter, config, workspace.seed, workspace.cache)
    return _load(trained, splitter, config)


def _load(folder: Path, _splitter: Splitter, config: LearnedConfig) -> Weights:
    """Read a trained weigher, which brings its own splitter and settings."""
    weigher = Weigher.load(folder)
    if config.share == 1:
        return weigher if weigher.selector is None else Selector(weigher)
    if weigher.selector is None or weigher.impact is None:
        raise ConfigError(
            f"share = {config.share} of a selector and tf-idf, but the weigher has "
            f"{'no selector' if weigher.selector is None else 'no counts of its corpus'}; expected "
            "both. Train it with weigher.selector=true and weigher.prior=bm25."
        )
    return Selected(weigher, weigher.impact, config.share)


TERM_WEIGHTS.register(WeightsKind(KIND, LearnedConfig, _build, _load, trains=True, table="weigher"))
