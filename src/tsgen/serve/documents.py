"""GET, PUT and DELETE /documents/{id}."""

from collections.abc import Awaitable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Path, Request

from tsgen.errors import ArtifactError, DataError
from tsgen.records import Document
from tsgen.serve.access import writers_only
from tsgen.serve.guard import NOTED
from tsgen.serve.refused import Json, Refused
from tsgen.serve.schemas import DocumentBody, ShownDocument, Written, errors
from tsgen.serve.serving import Serving

PATH = "/documents/{document_id:path}"  # an id may contain slashes: foods/milk.md
T = TypeVar("T")
DocumentId = Annotated[
    str, Path(min_length=1, max_length=512, pattern=r"^[^\x00-\x1f\x7f]+$", examples=["foods/1.md"])
]


def documents_router(serving: Serving, token: str | None) -> APIRouter:
    """The three endpoints."""
    router = APIRouter(tags=["documents"])
    collection = serving.collection
    writers = [Depends(writers_only(token))]

    @router.get(PATH, response_model=ShownDocument, responses=errors(404, 422))
    async def read(document_id: DocumentId) -> Json:
        """A document with its text and metadata."""
        found = await _or_404(serving.reader.run(lambda: collection.document(document_id)))
        values = {"id": found.id, "title": found.title, "text": found.text}
        return Json(values | {"metadata": dict(found.metadata)})

    @router.put(
        PATH,
        response_model=Written,
        responses=errors(401, 403, 404, 409, 415, 422, 503) | {201: {"model": Written}},
        dependencies=writers,
    )
    async def write(document_id: DocumentId, body: DocumentBody, request: Request) -> Json:
        """Add a document (201) or replace it (200). The next search sees it."""
        request.scope[NOTED]["characters"] = len(body.title) + len(body.text)
        document = Document(document_id, body.text, body.title, body.metadata)
        changed = await _or_409(serving.writer.run(lambda: collection.put([document])))
        change, status = ("added", 201) if changed.added else ("updated", 200)
        return Json({"id": document_id, "change": change}, status)

    @router.delete(
        PATH,
        response_model=Written,
        responses=errors(401, 403, 404, 409, 422, 503),
        dependencies=writers,
    )
    async def remove(document_id: DocumentId) -> Json:
        """Remove a document. No later search finds it."""
        removing = serving.writer.run(lambda: collection.remove([document_id]))
        await _or_404(_or_409(removing))
        return Json({"id": document_id, "change": "removed"})

    return router


async def _or_404(found: Awaitable[T]) -> T:
    try:
        return await found
    except DataError as error:
        raise Refused(404, "not_found", str(error)) from None


async def _or_409(change: Awaitable[T]) -> T:
    """An engine may be one that cannot be changed."""
    try:
        return await change
    except ArtifactError as error:
        raise Refused(409, "unchangeable", str(error)) from None
