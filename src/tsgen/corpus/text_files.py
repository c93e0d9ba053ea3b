"""Folders of text files (plain text, Markdown, reStructuredText): each file is a document.

The path inside the folder is the id; files in folders inside it are read, too. The title is that of
the front matter, else the first heading, else made from the file's name; marks are removed from the
text. Left out are hidden files and folders, and folders that tsgen wrote: an engine may stand among
its documents.
"""

import html
import os
import re
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tsgen.artifact import MANIFEST, hash_file, hash_strings, read_manifest
from tsgen.corpus.input_limits import TEXT_FILE
from tsgen.corpus.sources import BadRecord, Layout, Source, all_lines, check_decoded, decode
from tsgen.corpus.table_files import Columns
from tsgen.errors import ArtifactError, DataError
from tsgen.records import Document

# Markdown as plain text. Every pattern takes time linear in the text: one that could begin anywhere
# in a run of characters begins at its start only, or gives nothing of it back (`++`, `*+`).

_FENCE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n(?P<code>.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.M | re.S,
)
_COMMENT = re.compile(r"<!--(?:[^<]|<(?!!--))*?-->")  # never over another one
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?P<marked>[^\s#][^\n]*)$"
    r"|(?:\A|^[ \t]*\n)(?P<underlined>[^\n]*\S)[ \t]*\n(?:={3,}|-{3,})[ \t]*$",
    re.M,
)
_MD_TARGET = r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
_INLINE = re.compile(
    r"(?<!`)(?P<ticks>`++)(?P<code>[^\n]{1,1000}?)(?<!`)(?P=ticks)(?!`)"
    rf"|{_COMMENT.pattern}|<(?P<hidden>script|style)\b(?:[^<]|<(?!/?(?P=hidden)))*</(?P=hidden)>"
    rf"|\[!\[(?P<image>[^\[\]]*)\]{_MD_TARGET}\]{_MD_TARGET}"
    r"|!?\[\[(?:[^\[\]|]*\|)?(?P<wiki>[^\[\]|]+)\]\]"
    rf"|!?\[(?P<link>[^\[\]]*)\](?:{_MD_TARGET}|\[[^\[\]]*\])"
    r"|<(?P<address>[a-z]+://[^\s<>]+|[^\s<>@]+@[^\s<>@]+)>"
    r"|</?(?:a|b|code|em|i|kbd|span|strong|sub|sup)\b[^<>]*>"  # inside of words, too
    r"|(?P<tag></?[a-z!][^<>]*>)",
    re.I,
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]^][^\[\]]*\]:[ \t]*\S[^\n]*$", re.M)
_MD_RULE = re.compile(r"^[ \t|:]*(?:[-=_*][ \t|:]*){3,}$", re.M)
_LINE_MARKS = re.compile(r"^ {0,3}(?:>[ \t]?)*(?:#{1,6}[ \t]+)?", re.M)
_MD_EMPHASIS = re.compile(
    r"(?<!\w)(?P<mark>\*{1,3}|_{1,3})(?=\S)(?P<text>[^\n]{1,300}?)(?<=\S)(?P=mark)(?!\w)"
)
_NO_CHARACTER = re.compile(r"&#0+(?!\d);?")  # a reference to the character 0, which no text has
_ASIDE = re.compile("\ufdd0([0-9]+)\ufdd1")  # a number between characters that no text has
_NO_TEXT = re.compile("[\ufdd0\ufdd1]")


class Heading(NamedTuple):
    """A heading: its words, and where it begins and ends in the text."""

    title: str
    start: int
    end: int


def first_heading(text: str) -> Heading | None:
    """The first heading, `# so` or underlined, that is not in fenced code or a comment."""
    for hidden in (_FENCE, _COMMENT):
        text = hidden.sub(lambda found: " " * len(found[0]), text)
    found = _HEADING.search(text)
    if found is None:
        return None
    words = _without_closing(found["marked"]) if found["marked"] else found["underlined"]
    return Heading(clean_markdown(words), found.start(), found.end())


def _without_closing(heading: str) -> str:
    """A heading without the number signs that may close it: `so ##` → `so`."""
    heading = heading.rstrip(" \t")
    bare = heading.rstrip("#")
    return bare.rstrip(" \t") if bare.endswith((" ", "\t")) else heading


def clean_markdown(text: str) -> str:
    """Remove marks and HTML tags; links become their text, code stays as it is."""
    parts, end = [], 0
    for fenced in _FENCE.finditer(text):
        parts += [_prose(text[end : fenced.start()]), fenced["code"]]
        end = fenced.end()
    return "".join([*parts, _prose(text[end:])]).strip()


def _prose(text: str) -> str:
    """Clean text that has no fenced code; code in `ticks` is put aside while marks are removed."""
    kept: list[str] = []

    def inline(found: re.Match[str]) -> str:
        if found["code"] is not None:
            kept.append(found["code"])
            return f"\ufdd0{len(kept) - 1}\ufdd1"
        if found["tag"] is not None:
            return " "
        names = ("image", "wiki", "link", "address")
        return next((found[name] for name in names if found[name] is not None), "").replace("`", "")

    text = _INLINE.sub(inline, _DEFINITION.sub("", _NO_TEXT.sub("", text)))
    text = _MD_EMPHASIS.sub(r"\g<text>", _LINE_MARKS.sub("", _MD_RULE.sub("", text)))
    text = html.unescape(_NO_CHARACTER.sub(" ", text))
    return _ASIDE.sub(lambda found: kept[int(found[1])], text)


# reStructuredText as plain text.

_LINE = r"(?P<{}>[=\-~^\"'`*+#:.<>_])(?P={}){{2,}}[ \t]*"
_RST_TITLE = re.compile(
    rf"(?:\A|^[ \t]*\n)(?:{_LINE.format('over', 'over')}\n)?"
    rf"[ \t]*+(?P<title>\S(?:[^\n]*\S)?)[ \t]*\n{_LINE.format('under', 'under')}$",
    re.M,
)
_RST_RULE = re.compile(r"^[ \t]*([=\-~^\"'`*+#:.<>_])\1{2,}[ \t]*$\n?", re.M)
_RST_TARGET = re.compile(r"^[ \t]*\.\. (?:_[^\n]*:|\[)[^\n]*$\n?", re.M)
_DIRECTIVE = re.compile(r"^([ \t]*)\.\. (?:\|[^|\n]+\| )?[\w:.+-]+::[ \t]*", re.M)
_LINK = re.compile(
    r"(?:(?<![\w:.+-]):[\w:.+-]+:)?(`{1,2})(?P<text>[^`]+?)(?:\s{0,9}<[^<>`]+>)?\1_{0,2}(?!\w)"
)
_RST_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})(?=\S)([^*\n]+?)(?<=\S)\1(?![\w*])")


def first_title(text: str) -> Heading | None:
    """The first title of a reStructuredText: an underlined line, perhaps with a line above it."""
    found = _RST_TITLE.search(text)
    return found and Heading(clean_rst(found["title"]), found.start(), found.end())


def clean_rst(text: str) -> str:
    """Remove marks; links and roles become their text, directives their argument."""
    for mark in (_RST_RULE, _RST_TARGET):
        text = mark.sub("", text)
    text = _LINK.sub(r"\g<text>", _DIRECTIVE.sub(r"\1", text))
    return _RST_EMPHASIS.sub(r"\2", text).strip()


# A text file as a title and a text.

SUFFIXES = (".md", ".markdown", ".txt", ".rst")
_FRONT_MATTER = re.compile(
    r"(?P<line>---|\+\+\+)[ \t]*\n(?=\s*[\w-]+[ \t]*[:=])(?P<fields>.*?\n)"
    r"(?:(?P=line)|\.\.\.)[ \t]*(?:\n|\Z)",
    re.S,
)
_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*(?P<value>[^\n]*)$", re.M)
_BLOCKS = (">", ">-", "|", "|-")  # YAML's marks of a value on the next lines


class TextFile(NamedTuple):
    """The title and the text of a file, without the marks."""

    title: str
    text: str


def parse(text: str, stem: str, suffix: str) -> TextFile:
    """Split a file into title and text.

    The title is that of the front matter, else the first heading, else made from the file's name;
    the text is all the rest. In plain text only the beginning can be a heading.

    Args:
        text: The file's text.
        stem: The file's name without its suffix.
        suffix: The suffix, one of `SUFFIXES`.
    """
    fields, text = _front_matter(text.replace("\r\n", "\n"))
    heading = first_title(text) if suffix == ".rst" else first_heading(text)
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
    value = found["value"].rstrip(" \t") if found else ""
    if value[:1] in ("'", '"') and value[-1:] == value[:1]:
        return value[1:-1].strip()
    return "" if value in _BLOCKS else value


def _clean(text: str, suffix: str) -> str:
    if suffix == ".txt":
        return text.strip()
    cleaned = clean_rst(text) if suffix == ".rst" else clean_markdown(text)
    return re.sub(r"(?<![ \t])[ \t]*+\n(?:[ \t]*+\n)+", "\n\n", cleaned)


# A folder of text files as a source of documents.

LOOKS_LIKE = f"text files, {', '.join(SUFFIXES)}, also in folders inside it"


def text_folder(folder: Path, columns: Columns | None) -> Layout | None:
    """The source of a folder that has a text file; None for any other folder."""
    if not text_files(folder):
        return None
    if columns is not None:
        raise DataError(f"{folder}: text files have no columns; leave the option out.")
    return Layout(
        Source(
            name=str(folder),
            raw=lambda: enumerate(text_files(folder).items(), 1),
            make=partial(_document, folder.resolve()),
            digest=partial(_digest, folder),
        )
    )


def text_files(folder: Path) -> dict[str, Path]:
    """All text files below a folder by their relative paths, in the order of these."""
    found = {}
    for where, inside, names in os.walk(folder):
        inside[:] = [name for name in inside if _is_read(Path(where, name))]
        for path in (Path(where, name) for name in names if not name.startswith(".")):
            if path.suffix.lower() in SUFFIXES and path.is_file():
                found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))


def _is_read(folder: Path) -> bool:
    if folder.name.startswith("."):
        return False
    try:
        return not ((folder / MANIFEST).is_file() and read_manifest(folder))
    except ArtifactError:
        return True  # a manifest of something else


def _document(folder: Path, named: tuple[str, Path]) -> Document:
    name, path = named
    if not _is_inside(path, folder):
        raise BadRecord(
            "outside", f"{name!r} is a link to a file outside of the folder; expected files in it"
        )
    if path.stat().st_size > TEXT_FILE:
        found = f"{name!r} has {path.stat().st_size:,} bytes"
        raise BadRecord("too long", f"{found}; expected at most {TEXT_FILE:,}. Divide it")
    try:
        check_decoded(name)
    except BadRecord as bad:
        raise BadRecord(bad.kind, f"in the name of a file, {bad}") from None
    title, text = parse(_text(path), path.stem, path.suffix.lower())
    return Document(name, text, title)


def _text(path: Path) -> str:
    lines = []
    for number, line in enumerate(all_lines(path), 1):
        try:
            lines.append(decode(line))
        except BadRecord as bad:
            raise BadRecord(bad.kind, str(bad), (str(path), number)) from None
    return "".join(lines)


def _digest(folder: Path) -> str:
    """A hash of the names and contents of all files."""
    whole = folder.resolve()
    parts = list[str]()
    for name, path in text_files(folder).items():
        parts += [ascii(name), hash_file(path) if _is_inside(path, whole) else "outside"]
    return hash_strings(*parts)


def _is_inside(path: Path, folder: Path) -> bool:
    """Whether a file is in a folder whose links are resolved, also where it is a link itself."""
    return not path.is_symlink() or path.resolve().is_relative_to(folder)
