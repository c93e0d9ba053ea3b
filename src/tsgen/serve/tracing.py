"""POST /trace and POST /why: how an answer was generated."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from fastapi import APIRouter, Request

from tsgen.retrieve.collection import Collection
from tsgen.retrieve.tracing import Trace, shortened, trace
from tsgen.retrieve.why import Why, why
from tsgen.serve.guard import NOTED
from tsgen.serve.refused import Json, Refused, shown
from tsgen.serve.schemas import errors
from tsgen.serve.serving import Living, Serving
from tsgen.serve.tracing_schemas import (
    TraceAnswer,
    TracedRequest,
    TraceRequest,
    WhyAnswer,
    WhyRequest,
    limited_bodies,
)

T = TypeVar("T")


def tracing_router(serving: Serving) -> APIRouter:
    """Both endpoints, with the limits of this server in their description."""
    router = APIRouter(tags=["explanations"])
    traced, asked = limited_bodies(serving.limits)

    @router.post("/trace", response_model=TraceAnswer, responses=errors(404, 415, 422, 503))
    async def trace_search(body: traced, request: Request) -> Json:  # type: ignore[valid-type]
        """The beams of a search, step by step."""
        request.scope[NOTED].update(_noted(body))
        return Json(await _with_model(serving, lambda: _traced(serving, body)))

    @router.post("/why", response_model=WhyAnswer, responses=errors(404, 415, 422, 503))
    async def why_document(body: asked, request: Request) -> Json:  # type: ignore[valid-type]
        """Why a document was or was not found, and what beam would have kept it."""
        request.scope[NOTED].update(_noted(body))
        return Json(await _with_model(serving, lambda: _asked(serving, body)))

    return router


def _traced(serving: Serving, body: TraceRequest) -> Trace:
    whole = trace(_source(serving), body.query, body.k, body.beam, body.where)
    return shortened(whole, body.shown)


def _asked(serving: Serving, body: WhyRequest) -> Why:
    source, widest = _source(serving), serving.limits.beam
    if body.document not in source:
        message = f"found no document {shown(body.document)}; expected an id that a search gives."
        raise Refused(404, "not_found", message)
    return why(source, body.query, body.document, body.k, body.beam, body.where, widest)


def _source(serving: Serving) -> Collection:
    found: Living = serving.collection
    if not isinstance(found, Collection):
        message = "found a collection that does not generate; expected one that an engine made."
        raise Refused(404, "not_found", message)
    return found


async def _with_model(serving: Serving, work: Callable[[], T]) -> T:
    """Done by the one thread that runs the model, after what waits already."""
    return await asyncio.wrap_future(serving.model.call(work))


def _noted(body: TracedRequest) -> dict[str, int | None]:
    return {"characters": len(body.query), "k": body.k, "beam": body.beam}
