"""Codes from clusters of the documents' vectors: the identifiers of several systems."""

from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import load_array, save_array
from tsgen.artifact import stage, stage_key
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.errors import MissingExtraError
from tsgen.synthetic.round_trip import VectorReader

Floats = NDArray[np.float32]
Codes = list[list[int]]

KIND = "vectors"
ROUNDS = 20


def document_vectors(data: DataSet, cache: Path) -> Floats:
    """[D, d] MiniLM's mean-pooled vectors of length 1, kept in `cache` for all that ask."""
    inputs, config = {"documents": data.fingerprint}, StageConfig()
    folder = cache / f"{KIND}-{stage_key(KIND, {}, inputs, 0)[:12]}"

    def work(partial: Path) -> None:
        texts = [document.contents for document in watched_documents(data)]
        save_array(partial, KIND, VectorReader().vectors(texts, "reading documents"))

    stage(folder, work, kind=KIND, config=config, inputs=inputs, keep_pieces=True)
    return np.asarray(load_array(folder, KIND))


def kmeans(vectors: Floats, clusters: int, seed: int) -> tuple[NDArray[np.int64], Floats]:
    """The cluster of each vector [D] and the centroids [K, d], by faiss; K ≤ `clusters`."""
    try:
        faiss: Any = import_module("faiss")
    except ImportError:
        raise MissingExtraError("clusters of documents (faiss)", "baselines") from None
    clusters = min(clusters, len(vectors))
    found = faiss.Kmeans(
        vectors.shape[1], clusters, niter=ROUNDS, seed=seed, min_points_per_centroid=1
    )
    found.train(vectors)
    _, nearest = found.index.search(vectors, 1)
    return nearest[:, 0], found.centroids


def leaf_size(documents: int, largest: int, clusters: int) -> int:
    """The most documents of a cluster that is not split: √D of a small set, `largest` of others."""
    return min(largest, max(clusters, ceil(sqrt(documents))))


def hierarchical_codes(vectors: Floats, clusters: int, leaf: int, seed: int) -> Codes:
    """DSI's semantic ids: the cluster at each level, then the place in a cluster of ≤ `leaf`."""
    codes: Codes = [[] for _ in vectors]
    waiting = [np.arange(len(vectors))]
    while waiting:
        members = waiting.pop()
        if len(members) <= leaf:
            parts = np.split(members, len(members))
        else:
            parts = _split(vectors, members, clusters, seed)
            waiting += parts
        for code, part in enumerate(parts):
            for member in part:
                codes[member].append(code)
    return codes


def _split(
    vectors: Floats, members: NDArray[np.int64], clusters: int, seed: int
) -> list[NDArray[np.int64]]:
    """Clusters that are not empty; documents that are all alike are dealt out."""
    label, _ = kmeans(vectors[members], clusters, seed)
    if len(np.unique(label)) == 1:
        label = np.arange(len(members)) % clusters
    return [members[label == one] for one in np.unique(label)]


def product_codes(vectors: Floats, parts: int, codes: int, seed: int) -> Codes:
    """Product quantisation: the nearest of `codes` centroids in each of the vectors' `parts`."""
    found = [
        kmeans(np.ascontiguousarray(part), codes, seed)[0]
        for part in np.array_split(vectors, parts, axis=1)
    ]
    rows: Codes = np.stack(found, axis=1).tolist()
    return rows


def residual_codes(vectors: Floats, positions: int, codes: int, seed: int) -> Codes:
    """Residual quantisation: at each position the nearest centroid of what is left of a vector."""
    rest, found = vectors.copy(), []
    for position in range(positions):
        label, centroids = kmeans(rest, codes, seed + position)
        rest -= centroids[label]
        found.append(label)
    rows: Codes = np.stack(found, axis=1).tolist()
    return rows


def told_apart(rows: Codes) -> Codes:
    """The same codes; those that several documents have are followed by a number."""
    several = Counter(map(tuple, rows))
    seen: Counter[tuple[int, ...]] = Counter()
    unique = []
    for row in rows:
        unique.append([*row, seen[tuple(row)]] if several[tuple(row)] > 1 else row)
        seen[tuple(row)] += 1
    return unique


def by_position(rows: Codes) -> tuple[Codes, list[str]]:
    """Codes as symbols that say their position, too, and the symbols' names: position:code."""
    width = 1 + max((code for row in rows for code in row), default=0)
    longest = max(map(len, rows), default=0)
    placed = [[level * width + code for level, code in enumerate(row)] for row in rows]
    return placed, [f"{level}:{code}" for level in range(longest) for code in range(width)]


def code_ids(document_ids: Sequence[str], rows: Codes) -> SequenceIds:
    """Codes as identifiers: told apart where they are equal, by symbols that say their position."""
    placed, names = by_position(told_apart(rows))
    return SequenceIds.of(document_ids, placed, symbols=names)


def balanced_kmeans(
    vectors: Floats, clusters: int, seed: int, rounds: int = 5
) -> NDArray[np.int64]:
    """The cluster of each vector [D], none with more than ⌈D / K⌉ of them.

    Lloyd's algorithm; in each round vectors choose in turn, those first that lose most by not
    getting their nearest centroid.
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
    """The nearest cluster [D] of each row [D, K] that is not yet full."""
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
