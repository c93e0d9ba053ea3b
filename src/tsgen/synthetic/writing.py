"""The two cached stages of synthetic queries: writing them, then choosing which are kept.

Writing takes long and choosing does not, so other settings of choosing do not write again. After an
interruption both stages go on after their last finished piece.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from tsgen.artifact import (
    hash_strings,
    in_pieces,
    read_lines,
    read_manifest,
    remove_pieces,
    stage,
    stage_key,
    write_beside,
    write_lines,
)
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.progress import show
from tsgen.records import Document
from tsgen.settings import QueriesConfig, WritingConfig
from tsgen.synthetic.released import own_queries, with_released
from tsgen.synthetic.round_trip import FINDERS, VECTORS, KeptQueries, choose, normalise, once
from tsgen.synthetic.writers import WRITERS, WriterKind
from tsgen.training_loop import remove_checkpoint

QUERIES, COUNTS, WRITTEN = "queries.jsonl", "counts.json", "written.jsonl"
NONE = "none"
PIECE = 32  # documents a file: what a killed run loses at the most


def queries_config(settings: Mapping[str, Mapping[str, Any]]) -> QueriesConfig:
    """Read the table [queries] of a settings file. Tables inside it, such as [queries.local], are
    the settings of the writers of that name."""
    table = dict(settings.get("queries", {}))
    # A writer may have the name of a setting: only tables are options of writers.
    tables = [name for name in WRITERS.names() if isinstance(table.get(name), Mapping)]
    options = {name: table.pop(name) for name in tables}
    chosen = str(table.get("writer", QueriesConfig().writer))
    table.setdefault("options", options.get(chosen, {}))
    return QueriesConfig.from_mapping(table, source="[queries]")


def wants_queries(settings: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the table [queries] names a writer other than `none`."""
    return bool(settings.get("queries", {}).get("writer", NONE) != NONE)


def make_queries(data: DataSet, config: QueriesConfig, seed: int, cache: Path) -> Path:
    """Write queries and choose among them, unless that was done with the same inputs.

    Returns the folder in `cache` with `queries.jsonl` and `counts.json`.
    """
    config = with_released(data, config)
    written = _write(data, config, seed, cache)
    own = {normalise(text) for text in own_queries(data)}
    inputs = {"written": read_manifest(written).key, "own": hash_strings(*sorted(own))}

    def work(folder: Path) -> None:
        if not (folder / COUNTS).exists():
            finder = FINDERS[config.finder](data, folder) if config.keep_top else None

            def chosen(rows: Sequence[Any], first: int) -> Iterator[Any]:
                show("choosing queries", first)
                pairs = [(row["document"], row["queries"]) for row in rows]
                return map(asdict, choose(pairs, first, own, finder, config.keep_top or 0))

            pieces = in_pieces(read_lines(written / WRITTEN), chosen, folder, PIECE)
            _finish(folder, [*once(KeptQueries(**row) for row in chain.from_iterable(pieces))])
        remove_pieces(folder)
        (folder / VECTORS).unlink(missing_ok=True)

    return _stage("queries", work, config, inputs, seed, cache)


def copy_queries(folder: Path, out: Path) -> None:
    """Copy the queries of a folder that `make_queries` returned to a file."""
    with write_beside(out) as beside:
        shutil.copyfile(folder / QUERIES, beside)


def counts(folder: Path) -> dict[str, float]:
    """How many queries were written, left out and kept, and how many documents have none."""
    found: dict[str, float] = orjson.loads((folder / COUNTS).read_bytes())
    return found


def writer_options(config: WritingConfig) -> StageConfig:
    """The settings of the chosen writer."""
    kind = WRITERS.get(config.writer)
    return kind.config.from_mapping(config.options, source=f"settings of {kind.name!r}")


def writing_stage(config: WritingConfig) -> WritingConfig:
    """The settings that written queries depend on, with every option of the writer."""
    options = writer_options(config).model_dump(mode="json")
    return WritingConfig(writer=config.writer, n=config.n, options=options)


def _write(data: DataSet, config: WritingConfig, seed: int, cache: Path) -> Path:
    kind, options = WRITERS.get(config.writer), writer_options(config)
    resolved = writing_stage(config)

    def work(folder: Path) -> None:
        if not (folder / WRITTEN).exists():
            writer = kind.build(data, options, seed, folder)

            def written(documents: Sequence[Document], first: int) -> Iterator[Any]:
                show("writing queries for documents", first)
                found = zip(documents, writer.write(documents, config.n, seed), strict=True)
                return ({"document": each.id, "queries": queries} for each, queries in found)

            pieces = in_pieces(data.documents(), written, folder, PIECE)
            write_lines(folder / WRITTEN, chain.from_iterable(pieces))
        remove_pieces(folder)
        remove_checkpoint(folder)

    inputs = _inputs(data, kind, getattr(options, "tune", kind.trains))
    return _stage("written-queries", work, resolved, inputs, seed, cache)


def _stage(
    kind: str,
    work: Callable[[Path], None],
    config: StageConfig,
    inputs: Mapping[str, str],
    seed: int,
    cache: Path,
) -> Path:
    key = stage_key(kind, config.model_dump(mode="json"), inputs, seed)
    folder = cache / f"{kind}-{key[:12]}"
    stage(folder, work, kind=kind, config=config, inputs=inputs, seed=seed, keep_pieces=True)
    return folder


def _inputs(data: DataSet, kind: WriterKind, trains: bool) -> dict[str, str]:
    splits = (*(("train", "dev") if trains else ()), *kind.reads)
    return {"documents": data.fingerprint} | judged_inputs(data, *splits) | WRITERS.key(kind)


def _finish(folder: Path, kept: Sequence[KeptQueries]) -> None:
    lines = ({"query": text, "document": row.document} for row in kept for text in row.queries)
    write_lines(folder / QUERIES, lines)
    write_lines(folder / COUNTS, [_counts(kept)])


def _counts(kept: Sequence[KeptQueries]) -> dict[str, float]:
    stayed = sum(len(row.queries) for row in kept)
    return {
        "documents": len(kept),
        "written": sum(row.written for row in kept),
        "duplicates": sum(row.duplicates for row in kept),
        "filtered": sum(row.filtered for row in kept),
        "kept": stayed,
        "kept_per_document": stayed / max(len(kept), 1),
        "documents_without": sum(not row.queries for row in kept),
    }
