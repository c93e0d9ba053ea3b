"""GET / and /static: the page, three files of this package."""

from pathlib import Path

from fastapi import APIRouter, Response
from starlette.responses import FileResponse

from tsgen.serve.refused import Refused

PAGE = Path(__file__).parent / "page"
POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"


def page_router() -> APIRouter:
    """The page and what it consists of; it loads nothing from elsewhere."""
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
        raise Refused(404, "not_found", message)
    return FileResponse(
        path, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
    )
