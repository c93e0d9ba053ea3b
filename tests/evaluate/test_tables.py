"""One table, four looks."""

import json

import pytest
from rich.console import Console

from tsgen.evaluate.tables import (
    Column,
    Row,
    Table,
    format_value,
    one_row_table,
    to_json,
    to_latex,
    to_markdown,
    to_rich,
)

TABLE = Table(
    columns=[Column("M@10"), Column("ms", best="low", decimals=1), Column("n", best=None)],
    rows=[
        Row("bm25", (0.7271, 2.44, 5412), "all"),
        Row("my_net | 50%", (0.7713, 60.0, 5412), "all", {"M@10": "†"}),
        Row("bm25", (0.8194, 2.44, 2160), "unseen"),
        Row("my_net | 50%", (None, 1.5, 2160), "unseen"),
    ],
    caption="wiki_10k [test]",
    notes={"seed": "0", "†": "p < 0.05"},
)


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.7271, 3, ".727"),
        (0.7276, 3, ".728"),
        (1.0, 3, "1.000"),
        (0.9996, 3, "1.000"),
        (0.0, 3, ".000"),
        (-0.0124, 3, "-.012"),
        (10.5, 1, "10.5"),
        (1234.56, 1, "1,234.6"),
        (7613, 3, "7,613"),
        (0, 3, "0"),
        (None, 3, "–"),
        ("0.5 MB", 3, "0.5 MB"),
    ],
)
def test_format(value: float | str | None, decimals: int, text: str) -> None:
    assert format_value(value, decimals) == text


def test_markdown() -> None:
    assert to_markdown(TABLE).splitlines() == [
        r"wiki\_10k \[test\]",
        "",
        "| system | queries | M@10 | ms | n |",
        "| :--- | :--- | ---: | ---: | ---: |",
        "| bm25 | all | .727 | **2.4** | 5,412 |",
        r"| my\_net \| 50% | all | **.771**† | 60.0 | 5,412 |",
        "| bm25 | unseen | .819 | 2.4 | 2,160 |",
        r"| my\_net \| 50% | unseen | – | **1.5** | 2,160 |",
        "",
        r"seed: 0; †: p \< 0.05",
    ]


def test_latex() -> None:
    assert to_latex(TABLE).splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{wiki\_10k {[}test]}",
        r"\begin{tabular}{llrrr}",
        r"\toprule",
        r"system & queries & M@10 & ms & n \\",
        r"\midrule",
        r"bm25 & all & .727 & \textbf{2.4} & 5,412 \\",
        r"my\_net \textbar{} 50\% & all & \textbf{.771}\textsuperscript{\dag{}} & 60.0 & 5,412 \\",
        r"\midrule",
        r"bm25 & unseen & .819 & 2.4 & 2,160 \\",
        r"my\_net \textbar{} 50\% & unseen & -- & \textbf{1.5} & 2,160 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip\footnotesize seed: 0; \dag{}: p \textless{} 0.05",
        r"\end{table}",
    ]


def test_latex_escapes_every_special_character() -> None:
    (line,) = [
        line
        for line in to_latex(Table([Column("x")], [Row("*[\\&%$#_{}~^\n", (1.0,))])).splitlines()
        if "1.000" in line
    ]
    assert line == (
        r"{*}{[}\textbackslash{}\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{} & 1.000 \\"
    )


def test_json_has_the_full_figures() -> None:
    value = json.loads(json.dumps(to_json(TABLE)))
    assert value["columns"] == ["M@10", "ms", "n"]
    assert value["notes"] == {"seed": "0", "†": "p < 0.05"}
    assert value["rows"][1] == {
        "system": "my_net | 50%",
        "queries": "all",
        "values": {"M@10": 0.7713, "ms": 60.0, "n": 5412},
        "marks": {"M@10": "†"},
    }
    assert value["rows"][3]["values"]["M@10"] is None


def shown(table: Table, *, styled: bool = False) -> str:
    console = Console(width=100, force_terminal=styled, color_system="standard" if styled else None)
    with console.capture() as capture:
        console.print(to_rich(table))
    return capture.get()


def test_terminal_shows_text_as_it_is() -> None:
    text = shown(TABLE)
    assert "wiki_10k [test]" in text
    assert "my_net | 50%" in text
    assert ".771†" in text
    assert "†: p < 0.05" in text
    assert text.count("├") == 1  # a rule between the groups, and none after the last


def test_terminal_prints_the_best_in_bold() -> None:
    text = shown(TABLE, styled=True)
    assert "\x1b[1m.771\x1b[0m†" in text
    assert "\x1b[1m.727" not in text


def test_equal_as_printed_is_equally_good_and_one_alone_is_not_best() -> None:
    tied = Table([Column("R@1")], [Row("a", (0.50001,)), Row("b", (0.50002,)), Row("c", (0.1,))])
    assert to_markdown(tied).count("**.500**") == 2
    assert "**" not in to_markdown(Table([Column("R@1")], [Row("a", (0.5,))]))


def test_groups_of_single_rows_have_no_rules_between_them() -> None:
    single = Table([Column("R@1")], [Row("a", (0.5,), "seen"), Row("a", (0.6,), "unseen")])
    assert "├" not in shown(single)
    assert to_latex(single).count("midrule") == 1
    assert "**" not in to_markdown(single)


def test_without_groups_there_is_no_group_column() -> None:
    assert to_markdown(Table([Column("R@1")], [Row("a", (0.5,))])).startswith("| system | R@1 |")


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="row 'a' has 2 values for 1 columns"):
        Table([Column("R@1")], [Row("a", (0.5, 0.6))])


def test_one_row_has_counts_as_they_are_and_one_decimal_of_others() -> None:
    table = one_row_table("local", {"kept": 1200, "mean": 2.34}, caption="", notes={}, label="by")
    assert to_markdown(table).splitlines()[0] == "| by | kept | mean |"
    assert to_markdown(table).splitlines()[2] == "| local | 1,200 | 2.3 |"
