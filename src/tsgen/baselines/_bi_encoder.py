"""Bi-encoders: the query and the document are encoded apart, s(Q, D) = E_Q(Q) · E_D(D).

This file holds what the dense and the learned sparse systems share: the settings, the encoder with
its tokenizer, and contrastive training. The loss of a batch of pairs (Q, D+) is

    L = mean of −log (exp(s(Q, D+) / τ) / Σ_D exp(s(Q, D) / τ)) + penalty,

where D runs over D+, the BM25 negatives of the batch and, with `in_batch`, the other pairs'
documents; known relevant documents are never negatives. Training validates by M@10 of dev queries
(of training queries, where there are none) among their documents and BM25's best others.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import orjson
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import nn

from tsgen.artifact import LOGS, stage, stage_key, write_beside
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.progress import show
from tsgen.queries.negatives import ContrastiveSet, learned_from, training_sets
from tsgen.queries.pairs import Pair
from tsgen.reciprocal_rank import reciprocal_ranks
from tsgen.retrieve.systems import SYSTEMS, System
from tsgen.settings import MINILM
from tsgen.terms.encoder import empty_encoder, load_encoder
from tsgen.training_loop import (
    CURVE,
    TIME,
    Report,
    TrainingLoop,
    load_weights,
    remove_checkpoint,
    save_weights,
    shard,
    shown,
)

WEIGHTS, SETTINGS, ENCODER = "bi_encoder.safetensors", "bi_encoder.json", "encoder"
CHUNK = 16  # texts of like length encoded together

Tokens = Sequence[Sequence[int]]


class BiEncoderConfig(StageConfig):
    """The settings of a bi-encoder and of its training."""

    encoder: str = MINILM
    """The pre-trained encoder: `minilm`, a hub name or a folder."""

    layers: int | None = Field(None, ge=1)
    """Use only the first so many layers of the encoder; unset: all."""

    query_tokens: int = Field(32, ge=4)
    """Queries are cut off after so many tokens."""

    document_tokens: int = Field(256, ge=4)
    """Documents are cut off after so many tokens."""

    training_tokens: int | None = Field(None, ge=4)
    """In training documents are cut off after so many tokens; unset: as in search."""

    negatives: int = Field(1, ge=1)
    """BM25 negatives of each training pair."""

    in_batch: bool = True
    """Whether the documents of the batch's other pairs are negatives, too."""

    temperature: float = Field(1.0, gt=0)
    """The τ by which scores are divided in the loss."""

    batch_size: int = Field(128, ge=1)
    """Training pairs of a batch."""

    epochs: float = Field(20, ge=0)
    """Passes over the training pairs."""

    minutes: float | None = Field(None, gt=0)
    """Train for so many minutes, whatever the epochs."""

    learning_rate: float = Field(2e-5, gt=0)
    """The peak learning rate of pre-trained weights."""

    head_learning_rate: float = Field(1e-3, gt=0)
    """The peak learning rate of weights that are new."""

    freeze_embeddings: bool = False
    """Whether the encoder's token embeddings stay as they are."""

    validate_every: int = Field(500, ge=1)
    """Steps from one validation to the next."""

    validation_queries: int = Field(200, ge=1)
    """Queries that validate."""

    candidates: int = Field(8, ge=1)
    """BM25's best documents of each validation query, among all of which validation searches."""

    patience: int = Field(4, ge=1)
    """Stop after so many validations without a better M@10."""


class BiEncoder(nn.Module):
    """A pre-trained encoder with its tokenizer; subclasses turn its states into vectors."""

    settings: ClassVar[type[BiEncoderConfig]] = BiEncoderConfig

    def __init__(self, config: Any, encoder: Any, tokenizer: Any) -> None:
        """Keep the settings (an instance of the subclass' `settings`), encoder and tokenizer."""
        super().__init__()
        self.config, self.encoder, self.tokenizer = config, encoder, tokenizer

    @classmethod
    def pretrained(cls, config: Any) -> Self:
        """Load the encoder that the settings name, from which training starts."""
        return cls(config, *load_encoder(config.encoder, config.layers))

    @staticmethod
    def empty(folder: Path) -> tuple[Any, Any]:
        """Make an encoder of the saved shape without its weights; return it with the tokenizer."""
        return empty_encoder(folder)

    def encoders(self) -> list[Any]:
        """The pre-trained encoders, which learn at `learning_rate`."""
        return [self.encoder]

    def begin(self, texts: Sequence[str], queries: Sequence[str]) -> None:
        """Initialise weights from documents and training queries before training; by default none
        are."""

    def queries(self, tokens: Tokens) -> torch.Tensor:
        """Encode queries as vectors [Q, d]."""
        raise NotImplementedError

    def documents(self, tokens: Tokens) -> torch.Tensor:
        """Encode documents as vectors [D, d]."""
        raise NotImplementedError

    def penalty(self, queries: torch.Tensor, documents: torch.Tensor, step: int) -> torch.Tensor:
        """A regulariser of a batch's vectors [Q, d] and [D, d], added to the loss; 0 here."""
        del documents, step
        return queries.new_zeros(())

    def tokens(self, texts: Sequence[str], length: int) -> Tokens:
        """The first `length` tokens of each text, special tokens included."""
        encoded = self.tokenizer(
            list(texts), truncation=True, max_length=length, return_attention_mask=False
        )
        return encoded["input_ids"]  # type: ignore[no-any-return]

    def padded(self, tokens: Tokens) -> tuple[torch.Tensor, torch.Tensor]:
        """The tokens as one padded tensor [B, S], and the mask [B, S] of those that are real."""
        device = next(self.parameters()).device
        length = max(len(row) for row in tokens)
        pad = self.tokenizer.pad_token_id
        ids = torch.tensor([[*row, *[pad] * (length - len(row))] for row in tokens], device=device)
        lengths = torch.tensor([len(row) for row in tokens], device=device)
        return ids, torch.arange(length, device=device) < lengths[:, None]

    def save(self, folder: Path) -> None:
        """Write everything `load` needs: weights, settings, encoder shape, tokenizer."""
        save_weights(folder / WEIGHTS, self)
        with write_beside(folder / SETTINGS) as beside:
            beside.write_bytes(orjson.dumps(self.config.model_dump(mode="json")))
        self.encoder.config.save_pretrained(folder / ENCODER)
        self.tokenizer.backend_tokenizer.no_truncation()  # else the last call's length is saved
        self.tokenizer.backend_tokenizer.no_padding()
        self.tokenizer.save_pretrained(folder / ENCODER)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read back what `save` wrote, ready to search."""
        values = orjson.loads((folder / SETTINGS).read_bytes())
        config = cls.settings.from_mapping(values, str(folder / SETTINGS))
        model = cls(config, *cls.empty(folder / ENCODER))
        load_weights(folder / WEIGHTS, model)
        return model.eval()


def in_chunks(
    encode: Callable[[Tokens], torch.Tensor], tokens: Tokens, what: str = ""
) -> torch.Tensor:
    """Encode texts in chunks of similar length; the vectors [B, d] come in the texts' order.

    Args:
        encode: Turns a chunk of tokenised texts into vectors.
        tokens: The tokens of each text.
        what: The progress message; without one no progress is shown.
    """
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
    parts = []
    for start in range(0, len(order), CHUNK):
        if what:
            show(what, start, len(order))
        parts.append(encode([tokens[i] for i in order[start : start + CHUNK]]))
    found = torch.cat(parts)
    places = torch.tensor(order, device=found.device)
    return found[torch.argsort(places)]


WARM_UP = 0.1  # share of all steps
WEIGHT_DECAY = 0.01

NegativeMiner = Callable[[BiEncoder, Sequence[str], ContrastiveSet], ContrastiveSet]
"""Replaces a training set's negatives, by a model and the texts of all documents."""


def train_bi_encoder(
    kind: str,
    start: Callable[[], BiEncoder],
    data: DataSet,
    config: Any,
    seed: int,
    cache: Path,
    mine: NegativeMiner | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Path:
    """Train a bi-encoder, unless the cache has it; return its folder.

    Args:
        kind: The system's name, for messages and the folder's name.
        start: Makes the model that training starts from.
        data: Its judgments of train and dev, and its documents.
        config: A `BiEncoderConfig` or a subclass of it.
        seed: Of all that is drawn at random.
        cache: The folder in which trained models are kept.
        mine: Replaces BM25's negatives before training.
        inputs: Hashes by name of whatever the model depends on beside the data and the settings.
    """
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
        ContrastiveTraining(model, texts, training, validation, seed).train(partial, report)
        model.save(partial)
        remove_checkpoint(partial)

    stage(folder, work, kind=name, config=config, inputs=known, seed=seed, keep_pieces=True)
    return folder


def encode_corpus(retriever: Any, data: DataSet, stages: Sequence[Path], folder: Path) -> None:
    """Encode all documents with the last of the trained models and save the retriever; the learning
    curves and training times of all stages are copied beside it.

    Args:
        retriever: The retriever's class, with `fit` and with `kind`, its model's class.
        data: The data set whose documents are encoded.
        stages: The folders of `train_bi_encoder`, in the order of training.
        folder: The system's folder, which is filled.
    """
    retriever.fit(data, retriever.kind.load(stages[-1])).save(folder)
    for number, kept in enumerate(stages):
        into = folder / "training" / str(number)
        (into / LOGS).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept / CURVE, into / CURVE)
        shutil.copyfile(kept / LOGS / TIME, into / LOGS / TIME)


def register_bi_encoder(
    name: str, config: type[BiEncoderConfig], retriever: Any, start: Callable[[Any], BiEncoder]
) -> System:
    """Add a system that is one trained bi-encoder and exact search.

    Args:
        name: The system's name.
        config: The class of its settings.
        retriever: The retriever's class, with `fit`, `load` and `kind`, its model's class.
        start: Makes the model that training starts from, by the settings.
    """

    def fit(data: DataSet, config: BiEncoderConfig, seed: int, folder: Path) -> None:
        model = train_bi_encoder(name, lambda: start(config), data, config, seed, folder.parent)
        encode_corpus(retriever, data, [model], folder)

    return SYSTEMS.register(System(name, config, fit, retriever.load, trains=True))


class ContrastiveTraining:
    """Training of a bi-encoder on pairs: the loss of each batch, and validation by M@10."""

    def __init__(
        self,
        model: BiEncoder,
        texts: Sequence[str],
        training: ContrastiveSet,
        validation: ContrastiveSet,
        seed: int,
    ) -> None:
        self.model, self.config = model, model.config
        self._texts, self._training, self._validation = texts, training, validation
        self._seed = seed
        self._length = self.config.training_tokens or self.config.document_tokens
        self._tokens: dict[int, Sequence[int]] = {}

    def train(self, folder: Path, report: Report) -> float:
        """Train until the epochs or minutes are over or validation stops improving; the best
        weights stay in the model. Returns the best validation figure."""
        config = self.config
        loop = TrainingLoop(
            self.model,
            optimizer(self.model),
            steps=round(self._training.steps(config.batch_size) * config.epochs),
            warm_up=WARM_UP,
            validate_every=config.validate_every,
            patience=config.patience,
            seed=self._seed,
            folder=folder,
            report=report,
            minutes=config.minutes,
        )
        return loop.run(self.loss, self.validate)

    def loss(self, step: int) -> torch.Tensor:
        """The contrastive loss of a step's batch, penalty included."""
        training, config = self._training, self.config
        batch = shard(training.batch(step, config.batch_size, self._seed))
        pairs = [training.pairs[i] for i in batch]
        queries = self._queries(pairs)  # [Q, d]
        negatives = training.negatives[batch].ravel()
        tokens = [*self._positives(pairs), *self._documents(negatives)]
        documents = in_chunks(self.model.documents, tokens)  # [Q + Q · M, d]
        allowed = torch.from_numpy(training.allowed(batch, config.in_batch)).to(queries.device)
        logits = (queries @ documents.T / config.temperature).masked_fill(~allowed, -torch.inf)
        right = torch.arange(len(pairs), device=logits.device)
        contrast = torch.nn.functional.cross_entropy(logits, right)
        return contrast + self.model.penalty(queries, documents, step)

    def validate(self) -> float:
        """M@10 of the validation queries among all their documents and BM25's best others; ties
        count against the right document."""
        pairs, negatives = self._validation.pairs, self._validation.negatives
        positions = [pair.document for pair in pairs]
        others = np.setdiff1d(negatives, positions)
        tokens = [*self._positives(pairs), *self._documents(others)]
        documents = in_chunks(self.model.documents, tokens)
        scores = (self._queries(pairs) @ documents.T).float().cpu().numpy()  # [Q, D]
        known = np.concatenate([positions, others])
        ranks = [
            1 + int((row[known != pair.document] >= row[i]).sum())
            for i, (pair, row) in enumerate(zip(pairs, scores, strict=True))
        ]
        return float(reciprocal_ranks(ranks).mean()) if ranks else 0.0

    def _queries(self, pairs: Sequence[Pair]) -> torch.Tensor:
        texts = [pair.query for pair in pairs]
        tokens = self.model.tokens(texts, self.config.query_tokens)
        return in_chunks(self.model.queries, tokens)

    def _positives(self, pairs: Sequence[Pair]) -> Tokens:
        """The relevant documents; where a query was cut out of its document, without that piece."""
        own = list(self._documents([pair.document for pair in pairs]))
        for i, pair in enumerate(pairs):
            if pair.text is not None:
                (own[i],) = self.model.tokens([pair.text], self._length)
        return own

    def _documents(self, positions: Sequence[int] | NDArray[np.int64]) -> Tokens:
        new = sorted({int(p) for p in positions} - self._tokens.keys())
        if new:
            tokens = self.model.tokens([self._texts[p] for p in new], self._length)
            self._tokens.update(zip(new, tokens, strict=True))
        return [self._tokens[int(p)] for p in positions]


def optimizer(model: BiEncoder) -> torch.optim.Optimizer:
    """AdamW with one learning rate for pre-trained weights and another for new ones."""
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
