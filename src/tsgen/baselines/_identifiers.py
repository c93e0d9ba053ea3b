"""Identifiers of documents for the systems that generate sequences.

Codes come from clusters of the documents' vectors (MiniLM's), by k-means of faiss: `hierarchical`
ones are a path in a tree of clusters of clusters; the quantised ones of single systems are in those
systems' files. Identifiers that several documents share are numbered: `unique_codes` for codes,
`unique_texts` for titles, URLs and queries.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
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
ROUNDS = 20  # of k-means


def minilm_vectors(data: DataSet, cache: Path) -> Floats:
    """MiniLM's mean-pooled vectors [D, d] of all documents, of length 1; `cache` keeps them."""
    inputs, config = {"documents": data.fingerprint}, StageConfig()
    folder = cache / f"{KIND}-{stage_key(KIND, {}, inputs, 0)[:12]}"

    def work(partial: Path) -> None:
        texts = [document.contents for document in watched_documents(data)]
        save_array(partial, KIND, VectorReader().vectors(texts, "reading documents"))

    stage(folder, work, kind=KIND, config=config, inputs=inputs, keep_pieces=True)
    return np.asarray(load_array(folder, KIND))


def kmeans(vectors: Floats, clusters: int, seed: int) -> tuple[NDArray[np.int64], Floats]:
    """Cluster vectors [D, d] by faiss: the cluster of each [D] and the centroids [K, d], where K is
    `clusters` or, if there are fewer, the number of vectors."""
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
    """The most documents of a cluster, or codes of a position: `largest`, but at most √D (or
    `clusters`, if that is more), else a small set would be a flat list."""
    return min(largest, max(clusters, ceil(sqrt(documents))))


def hierarchical_codes(vectors: Floats, clusters: int, leaf: int, seed: int) -> Codes:
    """DSI's semantic ids: the cluster at each level of a tree, then the place in its leaf.

    Args:
        vectors: The documents' vectors [D, d].
        clusters: How many clusters a cluster is split into, k.
        leaf: A cluster of more documents than this is split, c.
        seed: Of k-means.
    """
    codes: Codes = [[] for _ in vectors]
    unsplit = [np.arange(len(vectors))]
    while unsplit:
        members = unsplit.pop()
        if len(members) <= leaf:
            parts = np.split(members, len(members))
        else:
            parts = _split(vectors, members, clusters, seed)
            unsplit += parts
        for code, part in enumerate(parts):
            for member in part:
                codes[member].append(code)
    return codes


def _split(
    vectors: Floats, members: NDArray[np.int64], clusters: int, seed: int
) -> list[NDArray[np.int64]]:
    """Split documents into clusters, none of them empty; equal vectors are dealt out in turn."""
    label, _ = kmeans(vectors[members], clusters, seed)
    if len(np.unique(label)) == 1:
        label = np.arange(len(members)) % clusters
    return [members[label == one] for one in np.unique(label)]


TOGETHER = 1024  # documents whose neighbours are searched at once


def placed_ids(
    known: SequenceIds,
    trained: DataSet,
    data: DataSet,
    cache: Path,
    symbols: Callable[[int], Sequence[int]],
) -> SequenceIds:
    """Identifiers in a tree of clusters that was made for other documents.

    A document that has an identifier keeps it. Another one goes into the leaf of the document
    that is nearest to it by the cosine, and gets the first symbol there that is free; where none
    is, it shares the identifier of its neighbour.

    Args:
        known: The identifiers of the tree.
        trained: The documents that these are of.
        data: The documents that want identifiers.
        cache: Where vectors are kept.
        symbols: The symbols that may end an identifier, given one that does.
    """
    old, new = minilm_vectors(trained, cache), minilm_vectors(data, cache)
    ids = [document.id for document in watched_documents(data)]
    numbers = known.document_numbers()
    fresh = [place for place, name in enumerate(ids) if name not in numbers]
    nearest: dict[int, int] = {}
    for start in range(0, len(fresh), TOGETHER):
        places = fresh[start : start + TOGETHER]
        found = (new[places] @ old.T).argmax(axis=1).tolist()
        nearest |= dict(zip(places, found, strict=True))
    rows = {p: known.sequence(numbers[n]).tolist() for p, n in enumerate(ids) if n in numbers}
    taken: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for row in rows.values():
        taken[tuple(row[:-1])].add(row[-1])
    for place in fresh:
        *path, last = known.sequence(nearest[place]).tolist()
        used = taken[tuple(path)]
        symbol = next((one for one in symbols(last) if one not in used), last)
        used.add(symbol)
        rows[place] = [*path, symbol]
    every = [rows[place] for place in range(len(ids))]
    return SequenceIds.of(ids, every, end=known.end, symbols=known.symbols)


def unique_codes(rows: Codes) -> Codes:
    """The codes of each document, followed by a number where several documents have the same."""
    several = Counter(map(tuple, rows))
    seen: Counter[tuple[int, ...]] = Counter()
    unique = []
    for row in rows:
        unique.append([*row, seen[tuple(row)]] if several[tuple(row)] > 1 else row)
        seen[tuple(row)] += 1
    return unique


def by_position(rows: Codes) -> tuple[Codes, list[str]]:
    """Turn codes into symbols, one for each code at each position; also the symbols' names,
    `position:code`."""
    width = 1 + max((code for row in rows for code in row), default=0)
    longest = max(map(len, rows), default=0)
    placed = [[level * width + code for level, code in enumerate(row)] for row in rows]
    return placed, [f"{level}:{code}" for level in range(longest) for code in range(width)]


def code_ids(document_ids: Sequence[str], rows: Codes) -> SequenceIds:
    """Make identifiers of codes: unique ones, with different symbols at different positions."""
    placed, names = by_position(unique_codes(rows))
    return SequenceIds.of(document_ids, placed, symbols=names)


def unique_texts(texts: Iterable[str]) -> list[str]:
    """The texts; the second of equal ones is followed by 2, the third by 3, and so on."""
    seen: Counter[str] = Counter()
    unique = []
    for text in texts:
        seen[text] += 1
        unique.append(text if seen[text] == 1 else f"{text} {seen[text]}")
    return unique
