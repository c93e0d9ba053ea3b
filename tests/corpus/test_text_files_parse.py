"""Titles and texts of single files."""

import pytest

from tsgen.corpus.text_files import parse, readable


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        (
            "---\nauthor: Ann\ntitle: White bread\n---\n# Flour\n\ntext",
            "White bread",
            "Flour\n\ntext",
        ),
        ('---\r\ntitle: "Bread: white"\r\n---\r\ntext', "Bread: white", "text"),
        ("---\ntitle: 'Bread'\n...\ntext", "Bread", "text"),
        ('+++\ntitle = "Bread"\ndate = 2024-01-01\n+++\ntext', "Bread", "text"),
        ("---\ntags: [a]\n---\n\n# Egg\n\ntext", "Egg", "text"),
        ("---\ntitle: >-\n  long\n---\n# Egg\ntext", "Egg", "text"),
        ("---\n\nA rule, no fields.\n\n---\n\ntext", "my page", "A rule, no fields.\n\ntext"),
        ("before\n\n## Egg\n\nafter", "Egg", "before\n\nafter"),
        ("only text", "my page", "only text"),
        ("", "my page", ""),
    ],
)
def test_markdown(text: str, title: str, rest: str) -> None:
    assert parse(text, "my-page", ".md") == (title, rest)


def test_plain_text_is_left_as_it_is() -> None:
    assert parse("White bread\n===\n\n*a* <b>\n", "x", ".txt") == ("White bread", "*a* <b>")
    assert parse("text\n\nName\n----\n# c\n", "x", ".txt") == ("x", "text\n\nName\n----\n# c")


def test_restructured_text() -> None:
    text = """.. _bread:

===========
White bread
===========

See `egg <egg.html>`_, `rye`_ and :ref:`the oven <oven>`; call ``bake(*a)``. **Now**.

.. note:: hot
   and fresh

Flour
-----

.. _rye: https://rye.example
Wheat.
"""
    title, rest = parse(text, "x", ".rst")
    assert title == "White bread"
    assert rest.splitlines() == [
        "See egg, rye and the oven; call bake(*a). Now.",
        "",
        "hot",
        "   and fresh",
        "",
        "Flour",
        "",
        "Wheat.",
    ]
    assert parse("# a comment\n\ntext", "no-title", ".rst") == ("no title", "# a comment\n\ntext")


def test_names_as_words() -> None:
    assert readable("01-getting__started.v2") == "01 getting started v2"
    assert readable("__") == "__"
