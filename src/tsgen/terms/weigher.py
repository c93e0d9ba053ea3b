"""The term weigher (Section 3.1): BERT reads a text, an MLP gives each of its words a weight.

    e_i = BERT([t_1 … t_n])[i],   w_i = softplus(MLP(e_i)) · prior(t_i)

A word of several subwords takes the mean of their states; a word that occurs several times takes
its largest weight. Documents and queries share the model. The paper has no prior: `prior = "none"`.
With `prior = "bm25"` a document word's weight is multiplied by its BM25 impact, so that an
untrained weigher is BM25 itself and training corrects it: better where training is short.
With `selector` a second MLP learns which words to select (see the last part of this file).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice, tee
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import nn

from tsgen.artifact import write_beside
from tsgen.errors import ConfigError
from tsgen.records import Document
from tsgen.settings import WeigherConfig, WordsConfig
from tsgen.terms.encoder import empty_encoder, load_encoder, small, whole
from tsgen.terms.weights import Impact, TfidfWeights
from tsgen.terms.words import Splitter
from tsgen.training_loop import load_weights, save_weights

# Words and subwords side by side: which of an encoder's tokens make up each word.
#
# A text longer than the encoder's window becomes several overlapping windows. Every occurrence of a
# word is then a range of token positions in one window, and everything else is array arithmetic.


@dataclass(frozen=True, slots=True)
class Aligned:
    """One window of a text: its tokens, and each word's token range `[first, last)` in it."""

    tokens: NDArray[np.int32]  # [S] with the encoder's special tokens
    words: list[str]  # [W] spellings, an occurrence each
    first: NDArray[np.int32]  # [W]
    last: NDArray[np.int32]  # [W]


class Aligner:
    """Splits texts into words and into an encoder's tokens, and says which tokens each word has."""

    def __init__(self, splitter: Splitter, tokenizer: Any, window: int, overlap: int) -> None:
        self.splitter = splitter
        self._tokenizer = tokenizer
        self._window = window
        self._overlap = overlap

    def windows(self, texts: Sequence[str]) -> list[list[Aligned]]:
        """The windows of each text, in order; every text has at least one."""
        if not texts:
            return []
        encoded = self._tokenizer(
            list(texts),
            truncation=True,
            max_length=self._window,
            stride=self._overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        found: list[list[Aligned]] = [[] for _ in texts]
        words = [self.splitter.split(text) for text in texts]
        for i, text in enumerate(encoded["overflow_to_sample_mapping"]):
            found[text].append(_align(encoded, i, words[text]))
        return found

    def heads(self, texts: Sequence[str]) -> list[Aligned]:
        """The first window of each text."""
        return [windows[0] for windows in self.windows(texts)]


def _align(encoded: Any, i: int, words: Sequence[tuple[str, int, int]]) -> Aligned:
    tokens = np.asarray(encoded["input_ids"][i], np.int32)
    starts = _token_starts(np.asarray(encoded["offset_mapping"][i], np.int32))
    spans = np.asarray([(start, end) for _, start, end in words], np.int32).reshape(-1, 2)
    first = np.searchsorted(starts, spans[:, 0], side="left").astype(np.int32)
    last = np.searchsorted(starts, spans[:, 1], side="left").astype(np.int32)
    inside = np.flatnonzero(last > first).tolist()
    return Aligned(tokens, [words[w][0] for w in inside], first[inside], last[inside])


def _token_starts(offsets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each token's first character; special tokens (empty spans) before or after everything."""
    starts = offsets[:, 0].copy()
    special = offsets[:, 0] == offsets[:, 1]
    middle = len(starts) // 2
    starts[:middle][special[:middle]] = -1
    starts[middle:][special[middle:]] = np.iinfo(np.int32).max
    return starts


QUERY_WINDOW = 64  # tokens of a query that are read
WEIGHTS, SETTINGS, ENCODER = "weigher.safetensors", "weigher.json", "encoder"
EMBEDDINGS = "encoder.embeddings.word_embeddings.weight"  # among the weights of a BERT

Head = Callable[[torch.Tensor], torch.Tensor]
"""From the states of words [W, d] to a number [W] for each."""


class Weigher(nn.Module):
    """A BERT-like encoder and an MLP that weighs whole words by the encoder's states."""

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
        self.queries = Aligner(splitter, self.tokenizer, QUERY_WINDOW, 0)

    def save(self, folder: Path) -> None:
        """Write everything that `load` needs: weights, settings, encoder shape, tokenizer and
        counts."""
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
        """The weights [W] of words by their states [W, d], without the prior."""
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
        """For each document, in order, its distinct words with their weights w^D in s(Q, D)."""
        for document, weights in self._read(documents, self, batch):
            yield self._with_prior(document, weights)

    def selection_logits(
        self, documents: Iterable[Document], batch: int = 64
    ) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words with their logits of p(t | D)."""
        for _, logits in self._read(documents, self.select, batch):
            yield logits

    def weigh_queries(self, queries: Sequence[str], batch: int = 256) -> list[dict[str, float]]:
        """For each query its distinct words with their weights w^Q, which have no prior."""
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
        """The number that `head` gives each distinct word of each text; the largest of its
        occurrences."""
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


# s(Q, D), the sum of w^Q · w^D over the terms in both, for batches and with gradients.

CHUNK = 16  # windows of like length encoded together


@dataclass(frozen=True, slots=True)
class Text:
    """A text ready for scoring: its first window, with each word's number and prior."""

    tokens: NDArray[np.int32]  # [S]
    first: NDArray[np.int32]  # [W]
    last: NDArray[np.int32]  # [W]
    words: NDArray[np.int64]  # [W] equal numbers: the same term
    prior: NDArray[np.float32]  # [W]


def documents(
    weigher: Weigher, found: Sequence[Document], aligner: Aligner | None = None
) -> list[Text]:
    """Prepare documents for scoring, with the weigher's prior; `aligner` may have another
    window."""
    heads = (aligner or weigher.documents).heads([document.contents for document in found])
    if weigher.impact is None:
        return [_text(head, weigher.splitter, None) for head in heads]
    priors = [weigher.impact.of(weigher.splitter, document) for document in found]
    return [_text(head, weigher.splitter, p) for head, p in zip(heads, priors, strict=True)]


def queries(weigher: Weigher, texts: Sequence[str]) -> list[Text]:
    """Prepare queries for scoring, without a prior."""
    return [_text(head, weigher.splitter, None) for head in weigher.queries.heads(texts)]


def _text(head: Aligned, splitter: Splitter, prior: dict[str, float] | None) -> Text:
    keys = [splitter.key(word) for word in head.words]
    weights = np.ones(len(keys)) if prior is None else [prior[key] for key in keys]
    numbers = np.asarray([_number(key) for key in keys], np.int64)
    return Text(head.tokens, head.first, head.last, numbers, np.asarray(weights, np.float32))


@lru_cache(maxsize=2**20)
def _number(key: str) -> int:
    """A 63-bit number for a term, the same in every process."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) >> 1


@dataclass(frozen=True, slots=True)
class WordWeights:
    """The weight of every word occurrence of some texts, with the prior."""

    size: int  # the number of texts
    rows: NDArray[np.int64]  # [W] the text of each occurrence
    words: NDArray[np.int64]  # [W]
    weights: torch.Tensor  # [W]
    states: torch.Tensor  # [W, d]

    def head(self, size: int) -> "WordWeights":
        """The weights of the first `size` texts alone."""
        inside = np.flatnonzero(self.rows < size)
        at = torch.from_numpy(inside).to(self.weights.device)
        rows, words = self.rows[inside], self.words[inside]
        return WordWeights(size, rows, words, self.weights[at], self.states[at])


def weigh(weigher: Weigher, texts: Sequence[Text]) -> WordWeights:
    """Weigh texts; those of similar length are read together."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i].tokens))
    chunks = [order[start : start + CHUNK] for start in range(0, len(order), CHUNK)]
    states = torch.cat([_states(weigher, [texts[i] for i in chunk]) for chunk in chunks])
    prior = torch.from_numpy(np.concatenate([texts[i].prior for i in order])).to(states)
    rows = np.repeat(order, [len(texts[i].words) for i in order])
    words = np.concatenate([texts[i].words for i in order])
    return WordWeights(len(texts), rows, words, weigher(states) * prior, states)


def _states(weigher: Weigher, texts: Sequence[Text]) -> torch.Tensor:
    rows = np.repeat(np.arange(len(texts)), [len(text.words) for text in texts])
    first = np.concatenate([text.first for text in texts])
    last = np.concatenate([text.last for text in texts])
    return weigher.pool(weigher.encode([text.tokens for text in texts]), rows, first, last)


def scores(queries: WordWeights, found: WordWeights) -> torch.Tensor:
    """s(Q, D) [Q, D] for every query and document."""
    shared = np.unique(queries.words)  # [K]
    return _table(queries, shared) @ _table(found, shared).T


def _table(weighed: WordWeights, shared: NDArray[np.int64]) -> torch.Tensor:
    """[T, K] the largest weight of each shared word in each text, 0 where it does not occur."""
    hit = np.flatnonzero(np.isin(weighed.words, shared))
    at = weighed.rows[hit] * len(shared) + np.searchsorted(shared, weighed.words[hit])
    weights = weighed.weights[torch.from_numpy(hit).to(weighed.weights.device)]
    table = weights.new_zeros(weighed.size * len(shared))
    table = table.scatter_reduce(0, torch.from_numpy(at).to(weights.device), weights, "amax")
    return table.view(weighed.size, len(shared))


# The selector: which words a query will ask a document for, by a second MLP on the words' states.
#
#     p(t | D) = exp(max over t's occurrences of MLP(e_i)) / Σ over D's distinct words of the same
#
# The paper selects T(D) by the weights of s(Q, D). Their loss compares documents on a query's words
# and says nothing about the words no query has, yet these too compete for a place in T(D). Here a
# query's words are compared with all others of its document, L = −mean log p(t | D+) over the t in
# both; it is added to the contrastive loss.


class Selector:
    """Weighs words by p(t | D), where a weigher has learned it."""

    def __init__(self, weigher: "Weigher") -> None:
        self._weigher = weigher

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words with p(t | D)."""
        for logits in self._weigher.selection_logits(documents):
            yield _softmax(logits)

    def save(self, folder: Path) -> None:
        """Write the weigher into a folder."""
        self._weigher.save(folder)


def _softmax(logits: dict[str, float]) -> dict[str, float]:
    values = np.exp(np.array([*logits.values()]) - max(logits.values(), default=0.0))
    return dict(zip(logits, (values / values.sum()).tolist(), strict=True))


def selection_loss(logits: torch.Tensor, queries: WordWeights, found: WordWeights) -> torch.Tensor:
    """−mean log p(t | D) over the words t that query i shares with document i; `logits` [W] are
    those of the word occurrences of `found`."""
    pooled, rows, matched = _pool(logits, queries, found)
    highest = logits.new_full((found.size,), -torch.inf).scatter_reduce(0, rows, pooled, "amax")
    shifted = pooled - highest.detach()[rows]
    total = logits.new_zeros(found.size).index_add(0, rows, shifted.exp())
    log_p = shifted - total.log()[rows]
    return -(log_p * matched).sum() / matched.sum().clamp(min=1)


def selected_share(logits: torch.Tensor, queries: WordWeights, found: WordWeights, n: int) -> float:
    """The share of the words common to one query and one document that are among its `n` best."""
    pooled, _, matched = _pool(logits, queries, found)
    best = pooled.topk(min(n, len(pooled))).indices
    return float(matched[best].sum() / matched.sum().clamp(min=1))


def _pool(
    logits: torch.Tensor, queries: WordWeights, found: WordWeights
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """For each distinct word of each document its largest logit, its row, and whether the query of
    that row has it."""
    pairs = np.stack([found.rows, found.words], axis=1)
    distinct, of = np.unique(pairs, axis=0, return_inverse=True)
    device = logits.device
    pooled = logits.new_full((len(distinct),), -torch.inf).scatter_reduce(
        0, torch.from_numpy(of).to(device), logits, "amax"
    )
    wanted = set(zip(queries.rows.tolist(), queries.words.tolist(), strict=True))
    matched = torch.tensor([tuple(pair) in wanted for pair in distinct.tolist()], device=device)
    return pooled, torch.from_numpy(distinct[:, 0]).to(device), matched


# Mixing what is asked for with what is rare: a selector's p(t | D) with tf-idf.
#
#     w(t, D) ∝ p(t | D)^a · tfidf(t, D)^(1 − a),   Σ over D's words = 1
#
# A selector learns which words of a text people ask for, but not how many other documents of the
# collection have them; and a word that is in one document only is what identifies it.


class Mixed:
    """The weighted geometric mean of a selector's weights and tf-idf; `share` is a."""

    def __init__(self, selector: Selector, rare: TfidfWeights, share: float) -> None:
        self._selector, self._rare, self._share = selector, rare, share

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words with their weights."""
        first, second = tee(documents)
        for probability, rare in zip(
            self._selector.weigh(first), self._rare.weigh(second), strict=True
        ):
            yield self._mixed(probability, rare)

    def _mixed(self, probability: dict[str, float], rare: dict[str, float]) -> dict[str, float]:
        a = self._share
        weights = {word: p**a * rare[word] ** (1 - a) for word, p in probability.items()}
        total = sum(weights.values()) or 1.0
        return {word: weight / total for word, weight in weights.items()}
