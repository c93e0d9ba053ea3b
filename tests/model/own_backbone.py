"""A backbone in one file: the query's word vectors and those of the terms so far, added up."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoTokenizer

from tsgen.constrain.constraint import Int32, Ragged
from tsgen.model.backbone import BACKBONES, Architecture, Backbone, OutputSymbols
from tsgen.model.vocabulary import WordTable, shared, word_pieces
from tsgen.settings import ModelConfig

WEIGHTS = "bag.safetensors"
WIDTH = 32


class Reader(nn.Module):
    """Reads a query as the mean of its tokens' vectors."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.vectors = nn.EmbeddingBag(vocabulary, WIDTH, mode="mean")

    def get_input_embeddings(self) -> nn.EmbeddingBag:
        return self.vectors


class Bag(Backbone):
    def __init__(self, tokenizer: Any, pieces: Ragged) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.reader = Reader(len(tokenizer))
        self.table = WordTable(self.reader.vectors, pieces)
        self.state = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))

    @property
    def query_encoder(self) -> Reader:
        return self.reader

    @property
    def spelling(self) -> str:
        return "word"

    @property
    def output_size(self) -> int:
        return self.table.size

    @torch.no_grad()
    def encode(self, queries: Sequence[str]) -> tuple[list[Tensor], Tensor, Tensor]:
        sums = self._read(queries)
        return [sums], torch.arange(len(sums)), self.state(sums)

    @torch.no_grad()
    def step(
        self, cache: list[Tensor], parents: Tensor, tokens: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        vectors = self.table(tokens)
        if lengths is not None:
            vectors = torch.stack([part.sum(0) for part in vectors.split(lengths.tolist())])
        before, sums = len(cache[0]), cache[0][parents] + vectors
        cache[0] = torch.cat((cache[0], sums))
        return torch.arange(before, len(cache[0])), self.state(sums)

    def keep(self, cache: list[Tensor], nodes: Tensor) -> Tensor:
        cache[0] = cache[0][nodes]
        return torch.arange(len(nodes))

    @torch.no_grad()
    def logits(self, hidden: Tensor, tokens: Tensor | None = None) -> Tensor:
        return hidden @ self.table(tokens).T

    def forward(
        self, queries: Sequence[str], targets: Tensor, tokens: Tensor | None = None
    ) -> Tensor:
        steps = torch.cat((self._read(queries)[:, None], self.table(targets[:, :-1])), dim=1)
        scores: Tensor = self.state(steps.cumsum(dim=1)) @ self.table(tokens).T
        return scores

    def with_symbols(self, kept: Int32, new: Ragged) -> Self:
        other = shared(self)
        other.table = self.table.with_symbols(kept, new)
        return other

    def save(self, folder: Path) -> None:
        self.tokenizer.save_pretrained(folder)
        save_file(self.state_dict(), folder / WEIGHTS)

    def _read(self, queries: Sequence[str]) -> Tensor:
        rows = [torch.tensor(row) for row in self.tokenizer(list(queries))["input_ids"]]
        starts = torch.tensor([0, *(len(row) for row in rows[:-1])]).cumsum(0)
        vectors: Tensor = self.reader.vectors(torch.cat(rows), starts)
        return vectors


def create(config: ModelConfig, symbols: OutputSymbols) -> Bag:
    assert isinstance(symbols, Sequence)
    tokenizer = AutoTokenizer.from_pretrained(config.encoder)
    return Bag(tokenizer, word_pieces(tokenizer, symbols))


def load(folder: Path, _: ModelConfig, terms: Sequence[str] | None) -> Bag:
    saved = load_file(folder / WEIGHTS)
    pieces = Ragged(*(saved[f"table.{name}"].numpy() for name in ("_offsets", "_values")))
    bag = Bag(AutoTokenizer.from_pretrained(folder), pieces)
    bag.load_state_dict(saved)
    return bag if terms is None else bag.with_terms(terms)


BACKBONES.register(Architecture("bag", create, load))
