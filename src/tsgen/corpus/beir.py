"""BEIR folders: `corpus.jsonl`, `queries.jsonl` and a folder `qrels` with one file a split.

Files may be plain or compressed (.gz, .zst); queries and judgments may be missing.
"""

from pathlib import Path

from tsgen.corpus.sources import Layout, find_file
from tsgen.corpus.table_files import Columns, document_table, query_table
from tsgen.corpus.trec import qrels_folder

LOOKS_LIKE = "corpus.jsonl, queries.jsonl and qrels/test.tsv (BEIR)"


def beir_folder(folder: Path, columns: Columns | None) -> Layout | None:
    """The sources of a BEIR folder; None for any other folder."""
    corpus = find_file(folder, "corpus.jsonl")
    if corpus is None:
        return None
    queries = find_file(folder, "queries.jsonl")
    return Layout(
        document_table(corpus, columns),
        [query_table(queries)] if queries else [],
        qrels_folder(folder / "qrels") if (folder / "qrels").is_dir() else {},
    )
