"""A headless Chromium, and a server in a thread of this process."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
NO_BROWSER = (
    f"none of {', '.join(NAMES)} is on the PATH, nor has playwright one of its own. Run: "
    "apt-get install chromium, or: playwright install chromium"
)


def browser_path() -> str | None:
    """The system's Chromium, or playwright's own, or None."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            own = playwright.chromium.executable_path
        found = own if Path(own).exists() else None
    return found


@contextmanager
def open_browser() -> Iterator[Any]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = {"executable_path": browser_path(), "args": ["--no-sandbox"], "timeout": 120_000}
        browser = playwright.chromium.launch(**options)
        yield browser
        browser.close()


@contextmanager
def served(engine: Path) -> Iterator[str]:
    """The address of a server with this engine."""
    import uvicorn

    from tsgen.retrieve.engine import Engine
    from tsgen.serve.app import create_app
    from tsgen.terms.words import Splitter

    with socket.socket() as listening, Engine.load(engine) as opened:
        listening.bind(("127.0.0.1", 0))
        app = create_app(opened, Splitter(opened.config.terms.words))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none"))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.05)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(20)
