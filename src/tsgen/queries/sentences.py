"""A text as sentences and headings."""

import re

_MARKED_HEADING = re.compile(r"^\s*(?:#+\s+(?P<hash>.+?)|=+\s*(?P<equals>[^=\n]+?)\s*=+)\s*$", re.M)
_NO_END = "".join(
    rf"(?<!\b{short}\.)"
    for short in "[A-Z] c ca Dr Gen Inc Jr Lt Ltd Mr Mrs Ms Mt No Prof Rev Sgt Sr St vs".split()
)
_SENTENCE_END = re.compile(rf"[.!?]{_NO_END}(?=\s+[^a-z\s])|[。！？]|\n(?=\s*\n)")


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, each on one line, without the marked headings.

    A sentence ends at `.`, `!`, `?` before white space and no small letter, but not after an
    initial (`J. Smith`) or a common English abbreviation (`St. Louis`); at their full-width forms;
    and at an empty line.
    """
    plain = _MARKED_HEADING.sub("\n\n", text)
    ends = [match.end() for match in _SENTENCE_END.finditer(plain)]
    parts = (plain[a:b] for a, b in zip((0, *ends), (*ends, len(plain)), strict=True))
    return [found for part in parts if (found := " ".join(part.split()))]


def headings(text: str) -> list[str]:
    """Headings that are marked as such: `# Markdown` or `== wiki ==`."""
    return [match["hash"] or match["equals"] for match in _MARKED_HEADING.finditer(text)]
