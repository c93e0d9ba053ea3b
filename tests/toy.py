"""Small data sets on disk, in the BEIR layout."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path


def write_beir(
    folder: Path,
    documents: Mapping[str, str],
    queries: Mapping[str, str],
    **splits: Iterable[tuple[str, str]],
) -> Path:
    """Documents and queries by id; a split is a list of (query, relevant document)."""
    (folder / "qrels").mkdir(parents=True)
    _write(folder / "corpus.jsonl", documents)
    _write(folder / "queries.jsonl", queries)
    for split, pairs in splits.items():
        rows = "".join(f"{query}\t{document}\t1\n" for query, document in pairs)
        (folder / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    return folder


def _write(path: Path, texts: Mapping[str, str]) -> None:
    rows = (json.dumps({"_id": id, "text": text}) for id, text in texts.items())
    path.write_text("".join(f"{row}\n" for row in rows))


def copy_damaged(folder: Path, to: Path, name: str) -> None:
    """A copy of a folder in which the last bit of one file is another."""
    shutil.copytree(folder, to)
    path = to / name
    path.chmod(0o644)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
