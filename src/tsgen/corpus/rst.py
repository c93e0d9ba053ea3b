"""reStructuredText as plain text: where its title is, and its words without the marks."""

import re

from tsgen.corpus.markdown import Heading

_LINE = r"(?P<{}>[=\-~^\"'`*+#:.<>_])(?P={}){{2,}}[ \t]*"
_TITLE = re.compile(
    rf"(?:\A|^[ \t]*\n)(?:{_LINE.format('over', 'over')}\n)?"
    rf"[ \t]*(?P<title>[^\n]*\S)[ \t]*\n{_LINE.format('under', 'under')}$",
    re.M,
)
_RULE = re.compile(r"^[ \t]*([=\-~^\"'`*+#:.<>_])\1{2,}[ \t]*$\n?", re.M)
_TARGET = re.compile(r"^[ \t]*\.\. (?:_[^\n]*:|\[)[^\n]*$\n?", re.M)
_DIRECTIVE = re.compile(r"^([ \t]*)\.\. (?:\|[^|\n]+\| )?[\w:.+-]+::[ \t]*", re.M)
_LINK = re.compile(r"(?::[\w:.+-]+:)?(`{1,2})(?P<text>[^`]+?)(?:\s*<[^<>`]+>)?\1_{0,2}(?!\w)")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})(?=\S)([^*\n]+?)(?<=\S)\1(?![\w*])")


def first_title(text: str) -> Heading | None:
    """The first underlined line, perhaps with a line over it, too."""
    found = _TITLE.search(text)
    return found and Heading(clean(found["title"]), found.start(), found.end())


def clean(text: str) -> str:
    """The text without marks; links and roles are their text, directives their argument."""
    for mark in (_RULE, _TARGET):
        text = mark.sub("", text)
    text = _LINK.sub(r"\g<text>", _DIRECTIVE.sub(r"\1", text))
    return _EMPHASIS.sub(r"\2", text).strip()
