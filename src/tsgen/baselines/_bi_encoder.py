"""Bi-encoders: a query and a document become a vector each, apart; s(Q, D) is their product.

What the dense and the sparse systems have in common: settings, tokens, batches, saving.
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
from tsgen.queries.negatives import TrainingSet, learned_from, training_sets
from tsgen.queries.pairs import Pair
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
    """A bi-encoder and its training."""

    encoder: str = MINILM  # or a hub name or folder
    layers: int | None = Field(None, ge=1)  # only the encoder's first so many
    query_tokens: int = Field(32, ge=4)
    document_tokens: int = Field(256, ge=4)
    training_tokens: int | None = Field(None, ge=4)  # of documents in training; None: as many

    negatives: int = Field(1, ge=1)  # of BM25's best, for each pair
    in_batch: bool = True  # the other pairs' documents are negatives, too
    temperature: float = Field(1.0, gt=0)  # scores are divided by it
    batch_size: int = Field(128, ge=1)
    epochs: float = Field(20, ge=0)
    minutes: float | None = Field(None, gt=0)  # train for so long, whatever the epochs
    learning_rate: float = Field(2e-5, gt=0)
    head_learning_rate: float = Field(1e-3, gt=0)  # of what was not trained before
    warm_up: float = Field(0.1, ge=0, le=1)  # share of all steps
    freeze_embeddings: bool = False
    validate_every: int = Field(500, ge=1)  # steps
    validation_queries: int = Field(200, ge=1)
    candidates: int = Field(8, ge=1)  # BM25's best of each, among all of which is searched
    patience: int = Field(4, ge=1)  # validations without a better M@10


class BiEncoder(nn.Module):
    """A pre-trained encoder with its tokenizer; a kind says what vectors it makes of texts."""

    settings: ClassVar[type[BiEncoderConfig]] = BiEncoderConfig

    def __init__(self, config: Any, encoder: Any, tokenizer: Any) -> None:
        """`config` is one of the kind's own `settings`."""
        super().__init__()
        self.config, self.encoder, self.tokenizer = config, encoder, tokenizer

    @classmethod
    def pretrained(cls, config: Any) -> Self:
        """The start of a training: the encoder that the settings name."""
        return cls(config, *load_encoder(config.encoder, config.layers))

    @staticmethod
    def empty(folder: Path) -> tuple[Any, Any]:
        """An encoder of a saved shape, and its tokenizer."""
        return empty_encoder(folder)

    def encoders(self) -> list[Any]:
        """What was trained before."""
        return [self.encoder]

    def begin(self, texts: Sequence[str], queries: Sequence[str]) -> None:
        """What is set by looking at documents and training queries before training: nothing."""

    def queries(self, tokens: Tokens) -> torch.Tensor:
        """[Q, d] the vectors of queries."""
        raise NotImplementedError

    def documents(self, tokens: Tokens) -> torch.Tensor:
        """[D, d] the vectors of documents."""
        raise NotImplementedError

    def penalty(self, asked: torch.Tensor, found: torch.Tensor, step: int) -> torch.Tensor:
        """What a batch's vectors add to the loss: nothing."""
        del found, step
        return asked.new_zeros(())

    def tokens(self, texts: Sequence[str], length: int) -> Tokens:
        """The first `length` tokens of each text, special ones included."""
        encoded = self.tokenizer(
            list(texts), truncation=True, max_length=length, return_attention_mask=False
        )
        return encoded["input_ids"]  # type: ignore[no-any-return]

    def padded(self, tokens: Tokens) -> tuple[torch.Tensor, torch.Tensor]:
        """[B, S] the tokens, and the mask of those that are no padding."""
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
        self.tokenizer.backend_tokenizer.no_truncation()  # else it says what it was last used for
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
    """What `encode` makes of texts, those of like length together; in the order of the texts."""
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
    parts = []
    for start in range(0, len(order), CHUNK):
        if what:
            show(what, start, len(order))
        parts.append(encode([tokens[i] for i in order[start : start + CHUNK]]))
    found = torch.cat(parts)
    places = torch.tensor(order, device=found.device)
    return found[torch.argsort(places)]


# Training bi-encoders: a contrastive loss over BM25's and the batch's other documents.
#
# L = −log exp(s(Q, D+) / τ) / Σ_D exp(s(Q, D) / τ) + penalty,   D of the batch

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
