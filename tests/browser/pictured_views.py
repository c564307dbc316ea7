"""The views of which `scripts/pictures.py` takes pictures and `test_pictures.py` compares snapshots.

A view is opened on the sample namespace with a stopped clock, and is brought into the pictured state. Add a view to
`VIEWS`.
"""

import json
import urllib.request
from dataclasses import dataclass
from typing import Callable

import sample_namespace as sample
from conftest import TIMEOUT_MS, wait_for_reload_worker
from playwright.sync_api import Browser, Page, expect

FRIENDS = f"/n/{sample.NAMESPACE}"
HOME = sample.QUESTION.replace(" ", "+").replace("?", "%3F")
OTHER = sample.OTHER_QUESTION.replace(" ", "+").replace("?", "%3F").replace("'", "%27")

# Writes times after the present of the sample as "just now". They are times of the server, which was just started.
SET_PRESENT = """now => {
  for (const time of document.querySelectorAll("main time")) {
    if (Date.parse(time.dateTime) <= now) continue;
    time.textContent = time.textContent.match(/\\d{4}/) ? "16 Nov 2026" : "just now";
  }
}"""


def show_nothing_more(page: Page):
    """Brings a view into its pictured state that needs no further action."""


@dataclass(frozen=True)
class View:
    """A view, the condition that it is complete, and the actions that bring it into the pictured state."""

    name: str
    #: Place in the address after `#`; `{source}` is the id of the pictured conversation.
    place: str
    #: Selector of an element that is visible once the view is complete.
    complete: str
    prepare: Callable[[Page], None] = show_nothing_more
    is_signed_in: bool = True


def open_waterfall(page: Page):
    page.get_by_text("Why this score?").first.click()
    expect(page.locator(".waterfall li").first).to_be_visible()


def wait_for_comparison(page: Page):
    expect(page.locator(".compared").nth(8)).to_be_visible()


def wait_for_sources(page: Page):
    expect(page.get_by_role("heading", name="Revisions")).to_be_visible()


def wait_for_facts(page: Page):
    expect(page.get_by_role("table").first).to_be_visible()
    expect(page.locator("svg .node").nth(3)).to_be_attached()


def scroll_to_graph(page: Page):
    expect(page.locator("svg .node").nth(3)).to_be_attached()
    page.locator("main .card").filter(has=page.locator(".graph-picture")).evaluate("card => card.scrollIntoView()")


VIEWS = (
    View("search", f"{FRIENDS}/search?q={HOME}", ".hit", open_waterfall),
    View("compare", f"{FRIENDS}/search?q={HOME}&compare=1&b_q={OTHER}", ".compared", wait_for_comparison),
    View("memories", f"{FRIENDS}/memories?by=occurred&timeline=1", ".timeline-card canvas"),
    View("memory", f"{FRIENDS}/memory/{sample.PLAN}", ".revisions, main h1", wait_for_sources),
    View("people", f"{FRIENDS}/people", ".subjects a"),
    View("person", f"{FRIENDS}/people/ana?as_of=2026-07-01", "main table", wait_for_facts),
    View("graph", f"{FRIENDS}/people/ana", "svg .node.centre", scroll_to_graph),
    View("conversations", f"{FRIENDS}/conversations", "main tbody tr"),
    View("conversation", f"{FRIENDS}/conversations/source/{{source}}", ".turn"),
    View("activity", f"{FRIENDS}/activity", "main table"),
    View("vocabulary", f"{FRIENDS}/vocabulary", "main table"),
    View("skills", f"{FRIENDS}/skills", ".skill-heading"),
    View("namespaces", "/namespaces", "main table"),
    View("keys", "/keys", "main table"),
    View("welcome", f"/n/{sample.EMPTY_NAMESPACE}/search", ".snippet"),
    View("sign-in", "", ".gate form", is_signed_in=False),
)


def write_sample_to(service) -> None:
    """Writes the sample to a server."""

    def upload(path: str, content: bytes):
        headers = {"authorization": f"Bearer {service.session}", "content-type": "application/octet-stream"}
        request = urllib.request.Request(service.url + path, data=content, method="POST", headers=headers)
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    sample.write_sample(service.call, upload)


def find_source(service) -> str:
    """Returns the id of the pictured conversation."""
    found = service.call("GET", f"/v1/sources?namespace={sample.NAMESPACE}&session_id={sample.MOVE_SESSION}")
    return found["sources"][0]["id"]


class Pages:
    """Pages of a server, one for each size and color scheme. They are kept, since signing in takes a while."""

    def __init__(self, browser: Browser, service, **options):
        self.browser = browser
        self.service = service
        self.options = options
        self.opened: dict[tuple, Page] = {}

    def open(self, width: int, height: int, scheme: str, is_signed_in: bool) -> Page:
        kind = (width, height, scheme, is_signed_in)
        if kind not in self.opened:
            page = self.new_page(width, height, scheme)
            if is_signed_in:
                page.goto(self.service.link())
                expect(page.get_by_role("heading", name="Search", level=1)).to_be_visible()
                wait_for_reload_worker(page)
            self.opened[kind] = page
        return self.opened[kind]

    def new_page(self, width: int, height: int, scheme: str) -> Page:
        """Opens a page with a stopped clock. The options are all those by which pictures could differ."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            locale="en-GB",
            timezone_id="Europe/Vienna",
            reduced_motion="reduce",
            **self.options,
        )
        context.clock.set_fixed_time(sample.NOW)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        return page

    def close(self):
        for page in self.opened.values():
            page.context.close()


def show(page: Page, view: View, service, source: str) -> None:
    """Shows a view in its pictured state. The page is signed in, unless the view is the sign-in page."""
    page.goto(f"{service.dashboard}/#{view.place.replace('{source}', source)}")
    # A changed fragment alone would keep the state of the view before.
    page.reload()
    expect(page.locator(view.complete).first).to_be_visible()
    expect(page.locator("main .skeleton")).to_have_count(0)
    page.evaluate("scrollTo(0, 0)")
    view.prepare(page)
    page.wait_for_load_state("networkidle")
    # Neither hover nor a focus ring.
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur?.()")
    page.evaluate(SET_PRESENT, sample.NOW.timestamp() * 1000)
