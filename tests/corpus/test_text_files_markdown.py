"""Markdown without its marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.corpus.text_files import clean_markdown, first_heading


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("see [white bread](bread.md 'Bread') now", "see white bread now"),
        ("see [bread](b_(food).md), ![an egg](egg.png)", "see bread, an egg"),
        ("[![build](badge.svg)](ci.html) ok", "build ok"),
        ("see [bread][1] or [`rye`](rye.md)\n\n[1]: https://bread.example\n", "see bread or rye"),
        ("[[Bread]] and [[Egg|an egg]]", "Bread and an egg"),
        (
            "write to <me@egg.example> or <https://egg.example>",
            "write to me@egg.example or https://egg.example",
        ),
        ("a **white** and *rye* __old__ _new_ bread", "a white and rye old new bread"),
        ("snake_case_name, 2 * 3 * 4", "snake_case_name, 2 * 3 * 4"),
        ("## Egg white\n> it is said", "Egg white\nit is said"),
        ("<div align='center'>bread</div><p>egg</p>", "bread  egg"),
        ("H<sub>2</sub>O<!-- water\nand more --> &amp; 1 < 2", "H2O & 1 < 2"),
        ("<style>p { color: red }</style>bread", "bread"),
        ("a `List<int>` and ``x ` y`` of **`**kw`**", "a List<int> and x ` y of **kw"),
        ("one\n\n---\n\ntwo", "one\n\n\n\ntwo"),
        ("| a | b |\n|---|:-:|\n| c | d |", "| a | b |\n\n| c | d |"),
    ],
)
def test_marks_go_and_words_stay(marked: str, plain: str) -> None:
    assert clean_markdown(marked) == plain


def test_fenced_code_stays_as_it_is() -> None:
    text = "*Run*\n\n```python\n# not *a* heading\nx: List[int](y)  # <b>\n```\n\nand *go*"
    assert clean_markdown(text) == "Run\n\n# not *a* heading\nx: List[int](y)  # <b>\n\n\nand go"
    assert clean_markdown("~~~\n`a`\n```\n~~~\n*b*") == "`a`\n```\n\nb"
    assert clean_markdown("```\n*never closed*\n") == "*never closed*"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("intro\n\n# The *white* [bread](b.md) #\n\n# Egg", "The white bread"),
        ("# Learning C#\n", "Learning C#"),
        ("\nWhite bread\n===========\n\n# Egg", "White bread"),
        ("White bread\n---\n", "White bread"),
        ("```sh\n# install\n```\n\n## Usage", "Usage"),
        ("<!--\n# a licence\n-->\n# Bread", "Bread"),
        ("#hashtag\n\na paragraph\nof two lines\n---\n", None),
        ("a | b\n--- | ---\nc | d", None),
    ],
)
def test_the_first_heading(text: str, title: str | None) -> None:
    found = first_heading(text)
    assert (found and found.title) == title


def test_where_the_heading_is() -> None:
    found = first_heading("a\n\n# Bread\n\nb")
    assert found is not None
    assert (found.start, found.end) == (3, 10)


@given(st.text("a b`*_#[]()<>!|-=\n~&;\ufdd00\ufdd1"))
def test_any_text_can_be_cleaned(text: str) -> None:
    first_heading(text)
    assert set(clean_markdown(text)) <= set(text) | {" "}
