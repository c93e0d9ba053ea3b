"""Bars from the top down."""

from pathlib import Path

from tsgen.evaluate.plots import ranked_plot


def test_a_value_may_be_missing_and_equal_data_give_equal_files(tmp_path: Path) -> None:
    series = {"seen": {"set": 0.8, "sequence": 0.7}, "unseen": {"set": 0.6}}
    for name in ("a.svg", "b.svg"):
        ranked_plot(tmp_path / name, series, title="Ablations", x="M@10")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    for shown in ("sequence", "unseen", ".700", ".600", "Ablations"):
        assert f"<!-- {shown} -->" in text
