"""Pictures of the page for the documentation: python tests/browser/screenshots.py ENGINE QUERY ID

Those in docs/ are of an engine of the hand-written notes beside this file:
    tsgen index tests/browser/notes.jsonl --out runs/notes --set terms.n=6 \\
        --set decode.normalise=docid --set decode.merge=max --set decode.per_document=1
    python tests/browser/screenshots.py runs/notes "how long does braed dough rest" jam --beam 6
"""

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from web import open_browser, served  # noqa: E402

WINDOWS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1360, "height": 1000}},
    "dark": {"viewport": {"width": 1360, "height": 1000}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
}


def main() -> None:
    """Take one picture for each window."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", type=Path)
    parser.add_argument("query")
    parser.add_argument("document", help="which to ask about")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    given = parser.parse_args()
    with served(given.engine) as address, open_browser() as browser:
        for name, window in WINDOWS.items():
            context = browser.new_context(**window, reduced_motion="reduce")
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(f"{address}/?q={given.query}&k=5&beam={given.beam}")
            page.locator("#why").wait_for()
            page.get_by_label("Id of a document").fill(given.document)
            page.get_by_role("button", name="Ask why").click()
            page.locator("#answer .verdict").wait_for()
            page.locator("#step").fill("2")
            page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
            page.screenshot(path=given.out / f"page-{name}.png", full_page=True)
            context.close()


if __name__ == "__main__":
    main()
