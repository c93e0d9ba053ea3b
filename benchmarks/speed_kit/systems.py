"""The systems that are measured: ours at their presets, and those that others would use.

Most are systems of `tsgen compare`. Two are indexes over what another system was fitted to:
HNSW of faiss over MiniLM's vectors, and Seismic (`pip install pyseismic-lsr`) over sparse vectors,
those of a learned sparse encoder or those of our own term sets.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import orjson

from tsgen.config import preset, presets
from tsgen.corpus.dataset import DataSet
from tsgen.records import Hit
from tsgen.retrieve.bench import Bench, fitting_seconds
from tsgen.retrieve.systems import SYSTEMS, Searcher

NEIGHBOURS, BUILT_WITH, SEARCHED_WITH = 32, 200, 128  # of HNSW
POSTINGS, CUT, HEAP = 2000, 12, 0.8  # of Seismic: as its authors use it, a little more exact
TEXTS = ("documents.jsonl", "document_offsets.npy", "lexicon.json", "manifest.json")
MODELS = (".safetensors", ".onnx", ".pt", "tokenizer.json", "vocab.txt")


@dataclass(frozen=True)
class Made:
    """A system that is ready to be searched."""

    name: str
    fitted: Path
    seconds: float  # to make it
    kilobytes: float  # of what it reads to find documents, without models and without texts
    open: Callable[[], Searcher]


@dataclass(frozen=True)
class Subject:
    """A system to measure: a fitted one, and what is built over it, if anything is."""

    name: str
    system: str
    build: Callable[[Path, Path], None] | None = None  # (fitted, folder): writes an index there
    open: Callable[[Path, Path], Searcher] | None = None  # (fitted, folder)
    preset: str | None = None  # of `tsgen index`, where it is not the default

    def make(self, data: DataSet, cache: Path) -> Made:
        """Fit it and build what it needs, unless that was done before."""
        system = SYSTEMS.get(self.system)
        own = cache / data.name / self.system  # of its own: nothing is shared with another system
        own.mkdir(parents=True, exist_ok=True)
        tables = {} if self.preset is None else {self.system: {"preset": preset(self.preset)}}
        fitted, _ = Bench(data, [], 10, 0, own).fit(system, system.settings(tables))
        seconds = fitting_seconds(fitted) or 0.0
        if self.open is None:
            kilobytes = _kilobytes(fitted)
            return Made(self.name, fitted, seconds, kilobytes, partial(system.load, fitted))
        folder = cache / data.name / self.name.replace(" ", "-")
        assert self.build is not None
        if not (folder / "seconds").exists():
            folder.mkdir(parents=True, exist_ok=True)
            began = perf_counter()
            self.build(fitted, folder)
            (folder / "seconds").write_text(f"{perf_counter() - began}")
        seconds += float((folder / "seconds").read_text())
        kilobytes = _kilobytes(folder)
        return Made(self.name, fitted, seconds, kilobytes, partial(self.open, fitted, folder))


def _kilobytes(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in TEXTS)
    kept = (path for path in files if not path.name.endswith(MODELS))
    return sum(path.stat().st_size for path in kept if "weights" not in path.parts) / 1024


# MiniLM's vectors in faiss' graph.


def build_hnsw(fitted: Path, folder: Path) -> None:
    """Write the graph of the vectors of the system `dense`."""
    faiss: Any = import_module("faiss")
    vectors = np.load(fitted / "vectors.npy").astype(np.float32)
    index = faiss.IndexHNSWFlat(vectors.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = BUILT_WITH
    index.add(np.ascontiguousarray(vectors))
    faiss.write_index(index, str(folder / "hnsw.faiss"))


class Graph:
    """Searches the graph with MiniLM's vector of the query."""

    def __init__(self, fitted: Path, folder: Path) -> None:
        faiss: Any = import_module("faiss")
        faiss.omp_set_num_threads(1)
        dense: Any = SYSTEMS.get("dense").load(fitted)
        self._reader, self._ids = dense._reader, dense._ids
        self._index = faiss.read_index(str(folder / "hnsw.faiss"))
        self._index.hnsw.efSearch = SEARCHED_WITH

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The nearest documents that the graph leads to."""
        _, _, read = self._reader.encode(queries)
        scores, found = self._index.search(np.ascontiguousarray(read.cpu().numpy()), k)
        return [
            [Hit(self._ids[d], float(s)) for d, s in zip(*row, strict=True) if d >= 0]
            for row in zip(found.tolist(), scores.tolist(), strict=True)
        ]


# Seismic over sparse vectors.

Weighed = tuple[Sequence[str], np.ndarray]  # terms, weights


def build_seismic(rows: Iterable[tuple[str, Weighed]], folder: Path) -> None:
    """Write Seismic's index of documents with their sparse vectors."""
    seismic: Any = import_module("seismic")
    kind, data = seismic.get_seismic_string(), seismic.SeismicDataset()
    for document_id, (terms, weights) in rows:
        data.add_document(document_id, np.array(terms, kind), np.asarray(weights, np.float32))
    index = seismic.SeismicIndex.build_from_dataset(data, n_postings=POSTINGS)
    index.save(str(folder / "seismic"))


class Seismic:
    """Searches Seismic's index with the sparse vector of the query."""

    def __init__(self, folder: Path, weigh: Callable[[Sequence[str]], list[Weighed]]) -> None:
        seismic: Any = import_module("seismic")
        (path,) = folder.glob("seismic*.seismic")
        self._index, self._weigh = seismic.SeismicIndex.load(str(path)), weigh
        self._kind = seismic.get_seismic_string()

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The documents of the largest products among those that Seismic looks at."""
        found = []
        for terms, weights in self._weigh(queries):
            said = np.array(terms, self._kind), np.asarray(weights, np.float32)
            hits = self._index.search("q", *said, k, CUT, HEAP) if len(terms) else []
            found.append([Hit(document_id, float(score)) for _, score, document_id in hits])
        return found


def build_over_sparse(fitted: Path, folder: Path) -> None:
    """Seismic over the vectors that UniCOIL or SPLADEv2 gave the documents."""
    sparse: Any = import_module("scipy.sparse")
    ids = orjson.loads((fitted / "ids.json").read_bytes())
    rows = sparse.csr_array(sparse.load_npz(fitted / "postings.npz").T)
    build_seismic(((id, _row(rows, i)) for i, id in enumerate(ids)), folder)


def _row(rows: Any, i: int) -> Weighed:
    start, end = rows.indptr[i], rows.indptr[i + 1]
    return [str(term) for term in rows.indices[start:end]], rows.data[start:end]


def open_over_sparse(system: str, fitted: Path, folder: Path) -> Searcher:
    """Seismic with the queries' vectors of UniCOIL or SPLADEv2."""
    torch: Any = import_module("torch")
    model: Any = SYSTEMS.get(system).load(fitted)._model  # type: ignore[attr-defined]

    def weigh(queries: Sequence[str]) -> list[Weighed]:
        with torch.inference_mode():
            tokens = model.tokens(queries, model.config.query_tokens)
            rows = [model.queries([row])[0].float().cpu().numpy() for row in tokens]
        places = [np.flatnonzero(row) for row in rows]
        named = [[str(term) for term in own] for own in places]
        return [(terms, row[own]) for terms, row, own in zip(named, rows, places, strict=True)]

    return Seismic(folder, weigh)


def build_over_terms(fitted: Path, folder: Path) -> None:
    """Seismic over T(D) and its weights."""
    sets = _sets(fitted)
    names = list(sets.vocabulary)

    def rows() -> Iterable[tuple[str, Weighed]]:
        for number, document_id in enumerate(sets.documents):
            span = slice(*sets.doc_offsets[number : number + 2])
            weights = np.asarray(sets.doc_weights[span], np.float32)
            yield document_id, ([names[term] for term in sets.doc_terms[span]], weights)

    build_seismic(rows(), folder)


def open_over_terms(fitted: Path, folder: Path) -> Searcher:
    """Seismic with the query's own words, weighed by how rare they are."""
    sets = _sets(fitted)

    def weigh(queries: Sequence[str]) -> list[Weighed]:
        found = []
        for query in queries:
            terms = sets.query_terms(query)
            having = np.diff(sets.post_offsets)[terms]
            rarity = np.log1p((len(sets) - having + 0.5) / (having + 0.5))
            found.append(([sets.term(int(term)) for term in terms], np.sqrt(rarity)))
        return found

    return Seismic(folder, weigh)


def _sets(fitted: Path) -> Any:
    return import_module("tsgen.docids.term_set").TermSets.load(fitted / "engine" / "terms")


SUBJECTS = {
    one.name: one
    for one in (
        Subject("BM25", "bm25"),
        Subject("MiniLM exact", "dense"),
        Subject("MiniLM HNSW", "dense", build_hnsw, Graph),
        Subject("UniCOIL", "unicoil"),
        Subject("SPLADEv2", "spladev2"),
        Subject(
            "Seismic, UniCOIL",
            "unicoil",
            build_over_sparse,
            partial(open_over_sparse, "unicoil"),
        ),
        Subject(
            "Seismic, SPLADEv2",
            "spladev2",
            build_over_sparse,
            partial(open_over_sparse, "spladev2"),
        ),
        Subject("Seismic, T(D)", "tsgen-index", build_over_terms, open_over_terms),
        Subject("tsgen, vectors", "tsgen-index"),
        Subject("tsgen, mini", "tsgen-mini"),
        *(
            Subject("tsgen, fast", "tsgen-index", preset=name)
            for name in presets()
            if name == "fast"
        ),
    )
}
"""The systems by their names in the table."""

UNTRAINED = tuple(
    name
    for name in (
        "BM25",
        "MiniLM exact",
        "MiniLM HNSW",
        "Seismic, T(D)",
        "tsgen, vectors",
        "tsgen, fast",
    )
    if name in SUBJECTS
)
"""Those that need no training: minutes to make."""
