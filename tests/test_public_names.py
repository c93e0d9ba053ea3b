"""The public names: few, there, and free until used."""

import subprocess
import sys
from pathlib import Path

import pytest

import tsgen
from toy import write_beir


def test_few_and_all_there() -> None:
    assert len(tsgen.__all__) <= 16
    assert dir(tsgen) == sorted(tsgen.__all__)
    for name in tsgen.__all__:
        assert getattr(tsgen, name) is not None


def test_other_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="module 'tsgen' has no attribute 'lod'"):
        tsgen.lod  # type: ignore[attr-defined] # noqa: B018


def test_import_loads_nothing() -> None:
    code = "import sys, tsgen; assert not {'numpy', 'pydantic', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_from_documents_to_figures(tmp_path: Path) -> None:
    documents = {"d1": "white bread", "d2": "an egg"}
    folder = write_beir(tmp_path / "set", documents, {"q1": "bread"}, test=[("q1", "d1")])
    data = tsgen.load(folder)
    result = tsgen.compare(data, ["bm25"], cache=tmp_path / "cache")
    assert result.scores["bm25"]["all"].means["M@10"] == 1.0
    (saved,) = (tmp_path / "cache").glob("set-*/bm25-[0-9a-f]*")
    (hits,) = tsgen.open_retriever(saved).search(["bread"], k=3)
    assert [hit.document_id for hit in hits] == ["d1"]
