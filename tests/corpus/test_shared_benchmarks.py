"""The real benchmarks, where they are at hand: the counts of their README, and memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from tsgen.corpus.load import load
from tsgen.corpus.splits import seen_unseen

pytestmark = pytest.mark.shared

SETS = {
    # set, qrels: documents, judgments of train / dev / test, seen and unseen test queries
    ("wiki-10k", "qrels"): (10_000, (13_287, 685, 5_412), (3_252, 2_160)),
    ("squad-wiki", "qrels"): (3_648, (13_944, 927, 3_636), (3_636, 0)),
    ("squad-wiki", "qrels_unseen"): (3_648, (10_891, 580, 7_036), (0, 7_036)),
    ("wikipages-110k", "qrels"): (109_739, (22_971, 1_378, 9_806), (3_853, 3_760)),
}


@pytest.mark.parametrize(("name", "qrels"), SETS)
def test_counts(shared_data: Path, name: str, qrels: str) -> None:
    documents, judgments, groups = SETS[name, qrels]
    data = load(shared_data / name, qrels=qrels)
    assert sum(1 for _ in data.documents()) == documents
    counts = [sum(map(len, data.judgments(s).values())) for s in ("train", "dev", "test")]
    assert tuple(counts) == judgments
    assert tuple(map(len, seen_unseen(data))) == groups
    assert len(data.problems) == 0


def test_cranfield_has_test_queries_only(shared_data: Path) -> None:
    data = load(shared_data / "cranfield")
    assert sum(1 for _ in data.documents()) == 1_398
    assert (data.splits, data.empty_splits) == (["test"], ["train", "dev"])
    grades = [grade for each in data.judgments("test").values() for grade in each.values()]
    assert len(grades) == 1_611
    assert set(grades) == {1, 2, 3, 4}


MEASURE = """
import re, sys
from pathlib import Path
from tsgen.corpus.load import load
data = load(sys.argv[1])
words = sum(len(document.text.split()) for document in data.documents())
assert words > 10**7
data.judgments("test")
# Not ru_maxrss: a new process starts with that of the one that made it.
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024)
"""


def test_a_corpus_of_110_000_pages_streams(shared_data: Path) -> None:
    command = [sys.executable, "-c", MEASURE, str(shared_data / "wikipages-110k")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200 * 2**20
