"""The term weigher (Section 3.1): BERT reads a text, an MLP gives each of its words a weight.

    e_i = BERT([t_1 … t_n])[i],   w_i = softplus(MLP(e_i)) · prior(t_i)

A word of several subwords takes the mean of their states; a word that occurs several times takes
its largest weight. Documents and queries share the model. The paper has no prior: `prior = "none"`.
With `prior = "bm25"` a document word's weight is multiplied by its BM25 impact, so that an
untrained weigher is BM25 itself and training corrects it: better where training is short.
With `selector` a second MLP learns which words to select (terms/selector.py).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from safetensors.torch import load_file, save_file
from torch import nn

from tsgen.artifact import write_beside
from tsgen.checkpoint import load_weights, save_weights
from tsgen.config import StageConfig
from tsgen.errors import ConfigError
from tsgen.records import Document
from tsgen.terms.align import Aligned, Aligner
from tsgen.terms.encoder import MINILM, empty_encoder, load_encoder
from tsgen.terms.impact import Impact
from tsgen.terms.small import small, whole
from tsgen.terms.words import Splitter, WordsConfig

WEIGHTS, SETTINGS, ENCODER = "weigher.safetensors", "weigher.json", "encoder"
EMBEDDINGS = "encoder.embeddings.word_embeddings.weight"  # among the weights of a BERT

Head = Callable[[torch.Tensor], torch.Tensor]
"""From the states of words [W, d] to a number [W] for each."""


class WeigherConfig(StageConfig):
    """The weigher's shape. The defaults are the paper's; presets trade them for time."""

    encoder: str = MINILM  # or a hub name or folder of any BERT-like encoder
    layers: int | None = Field(default=None, ge=1)  # only the encoder's first so many
    window: int = Field(default=512, ge=8)  # tokens; longer documents take several
    overlap: int = Field(default=64, ge=0)  # tokens that neighbouring windows share
    query_window: int = Field(default=64, ge=8)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    prior: Literal["none", "bm25"] = "none"
    selector: bool = False  # T(D) by an MLP of its own; the paper selects by the weights


class Weigher(nn.Module):
    """BERT + MLP over whole words."""

    def __init__(
        self,
        config: WeigherConfig,
        splitter: Splitter,
        impact: Impact | None = None,
        encoder: tuple[Any, Any] | None = None,
    ) -> None:
        """`impact` is needed for `prior = "bm25"`; `encoder` (with its tokenizer) replaces the
        pre-trained one that the settings name."""
        super().__init__()
        self.config = config
        self.splitter = splitter
        self.impact = impact
        self.encoder, self.tokenizer = encoder or load_encoder(config.encoder, config.layers)
        self.mlp = _mlp(self.encoder.config.hidden_size, config.dropout)
        self.selector = (
            _mlp(self.encoder.config.hidden_size, config.dropout) if config.selector else None
        )
        self.documents = Aligner(splitter, self.tokenizer, config.window, config.overlap)
        self.queries = Aligner(splitter, self.tokenizer, config.query_window, 0)

    def save(self, folder: Path) -> None:
        """Write everything `load` needs: weights, settings, encoder shape, tokenizer, counts."""
        save_weights(folder / WEIGHTS, self)
        self._save_settings(folder, self.config)
        self.encoder.config.save_pretrained(folder / ENCODER)
        self.tokenizer.backend_tokenizer.no_truncation()  # else it says what it was last used for
        self.tokenizer.backend_tokenizer.no_padding()
        self.tokenizer.save_pretrained(folder / ENCODER)
        if self.impact is not None:
            self.impact.save(folder)

    def save_small(self, folder: Path) -> None:
        """Write what training changed, in half precision and without the counts of this corpus: to
        be shipped, and to select the terms of any documents, for which no prior is needed."""
        with write_beside(folder / WEIGHTS) as beside:
            save_file(small(self.state_dict(), EMBEDDINGS, self.config.encoder), beside)
        self._save_settings(folder, self.config.model_copy(update={"prior": "none"}))

    def _save_settings(self, folder: Path, config: WeigherConfig) -> None:
        settings = {"weigher": config, "words": self.splitter.config}
        text = json.dumps({name: value.model_dump(mode="json") for name, value in settings.items()})
        with write_beside(folder / SETTINGS) as beside:
            beside.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, splitter: Splitter | None = None) -> "Weigher":
        """Read back what `save` or `save_small` wrote, ready to weigh. `splitter` replaces the one
        that it was trained with."""
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        config = WeigherConfig.from_mapping(settings["weigher"], str(folder / SETTINGS))
        words = WordsConfig.from_mapping(settings["words"], str(folder / SETTINGS))
        splitter = splitter or Splitter(words)
        impact = Impact.load(folder) if config.prior == "bm25" else None
        if (folder / ENCODER).is_dir():
            weigher = cls(config, splitter, impact, empty_encoder(folder / ENCODER))
            load_weights(folder / WEIGHTS, weigher)
        else:
            weigher = cls(config, splitter, impact)
            changed = load_file(folder / WEIGHTS)
            weigher.load_state_dict(whole(changed, EMBEDDINGS, weigher.encoder))
        return weigher.eval()

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """The weights [W] of words by their states [W, d], no prior."""
        return nn.functional.softplus(self.mlp(states).squeeze(-1))

    def select(self, states: torch.Tensor) -> torch.Tensor:
        """The logits [W] of p(t | D) of words by their states [W, d]."""
        if self.selector is None:
            raise ConfigError("this weigher has no selector. Train it with weigher.selector=true.")
        return self.selector(states).squeeze(-1)  # type: ignore[no-any-return]

    def states(self, batch: Sequence[Aligned]) -> torch.Tensor:
        """The state [W, d] of every word occurrence of the windows, one after another."""
        rows = np.repeat(np.arange(len(batch)), [len(window.words) for window in batch])
        first = np.concatenate([window.first for window in batch])
        last = np.concatenate([window.last for window in batch])
        return self.pool(self.encode([window.tokens for window in batch]), rows, first, last)

    def encode(self, windows: Sequence[NDArray[np.int32]]) -> torch.Tensor:
        """The encoder's states [B, S, d] of padded windows."""
        length = max(len(window) for window in windows)
        tokens = np.zeros((len(windows), length), np.int64)
        mask = np.zeros((len(windows), length), np.int64)
        for row, window in enumerate(windows):
            tokens[row, : len(window)] = window
            mask[row, : len(window)] = 1
        device = next(self.mlp.parameters()).device
        states = self.encoder(
            input_ids=torch.from_numpy(tokens).to(device),
            attention_mask=torch.from_numpy(mask).to(device),
        )
        return states.last_hidden_state  # type: ignore[no-any-return]

    def pool(
        self,
        hidden: torch.Tensor,
        rows: NDArray[np.int64],
        first: NDArray[np.int32],
        last: NDArray[np.int32],
    ) -> torch.Tensor:
        """States [W, d] of the words at `hidden[rows, first:last]`: the mean of their subwords'
        states, by differences of running sums."""
        _, length, width = hidden.shape
        sums = nn.functional.pad(hidden.cumsum(dim=1), (0, 0, 1, 0)).view(-1, width)
        base = rows * (length + 1)
        start, end = torch.from_numpy(np.stack([base + first, base + last])).to(hidden.device)
        count = torch.from_numpy(last - first).to(hidden)[:, None]
        return (sums[end] - sums[start]) / count

    def weigh(self, documents: Iterable[Document], batch: int = 64) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words with their weights in s(Q, D)."""
        for document, weights in self._read(documents, self, batch):
            yield self._with_prior(document, weights)

    def asked(self, documents: Iterable[Document], batch: int = 64) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words with their logits of p(t | D)."""
        for _, logits in self._read(documents, self.select, batch):
            yield logits

    def weigh_queries(self, queries: Sequence[str], batch: int = 256) -> list[dict[str, float]]:
        """For each query its distinct words with their weights; no prior on this side."""
        return self._read_texts(self.queries, queries, self, batch)

    def _with_prior(self, document: Document, weights: dict[str, float]) -> dict[str, float]:
        if self.impact is None:
            return weights
        prior = self.impact.of(self.splitter, document)
        key = self.splitter.key
        return {word: weight * prior[key(word)] for word, weight in weights.items()}

    def _read(
        self, documents: Iterable[Document], head: Head, batch: int
    ) -> Iterator[tuple[Document, dict[str, float]]]:
        source = iter(documents)
        while chunk := list(islice(source, 16 * batch)):
            texts = [document.contents for document in chunk]
            yield from zip(chunk, self._read_texts(self.documents, texts, head, batch), strict=True)

    @torch.inference_mode()
    def _read_texts(
        self, aligner: Aligner, texts: Sequence[str], head: Head, batch: int
    ) -> list[dict[str, float]]:
        """What `head` makes of each distinct word of each text."""
        self.eval()
        aligned = aligner.windows(texts)
        owners = [text for text, windows in enumerate(aligned) for _ in windows]
        flat = [window for windows in aligned for window in windows]
        found: list[dict[str, float]] = [{} for _ in texts]
        order = sorted(range(len(flat)), key=lambda i: len(flat[i].tokens))  # little padding
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            values = iter(head(self.states([flat[i] for i in chosen])).tolist())
            for i in chosen:
                _largest(found[owners[i]], flat[i].words, values)
        return found


def _mlp(width: int, dropout: float) -> nn.Sequential:
    last = nn.Linear(width, 1)
    nn.init.constant_(last.bias, 0.5413)  # softplus(0.5413) = 1: start neutral
    nn.init.normal_(last.weight, std=0.01)
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), last)


def _largest(into: dict[str, float], words: Sequence[str], values: Iterator[float]) -> None:
    """Pool occurrences: a word keeps its largest value."""
    for word, value in zip(words, islice(values, len(words)), strict=True):
        into[word] = max(value, into.get(word, value))
