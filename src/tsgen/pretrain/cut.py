"""Running text cut to the length of a query."""

import re

from tsgen.terms.words import ENGLISH_STOP_WORDS

_RELATIVE = (
    r"[,;:，；：、]|\s[–—-]\s|\s(?=(?:but|which|who|whose|where|when|while|because|although)\b"
)
_FIRST_END = re.compile(rf"{_RELATIVE})")
_CLAUSE_END = re.compile(rf"{_RELATIVE}|\s(?=(?:and|that|as|or)\b))")
_EDGES = " \t\"'`“”‘’«».,;:!?。！？…-–—/"


def clause(text: str, most: int, least: int = 4) -> str:
    """The beginning of a text, at most so many words: up to its last end of a clause among them
    that leaves at least `least`, or else just so many; no stop word of English at its end."""
    words = text.split()
    if len(words) > most:
        head = " ".join(words[:most])
        ends = [match.start() for match in _CLAUSE_END.finditer(head)]
        long_enough = [end for end in ends if head.count(" ", 0, end) + 1 >= least]
        words = (head[: long_enough[-1]] if long_enough else head).split()
        words = _without_loose_end(words)
    return " ".join(words).strip(_EDGES)


def first_words(text: str, most: int) -> str:
    """The first so many words; where some are cut off, no stop word at the end."""
    words = text.split()
    return " ".join(words if len(words) <= most else _without_loose_end(words[:most]))


def short(text: str, most: int) -> str:
    """The beginning of a text up to the first end of a clause, at most so many words."""
    match = _FIRST_END.search(text)
    return first_words(text[: match.start()] if match else text, most).strip(_EDGES)


def _without_loose_end(words: list[str]) -> list[str]:
    end = len(words)
    while end > 1 and words[end - 1].lower().strip(_EDGES) in ENGLISH_STOP_WORDS:
        end -= 1
    return words[:end]
