"""GET /health, /ready and /metrics, for whoever keeps the server running."""

from fastapi import APIRouter, Response

from tsgen.serve.meters import CONTENT_TYPE
from tsgen.serve.refused import Json, Refused
from tsgen.serve.schemas import Readiness, Status, errors
from tsgen.serve.serving import Serving


def watching_router(serving: Serving) -> APIRouter:
    """The three endpoints."""
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
            raise Refused(503, "not_ready", message, {"Retry-After": "1"})
        documents = await serving.reader.run(lambda: len(serving.collection))
        return Json({"status": "ready", "documents": documents})

    @router.get("/metrics", response_class=Response, responses=_TEXT | errors())
    async def metrics() -> Response:
        """Figures in Prometheus' text format."""
        return Response(await serving.reader.run(serving.meters.text), media_type=CONTENT_TYPE)

    return router


_TEXT: dict[int | str, dict[str, object]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Figures."}
}
