"""A query writer fine-tuned on the corpus's own (document, query) pairs, as the paper does it.

The paper tunes docT5query, a T5-base; here any backbone learns: the small one that comes with
tsgen, or an encoder-decoder or language model by its name.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.errors import DataError
from tsgen.model.mini import Mini, MiniConfig
from tsgen.model.pretrained import load_pretrained
from tsgen.queries.pairs import Pair, judged_pairs
from tsgen.terms.encoder import MINILM
from tsgen.training_loop import TrainingLoop, shard, shown
from tsgen.write.copying import CopyingWriter, frequent_tokens, tokens_of
from tsgen.write.sampling import Sampler
from tsgen.write.writer import WriterKind, register

MINI = "mini"
HELD_OUT = 0.05  # share of the pairs that validate where there is no dev split
CHARACTERS = 8  # of a text to a token, at the most: what is kept of a document while training


class LocalConfig(StageConfig):
    """The writer's model, its training, and how its words are drawn."""

    backbone: str = MINI  # or a packaged model, a hub name, a folder
    encoder: str = MINILM  # of `mini`
    encoder_layers: int | None = 3
    layers: int = Field(2, ge=1)
    heads: int = Field(12, ge=1)
    document_tokens: int = Field(128, ge=1)
    query_tokens: int = Field(24, ge=2)
    frequent: int = Field(1000, ge=0)  # tokens of queries that may be written for any document

    batch_size: int = Field(32, ge=1)
    epochs: int = Field(3, ge=0)
    learning_rate: float = Field(5e-4, gt=0)
    encoder_learning_rate: float = Field(1e-4, gt=0)
    warm_up: float = Field(0.05, ge=0, le=1)
    validate_every: int = Field(100, ge=1)  # steps
    validation_pairs: int = Field(256, ge=1)
    patience: int = Field(3, ge=1)

    top_k: int = Field(10, ge=1)
    temperature: float = Field(1.0, gt=0)


def train_writer(data: DataSet, config: LocalConfig, seed: int, folder: Path) -> CopyingWriter:
    """A writer that learned from the training judgments; a call that was interrupted goes on from
    what `folder` holds."""
    documents = [each.contents for each in watched_documents(data)]
    documents = [text[: CHARACTERS * config.document_tokens] for text in documents]
    training, validation = _pairs(data, config, seed)
    torch.manual_seed(seed)
    backbone = _backbone(config)
    queries = _tokens(backbone, training, config)
    writer = CopyingWriter(
        backbone, frequent_tokens(queries, config.frequent), config.document_tokens
    )
    writer.to("cuda" if torch.cuda.is_available() else "cpu")
    batches = _Batches(writer, documents, training, queries, config.batch_size, seed)
    held_out = _tokens(backbone, validation, config)
    tests = _Batches(writer, documents, validation, held_out, config.batch_size, seed)
    loop = TrainingLoop(
        writer,
        _optimizer(writer, config),
        steps=batches.per_epoch * config.epochs,
        warm_up=config.warm_up,
        validate_every=config.validate_every,
        patience=config.patience,
        seed=seed,
        folder=folder,
        report=shown("training the query writer"),
    )
    loop.run(batches.loss, tests.mean_probability)
    return writer


class _Batches:
    """Pairs in batches, another order each epoch, from (seed, step) alone."""

    def __init__(
        self,
        writer: CopyingWriter,
        documents: Sequence[str],
        pairs: Sequence[Pair],
        queries: Sequence[Any],
        size: int,
        seed: int,
    ) -> None:
        self._writer, self._documents, self._pairs = writer, documents, pairs
        self._queries, self._size, self._seed = queries, size, seed
        self.per_epoch = -(-len(pairs) // size)

    def loss(self, step: int) -> torch.Tensor:
        """The loss of one step's batch."""
        epoch, at = divmod(step, self.per_epoch)
        order = np.random.default_rng((self._seed, epoch)).permutation(len(self._pairs))
        rows = shard(order[at * self._size : (at + 1) * self._size])
        texts = [self._documents[self._pairs[row].document] for row in rows]
        return self._writer.loss(texts, [self._queries[row] for row in rows])

    def mean_probability(self) -> float:
        """exp of the mean log p of a token: 1 for a writer that knows every query."""
        losses = [self.loss(step).item() for step in range(self.per_epoch)]
        return float(np.exp(-np.mean(losses)))


def _pairs(data: DataSet, config: LocalConfig, seed: int) -> tuple[list[Pair], list[Pair]]:
    """What to learn from, and what to validate with: pairs of dev, or some held out."""
    numbers = {document.id: number for number, document in enumerate(data.documents())}
    pairs = judged_pairs(data, "train", numbers) if "train" in data.splits else []
    if not pairs:
        raise DataError(
            f"{data.name}: no training judgments for the local writer to learn from; expected some "
            "named train. Choose another writer: --writer extractive, doct5query or smollm2."
        )
    rng = np.random.default_rng(seed)
    if "dev" in data.splits:
        others = judged_pairs(data, "dev", numbers)
        chosen = rng.permutation(len(others))[: config.validation_pairs]
        return pairs, [others[i] for i in chosen]
    order = rng.permutation(len(pairs))
    count = min(max(int(len(pairs) * HELD_OUT), 1), config.validation_pairs)
    return [pairs[i] for i in order[count:]] or pairs, [pairs[i] for i in order[:count]]


def _backbone(config: LocalConfig) -> Any:
    if config.backbone != MINI:
        return load_pretrained(config.backbone, config.document_tokens)
    return Mini.create(
        MiniConfig(
            encoder=config.encoder,
            encoder_layers=config.encoder_layers,
            layers=config.layers,
            heads=config.heads,
            spelling="subword",
            query_tokens=config.document_tokens,
            positions=config.query_tokens,
        )
    )


def _tokens(backbone: Any, pairs: Sequence[Pair], config: LocalConfig) -> list[Any]:
    """The queries' tokens, with room for the end."""
    texts = [pair.query for pair in pairs]
    return tokens_of(backbone.tokenizer, texts, config.query_tokens - 1)


def _optimizer(writer: CopyingWriter, config: LocalConfig) -> torch.optim.Optimizer:
    """AdamW; the encoder learns slower, its embeddings stay as they are."""
    encoder = writer.backbone.encoder
    encoder.get_input_embeddings().requires_grad_(False)
    inside = {id(weights) for weights in encoder.parameters()}
    learned = [weights for weights in writer.parameters() if weights.requires_grad]
    rates = {True: config.encoder_learning_rate, False: config.learning_rate}
    groups = [
        {"params": [p for p in learned if (id(p) in inside) == own], "lr": lr, "peak": lr}
        for own, lr in rates.items()
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], weight_decay=0.01)


def _build(data: DataSet, config: LocalConfig, seed: int, folder: Path) -> Sampler:
    writer = train_writer(data, config, seed, folder)
    return Sampler(writer, config.query_tokens, config.top_k, config.temperature)


register(WriterKind("local", LocalConfig, _build, trains=True))
