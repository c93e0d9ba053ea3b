"""The web application over an engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from tsgen.retrieve.engine import Engine
from tsgen.serve.access import Access
from tsgen.serve.guard import Guard
from tsgen.serve.http_errors import answer_errors
from tsgen.serve.limits import Limits
from tsgen.serve.routes import (
    documents_router,
    page_router,
    search_router,
    tracing_router,
    watching_router,
)
from tsgen.serve.worker import Serving
from tsgen.terms.words import Splitter
from tsgen.version import __version__


def create_app(
    engine: Engine,
    splitter: Splitter | None = None,
    limits: Limits | None = None,
    access: Access | None = None,
) -> FastAPI:
    """Build the application that serves an engine; its threads end with the application's lifespan.

    Args:
        engine: What is searched and changed.
        splitter: Finds the words of a query in a snippet.
        limits: How much one request may ask for.
        access: Who may ask; by default everyone may read and nobody may change documents.
    """
    access = access or Access.of()
    serving = Serving.start(engine, splitter or Splitter(), limits or Limits())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        serving.close()

    app = FastAPI(
        title="tsgen",
        version=__version__,
        description="Generative retrieval by term sets.",
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.serving = serving
    app.add_middleware(Guard, limits=serving.limits, meters=serving.meters, access=access)
    answer_errors(app)
    app.include_router(search_router(serving))
    app.include_router(tracing_router(serving))
    app.include_router(documents_router(serving, access))
    app.include_router(watching_router(serving))
    app.include_router(page_router())
    return app
