"""Markdown as plain text: where its first heading is, and its words without the marks."""

import html
import re
from typing import NamedTuple

_FENCE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.M | re.S,
)
_COMMENT = re.compile(r"<!--(?:[^<]|<(?!!--))*?-->")  # never over another one
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?P<marked>[^\s#].*?)(?:[ \t]+#+)?[ \t]*$"
    r"|(?:\A|^[ \t]*\n)(?P<underlined>[^\n]*\S)[ \t]*\n(?:={3,}|-{3,})[ \t]*$",
    re.M,
)
_TARGET = r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
_INLINE = re.compile(
    r"(?P<ticks>`+)(?!`)(?P<code>[^\n]{1,1000}?)(?<!`)(?P=ticks)(?!`)"
    rf"|{_COMMENT.pattern}|<(?P<hidden>script|style)\b(?:[^<]|<(?!/?(?P=hidden)))*</(?P=hidden)>"
    rf"|\[!\[(?P<image>[^\[\]]*)\]{_TARGET}\]{_TARGET}"
    r"|!?\[\[(?:[^\[\]|]*\|)?(?P<wiki>[^\[\]|]+)\]\]"
    rf"|!?\[(?P<link>[^\[\]]*)\](?:{_TARGET}|\[[^\[\]]*\])"
    r"|<(?P<address>[a-z]+://[^\s<>]+|[^\s<>@]+@[^\s<>@]+)>"
    r"|</?(?:a|b|code|em|i|kbd|span|strong|sub|sup)\b[^<>]*>"  # inside of words, too
    r"|(?P<tag></?[a-z!][^<>]*>)",
    re.I,
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]^][^\[\]]*\]:[ \t]*\S[^\n]*$", re.M)
_RULE = re.compile(r"^[ \t|:]*(?:[-=_*][ \t|:]*){3,}$", re.M)
_LINE_MARKS = re.compile(r"^ {0,3}(?:>[ \t]?)*(?:#{1,6}[ \t]+)?", re.M)
_EMPHASIS = re.compile(
    r"(?<!\w)(?P<mark>\*{1,3}|_{1,3})(?=\S)(?P<text>[^\n]{1,300}?)(?<=\S)(?P=mark)(?!\w)"
)
_ASIDE = re.compile("\ufdd0([0-9]+)\ufdd1")  # a number between characters that no text has


class Heading(NamedTuple):
    """A heading's words, and where in the text it stands."""

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
    return Heading(clean(found["marked"] or found["underlined"]), found.start(), found.end())


def clean(text: str) -> str:
    """The text without marks and HTML tags; links are their text, code stays as it is."""
    parts, end = [], 0
    for fenced in _FENCE.finditer(text):
        parts += [_prose(text[end : fenced.start()]), fenced["code"]]
        end = fenced.end()
    return "".join([*parts, _prose(text[end:])]).strip()


def _prose(text: str) -> str:
    """Text without fenced code in it. What stands in `ticks` is put aside while marks go."""
    kept: list[str] = []

    def inline(found: re.Match[str]) -> str:
        if found["code"] is not None:
            kept.append(found["code"])
            return f"\ufdd0{len(kept) - 1}\ufdd1"
        if found["tag"] is not None:
            return " "
        names = ("image", "wiki", "link", "address")
        return next((found[name] for name in names if found[name] is not None), "").replace("`", "")

    text = _INLINE.sub(inline, _DEFINITION.sub("", _ASIDE.sub("", text)))
    text = _EMPHASIS.sub(r"\g<text>", _LINE_MARKS.sub("", _RULE.sub("", text)))
    return _ASIDE.sub(lambda found: kept[int(found[1])], html.unescape(text))
