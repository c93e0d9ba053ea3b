"""The bodies of requests and answers, as the OpenAPI description shows them."""

import math
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    create_model,
    field_validator,
    model_validator,
)

from tsgen.corpus.input_limits import DEPTH
from tsgen.decode.observe import Cause, Fate
from tsgen.serve.limits import Limits

INT64 = 2**63


def _encodable(text: str) -> str:
    """Refuse lone surrogates, halves of a character, which JSON can write but UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("whole characters, no lone surrogates") from None
    return text


Text = Annotated[str, AfterValidator(_encodable)]


class Body(BaseModel):
    """What a client sends: no other names, no guessing of types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SearchRequest(Body):
    """One query or many, and how to search."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["query"]}, {"required": ["queries"]}],
            "examples": [{"query": "sodium in white bread", "k": 3, "explain": True}],
        }
    )

    query: str | None = Field(None, description="One question; or `queries`, not both.")
    queries: list[str] | None = Field(None, description="Several questions at once.")
    k: int = Field(10, ge=1, description="At most so many hits for each query.")
    beam: int | None = Field(None, ge=1, description="B; by default the engine's setting.")
    where: str | None = Field(
        None, description='A filter over metadata, e.g. `lang = "en" and year >= 2020`.'
    )
    explain: bool = Field(False, description="Whether hits carry the terms that led to them.")
    min_confidence: float | None = Field(
        None, ge=0, le=1, description="No hits where the first is less likely right than that."
    )

    @model_validator(mode="after")
    def _one_or_many(self) -> Self:
        if (self.query is None) == (self.queries is None):
            raise ValueError("either `query` or `queries`")
        if any(not query.strip() for query in self.asked):
            raise ValueError("queries that are not empty")
        return self

    @property
    def asked(self) -> list[str]:
        """The queries of the request, one or several."""
        return [self.query] if self.query is not None else self.queries or []


def limited_search(limits: Limits) -> type[SearchRequest]:
    """The class `SearchRequest` with the server's limits, for validation and for the
    description."""
    query = _text_of(limits.query)
    many = Annotated[list[query], Field(min_length=1, max_length=limits.queries)]  # type: ignore[valid-type]
    own = SearchRequest.model_fields
    changed: dict[str, Any] = {
        "query": (query | None, None),
        "queries": (many | None, None),
        "k": (Annotated[int, Field(ge=1, le=limits.k)], min(10, limits.k)),
        "beam": (Annotated[int, Field(ge=1, le=limits.beam)] | None, None),
        "where": (_text_of(limits.where) | None, None),
    }
    described = {
        name: (kind, Field(default, description=own[name].description))
        for name, (kind, default) in changed.items()
    }
    return create_model(  # type: ignore[call-overload,no-any-return]
        "SearchRequest", __base__=SearchRequest, __validators__=_bounded(limits), **described
    )


def _bounded(limits: Limits) -> dict[str, Any]:
    """The check that a request's queries and beam together stay within the limit."""
    most = limits.hypotheses

    def check(asked: SearchRequest) -> SearchRequest:
        wanted = len(asked.asked) * (asked.beam or 1)
        if wanted > most:
            raise ValueError(
                f"at most {most:,} hypotheses, the queries times the beam, which are {wanted:,}. "
                "Ask fewer queries at a time, or with a smaller beam, or start the server with "
                "--limit hypotheses=N"
            )
        return asked

    return {"_bounded": model_validator(mode="after")(check)}


def _text_of(most: int) -> Any:
    return Annotated[
        str, Field(min_length=1, max_length=most), AfterValidator(_encodable)
    ]  # the lengths first: they are in the description then


class ShownReason(BaseModel):
    """The terms in the order they were generated, log p of each, and |Y|, the documents left."""

    terms: list[str]
    log_probs: list[float]
    valid_documents: list[int]


class ShownPassage(BaseModel):
    """Where in a document's text a passage begins and ends, in characters."""

    start: int
    end: int


class ShownHit(BaseModel):
    """One answer to a query."""

    document: str = Field(description="Its id, for GET /documents/{id}.")
    score: float
    confidence: float | None = Field(
        None, description="The probability that the first hit is right, of a calibrated engine."
    )
    title: str
    snippet: str
    passage: ShownPassage | None = Field(
        None, description="Of a long document: the passage nearest to the query."
    )
    reason: ShownReason | None = Field(None, description="With `explain`.")


class Result(BaseModel):
    """A query and its hits, best first."""

    query: str
    read_as: str | None = Field(None, description="If misspelt words were corrected.")
    hits: list[ShownHit]


class SearchAnswer(BaseModel):
    """A result for each query, in the order they were asked."""

    results: list[Result]


class DocumentBody(Body):
    """A document without its id, which is in the path."""

    text: Annotated[str, Field(min_length=1), AfterValidator(_encodable)]
    title: Text = ""
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="What filters ask for: any JSON values by name."
    )

    @field_validator("metadata", mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        _check_storable(value, DEPTH)
        return value


def limited_document(limits: Limits) -> type[DocumentBody]:
    """The class `DocumentBody` with the server's limit for the length of a document."""
    most = limits.document
    text: Any = (
        Annotated[str, Field(min_length=1, max_length=most), AfterValidator(_encodable)],
        ...,
    )
    title: Any = (Annotated[str, Field(max_length=most), AfterValidator(_encodable)], "")

    def check(document: DocumentBody) -> DocumentBody:
        length = len(document.title) + len(document.text)
        if length > most:
            raise ValueError(
                f"a title and a text of at most {most:,} characters together, not {length:,}. Put "
                "it in as several documents, or start the server with --limit document=N"
            )
        return document

    checks: Any = {"_bounded": model_validator(mode="after")(check)}
    return create_model(
        "DocumentBody", __base__=DocumentBody, __validators__=checks, text=text, title=title
    )


def _check_storable(value: Any, deepest: int) -> None:
    """Refuse metadata that cannot be written and read again as it is."""
    if isinstance(value, str):
        _encodable(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("finite numbers")
    elif isinstance(value, int) and not -INT64 <= value < INT64:
        raise ValueError("whole numbers of 64 bits")
    elif isinstance(value, dict | list):
        if not deepest:
            raise ValueError(f"at most {DEPTH} objects and lists inside one another")
        for each in [*value, *value.values()] if isinstance(value, dict) else value:
            _check_storable(each, deepest - 1)


class ShownDocument(BaseModel):
    """A document of the collection."""

    id: str
    title: str
    text: str
    metadata: dict[str, Any]


class Written(BaseModel):
    """What a change did; it is durable."""

    id: str
    change: str = Field(description="added, updated or removed")


class Status(BaseModel):
    """Whether the server works."""

    status: str


class Readiness(Status):
    """Whether the server answers searches."""

    documents: int


class ErrorBody(BaseModel):
    """What kind of error, and what was found, what was expected, what to do."""

    code: str
    message: str


class ErrorAnswer(BaseModel):
    """Every answer with a status of 400 or more."""

    error: ErrorBody


ALWAYS = (400, 401, 408, 413, 421, 500)  # what any request may meet


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The description of an endpoint's errors, with those that any request may meet."""
    return {status: {"model": ErrorAnswer} for status in sorted({*ALWAYS, *statuses})}


# The bodies of /trace and /why, as the OpenAPI description shows them.

SHOWN = 24  # hypotheses of a step, by default


class ShownHypothesis(BaseModel):
    """Terms so far: those of its `parent` in the step before, then `term`."""

    parent: int = Field(description="Its place in the step before; -1: it has one term.")
    term: str
    log_prob: float = Field(description="log p of the term after those before it.")
    score: float
    valid_documents: int = Field(description="|Y|, the documents that hold all its terms.")
    documents: list[str] = Field(description="These, where they are few.")
    found: list[str] = Field(description="Documents that are complete, or the only one left.")
    fate: Fate


class ShownStep(BaseModel):
    """The hypotheses with one more term, best first; then those right behind the beam's edge."""

    hypotheses: list[ShownHypothesis]
    stayed: int = Field(description="How many were not pruned, also of those not shown.")
    on: int = Field(description="How many of these go on.")


class TracedHit(BaseModel):
    """One answer to a query."""

    document_id: str
    score: float
    reason: ShownReason | None


class TraceAnswer(BaseModel):
    """The beams of a search, step by step."""

    query: str
    beam: int
    documents: int = Field(description="|Y| before the first step.")
    hits: list[TracedHit]
    paths: list[list[int]] = Field(description="For each hit the places of its hypotheses.")
    steps: list[ShownStep]


class ShownStanding(BaseModel):
    """After a step: the best hypothesis that leads to the document, among all that stayed."""

    place: int
    kept: int
    terms: list[str]
    score: float
    worst: float


class ShownFall(BaseModel):
    """Where the document fell out: its best terms there, and what was better."""

    step: int = Field(description="From 1; 0: it was never in the beam.")
    cause: Cause
    terms: list[str]
    log_prob: float | None
    score: float | None
    bar: float | None = Field(description="The worst score that got a place.")
    worst: list[str] = Field(description="The terms with that score.")
    rivals: list[ShownHypothesis]


class WhyAnswer(BaseModel):
    """What became of a document in the search for a query."""

    query: str
    document: str
    k: int
    beam: int
    terms: list[str]
    passage: str | None = Field(
        description="Of a long document that was found: what of it is nearest to the query."
    )
    found: bool
    rank: int | None
    score: float | None
    reason: ShownReason | None
    standings: list[ShownStanding]
    fall: ShownFall | None
    needed_beam: int | None = Field(description="A beam that keeps it; half of it does not.")
    rank_then: int | None
    widest: int = Field(description="No wider beam was tried.")


class TracedRequest(BaseModel):
    """A query, and how to search."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: str
    k: int = 10
    beam: int | None = None
    where: str | None = None


class TraceRequest(TracedRequest):
    """How many hypotheses of each step are to be shown, too."""

    shown: int = SHOWN


class WhyRequest(TracedRequest):
    """The document to ask about, too."""

    document: str = Field(min_length=1, max_length=512, description="Its id.")


def limited_bodies(limits: Limits) -> tuple[type[TraceRequest], type[WhyRequest]]:
    """The classes `TraceRequest` and `WhyRequest` with the server's limits, for validation and for
    the description."""
    query = Annotated[str, Field(max_length=limits.query, pattern=r"\S", description="A question.")]
    shared: dict[str, Any] = {
        "query": (query, ...),
        "k": (Annotated[int, Field(ge=1, le=limits.k)], min(10, limits.k)),
        "beam": (Annotated[int, Field(ge=1, le=limits.beam)] | None, None),
        "where": (Annotated[str, Field(min_length=1, max_length=limits.where)] | None, None),
    }
    shown: Any = (Annotated[int, Field(ge=1, le=limits.beam)], min(SHOWN, limits.beam))
    traced = create_model("TraceRequest", __base__=TraceRequest, **shared, shown=shown)
    return traced, create_model("WhyRequest", __base__=WhyRequest, **shared)
