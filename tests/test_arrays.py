from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.arrays import Strings
from tsgen.errors import ArtifactError


def test_strings_come_back_from_disk(tmp_path: Path) -> None:
    strings = Strings.pack(["bread", "", "naïve", "白い"])
    strings.save(tmp_path, "words")
    mapped = Strings.load(tmp_path, "words")
    assert list(mapped) == ["bread", "", "naïve", "白い"]
    assert mapped.offsets.tolist() == [0, 5, 5, 11, 17]  # ï takes two bytes, 白 and い three


def test_no_strings_at_all(tmp_path: Path) -> None:
    Strings.pack([]).save(tmp_path, "words")
    mapped = Strings.load(tmp_path, "words")
    assert len(mapped) == 0
    assert mapped.find("bread") is None


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"words_offsets\.npy: missing"):
        Strings.load(tmp_path, "words")


def test_a_file_that_is_no_array_is_named(tmp_path: Path) -> None:
    (tmp_path / "words_offsets.npy").write_bytes(b"not an array")
    with pytest.raises(ArtifactError, match=r"words_offsets\.npy: not a readable array"):
        Strings.load(tmp_path, "words")


@given(st.sets(st.text()), st.text())
def test_find_equals_a_look_into_the_list(known: set[str], wanted: str) -> None:
    ordered = sorted(known)
    strings = Strings.pack(ordered)
    assert [strings.find(string) for string in ordered] == list(range(len(ordered)))
    assert (strings.find(wanted) is not None) == (wanted in known)


@given(st.lists(st.text()), st.lists(st.text()), st.data())
def test_some_of_them_and_both(one: list[str], other: list[str], data: st.DataObject) -> None:
    both = Strings.pack(one).followed_by(Strings.pack(other))
    assert list(both) == [*one, *other]
    picks = data.draw(st.lists(st.integers(0, len(both) - 1))) if len(both) else []
    assert list(both.take(np.array(picks, np.int64))) == [both[i] for i in picks]
