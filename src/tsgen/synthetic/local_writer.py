"""The writer `local`: a model fine-tuned on the collection's own pairs, as in the paper.

The paper tunes docT5query, a T5-base; here any backbone learns: the small `mini-flat`, or an
encoder-decoder or a causal language model by its name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.errors import ConfigError, DataError
from tsgen.model.backbone import Backbone, architecture
from tsgen.queries.pairs import Pair, judged_pairs
from tsgen.records import Document
from tsgen.settings import LocalConfig, ModelConfig
from tsgen.synthetic.writers import WRITERS, WriterKind
from tsgen.training_loop import TrainingLoop, shard, shown

# The local writer's model: a backbone that reads a document and writes a query.
#
#     p(t | t_<i; D) ∝ exp(s(t | t_<i; D) + c · [t ∈ D]),   t ∈ D ∪ F
#
# where s are the backbone's scores, c is learned, and F are the most frequent tokens of the
# training queries. So a query is made of the document's words and of words that are common in
# queries: a small model that may write any word soon writes about something else.

IGNORED = -100  # a target that is padding, or that the model cannot write
BONUS = 2.0  # c, before training

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Choices:
    """The tokens that may be written for a batch of documents."""

    symbols: Tensor  # [S] tokens: of any of the documents, or frequent
    copied: Tensor  # [D, S] which are in each document
    allowed: Tensor  # [D, S] which are in each document or frequent


class CopyingWriter(nn.Module):
    """A backbone that reads a document and writes a query, with a bonus for the document's
    tokens."""

    def __init__(self, backbone: Backbone, frequent: Ints, document_tokens: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.bonus = nn.Parameter(torch.tensor(BONUS))
        self.document_tokens = document_tokens
        self._frequent = frequent
        self.end = _end_token(backbone.tokenizer)

    @property
    def device(self) -> torch.device:
        """The device that holds the weights."""
        return self.bonus.device

    def choices(self, documents: Sequence[str]) -> Choices:
        """The tokens of the documents, and the frequent ones with the end of a query."""
        rows = tokens_of(self.backbone.tokenizer, documents, self.document_tokens)
        frequent = np.union1d(self._frequent, [self.end])
        symbols = np.unique(np.concatenate([frequent, *rows]))
        copied = np.stack([np.isin(symbols, row) for row in rows])  # [D, S]
        allowed = copied | np.isin(symbols, frequent)
        parts = (torch.from_numpy(part).to(self.device) for part in (symbols, copied, allowed))
        return Choices(*parts)

    def loss(self, documents: Sequence[str], queries: Sequence[Sequence[int]]) -> Tensor:
        """The mean −log p of the queries' tokens that can be written."""
        choices = self.choices(documents)
        targets, columns = self._targets(queries, choices)
        scores = self.backbone(documents, targets, choices.symbols)  # [D, T, S]
        scores = self._weigh(scores, choices.copied[:, None], choices.allowed[:, None])
        return functional.cross_entropy(
            scores.flatten(0, 1), columns.flatten(), ignore_index=IGNORED
        )

    def scores(self, hidden: Tensor, choices: Choices, owners: Tensor) -> Tensor:
        """[R, S] of the next token, for hidden states [R, d] of queries for documents [R]."""
        scores = self.backbone.logits(hidden, choices.symbols)
        return self._weigh(scores, choices.copied[owners], choices.allowed[owners])

    def _weigh(self, scores: Tensor, copied: Tensor, allowed: Tensor) -> Tensor:
        return (scores + self.bonus * copied).masked_fill(~allowed, -torch.inf)

    def _targets(self, queries: Sequence[Sequence[int]], choices: Choices) -> tuple[Tensor, Tensor]:
        """The queries' tokens [D, T], and their places among the symbols, or `IGNORED`."""
        length = max(len(query) for query in queries) + 1
        targets = np.full((len(queries), length), self.end, np.int64)
        real = np.zeros(targets.shape, bool)
        for row, query in enumerate(queries):
            targets[row, : len(query)] = query
            real[row, : len(query) + 1] = True  # its end is a target, too
        symbols, allowed = choices.symbols.cpu().numpy(), choices.allowed.cpu().numpy()
        places = np.searchsorted(symbols, targets).clip(max=len(symbols) - 1)
        known = np.take_along_axis(allowed, places, axis=1) & (symbols[places] == targets)
        columns = np.where(real & known, places, IGNORED)
        return torch.from_numpy(targets).to(self.device), torch.from_numpy(columns).to(self.device)


def tokens_of(tokenizer: Any, texts: Sequence[str], limit: int) -> list[Ints]:
    """The first tokens of each text, without special ones."""
    found = tokenizer(list(texts), add_special_tokens=False, truncation=True, max_length=limit)
    return [np.array(row, np.int64) for row in found["input_ids"]]


def frequent_tokens(queries: Sequence[Ints], count: int) -> Ints:
    """The most frequent tokens, the smaller of equals first."""
    if not queries:
        return np.zeros(0, np.int64)
    tokens, times = np.unique(np.concatenate(queries), return_counts=True)
    return np.sort(tokens[np.argsort(-times, kind="stable")[:count]])


def _end_token(tokenizer: Any) -> int:
    """The token that ends a query: that of a T5, of a BERT, or any that no text contains."""
    names = ("eos_token_id", "sep_token_id", "cls_token_id", "pad_token_id")
    found = (getattr(tokenizer, name) for name in names)
    end = next((token for token in found if token is not None), None)
    if end is None:
        raise ConfigError(
            "the writer's tokenizer has no special token to end a query with; expected an eos, "
            "sep, cls or pad token. Choose another: --set queries.local.backbone=mini-flat."
        )
    return int(end)


# Top-k sampling, with the same queries for a document whatever other documents are in the batch.


@dataclass(frozen=True, slots=True)
class Sampler:
    """Writes queries by top-k sampling, for all documents of a call at once."""

    writer: CopyingWriter
    tokens: int  # of a query, the most
    top_k: int
    temperature: float

    @torch.inference_mode()
    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        """Write n queries for each document, drawn with random numbers from the seed and its id."""
        texts = [document.contents for document in documents]
        draws = np.stack([_draws(document.id, seed, n, self.tokens) for document in documents])
        rows = self._rows(texts, n, torch.from_numpy(draws).flatten(0, 1))  # D·n rows
        decoded = self.writer.backbone.tokenizer.batch_decode(rows, skip_special_tokens=True)
        queries = [" ".join(text.split()) for text in decoded]
        return [
            [query for query in queries[start : start + n] if query]
            for start in range(0, len(queries), n)
        ]

    def _rows(self, texts: Sequence[str], n: int, draws: Tensor) -> list[list[int]]:
        """The tokens of n queries for each text; draws [D·n, T] are uniform in [0, 1)."""
        writer, choices = self.writer.eval(), self.writer.choices(texts)
        owners = torch.arange(len(texts), device=writer.device).repeat_interleave(n)
        cache, nodes, hidden = writer.backbone.encode(texts)
        nodes, hidden = nodes[owners], hidden[owners]  # [D·n], [D·n, d]
        written: list[list[int]] = [[] for _ in owners]
        open_rows = torch.arange(len(owners), device=writer.device)
        for at in range(self.tokens):
            scores = writer.scores(hidden, choices, owners[open_rows])
            tokens = choices.symbols[self._draw(scores, draws[open_rows.cpu(), at])]
            going_on = tokens != writer.end
            open_rows, tokens, nodes = open_rows[going_on], tokens[going_on], nodes[going_on]
            for row, token in zip(open_rows.tolist(), tokens.tolist(), strict=True):
                written[row].append(token)
            if not len(open_rows) or at == self.tokens - 1:
                break
            nodes, hidden = writer.backbone.step(cache, nodes, tokens)
        return written

    def _draw(self, scores: Tensor, draws: Tensor) -> Tensor:
        """[R] the column where the summed probability of the k best passes the draw."""
        best, columns = scores.topk(min(self.top_k, scores.shape[1]), dim=1)
        passed = (best / self.temperature).softmax(dim=1).cumsum(dim=1)
        place = (passed <= draws.to(passed)[:, None]).sum(dim=1).clamp(max=best.shape[1] - 1)
        return columns.gather(1, place[:, None])[:, 0]


def _draws(
    name: str, seed: int, n: int, tokens: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    number = int.from_bytes(blake2b(name.encode(), digest_size=8).digest())
    return np.random.default_rng((seed, number)).random((n, tokens))


FREQUENT = 1000  # tokens of queries, the most frequent, that may be written for any document
VALIDATION_PAIRS = 256  # at the most
WARM_UP = 0.05  # share of all steps
HELD_OUT = 0.05  # share of the pairs that validate where there is no dev split
CHARACTERS = 8  # of a text to a token, at the most: what is kept of a document while training


def train_writer(data: DataSet, config: LocalConfig, seed: int, folder: Path) -> CopyingWriter:
    """Train a writer on the training judgments; `folder` holds what an interrupted call goes on
    from."""
    documents = [each.contents for each in watched_documents(data)]
    documents = [text[: CHARACTERS * config.document_tokens] for text in documents]
    training, validation = pairs_to_learn(data, seed)
    torch.manual_seed(seed)
    backbone = _backbone(config)
    queries = _tokens(backbone, training, config)
    writer = CopyingWriter(backbone, frequent_tokens(queries, FREQUENT), config.document_tokens)
    writer.to("cuda" if torch.cuda.is_available() else "cpu")
    batches = _Batches(writer, documents, training, queries, config.batch_size, seed)
    held_out = _tokens(backbone, validation, config)
    tests = _Batches(writer, documents, validation, held_out, config.batch_size, seed)
    loop = TrainingLoop(
        writer,
        _optimizer(writer, config),
        steps=batches.per_epoch * config.epochs,
        warm_up=WARM_UP,
        validate_every=config.validate_every,
        patience=config.patience,
        seed=seed,
        folder=folder,
        report=shown("training the query writer"),
    )
    loop.run(batches.loss, tests.mean_probability)
    return writer


class _Batches:
    """Batches of pairs that depend on (seed, step) alone; every epoch has another order."""

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
        """The geometric mean of the probabilities of all tokens; 1 for a writer that knows every
        query."""
        losses = [self.loss(step).item() for step in range(self.per_epoch)]
        return float(np.exp(-np.mean(losses)))


def pairs_to_learn(data: DataSet, seed: int) -> tuple[list[Pair], list[Pair]]:
    """The training pairs, and the pairs that validate: those of dev, or some held out."""
    numbers = {document.id: number for number, document in enumerate(data.documents())}
    pairs = judged_pairs(data, "train", numbers) if "train" in data.splits else []
    if not pairs:
        raise DataError(
            f"{data.name}: no training judgments for the query writer to learn from; expected some "
            "named train. Choose another writer: --writer extractive or smollm2, or doct5query "
            "with --set queries.doct5query.tune=false."
        )
    rng = np.random.default_rng(seed)
    if "dev" in data.splits:
        others = judged_pairs(data, "dev", numbers)
        chosen = rng.permutation(len(others))[:VALIDATION_PAIRS]
        return pairs, [others[i] for i in chosen]
    order = rng.permutation(len(pairs))
    count = min(max(int(len(pairs) * HELD_OUT), 1), VALIDATION_PAIRS)
    return [pairs[i] for i in order[count:]] or pairs, [pairs[i] for i in order[:count]]


def _backbone(config: LocalConfig) -> Backbone:
    """An untrained backbone that reads documents and writes its tokenizer's pieces."""
    model = ModelConfig(
        backbone=config.backbone,
        encoder=config.encoder,
        encoder_layers=config.encoder_layers,
        layers=config.layers,
        heads=config.heads,
        spelling="subword",
        query_tokens=config.document_tokens,
        positions=config.query_tokens,
    )
    return architecture(config.backbone).create(model, None)


def _tokens(backbone: Backbone, pairs: Sequence[Pair], config: LocalConfig) -> list[Any]:
    """The tokens of the queries, cut so that there is room for the end token."""
    texts = [pair.query for pair in pairs]
    return tokens_of(backbone.tokenizer, texts, config.query_tokens - 1)


def _optimizer(writer: CopyingWriter, config: LocalConfig) -> torch.optim.Optimizer:
    """AdamW; the encoder learns slower, its embeddings stay as they are."""
    encoder = writer.backbone.query_encoder
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


WRITERS.register(WriterKind("local", LocalConfig, _build, trains=True))
