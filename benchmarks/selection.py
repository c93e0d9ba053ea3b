"""What term selection costs in time and memory, and what its term sets take once they are opened.

    python benchmarks/selection.py [DATA] [--json FILE]

DATA is any data set; by default wikipages-110k beside the repository. The peer of `tsgen terms`
with tf-idf is one bare pass that reads and splits the documents; selection needs two. The peer of
the mapped arrays is the usual way: a Python dict of sets for T, another for the postings.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from tsgen.cli.main import app
from tsgen.corpus.load import load
from tsgen.docids.audit import audit
from tsgen.docids.term_set import ARRAYS, TermSets
from tsgen.terms.words import Splitter

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "wikipages-110k"
PAPER_MEGABYTES = 35  # the paper's system for 109,739 documents, Table 5


def select(data: str, folder: Path) -> dict[str, float]:
    """`tsgen terms` from nothing; first, so that the peak of memory is its own."""
    wall, own = time.perf_counter(), time.process_time()
    options = ["--weights", "tfidf", "--n", "12", "--out", f"{folder}"]
    app(["terms", data, *options], standalone_mode=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - own,
        "peak_gib": peak,
    }


def split(data: str) -> float:
    """CPU seconds of one bare pass over the words."""
    own, splitter = time.process_time(), Splitter()
    for document in load(data).documents():
        splitter.spellings(document.contents)
    return time.process_time() - own


def resident() -> float:
    """Megabytes of this process that are in memory now."""
    return float(psutil.Process().memory_info().rss) / 1e6


def mapped(folder: Path) -> dict[str, float]:
    """Megabytes that T and Φ take when every page of them was read, then all the rest too."""
    before, sets = resident(), TermSets.load(folder)
    for name in ARRAYS:
        getattr(sets, name).max(initial=0)
    index = resident() - before
    for array in (sets.vocabulary.blob, sets.vocabulary.offsets, sets.documents.blob):
        array.max(initial=0)
    sets.documents.offsets.max(initial=0)
    return {"index": index, "index_and_texts": resident() - before}


def python_objects(folder: Path) -> float:
    """Megabytes of the same as Python objects."""
    before, sets = resident(), TermSets.load(folder)
    term_sets = {}
    postings: defaultdict[int, set[int]] = defaultdict(set)
    for document in range(len(sets)):
        term_sets[document] = frozenset(sets.terms(document).tolist())
        for term in term_sets[document]:
            postings[term].add(document)
    return resident() - before


def measure(data: str) -> dict[str, Any]:
    """Everything, in one run."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "sets"
        figures: dict[str, Any] = {"data": data, "select": select(data, folder)}
        figures["split_cpu"] = split(data)
        figures["mapped_mb"] = mapped(folder)
        figures["python_mb"] = python_objects(folder)
        found = audit(folder)
    kept = ("documents", "n", "moved", "duplicate_groups", "subset_pairs", "unreachable")
    figures |= {name: getattr(found, name) for name in (*kept, "vocabulary", "bytes")}
    return figures | {"index_bytes": found.index_bytes}


def show(figures: dict[str, Any]) -> None:
    """Print the table."""
    cost, memory = figures["select"], figures["mapped_mb"]
    texts = figures["bytes"]["vocabulary"] + figures["bytes"]["document_ids"]
    ratio = figures["python_mb"] / memory["index"]
    print(f"{figures['documents']:,} documents, N = {figures['n']}, tf-idf")
    print(f"tsgen terms          {cost['wall']:6.1f} s wall  {cost['cpu']:6.1f} s CPU")
    print(f"  peak of memory     {cost['peak_gib']:6.2f} GiB")
    print(f"one pass of words                  {figures['split_cpu']:6.1f} s CPU")
    print(f"ratio                              {cost['cpu'] / figures['split_cpu']:6.2f}")
    print(f"terms and postings   {figures['index_bytes'] / 1e6:6.2f} MB by size")
    print(f"  measured           {memory['index']:6.2f} MB resident, all pages read")
    print(f"  with texts         {memory['index_and_texts']:6.2f} MB resident")
    print(f"                     {(figures['index_bytes'] + texts) / 1e6:6.2f} MB by size")
    print(f"the paper's system   {PAPER_MEGABYTES:6.2f} MB for 109,739 documents")
    print(f"as Python sets       {figures['python_mb']:6.2f} MB resident, ratio {ratio:.1f}")
    print(f"unreachable          {figures['unreachable']:6}")


def main() -> None:
    """Measure, print, and write the figures if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default=str(DATA))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.data == str(DATA) and not DATA.is_dir():
        sys.exit(f"{DATA}: no such folder; give a data set")
    figures = measure(options.data)
    show(figures)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
