"""The page in a browser: search, step through the beams, ask why, by mouse and by keyboard."""

import re
from pathlib import Path
from typing import Any

import pytest

from small_engine import QUERY, TEXTS

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
DARK = {"color_scheme": "dark"}


def search(page: Any, query: str, beam: int | None = None) -> None:
    page.get_by_label("What are you looking for?").fill(query)
    if beam is not None:
        page.evaluate("document.getElementById('settings').open = true")
        page.get_by_label("Beam", exact=True).fill(str(beam))
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("#why").wait_for()


def found(page: Any) -> list[str]:
    return page.locator("#hits .meta code").all_inner_texts()


def ask_why(page: Any, document: str) -> str:
    page.get_by_label("Id of a document").fill(document)
    page.get_by_role("button", name="Ask why").click()
    page.locator("#answer .verdict").wait_for()
    return page.locator("#answer .verdict").inner_text()


def lost_document(page: Any) -> str:
    """Some document that the search of the page did not find."""
    lost = (id for id in TEXTS if id not in found(page) and ask_why(page, id).startswith("Not"))
    return next(lost)


def test_search_shows_hits_with_the_words_that_led_to_them(page: Any) -> None:
    search(page, QUERY)
    assert page.locator("#status").inner_text() == f"{len(found(page))} hits."
    first = page.locator("#hits > li").first
    assert set(first.locator("mark").all_inner_texts()) >= {"bread", "flour", "oven"}
    terms = first.locator(".permutation .chip").all_inner_texts()
    own = {word.lower() for word in TEXTS[found(page)[0]].split()}
    assert {term.split(":")[0].strip() for term in terms} == own
    assert f"?q={QUERY.replace(' ', '+')}" in page.url


def test_texts_are_texts(page: Any) -> None:
    search(page, "roses thorns <img src=x onerror=alert(1)>")
    text = page.locator("#hits > li", has_text="garden/roses.md").locator(".snippet").inner_text()
    assert "<b>gloves</b>" in text
    assert page.locator("#hits b, #hits img").count() == 0


def test_stepping_through_the_beams(page: Any) -> None:
    search(page, QUERY)
    slider, text = page.locator("#step"), page.locator("#step-text")
    steps = int(slider.get_attribute("max"))
    path = page.locator("#graph .node.lit .valid").all_text_contents()
    left = [int(valid.replace(",", "")) for valid in path]
    assert left[0] == len(TEXTS)
    assert left == sorted(left, reverse=True)
    assert page.locator("#hypotheses tr.lit").count() == 1
    while page.locator("#back").is_enabled():
        page.locator("#back").click()
    assert f"all {len(TEXTS)} documents" in text.inner_text()
    seen = []
    for step in range(1, steps + 1):
        page.locator("#next").click()
        assert slider.input_value() == str(step)
        seen.append(text.inner_text())
        assert page.locator("#graph .head.now").text_content() == f"term {step}"
    assert len(set(seen)) == steps
    assert page.locator("#next").is_disabled()
    assert re.search(r"log p\s−?\d+\.\d\d, with \d+ documents? left", seen[0])


def test_another_hits_path(page: Any) -> None:
    search(page, QUERY)
    before = page.locator("#graph .node.lit .term").all_text_contents()
    second = page.locator("#hits > li").nth(1)
    second.get_by_role("button", name="Show its path").click()
    assert second.locator(".choose").get_attribute("aria-pressed") == "true"
    after = page.locator("#graph .node.lit .term").all_text_contents()
    assert after != before
    terms = second.locator(".chip").all_inner_texts()
    assert [term.split(":")[0].strip() for term in terms[: len(after) - 1]] == after[1:]


def test_why_a_document_was_missed_and_the_beam_that_finds_it(page: Any) -> None:
    search(page, QUERY, beam=1)
    document = lost_document(page)
    assert re.match(r"Not found: it fell out at term \d", page.locator(".verdict").inner_text())
    assert page.locator(".falling .own").count() == 1
    button = page.locator("#answer .remedy button")
    beam = int(button.inner_text().removeprefix("Search with a beam of "))
    page.get_by_label("Hits").fill("100")
    button.click()
    page.locator(f"#hits li:has-text('{document}')").wait_for()
    assert page.get_by_label("Beam", exact=True).input_value() == str(beam)
    page.locator("#why").wait_for()
    assert re.match(r"Found, at rank \d+", ask_why(page, document))


def test_keyboard_only(page: Any) -> None:
    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)

    def focused() -> str:
        return page.evaluate("document.activeElement.id || document.activeElement.className")

    def tab_to(id: str) -> None:
        for _ in range(80):
            if focused() == id:
                return
            press("Tab")
        raise AssertionError(f"{id} was not reached")

    assert focused() == "query"
    page.keyboard.type(QUERY)
    press("Enter")
    page.locator("#why").wait_for()
    tab_to("step")
    press("Home", "ArrowRight")
    assert "After 1 term" in page.locator("#step-text").inner_text()
    tab_to("graph")
    press("ArrowRight")
    assert "After 2 terms" in page.locator("#step-text").inner_text()
    press("ArrowLeft", "ArrowLeft")
    assert "Before the first term" in page.locator("#step-text").inner_text()
    tab_to("document")
    page.keyboard.type(found(page)[0])
    press("Escape", "Enter")
    page.locator(".verdict").wait_for()
    assert page.locator(".verdict").inner_text() == "Found, at rank 1."
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.locator("body").focus()
    page.evaluate("document.querySelector('.skip').focus()")
    press("Enter")
    assert focused() == "results"


def test_what_the_server_refuses_is_said(page: Any, errors: list[str]) -> None:
    page.get_by_label("What are you looking for?").fill(QUERY)
    page.evaluate("document.getElementById('settings').open = true")
    page.get_by_label("Filter").fill("folder =")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("#status.problem").wait_for()
    assert "folder =" in page.locator("#status").inner_text()
    errors.clear()  # the browser notes every refused request


@pytest.mark.parametrize("page", [PHONE], indirect=True, ids=["phone"])
def test_a_phone_need_not_scroll_sideways(page: Any) -> None:
    def fits() -> bool:
        return page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    assert fits()
    search(page, QUERY, beam=1)
    assert fits()
    lost_document(page)
    assert fits()
    for name in ("Search", "Ask why"):
        box = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box["x"] + box["width"] <= 360


CONTRAST = (Path(__file__).parent / "contrast.js").read_text()


@pytest.mark.parametrize("page", [{}, DARK], indirect=True, ids=["light", "dark"])
def test_contrast_and_the_switch(page: Any) -> None:
    search(page, QUERY, beam=1)
    lost_document(page)
    assert page.evaluate(CONTRAST) == []
    background = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(background)
    page.locator("#theme").click()
    after = page.evaluate(background)
    assert {before, after} == {"rgb(250, 248, 244)", "rgb(21, 24, 26)"}
    assert page.evaluate(CONTRAST) == []
    page.reload()
    assert page.evaluate(background) == after
    page.locator("#why").wait_for()


def test_nothing_is_loaded_from_elsewhere(page: Any, address: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    search(page, QUERY)
    assert asked
    assert all(url.startswith(address) for url in asked)
