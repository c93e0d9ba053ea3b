"""Few-shot prompts: a task, examples of documents with a query each, and how a query may begin.

A prompt is a TOML file: one of those in `prompts/`, or the user's own in the same form.
"""

import re
from importlib.resources import files
from pathlib import Path
from typing import Self

from pydantic import Field

from tsgen.config import StageConfig, read_toml
from tsgen.errors import ConfigError, nearest
from tsgen.records import Document

END = "<|im_end|>"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Example(StageConfig):
    """A document and a query that a person might find it with."""

    title: str
    text: str
    query: str


class Prompt(StageConfig):
    """How a chat model is asked for queries."""

    task: str
    examples: list[Example] = Field(min_length=1)
    openings: list[str] = Field(min_length=1)
    """How queries begin; each opening gets its share of them. A small model keeps to the form of
    a question much better if the beginning is given."""

    bare: bool = False
    """Every second query loses its opening: "how to draw a circle" becomes "draw a circle"."""

    leave_out: str = ""  # what matches this expression is no part of a document's text
    cut: str = ""  # what matches this one is cut out of queries
    characters: int = Field(300, ge=20)  # of a document's text, whole sentences

    @classmethod
    def read(cls, name: str) -> Self:
        """A packaged prompt by its name, or a file by its path."""
        folder = Path(str(files("tsgen.write.prompts")))
        known = {path.stem: path for path in folder.glob("*.toml")}
        path = known.get(name, Path(name))
        if path.suffix != ".toml":
            raise ConfigError(
                f"prompt = {name!r}: expected a .toml file, or one of these; {nearest(name, known)}"
            )
        prompt = cls.from_mapping(read_toml(path), source=f"{path}")
        for key in ("leave_out", "cut"):
            try:
                re.compile(getattr(prompt, key))
            except re.error as error:
                raise ConfigError(f"{path}: {key} = {getattr(prompt, key)!r}: {error}") from None
        return prompt

    def shots(self) -> str:
        """The task and the examples as a chat, the same before every document."""
        turns = "".join(
            _user(example.title, example.text) + f"{example.query}{END}\n"
            for example in self.examples
        )
        return f"<|im_start|>system\n{self.task}{END}\n{turns}"

    def ask(self, document: Document, opening: str) -> str:
        """The whole chat up to the query, whose opening is given."""
        return self.shots() + _user(document.title or document.id, self.text(document)) + opening

    def text(self, document: Document) -> str:
        """The first sentences of a document, at least one, cut where it is too long itself."""
        text = re.sub(self.leave_out, "", document.text) if self.leave_out else document.text
        first, *rest = _SENTENCE_END.split(" ".join(text.split()))
        for sentence in rest:
            if len(first) + len(sentence) >= self.characters:
                break
            first = f"{first} {sentence}"
        return first[: self.characters]


def _user(title: str, text: str) -> str:
    return f"<|im_start|>user\n{title}: {text}{END}\n<|im_start|>assistant\n"
