"""A browser, and the server with a small engine, for the tests of the page."""

from collections.abc import Iterator
from typing import Any

import pytest

from small_engine import write_small_engine
from web import NO_BROWSER, browser_path, open_browser, served


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("uvicorn", reason="the page needs the extra tsgen-ir[serve]")
    folder = write_small_engine(tmp_path_factory.mktemp("page") / "engine")
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")  # while it is open, playwright runs an event loop in this thread
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright.sync_api", reason="the page's tests need playwright")
    if browser_path() is None:
        pytest.skip(NO_BROWSER)
    with open_browser() as browser:
        yield browser


@pytest.fixture
def errors() -> list[str]:
    """What the console complained of; a test that expects something empties it."""
    return []


@pytest.fixture(params=[{}], ids=["page"])
def page(
    browser: Any, address: str, errors: list[str], request: pytest.FixtureRequest
) -> Iterator[Any]:
    """The page, in a window as the test's parameter wants it; no error may be on its console."""
    window = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
    context = browser.new_context(**window | request.param)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto(address)
    yield page
    context.close()
    assert errors == []
