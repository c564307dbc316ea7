"""Functions that several test files share: names, the address of a view, and findings of a page."""

import os
import re
import time
import uuid
from pathlib import Path
from typing import Callable
from urllib.parse import parse_qs, urlsplit

from axe_playwright_python.sync_playwright import Axe
from conftest import TIMEOUT_MS
from playwright.sync_api import Locator, Page, expect


def unique_name(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def wait_until(condition: Callable[[], bool], awaited: str):
    """Checks a condition until it holds, at most as long as `expect` does."""
    end = time.monotonic() + TIMEOUT_MS / 1000
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {awaited}"


def expect_view(page: Page, name: str):
    """Waits for the view with a heading."""
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    expect(page.locator("main[aria-busy]")).to_have_count(0)
    # The title is set when the effects of the view run. Before them, its fields may lose what is entered.
    expect(page).to_have_title(re.compile(re.escape(name), re.IGNORECASE))


def go(page: Page, place: str):
    """Goes to the address of a view."""
    page.evaluate("place => { location.hash = place }", place)


def query_of(page: Page) -> dict[str, list[str]]:
    """Returns the parameters of the view's address."""
    return parse_qs(urlsplit(page.url).fragment.partition("?")[2])


def lay_out_from_right_to_left(page: Page):
    """Chooses the layout in the command palette."""
    page.keyboard.press("Control+k")
    page.get_by_label("Command or search").fill("right to left")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")


def serious_violations(page: Page) -> list:
    """Returns the serious and critical findings of axe, with the elements. The page needs `bypass_csp`."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious]


def screenshot(page: Page, name: str):
    """Saves a screenshot if `CUEBASE_SCREENSHOTS` names a folder."""
    folder = os.environ.get("CUEBASE_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


# Returns whether the focus is visible. A heading shows none; a node of a graph marks its circle.
HAS_VISIBLE_FOCUS = """() => {
    const style = getComputedStyle(document.activeElement);
    const isMarked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    return isMarked || document.activeElement.matches("h1, .node");
}"""
# Returns whether an element has the focus and keeps it for two frames. On a busy machine a key that was sent before may
# still be on its way.
HAS_FOCUS = """async element => {
    if (element !== document.activeElement) return false;
    await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return element === document.activeElement;
}"""
# Longer than the way through any view of the tests.
TABS_MAX = 200


def tab_to(page: Page, target: Locator, key: str = "Tab"):
    """Goes to an element with the key, which moves the focus by one. The focus must be visible there."""
    expect(target).to_be_visible()
    for _ in range(TABS_MAX):
        if target.evaluate(HAS_FOCUS):
            assert page.evaluate(HAS_VISIBLE_FOCUS), "the focus is not visible"
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} does not lead to {target}")


# Returns whether the middle of all nodes is in the middle of the picture. The picture measures its size and sets its
# keys up after its first frame, and then moves the nodes there.
IS_CENTRED = """svg => {
    const circles = [...svg.querySelectorAll(".node circle")];
    const isCentred = (name, length) => {
        const places = circles.map(circle => Number(circle.getAttribute(name)));
        return Math.abs(Math.min(...places) + Math.max(...places) - length) < 1;
    };
    return isCentred("cx", svg.clientWidth) && isCentred("cy", svg.clientHeight);
}"""


def expect_graph(page: Page):
    """Waits for the picture of a graph, until its nodes are in its middle and its keys work."""
    picture = page.locator(".graph-picture svg")
    expect(picture.locator(".node").first).to_be_visible()
    wait_until(lambda: picture.evaluate(IS_CENTRED), "a graph in the middle of its picture")


def expect_focus(page: Page):
    """Waits until an element of the view has the focus."""
    expect(page.locator("main:focus, main :focus")).to_have_count(1)
