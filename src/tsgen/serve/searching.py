"""POST /search."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request

from tsgen.errors import DataError
from tsgen.records import Document, Hit
from tsgen.retrieve.shown import hits_json
from tsgen.serve.guard import NOTED
from tsgen.serve.model_thread import Ask
from tsgen.serve.refused import Json
from tsgen.serve.schemas import SearchAnswer, SearchRequest, errors, limited_search
from tsgen.serve.serving import Serving


def search_router(serving: Serving) -> APIRouter:
    """The endpoint, with the limits of this server in its description."""
    router = APIRouter(tags=["search"])
    body = limited_search(serving.limits)

    @router.post("/search", response_model=SearchAnswer, responses=errors(415, 422, 503))
    async def search(body: body, request: Request) -> Json:  # type: ignore[valid-type]
        """Find documents by generating their terms.

        Searches that wait at the same time are answered together, whoever asked.
        """
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
    read = serving.collection.read
    return [
        hits_json(
            query, read(query), _with_documents(serving, hits), serving.splitter, asked.explain
        )
        for query, hits in zip(asked.asked, found, strict=True)
    ]


def _with_documents(serving: Serving, hits: list[Hit]) -> Iterator[tuple[Hit, Document]]:
    for hit in hits:
        with suppress(DataError):  # removed since the search: it must not come back
            yield hit, serving.collection.document(hit.document_id)


def noted(asked: SearchRequest, results: list[dict[str, Any]]) -> dict[str, int | None]:
    """For the log: how much was asked and found."""
    return {
        "queries": len(asked.asked),
        "characters": sum(map(len, asked.asked)),
        "k": asked.k,
        "beam": asked.beam,
        "filter": len(asked.where or ""),
        "hits": sum(len(result["hits"]) for result in results),
    }
