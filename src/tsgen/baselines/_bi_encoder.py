"""Bi-encoders: a query and a document become a vector each, apart; s(Q, D) is their product.

What the dense and the sparse systems have in common: settings, tokens, batches, saving.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import orjson
import torch
from pydantic import Field
from torch import nn

from tsgen.artifact import write_beside
from tsgen.checkpoint import load_weights, save_weights
from tsgen.config import StageConfig
from tsgen.progress import show
from tsgen.terms.encoder import MINILM, empty_encoder, load_encoder

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
