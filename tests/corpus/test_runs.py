"""Run files: what is written is read back, and every bad line is named."""

import gzip
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.corpus.runs import read_msmarco, read_run, read_trec, write_msmarco, write_trec
from tsgen.errors import DataError
from tsgen.records import Hit, Run

RUN: Run = {
    "q1": [Hit("d2", 3.5), Hit("d1", 2.25)],
    "q2": [Hit("é\u00a0x", -1.0)],
}


def ids(run: Run) -> dict[str, list[str]]:
    return {query: [hit.document_id for hit in hits] for query, hits in run.items()}


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "run"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_trec_file(tmp_path: Path) -> None:
    write_trec(tmp_path / "run.trec", RUN, tag="my system")
    assert (tmp_path / "run.trec").read_text(encoding="utf-8").splitlines() == [
        "q1 Q0 d2 1 3.5 my-system",
        "q1 Q0 d1 2 2.25 my-system",
        "q2 Q0 é\u00a0x 1 -1 my-system",
    ]
    assert read_run(tmp_path / "run.trec") == RUN


def test_msmarco_file(tmp_path: Path) -> None:
    write_msmarco(tmp_path / "run.tsv", RUN)
    assert (tmp_path / "run.tsv").read_text(encoding="utf-8").splitlines() == [
        "q1\td2\t1",
        "q1\td1\t2",
        "q2\té\u00a0x\t1",
    ]
    read = read_run(tmp_path / "run.tsv")
    assert ids(read) == ids(RUN)
    assert [hit.score for hit in read["q1"]] == [1.0, 0.5]


@pytest.mark.parametrize("write", [write_trec, write_msmarco])
def test_compressed_files_are_the_same_every_time(tmp_path: Path, write: object) -> None:
    assert callable(write)
    for name in ("a.gz", "b.gz"):
        write(tmp_path / name, RUN)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).startswith(b"q1")
    assert ids(read_run(tmp_path / "a.gz")) == ids(RUN)


def test_trec_order_is_score_then_the_later_id_and_never_the_rank(tmp_path: Path) -> None:
    lines = ["q 0 a 1 1.0 t", "q 0 c 2 1.0 t", "q 0 b 3 1.0000000001 t", "q 0 d 4 2 t"]
    path = written(tmp_path, "\n".join(lines))
    assert ids(read_trec(path)) == {"q": ["d", "c", "b", "a"]}


def test_msmarco_order_is_the_rank(tmp_path: Path) -> None:
    path = written(tmp_path, "q\tb\t2\nq\ta\t3\nq\tc\t1\n")
    assert ids(read_msmarco(path)) == {"q": ["c", "b", "a"]}


def test_lines_of_a_query_need_not_stand_together(tmp_path: Path) -> None:
    path = written(tmp_path, "q1 Q0 a 1 2 t\n\nq2 Q0 a 1 5 t\nq1\tQ0  b 2 3 t\r\n")
    assert ids(read_run(path)) == {"q1": ["b", "a"], "q2": ["a"]}


SCORES = st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, 1.0 + 1e-10]), min_size=1)


@given(SCORES)
def test_writing_keeps_any_order_and_reading_finds_it(tmp_path_factory, scores) -> None:  # type: ignore[no-untyped-def]
    run = {"q": [Hit(f"d{i}", score) for i, score in enumerate(scores)]}
    path = tmp_path_factory.mktemp("runs") / "run.trec"
    write_trec(path, run)
    read = read_trec(path)
    assert ids(read) == ids(run)
    assert all(a.score > b.score for a, b in zip(read["q"], read["q"][1:], strict=False))


def test_scores_that_already_fall_are_kept(tmp_path: Path) -> None:
    run = {"q": [Hit("a", 12.5), Hit("b", 12.5), Hit("c", 3.0)]}
    write_trec(tmp_path / "run", run)
    first, second, third = (hit.score for hit in read_trec(tmp_path / "run")["q"])
    assert first == 12.5
    assert third == 3.0
    assert second == pytest.approx(12.5, abs=2e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 a 1 2.0 t\nq Q0 b 2 t\n", r"run:2: .*expected 6, got 5"),
        ("q Q0 a 1 2.0 t\nq Q0 b 2 high t\n", r"run:2: .*could not convert string to float"),
        ("q Q0 a 1 nan t\n", r"run:1: .*not a finite number"),
        ("q Q0 a 1 2.0 t\nq Q0 a 2 1.0 t\n", r"run:2: found document 'a' again for query 'q'"),
        (b"q Q0 a 1 2.0 t\nq Q0 \xff 2 1.0 t\n", r"run:2: .*utf-8"),
        ("q\ta\t1\nq\tb\tsecond\n", r"run:2: .*invalid literal for int"),
        ("q\ta\t1\nq\ta\t2\n", r"run:2: found document 'a' again"),
        ("q\ta\t1\nq\tb\t3\n", r"query 'q': document 'b' has rank 3, expected 2"),
        ("q\ta\t0\n", r"document 'a' has rank 0, expected 1"),
        ("q\ta\t1\nq\tb\t1\n", r"document 'b' has rank 1, expected 2"),
        ("\nq a\n", r"run:2: found 2 columns; expected 6 \(TREC: .*\) or 3"),
        ("", "holds no hits"),
        (gzip.compress(b"q Q0 a 1 2.0 t\n" * 99, mtime=0)[:-12], "damaged"),
    ],
)
def test_bad_files(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_run(written(tmp_path, text))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.trec: No such file"):
        read_run(tmp_path / "absent.trec")


@pytest.mark.parametrize("write", [write_trec, write_msmarco])
@pytest.mark.parametrize("bad", ["two words", "tab\tbed", "", " "])
def test_an_id_that_would_shift_the_columns_is_refused(
    tmp_path: Path, write: object, bad: str
) -> None:
    assert callable(write)
    for run in ({"ok": [Hit("fine", 1.0)], bad: [Hit("d", 1.0)]}, {"q": [Hit(bad, 1.0)]}):
        with pytest.raises(DataError, match=re.escape(f"the id {bad!r} is empty")):
            write(tmp_path / "run", run)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("score", [math.nan, math.inf, 1e39])
def test_a_score_that_is_no_number_is_refused(tmp_path: Path, score: float) -> None:
    with pytest.raises(DataError, match="query 'q': document 'b' has the score"):
        write_trec(tmp_path / "run", {"q": [Hit("a", 1.0), Hit("b", score)]})
    assert list(tmp_path.iterdir()) == []
