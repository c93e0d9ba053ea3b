"""GenRet (Sun et al., 2023): identifiers are discrete codes that are themselves learned.

Codes are learned position by position from pairs of queries and documents; then the generator
learns to write them, inside the trie. At position t a document has the state

    h_t = normalise(r + net(r)),   r = v − Σ_{i<t} e_i(c_i),

of its vector v less the codebook entries of its codes so far, which are fixed by then; its code c_t
is the nearest entry e_t of the codebook of t. A codebook starts from balanced clusters of the
states, so that all codes are in use, and is trained together with the net by the sum of

- retrieval: a query is nearer to its document's state than to those of the batch's other documents,
  and predicts its document's code;
- reconstruction: the entries of a document's codes tell its vector from those of the others;
- commitment: a state stays near its entry.

Deviations: the tokenizer that makes codes reads vectors of a frozen MiniLM, where GenRet trains a
T5 end to end, and codes are fixed before the generator learns them; a codebook has at most √D
entries, for 512 are for larger sets; equal codes are numbered, where GenRet takes such documents in
any order. `train.minutes` are shared half and half.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from tsgen.baselines._identifiers import (
    Codes,
    Floats,
    code_ids,
    kmeans,
    leaf_size,
    minilm_vectors,
)
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.queries.pairs import Pair
from tsgen.retrieve.sequence_systems import SequenceConfig, SequenceFit, register_sequences
from tsgen.synthetic.round_trip import VectorReader
from tsgen.training_loop import TrainingLoop, remove_checkpoint, shard, shown

TEMPERATURE = 0.05
VALIDATION = 512  # pairs that validate; they are trained on, too, since codes are of documents
RATE = 1e-3
SAME_PREFIX = 8  # pairs in a batch whose documents share all codes so far

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CodePairs:
    """Vectors [D, d] of documents and [P, d] of queries, and the document [P] of each query."""

    documents: Floats
    queries: Floats
    answers: Int


@dataclass(frozen=True, slots=True)
class CodeTraining:
    """How long each position is trained, and the weights of the parts of the loss."""

    epochs: int = 5
    minutes: float | None = None  # of each position
    batch_size: int = 128
    retrieval: float = 1.0
    reconstruction: float = 1.0
    commitment: float = 1.0


class Codebooks(nn.Module):
    """The codebooks [T, K, d] of all positions, and the net that makes states of vectors."""

    def __init__(self, width: int, positions: int, codes: int) -> None:
        super().__init__()
        self.books = nn.Parameter(torch.zeros(positions, codes, width))
        self.last = nn.Linear(width, width)
        self.net = nn.Sequential(nn.Linear(width, width), nn.GELU(), self.last)
        self.begin()

    def begin(self) -> None:
        """Set the net to zero for the start of a position: a state is the rest of its vector."""
        for weights in self.last.parameters():
            nn.init.zeros_(weights)

    def states(self, vectors: Tensor, codes: Tensor) -> Tensor:
        """The states [B, d] of vectors [B, d] after their codes [B, t]."""
        rest = vectors - self.decode(codes)
        return normalize(rest + self.net(rest), dim=-1)

    def decode(self, codes: Tensor) -> Tensor:
        """The sum [B, d] of the entries of codes [B, t]: what they say of a vector."""
        entries = [self.books[place, codes[:, place]] for place in range(codes.shape[1])]
        zero = self.books.new_zeros(len(codes), self.books.shape[2])
        return torch.stack([zero, *entries]).sum(dim=0)

    def scores(self, states: Tensor, position: int) -> Tensor:
        """The scores [B, K] of all codes at a position, by states [B, d]."""
        return states @ normalize(self.books[position], dim=-1).T / TEMPERATURE

    def tensor(self, array: Floats | Int) -> Tensor:
        """Copy an array, which may be a read-only file, to the device of the codebooks."""
        return torch.tensor(array, device=self.books.device)

    def loss(
        self, queries: Tensor, documents: Tensor, codes: Tensor, same: Tensor, how: CodeTraining
    ) -> Tensor:
        """The loss of a batch of pairs at the next position.

        Args:
            queries: Vectors [B, d].
            documents: Vectors [B, d] of the relevant documents.
            codes: The documents' codes so far [B, t].
            same: Whether the documents of two pairs are the same one [B, B].
            how: The weights of the loss.
        """
        position, right = codes.shape[1], torch.arange(len(queries), device=codes.device)
        document, query = self.states(documents, codes), self.states(queries, codes)
        own = self.scores(document, position)
        code = own.argmax(dim=-1)
        repeated = same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)
        near = (query @ document.T / TEMPERATURE).masked_fill(repeated, -torch.inf)
        retrieval = cross_entropy(near, right) + cross_entropy(self.scores(query, position), code)
        decoded = normalize(self.decode(torch.cat((codes, code[:, None]), dim=1)), dim=-1)
        alike = decoded @ normalize(documents, dim=-1).T / TEMPERATURE
        reconstruction = cross_entropy(alike.masked_fill(repeated, -torch.inf), right)
        loss = how.retrieval * retrieval + how.reconstruction * reconstruction
        return loss + how.commitment * cross_entropy(own, code)


def learn_codes(
    pairs: CodePairs, positions: int, codes: int, how: CodeTraining, seed: int, folder: Path
) -> Codes:
    """Learn the codes [T] of each document; `folder` keeps checkpoints, from which an interrupted
    call goes on."""
    torch.manual_seed(seed)
    model = Codebooks(pairs.documents.shape[1], positions, codes)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    known = model.tensor(np.zeros((len(pairs.documents), 0), np.int64))
    for position in range(positions):
        part = folder / f"codes-{position}"
        part.mkdir(parents=True, exist_ok=True)
        _start(model, pairs, known, seed)
        _train(model, pairs, known, how, seed, part)
        known = torch.cat((known, _assigned(model, pairs.documents, known)[:, None]), dim=1)
    for position in range(positions):
        remove_checkpoint(folder / f"codes-{position}")
    rows: Codes = known.tolist()
    return rows


@torch.no_grad()
def _start(model: Codebooks, pairs: CodePairs, known: Tensor, seed: int) -> None:
    """Diverse initialisation: the codebook's entries are the means of balanced clusters."""
    model.begin()
    position, size = known.shape[1], model.books.shape[1]
    vectors = model.tensor(pairs.documents)
    label = balanced_kmeans(model.states(vectors, known).cpu().numpy(), size, seed + position)
    rest = vectors - model.decode(known)
    for code in np.unique(label):
        model.books[position, int(code)] = rest[np.flatnonzero(label == code)].mean(dim=0)


def _train(
    model: Codebooks, pairs: CodePairs, known: Tensor, how: CodeTraining, seed: int, folder: Path
) -> None:
    per_epoch = -(-len(pairs.answers) // how.batch_size)
    learned = [{"params": list(model.parameters()), "peak": RATE}]
    loop = TrainingLoop(
        model,
        torch.optim.AdamW(learned, RATE, weight_decay=0.0),
        steps=per_epoch * how.epochs,
        warm_up=0.05,
        validate_every=max(per_epoch, 20),
        patience=4,
        seed=seed,
        folder=folder,
        report=shown(f"codes of position {known.shape[1] + 1}"),
        minutes=how.minutes,
    )
    loop.run(_losses(model, pairs, known, how, seed), lambda: _figure(model, pairs, known))


def _losses(
    model: Codebooks, pairs: CodePairs, known: Tensor, how: CodeTraining, seed: int
) -> Callable[[int], Tensor]:
    """The loss of each step, which depends on (seed, step) alone. A batch has several pairs of each
    prefix that is in it: the next code has to tell their documents apart."""
    group = np.unique(known.cpu()[pairs.answers], axis=0, return_inverse=True)[1].reshape(-1)  # [P]
    order, sizes = np.argsort(group, kind="stable"), np.bincount(group)
    starts, drawn = np.cumsum(sizes) - sizes, -(-how.batch_size // SAME_PREFIX)

    def loss(step: int) -> Tensor:
        rng = np.random.default_rng((seed, step))
        chosen = group[rng.integers(len(group), size=drawn)][:, None]
        place = starts[chosen] + (rng.random((drawn, SAME_PREFIX)) * sizes[chosen]).astype(np.int64)
        rows = shard(order[place].ravel()[: how.batch_size])
        answers, queries = model.tensor(pairs.answers[rows]), model.tensor(pairs.queries[rows])
        documents = model.tensor(pairs.documents[pairs.answers[rows]])
        return model.loss(queries, documents, known[answers], answers[:, None] == answers, how)

    return loss


@torch.no_grad()
def _assigned(model: Codebooks, vectors: Floats, known: Tensor) -> Tensor:
    """The next code [D] of each document."""
    return model.scores(model.states(model.tensor(vectors), known), known.shape[1]).argmax(dim=-1)


@torch.no_grad()
def _figure(model: Codebooks, pairs: CodePairs, known: Tensor) -> float:
    """The validation figure: the share of queries that predict their document's code, times the
    entropy that the code adds to those before, as a share of the most it could add."""
    position, answers = known.shape[1], model.tensor(pairs.answers[:VALIDATION])
    codes = _assigned(model, pairs.documents, known)
    queries = model.states(model.tensor(pairs.queries[:VALIDATION]), known[answers])
    right = (model.scores(queries, position).argmax(dim=-1) == codes[answers]).float().mean()
    added = _entropy(torch.cat((known, codes[:, None]), dim=1)) - _entropy(known)
    return float(right * added / np.log(max(model.books.shape[1], 2)))


def _entropy(codes: Tensor) -> float:
    """The entropy of the distribution of the rows of codes [D, t]."""
    share = np.unique(codes.cpu().numpy(), axis=0, return_counts=True)[1] / len(codes)
    return float(-(share @ np.log(share)))


def balanced_kmeans(
    vectors: Floats, clusters: int, seed: int, rounds: int = 5
) -> NDArray[np.int64]:
    """The cluster of each vector [D], none with more than ⌈D / K⌉ of them.

    This is Lloyd's algorithm, but in each round vectors choose in turn, those first that lose most
    if they do not get their nearest centroid.
    """
    _, centroids = kmeans(vectors, clusters, seed)
    label = np.zeros(len(vectors), np.int64)
    for _ in range(rounds):
        near = vectors @ centroids.T - (centroids**2).sum(axis=1) / 2  # [D, K] larger is nearer
        label = _within_capacity(near)
        for one in np.unique(label):
            centroids[one] = vectors[label == one].mean(axis=0)
    return label


def _within_capacity(near: Floats) -> NDArray[np.int64]:
    """Give each row of similarities [D, K] its nearest cluster that is not yet full; [D]."""
    count, clusters = near.shape
    room = np.full(clusters, -(-count // clusters))
    wishes = np.argsort(-near, axis=1, kind="stable")
    ranked = -np.sort(-near, axis=1)
    loss = ranked[:, 0] - ranked[:, min(1, clusters - 1)]
    label = np.zeros(count, np.int64)
    for row in np.argsort(-loss, kind="stable"):
        label[row] = wishes[row][np.argmax(room[wishes[row]] > 0)]
        room[label[row]] -= 1
    return label


class GenRetConfig(SequenceConfig):
    """The settings of a sequence system, the sizes of the codes and how they are learned."""

    positions: int = Field(3, ge=1)
    """Codes of an identifier."""

    codes: int = Field(512, ge=2)
    """Entries of each position's codebook; at most √D."""

    epochs: int = Field(5, ge=0)
    """Passes over the pairs for each position, unless training has minutes."""

    retrieval: float = Field(1.0, ge=0)
    """The weight of the retrieval loss."""

    reconstruction: float = Field(1.0, ge=0)
    """The weight of the reconstruction loss."""

    commitment: float = Field(1.0, ge=0)
    """The weight of the commitment loss."""


def learned_codes(
    data: DataSet, config: GenRetConfig, pairs: Sequence[Pair], seed: int, folder: Path
) -> Codes:
    """The codes of each document, learned from its queries."""
    documents = minilm_vectors(data, folder.parent)
    queries = VectorReader().vectors([pair.query for pair in pairs], "reading queries")
    answers = np.array([pair.document for pair in pairs], np.int64)
    minutes = config.train.part(2 * config.positions).minutes
    how = CodeTraining(
        config.epochs,
        minutes,
        retrieval=config.retrieval,
        reconstruction=config.reconstruction,
        commitment=config.commitment,
    )
    codes = leaf_size(len(documents), config.codes, 2)
    known = CodePairs(documents, queries, answers)
    return learn_codes(known, config.positions, codes, how, seed, folder)


def _fit(data: DataSet, config: GenRetConfig, seed: int, folder: Path) -> None:
    half = config.model_copy(update={"train": config.train.part(2)})
    fit = SequenceFit(data, half, seed, folder)
    synthetic = fit.synthetic()
    ids = [document.id for document in watched_documents(data)]
    empty = SequenceIds.of(ids, [[] for _ in ids])
    pairs, validation = fit.examples(empty, synthetic)

    def scheme(_tokenizer: object) -> SequenceIds:
        codes = learned_codes(data, config, pairs, seed, folder)
        return code_ids(ids, codes)

    generator = fit.generator(fit.ids(scheme))
    fit.learn(generator, pairs, validation, folder)
    fit.finish(generator)


register_sequences("genret", GenRetConfig, _fit)
