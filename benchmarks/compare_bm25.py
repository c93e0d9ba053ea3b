"""What `tsgen compare` costs over calling bm25s directly: one process, both from files on disk.

    python benchmarks/compare_bm25.py [DATA]

DATA is a BEIR folder with .gz files; by default wikipages-110k beside the repository.
"""

import gzip
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bm25s
import Stemmer

from tsgen.cli.main import app
from tsgen.corpus.runs import read_trec

K = 100
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "wikipages-110k"


def through_tsgen(data: Path, folder: Path) -> dict[str, list[str]]:
    """Checked input, index, saved and opened, search, evaluation, table, run file; from nothing."""
    options = ["--cache", f"{folder / 'cache'}", "--runs", f"{folder}"]
    app(["compare", f"{data}", *options], standalone_mode=False)
    run = read_trec(folder / "bm25.trec")
    return {query: [hit.document_id for hit in hits] for query, hits in run.items()}


def directly(data: Path) -> dict[str, list[str]]:
    """Read, index, search: bm25s as its own documentation shows it, and nothing else."""
    corpus = _read(data / "corpus.jsonl.gz")
    queries = {row["_id"]: row["text"] for row in _read(data / "queries.jsonl.gz")}
    lines = (data / "qrels" / "test.tsv").read_text().splitlines()[1:]
    wanted = list(dict.fromkeys(line.split("\t")[0] for line in lines))
    stemmer = Stemmer.Stemmer("english")
    texts = [f"{row['title']} {row['text']}" for row in corpus]
    retriever = bm25s.BM25()
    retriever.index(
        bm25s.tokenize(texts, stemmer=stemmer, show_progress=False), show_progress=False
    )
    words = bm25s.tokenize([queries[id] for id in wanted], stemmer=stemmer, show_progress=False)
    found, _ = retriever.retrieve(words, k=K, show_progress=False)
    ids = [row["_id"] for row in corpus]
    return {id: [ids[i] for i in row] for id, row in zip(wanted, found, strict=True)}


def _read(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def timed(work: Callable[[], dict[str, list[str]]]) -> tuple[dict[str, list[str]], float, float]:
    """The result, the seconds of wall clock, and the seconds of this process's own work."""
    wall, own = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - own


def main(data: Path) -> None:
    """Measure both and print the ratio; tsgen goes first, so that the peak of memory is its own."""
    if not data.is_dir():
        sys.exit(f"{data}: no such folder; give a BEIR folder with .gz files")
    with tempfile.TemporaryDirectory() as folder:
        ours, our_wall, our_cpu = timed(lambda: through_tsgen(data, Path(folder)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux
    theirs, wall, cpu = timed(lambda: directly(data))
    same = sum(ours[query][:1] == hits[:1] for query, hits in theirs.items()) / len(theirs)
    print(f"{data.name}: {len(theirs):,} queries, {K} hits each")
    print(
        f"tsgen compare   {our_wall:6.1f} s wall  {our_cpu:6.1f} s CPU  {peak:.2f} GiB at the peak"
    )
    print(f"bm25s directly  {wall:6.1f} s wall  {cpu:6.1f} s CPU")
    print(f"ratio           {our_wall / wall:6.2f}         {our_cpu / cpu:6.2f}")
    print(f"same first hit  {same:7.2%} of the queries (ties: ours go by document order)")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
