"""A text file as a title and a text, by the marks of its kind."""

import re
from typing import NamedTuple

from tsgen.corpus import markdown, rst

SUFFIXES = (".md", ".markdown", ".txt", ".rst")
_FRONT_MATTER = re.compile(
    r"(?P<line>---|\+\+\+)[ \t]*\n(?=\s*[\w-]+[ \t]*[:=])(?P<fields>.*?\n)"
    r"(?:(?P=line)|\.\.\.)[ \t]*(?:\n|\Z)",
    re.S,
)
_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*(?P<value>.*?)[ \t]*$", re.M)
_BLOCKS = (">", ">-", "|", "|-")  # YAML's marks of a value on the next lines


class TextFile(NamedTuple):
    """What a file says, without the marks."""

    title: str
    text: str


def parse(text: str, stem: str, suffix: str) -> TextFile:
    """The title is that of the front matter, else the first heading, else made from the file's
    name; the text is all the rest. Of plain text only the beginning can be a heading."""
    fields, text = _front_matter(text.replace("\r\n", "\n"))
    heading = rst.first_title(text) if suffix == ".rst" else markdown.first_heading(text)
    if heading and suffix == ".txt" and text[: heading.start].strip():
        heading = None
    title = _field_title(fields)
    if not title and heading:
        title, text = heading.title, f"{text[: heading.start]}\n{text[heading.end :]}"
    return TextFile(title or readable(stem), _clean(text, suffix))


def readable(stem: str) -> str:
    """A file's name as words: `getting-started_2` → `getting started 2`."""
    return " ".join(re.split(r"[\s._-]+", stem)).strip() or stem


def _front_matter(text: str) -> tuple[str, str]:
    """The fields between two lines `---` (YAML) or `+++` (TOML) at the start, and the rest."""
    found = _FRONT_MATTER.match(text)
    return (found["fields"], text[found.end() :]) if found else ("", text)


def _field_title(fields: str) -> str:
    found = _TITLE.search(fields)
    value = found["value"] if found else ""
    if value[:1] in ("'", '"') and value[-1:] == value[:1]:
        return value[1:-1].strip()
    return "" if value in _BLOCKS else value


def _clean(text: str, suffix: str) -> str:
    if suffix == ".txt":
        return text.strip()
    cleaned = rst.clean(text) if suffix == ".rst" else markdown.clean(text)
    return re.sub(r"[ \t]*\n(?:[ \t]*\n)+", "\n\n", cleaned)
