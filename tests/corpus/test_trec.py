from pathlib import Path

import pytest

from tsgen.corpus.sources import Problems
from tsgen.corpus.trec import qrels_file, query_file
from tsgen.errors import DataError
from tsgen.records import Judgment, Query

TOPICS = """
<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate.
</top>

<top>
<head> Tipster
<num>302</num>
<title> Topic:  Poliomyelitis
and Post-Polio </title>
</top>
"""


def queries(path: Path, content: str) -> list[tuple[int, Query]]:
    path.write_text(content)
    return list(query_file(path).rows(Problems(skip_bad=False)))


def judgments(path: Path, content: str) -> list[Judgment]:
    path.write_text(content)
    return [judgment for _, judgment in qrels_file(path).rows(Problems(skip_bad=False))]


def test_classic_topics(tmp_path: Path) -> None:
    assert queries(tmp_path / "topics.301-302", TOPICS) == [
        (2, Query("301", "International Organized Crime")),
        (10, Query("302", "Poliomyelitis and Post-Polio")),
    ]


def test_ids_and_texts(tmp_path: Path) -> None:
    found = queries(tmp_path / "topics.txt", "q1\tone two\n\nq2\tthree\t3\n")
    assert found == [(1, Query("q1", "one two")), (3, Query("q2", "three\t3"))]


def test_a_tsv_file_may_have_a_header(tmp_path: Path) -> None:
    assert queries(tmp_path / "q.tsv", "text\tid\none\tq1\n") == [(2, Query("q1", "one"))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<top>\n<title> x\n</top>", r"t\.txt:1: a topic without <num>"),
        ("\n<top>\n<num> 1\n</top>", r"t\.txt:2: a topic without <title>"),
        ("\tno id", r"t\.txt:1: found ''; expected an id"),
        ("q1 no tab here", r"t\.txt:1: found 'q1 no tab here'; expected an id, a tab, and a text"),
    ],
)
def test_bad_topics(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        queries(tmp_path / "t.txt", content)


@pytest.mark.parametrize(
    ("content", "grade"),
    [
        ("301 0 FT911-3 2\n", 2),
        ("301\tQ0\tFT911-3\t-1\n", -1),
        ("query-id\tcorpus-id\tscore\n301\tFT911-3\t0\n", 0),
        ("301\tFT911-3\n", 1),
    ],
)
def test_all_forms_of_judgments(tmp_path: Path, content: str, grade: int) -> None:
    assert judgments(tmp_path / "qrels", content) == [Judgment("301", "FT911-3", grade)]


def test_tabs_allow_spaces_in_ids(tmp_path: Path) -> None:
    assert judgments(tmp_path / "qrels", "q 1\td 1\t1\n") == [Judgment("q 1", "d 1")]


@pytest.mark.parametrize("line", ["1 2 3 4 5", "q d high", "q"])
def test_other_columns_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"qrels:2: found .*; expected query, document, grade"):
        judgments(tmp_path / "qrels", f"q d 1\n{line}\n")
