"""Texts as sentences and headings."""

import pytest

from tsgen.queries.pairs import headings, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\n ", []),
        ("One. Two!  Three? four", ["One.", "Two!", "Three? four"]),
        (
            "J. R. Smith of St. Louis\nwrote. He left.",
            ["J. R. Smith of St. Louis wrote.", "He left."],
        ),
        ("# Bread\nIt rises.\n\nIt falls", ["It rises.", "It falls"]),
        ("面包是食物。茶是饮料！", ["面包是食物。", "茶是饮料！"]),
        ("Pi is 3.14 e.g. here.", ["Pi is 3.14 e.g. here."]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_headings_of_both_marks() -> None:
    assert headings("# One\ntext # no\n== Two ==\n## Three ##x\na = b") == [
        "One",
        "Two",
        "Three ##x",
    ]
