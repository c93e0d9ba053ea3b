"""The HTTP endpoints: documents, searches, explanations, operation, and the demo page."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import fastapi
from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import FileResponse

from tsgen.errors import ArtifactError, DataError
from tsgen.records import Document, Hit
from tsgen.retrieve.explain import Trace, Why, shortened, trace, why
from tsgen.retrieve.results import hits_json
from tsgen.retrieve.snapshot import Snapshot
from tsgen.serve.access import Access
from tsgen.serve.guard import CONTENT_TYPE, NOTED
from tsgen.serve.http_errors import HttpError, Json, of_engine, shown
from tsgen.serve.schemas import (
    DocumentBody,
    Readiness,
    SearchAnswer,
    SearchRequest,
    ShownDocument,
    Status,
    TraceAnswer,
    TracedRequest,
    TraceRequest,
    WhyAnswer,
    WhyRequest,
    Written,
    errors,
    limited_bodies,
    limited_document,
    limited_search,
)
from tsgen.serve.worker import Ask, Serving

# GET, PUT and DELETE /documents/{id}.

PATH = "/documents/{document_id:path}"  # an id may contain slashes: foods/milk.md
T = TypeVar("T")
DocumentId = Annotated[
    str,
    fastapi.Path(
        min_length=1, max_length=512, pattern=r"^[^\x00-\x1f\x7f]+$", examples=["foods/1.md"]
    ),
]


def documents_router(serving: Serving, access: Access) -> APIRouter:
    """The endpoints that read, write and remove one document."""
    router = APIRouter(tags=["documents"])
    engine = serving.engine
    writers = [Depends(access.writers_only())]
    documented = limited_document(serving.limits)

    @router.get(PATH, response_model=ShownDocument, responses=errors(404, 422, 503))
    async def read(document_id: DocumentId) -> Json:
        """A document with its text and metadata."""
        found = await _or_404(serving.reader.run(lambda: engine.document(document_id)))
        values = {"id": found.id, "title": found.title, "text": found.text}
        return Json(values | {"metadata": dict(found.metadata)})

    @router.put(
        PATH,
        response_model=Written,
        responses=errors(403, 404, 409, 415, 422, 503) | {201: {"model": Written}},
        dependencies=writers,
    )
    async def write(
        document_id: DocumentId,
        body: documented,  # type: ignore[valid-type]
        request: Request,
    ) -> Json:
        """Add a document (201) or replace it (200). The next search sees it."""
        sent: DocumentBody = body
        request.scope[NOTED]["characters"] = len(sent.title) + len(sent.text)
        document = Document(document_id, sent.text, sent.title, sent.metadata)
        with serving.changes.held(_client(request), 1):
            adding = serving.writer.finish(lambda: engine.add([document], prepare=True))
            changed = await _or_409(adding)
        change, status = ("added", 201) if changed.added else ("updated", 200)
        return Json({"id": document_id, "change": change}, status)

    @router.delete(
        PATH,
        response_model=Written,
        responses=errors(403, 404, 409, 422, 503),
        dependencies=writers,
    )
    async def remove(document_id: DocumentId, request: Request) -> Json:
        """Remove a document. No later search finds it."""
        with serving.changes.held(_client(request), 1):
            removing = serving.writer.finish(lambda: engine.remove([document_id], prepare=True))
            await _or_404(_or_409(removing))
        return Json({"id": document_id, "change": "removed"})

    return router


def _client(request: Request) -> str:
    """Who asks, for shares: the address, or that which a proxy on this machine names."""
    return request.client.host if request.client else ""


async def _or_404(found: Awaitable[T]) -> T:
    try:
        return await found
    except DataError as error:
        raise HttpError(404, "not_found", str(error)) from None


async def _or_409(change: Awaitable[T]) -> T:
    """Answer with 409 if the engine is one that cannot be changed, and else with what keeps it from
    being changed now."""
    try:
        return await change
    except ArtifactError as error:
        raise of_engine(error) from None


# POST /search.


def search_router(serving: Serving) -> APIRouter:
    """The endpoint, with the limits of this server in its description."""
    router = APIRouter(tags=["search"])
    body = limited_search(serving.limits)

    @router.post("/search", response_model=SearchAnswer, responses=errors(415, 422, 503))
    async def search(body: body, request: Request) -> Json:  # type: ignore[valid-type]
        """Find documents by generating their terms.

        Searches that wait at the same time are answered together, whoever asked.
        """
        with serving.queries.held(_client(request), len(body.asked)):  # type: ignore[attr-defined]
            results = await answer(serving, body)
        request.scope[NOTED].update(noted(body, results))
        return Json({"results": results})

    return router


async def answer(serving: Serving, asked: SearchRequest) -> list[dict[str, Any]]:
    """The hits of each query, as plain values."""
    ask = Ask(asked.k, asked.beam, asked.where, asked.min_confidence)
    futures = serving.model.search(asked.asked, ask)
    hits = await asyncio.gather(*map(asyncio.wrap_future, futures))
    return await serving.reader.run(lambda: _shown(serving, asked, hits))


def _shown(serving: Serving, asked: SearchRequest, found: list[list[Hit]]) -> list[dict[str, Any]]:
    now, splitter = serving.engine.snapshot, serving.splitter
    return [
        hits_json(
            query, now.correct_query(query), _with_documents(now, hits), splitter, asked.explain
        )
        for query, hits in zip(asked.asked, found, strict=True)
    ]


def _with_documents(now: Snapshot, hits: list[Hit]) -> Iterator[tuple[Hit, Document]]:
    for hit in hits:
        with suppress(DataError):  # removed since the search: it must not come back
            yield hit, now.document(hit.document_id)


def noted(asked: SearchRequest, results: list[dict[str, Any]]) -> dict[str, int | None]:
    """The fields of the log line: how much was asked and found."""
    return {
        "queries": len(asked.asked),
        "characters": sum(map(len, asked.asked)),
        "k": asked.k,
        "beam": asked.beam,
        "filter": len(asked.where or ""),
        "hits": sum(len(result["hits"]) for result in results),
    }


# POST /trace and POST /why: how an answer was generated.


def tracing_router(serving: Serving) -> APIRouter:
    """Both endpoints, with the limits of this server in their description."""
    router = APIRouter(tags=["explanations"])
    traced, asked = limited_bodies(serving.limits)

    @router.post("/trace", response_model=TraceAnswer, responses=errors(404, 415, 422, 503))
    async def trace_search(body: traced, request: Request) -> Json:  # type: ignore[valid-type]
        """The beams of a search, step by step."""
        request.scope[NOTED].update(_noted(body))
        with serving.queries.held(_client(request), 1):
            return Json(await _with_model(serving, lambda: _traced(serving, body)))

    @router.post("/why", response_model=WhyAnswer, responses=errors(404, 415, 422, 503))
    async def why_document(body: asked, request: Request) -> Json:  # type: ignore[valid-type]
        """Why a document was or was not found, and what beam would have kept it."""
        request.scope[NOTED].update(_noted(body))
        with serving.queries.held(_client(request), 1):
            return Json(await _with_model(serving, lambda: _asked(serving, body)))

    return router


def _traced(serving: Serving, body: TraceRequest) -> Trace:
    whole = trace(serving.engine, body.query, body.k, beam=body.beam, where=body.where)
    return shortened(whole, body.shown)


def _asked(serving: Serving, body: WhyRequest) -> Why:
    source, widest = serving.engine, serving.limits.beam
    if body.document not in source:
        message = f"found no document {shown(body.document)}; expected an id that a search gives."
        raise HttpError(404, "not_found", message)
    return why(source, body.query, body.document, body.k, body.beam, body.where, widest)


async def _with_model(serving: Serving, work: Callable[[], T]) -> T:
    """Run a job in the one thread that runs the model, after the jobs that wait already."""
    return await asyncio.wrap_future(serving.model.call(work))


def _noted(body: TracedRequest) -> dict[str, int | None]:
    return {"characters": len(body.query), "k": body.k, "beam": body.beam}


# GET /health, /ready and /metrics, for whoever keeps the server running.


def watching_router(serving: Serving) -> APIRouter:
    """The endpoints for whoever keeps the server running: health, readiness and metrics."""
    router = APIRouter(tags=["operation"])

    @router.get("/health", response_model=Status, responses=errors())
    async def health() -> Json:
        """Whether the process answers at all."""
        return Json({"status": "ok"})

    @router.get("/ready", response_model=Readiness, responses=errors(503))
    async def ready() -> Json:
        """Whether searches are answered: the model is loaded and works."""
        if not serving.model.alive():
            message = "found the model's thread stopped; expected it at work. Wait for the restart."
            raise HttpError(503, "not_ready", message, {"Retry-After": "1"})
        documents = await serving.reader.run(lambda: len(serving.engine))
        return Json({"status": "ready", "documents": documents})

    @router.get("/metrics", response_class=Response, responses=_TEXT | errors())
    async def metrics() -> Response:
        """Figures in Prometheus' text format."""
        return Response(await serving.reader.run(serving.meters.text), media_type=CONTENT_TYPE)

    return router


_TEXT: dict[int | str, dict[str, object]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Figures."}
}


PAGE = Path(__file__).parent / "page"
POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"


def page_router() -> APIRouter:
    """The demo page and its files; it loads nothing from elsewhere."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page() -> Response:
        return _file("index.html")

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        return _file(name)

    return router


def _file(name: str) -> Response:
    path = PAGE / name
    if name not in {file.name for file in PAGE.glob("*.*")}:
        message = f"found no file of that name; expected one of the page's. See {'/'!r}."
        raise HttpError(404, "not_found", message)
    return FileResponse(
        path, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
    )
