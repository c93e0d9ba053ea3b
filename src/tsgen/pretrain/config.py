"""How pseudo-queries are made, and how often each kind."""

from typing import Self

from pydantic import Field, model_validator

from tsgen.config import StageConfig


class NoiseConfig(StageConfig):
    """How often people's carelessness is put on a finished query; each is a probability."""

    everyday: float = Field(0.6, ge=0, le=1)
    """A word of books becomes the one people type: film → movie."""

    inflect: float = Field(0.15, ge=0, le=1)
    """A content word loses its ending, or gets -s, -ed or -ing."""

    misspell: float = Field(0.1, ge=0, le=1)
    """A content word is typed with one wrong, missing, doubled or transposed letter."""

    drop: float = Field(0.05, ge=0, le=1)
    """A word is left out, whichever."""

    add: float = Field(0.4, ge=0, le=1)
    """A word is added that says little: name, year, best."""

    lower: float = Field(0.85, ge=0, le=1)
    """Everything is in lower case."""


class PseudoQueryConfig(StageConfig):
    """What people type, by kind. `title` to `keywords` are shares: they need not sum to one."""

    title: float = Field(0.1, ge=0)
    """The title, at times with one or two telling words of the first sentence."""

    sentence: float = Field(0.15, ge=0)
    """A sentence, cut at the end of a clause."""

    question: float = Field(0.35, ge=0)
    """A question that a sentence answers, its answer left out."""

    aspect: float = Field(0.25, ge=0)
    """What is usually asked about such a thing: how old a person is, where a town lies."""

    keywords: float = Field(0.15, ge=0)
    """A bag of telling words."""

    question_mark: float = Field(0.3, ge=0, le=1)
    """How probably a question ends in a question mark."""

    judged: float = Field(0.0, ge=0, lt=1)
    """The share of a stream's pairs that are people's queries, training judgments of the data, if
    it has any."""

    noise: NoiseConfig = NoiseConfig()

    @model_validator(mode="after")
    def _some_kind(self) -> Self:
        if not any(self.shares().values()):
            raise ValueError(
                f"all of {', '.join(self.shares())} are 0; expected a share above 0 for one kind"
            )
        return self

    def shares(self) -> dict[str, float]:
        """Kind → its share."""
        return {name: getattr(self, name) for name in KINDS}


KINDS = ("title", "sentence", "question", "aspect", "keywords")
