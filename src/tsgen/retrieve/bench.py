"""A bench: systems fitted on one data set and run on the same queries, each once.

What was fitted and searched before is taken from the cache; what was killed goes on from there.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic

from tsgen.artifact import (
    LOGS,
    hash_strings,
    in_pieces,
    piece_files,
    read_lines,
    stage,
    stage_key,
    write_beside,
)
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.progress import show
from tsgen.records import Hit, Query, Run
from tsgen.retrieve.systems import Searcher, System, code_versions
from tsgen.version import __version__

# Running a retriever over many queries, in pieces that can be watched, kept and gone on from.

BATCH = 256  # queries per call of `search`: enough for batches of about one length, few to watch
PIECE = 256  # queries per file: what a killed run loses at the most
HITS = "hits"  # how these files begin

Progress = Callable[[int], None]
"""Called with the number of queries done."""


def _unwatched(_done: int) -> None:
    """Progress callback that does nothing."""


def run_queries(
    retriever: Searcher,
    queries: Mapping[str, Query] | Iterable[Query],
    k: int,
    progress: Progress = _unwatched,
) -> Run:
    """Search for every query, at most `k` hits each."""
    run: Run = {}
    for batch in _slices(_listed(queries), BATCH):
        hits = retriever.search([query.text for query in batch], k)
        run.update(zip((query.id for query in batch), hits, strict=True))
        progress(len(run))
    return run


def keep_run(
    retriever: Searcher,
    queries: Mapping[str, Query] | Iterable[Query],
    k: int,
    folder: Path,
    progress: Progress = _unwatched,
) -> None:
    """Search like `run_queries`, and write the hits into files of a folder; queries whose hits are
    in a file already are not searched again."""

    def work(piece: Sequence[Query], first: int) -> Iterator[object]:
        run = run_queries(retriever, piece, k, partial(_watch_piece, progress, first))
        return ((id, [[hit.document_id, hit.score] for hit in hits]) for id, hits in run.items())

    for _ in in_pieces(_listed(queries), work, folder, PIECE, HITS):
        pass


def _watch_piece(progress: Progress, before: int, done: int) -> None:
    progress(before + done)


def read_kept_run(folder: Path) -> Run:
    """Read the hits that `keep_run` wrote; their reasons were not kept."""
    run: Run = {}
    for path in piece_files(folder, HITS):
        for query_id, hits in read_lines(path):
            run[query_id] = [Hit(document_id, score) for document_id, score in hits]
    return run


def _listed(queries: Mapping[str, Query] | Iterable[Query]) -> list[Query]:
    return list(queries.values() if isinstance(queries, Mapping) else queries)


def _slices(queries: Sequence[Query], size: int) -> Iterator[Sequence[Query]]:
    return (queries[start : start + size] for start in range(0, len(queries), size))


FITTING = "fitting.json"  # in a fitted system's logs: how long it took
TRAINING_SPLITS = ("train", "dev")  # what a system that trains may look at


class RunConfig(StageConfig):
    """The settings that a cached run depends on, beside the retriever and the queries."""

    k: int


@dataclass(frozen=True, slots=True)
class Bench:
    """The data set and the queries on which every system of a comparison is run."""

    data: DataSet
    queries: Sequence[Query]
    k: int
    seed: int
    cache: Path

    def run(self, each: System, settings: StageConfig) -> Run:
        """The hits of a system for all queries, taken from the cache as far as they are there."""
        fitted, key = self.fit(each, settings)
        if each.from_parts is not None:
            return each.from_parts(
                fitted, settings, self.k, lambda part, own, k: replace(self, k=k).run(part, own)
            )
        return self.search(each.name, key, lambda: each.load(fitted))

    def search(self, name: str, key: str, load: Callable[[], Searcher]) -> Run:
        """The hits of a retriever for all queries; it is loaded only if the cache lacks some."""

        def search(folder: Path) -> None:
            keep_run(load(), self.queries, self.k, folder, watch)

        def watch(done: int) -> None:
            show(f"{name}: queries", done, len(self.queries))

        texts = hash_strings(*(part for q in self.queries for part in (q.id, q.text)))
        inputs = {"retriever": key, "queries": texts}
        config = RunConfig(k=self.k)
        found, _ = self._stage(f"{name}-run", search, "run", config, inputs, seed=0)
        return read_kept_run(found)

    def fit(self, each: System, settings: StageConfig) -> tuple[Path, str]:
        """Fit a system if the cache lacks it; returns its folder there, and its key."""

        def fit(folder: Path) -> None:
            began = monotonic()
            each.fit(self.data, settings, self.seed, folder)
            with write_beside(folder / LOGS / FITTING) as beside:
                beside.write_text(json.dumps({"seconds": monotonic() - began}) + "\n")

        inputs = {"documents": self.data.fingerprint, "tsgen": __version__}
        inputs |= judged_inputs(self.data, *(TRAINING_SPLITS if each.trains else ()))
        inputs |= code_versions(each, settings)
        return self._stage(each.name, fit, each.name, settings, inputs, self.seed)

    def _stage(
        self,
        label: str,
        work: Callable[[Path], None],
        kind: str,
        config: StageConfig,
        inputs: Mapping[str, str],
        seed: int,
    ) -> tuple[Path, str]:
        """Make a folder of its own for each key, so that no setting evicts another's work."""
        key = stage_key(kind, config.model_dump(mode="json"), inputs, seed)
        folder = self.cache / f"{label}-{key[:12]}"
        stage(folder, work, kind=kind, config=config, inputs=inputs, seed=seed)
        return folder, key


def fitting_seconds(fitted: Path) -> float | None:
    """How long the last call took that fitted a system; None if that was not noted."""
    path = fitted / LOGS / FITTING
    return json.loads(path.read_text())["seconds"] if path.exists() else None
