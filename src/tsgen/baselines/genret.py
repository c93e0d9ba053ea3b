"""GenRet (Sun et al., 2023): identifiers are discrete codes that are themselves learned.

Codes are learned position by position from pairs of queries and documents (see `_codebooks`:
retrieval, reconstruction and commitment, codebooks that start from balanced clusters); then the
generator learns to write them, inside the trie.

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

from tsgen.baselines._clusters import (
    Codes,
    Floats,
    balanced_kmeans,
    code_ids,
    document_vectors,
    leaf_size,
)
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.queries.pairs import Pair
from tsgen.retrieve.sequence_systems import SequenceConfig, SequenceFit, register_sequences
from tsgen.synthetic.round_trip import VectorReader
from tsgen.training_loop import TrainingLoop, remove_checkpoint, shard, shown

# Discrete codes that are learned position by position, as GenRet's document tokenizer does.
#
# A document's state at position t is made of its vector less what its codes so far, fixed by then,
# say; its code is the nearest entry of the codebook of t. A codebook starts from balanced clusters
# of the states, so that all codes are in use, and is trained together with what makes the states by
#
# - retrieval: a query is nearer to its document's state than to those of the batch's other
#   documents, and tells its document's code;
# - reconstruction: the entries of a document's codes tell its vector from those of the others;
# - commitment: a state stays near its entry.

TEMPERATURE = 0.05
HELD_OUT = 512  # pairs that validate; they are learned, too, since codes are of documents
RATE = 1e-3
ALIKE = 8  # pairs of one prefix in a batch

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CodePairs:
    """Vectors [D, d] of documents and [P, d] of queries, and the document [P] of each query."""

    documents: Floats
    queries: Floats
    answers: Int


@dataclass(frozen=True, slots=True)
class CodeTraining:
    """How long each position is learned; a part of the loss with weight 0 is left out."""

    epochs: int = 5
    minutes: float | None = None  # of each position
    batch_size: int = 128
    retrieval: float = 1.0
    reconstruction: float = 1.0
    commitment: float = 1.0


class Codebooks(nn.Module):
    """The codebooks [T, K, d] of all positions, and what makes states of vectors."""

    def __init__(self, width: int, positions: int, codes: int) -> None:
        super().__init__()
        self.books = nn.Parameter(torch.zeros(positions, codes, width))
        self.last = nn.Linear(width, width)
        self.net = nn.Sequential(nn.Linear(width, width), nn.GELU(), self.last)
        self.begin()

    def begin(self) -> None:
        """A state is the rest of its vector again, from which each position's codebook starts."""
        for weights in self.last.parameters():
            nn.init.zeros_(weights)

    def states(self, vectors: Tensor, codes: Tensor) -> Tensor:
        """[B, d] after codes [B, t]."""
        rest = vectors - self.told(codes)
        return normalize(rest + self.net(rest), dim=-1)

    def told(self, codes: Tensor) -> Tensor:
        """[B, d] what the codes [B, t] say of a vector: the sum of their entries."""
        entries = [self.books[place, codes[:, place]] for place in range(codes.shape[1])]
        zero = self.books.new_zeros(len(codes), self.books.shape[2])
        return torch.stack([zero, *entries]).sum(dim=0)

    def scores(self, states: Tensor, position: int) -> Tensor:
        """[B, K] of the codes at a position."""
        return states @ normalize(self.books[position], dim=-1).T / TEMPERATURE

    def tensor(self, array: Floats | Int) -> Tensor:
        """A copy of an array, which may be a file that is read only, where the codebooks are."""
        return torch.tensor(array, device=self.books.device)

    def loss(
        self, queries: Tensor, documents: Tensor, codes: Tensor, same: Tensor, how: CodeTraining
    ) -> Tensor:
        """Of pairs [B] whose documents have codes [B, t]; `same` [B, B] tells equal documents."""
        position, right = codes.shape[1], torch.arange(len(queries), device=codes.device)
        found, asked = self.states(documents, codes), self.states(queries, codes)
        own = self.scores(found, position)
        code = own.argmax(dim=-1)
        others = same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)
        near = (asked @ found.T / TEMPERATURE).masked_fill(others, -torch.inf)
        retrieval = cross_entropy(near, right) + cross_entropy(self.scores(asked, position), code)
        told = normalize(self.told(torch.cat((codes, code[:, None]), dim=1)), dim=-1)
        alike = told @ normalize(documents, dim=-1).T / TEMPERATURE
        telling = cross_entropy(alike.masked_fill(others, -torch.inf), right)
        both = how.retrieval * retrieval + how.reconstruction * telling
        return both + how.commitment * cross_entropy(own, code)


def learn_codes(
    pairs: CodePairs, positions: int, codes: int, how: CodeTraining, seed: int, folder: Path
) -> Codes:
    """The codes [T] of each document; `folder` keeps what an interrupted call goes on from."""
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
    """Diverse initialisation: the means of balanced clusters of what is still to be told."""
    model.begin()
    position, size = known.shape[1], model.books.shape[1]
    vectors = model.tensor(pairs.documents)
    label = balanced_kmeans(model.states(vectors, known).cpu().numpy(), size, seed + position)
    rest = vectors - model.told(known)
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
    """The loss of each step, from (seed, step) alone. A batch has several pairs of each prefix that
    is in it: what tells these apart is what the next code has to say."""
    group = np.unique(known.cpu()[pairs.answers], axis=0, return_inverse=True)[1].reshape(-1)  # [P]
    order, sizes = np.argsort(group, kind="stable"), np.bincount(group)
    starts, drawn = np.cumsum(sizes) - sizes, -(-how.batch_size // ALIKE)

    def loss(step: int) -> Tensor:
        rng = np.random.default_rng((seed, step))
        chosen = group[rng.integers(len(group), size=drawn)][:, None]
        place = starts[chosen] + (rng.random((drawn, ALIKE)) * sizes[chosen]).astype(np.int64)
        rows = shard(order[place].ravel()[: how.batch_size])
        answers, queries = model.tensor(pairs.answers[rows]), model.tensor(pairs.queries[rows])
        documents = model.tensor(pairs.documents[pairs.answers[rows]])
        return model.loss(queries, documents, known[answers], answers[:, None] == answers, how)

    return loss


@torch.no_grad()
def _assigned(model: Codebooks, vectors: Floats, known: Tensor) -> Tensor:
    """[D] the next code of each document."""
    return model.scores(model.states(model.tensor(vectors), known), known.shape[1]).argmax(dim=-1)


@torch.no_grad()
def _figure(model: Codebooks, pairs: CodePairs, known: Tensor) -> float:
    """How many queries tell their document's code, times what it adds to those before (entropy)."""
    position, answers = known.shape[1], model.tensor(pairs.answers[:HELD_OUT])
    codes = _assigned(model, pairs.documents, known)
    asked = model.states(model.tensor(pairs.queries[:HELD_OUT]), known[answers])
    right = (model.scores(asked, position).argmax(dim=-1) == codes[answers]).float().mean()
    told = _entropy(torch.cat((known, codes[:, None]), dim=1)) - _entropy(known)
    return float(right * told / np.log(max(model.books.shape[1], 2)))


def _entropy(codes: Tensor) -> float:
    """Of the rows [D, t]."""
    share = np.unique(codes.cpu().numpy(), axis=0, return_counts=True)[1] / len(codes)
    return float(-(share @ np.log(share)))


class GenRetConfig(SequenceConfig):
    """The sizes of the codes, and how they are learned."""

    positions: int = Field(3, ge=1)
    codes: int = Field(512, ge=2)  # of a position, at most
    epochs: int = Field(5, ge=0)  # of each position, unless there are minutes
    retrieval: float = Field(1.0, ge=0)  # the weights of the parts of the loss
    reconstruction: float = Field(1.0, ge=0)
    commitment: float = Field(1.0, ge=0)


def learned_codes(
    data: DataSet, config: GenRetConfig, pairs: Sequence[Pair], seed: int, folder: Path
) -> Codes:
    """The codes of each document, from what is asked for it."""
    documents = document_vectors(data, folder.parent)
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
