"""The bodies of /trace and /why, as the OpenAPI description shows them."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from tsgen.decode.trace import Fate
from tsgen.decode.watch import Cause
from tsgen.serve.limits import Limits
from tsgen.serve.schemas import ShownReason

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
    """These requests with the server's limits, for validation and for the description."""
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
