"""Ten frequent questions, each answered by clicks from the search page in at most 15 seconds.

Each docstring lists the clicks. Run with `-s` to see how long each walk takes.
"""

import time
import uuid
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

WALK_MAX_SECONDS = 15
KEY_NAME = "Travel assistant"
MOVES = [
    ("I live in Oslo.", "2026-02-10T09:00:00Z"),
    ("I moved to Bergen.", "2026-06-10T09:00:00Z"),
]
OTHERS = [
    "My bicycle has a flat tyre since Monday.",
    "I am allergic to hazelnuts.",
    "Our choir sings in the old harbour hall every Thursday.",
]


@contextmanager
def walk(question: str):
    """Prints how long a walk takes, and fails if it takes too long."""
    start = time.monotonic()
    yield
    seconds = time.monotonic() - start
    print(f"\n{question} {seconds:.1f} s")
    assert seconds <= WALK_MAX_SECONDS


def make_namespace(service) -> str:
    name = f"questions-{uuid.uuid4().hex[:8]}"
    service.call("POST", "/v1/namespaces", {"name": name})
    return name


def say(service, namespace: str, text: str, at: str | None = None, credential: str | None = None) -> dict:
    """Sends a message of Ana. Returns its write, once it has ended."""
    body = {"namespace": namespace, "messages": [{"role": "user", "name": "Ana", "content": text}]}
    if at:
        body["occurred_at"] = at
    return service.call("POST", "/v1/memories?wait=30", body, credential)


@pytest.fixture(scope="module")
def known(service) -> str:
    """A namespace with what Ana has said."""
    name = make_namespace(service)
    for text, at in MOVES:
        say(service, name, text, at)
    for text in OTHERS:
        say(service, name, text)
    return name


@pytest.fixture
def at_search(known, signed_in):
    """Returns a function that opens the search page of the namespace."""

    def enter() -> Page:
        page = signed_in(f"/n/{known}/search")
        expect(page.locator(".namespace-switch select")).to_have_value(known)
        return page

    return enter


def search(page: Page, text: str):
    page.get_by_label("Query").fill(text)
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_be_visible()


def open_view(page: Page, name: str):
    """Opens a view of the navigation."""
    page.get_by_role("navigation", name="Main").get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def open_profile(page: Page):
    open_view(page, "People and things")
    page.locator(".subjects a").filter(has_text="ana").click()
    expect(page.locator(".claims")).to_be_visible()


def home_of(page: Page):
    """Returns the fact that says where Ana lives."""
    return page.locator(".claims > div").filter(has=page.locator("dt", has_text="home"))


def test_why_did_this_come_back(at_search):
    """Enter the query; Why this score?"""
    page = at_search()
    with walk("Why did this come back?"):
        search(page, "Where does Ana live?")
        hit = page.locator(".hit").first
        hit.get_by_text("Why this score?").click()
        expect(hit.locator(".waterfall li").first).to_contain_text("without evidence")
        expect(hit.locator(".waterfall")).to_contain_text("Found by")
    expect(hit).to_contain_text("Bergen")


def test_why_not_that(at_search):
    """Enter the query; Why not …?: enter words of the memory; Explain; choose the memory."""
    page = at_search()
    with walk("Why not that?"):
        search(page, "Where does our choir sing?")
        page.get_by_label("Words or path of a memory that you expect").fill("flat tyre")
        page.get_by_role("button", name="Explain").click()
        page.get_by_role("group", name="Which memory?").get_by_role("button").first.click()
        expect(page.locator(".why-not")).to_contain_text("No arm found it among its best")
    expect(page.get_by_role("group", name="Which memory?").locator("[aria-pressed=true]")).to_contain_text("bicycle")


def test_what_changed_this_week(at_search):
    """What changed this week?"""
    page = at_search()
    with walk("What changed this week?"):
        page.get_by_role("link", name="What changed this week?").click()
        expect(page.locator(".hit").filter(has_text="hazelnuts")).to_be_visible()
        expect(page.locator(".hit").filter(has_text="Bergen").first).to_be_visible()
    for hit in page.locator(".hit").all():
        expect(hit.locator(".facts-line")).to_contain_text("changed")


def test_what_do_we_know_about_ana_now(at_search):
    """People and things; ana."""
    page = at_search()
    with walk("What do we know about Ana now?"):
        open_profile(page)
        expect(home_of(page).locator(".current")).to_contain_text("bergen")
    expect(page.locator(".about").get_by_text("hazelnuts")).to_be_visible()


def test_and_in_march(at_search):
    """People and things; ana; Compare with: 31 March."""
    page = at_search()
    with walk("And in March?"):
        open_profile(page)
        page.get_by_label("Compare with").fill("2026-03-31")
        row = page.get_by_role("row").filter(has_text="home")
        expect(row.get_by_role("cell")).to_have_text(["home", "oslo", "bergen", "changed"])


def test_where_did_this_fact_come_from(at_search):
    """People and things; ana; the value; Show message."""
    page = at_search()
    with walk("Where did this fact come from?"):
        open_profile(page)
        home_of(page).locator(".current a").click()
        page.get_by_role("button", name="Show message").click()
        expect(page.locator("blockquote")).to_have_text("Ana: I moved to Bergen.")


def test_what_failed(failing_service, visit):
    """Activity."""
    name = make_namespace(failing_service)
    write = say(failing_service, name, "I moved to Bergen.")["id"]
    page = visit(failing_service.link())
    page.get_by_role("heading", name="Search", level=1).wait_for()
    page.evaluate("place => { location.hash = place }", f"/n/{name}/search")
    expect(page.locator(".namespace-switch select")).to_have_value(name)
    with walk("What failed?"):
        open_view(page, "Activity")
        row = page.get_by_role("region", name="Dead letters").get_by_role("row").filter(has_text=write)
        expect(row).to_be_visible()
        expect(row.get_by_role("cell").nth(5)).not_to_be_empty()
        expect(page.get_by_role("link", name="Writes").locator(".tag")).to_contain_text("failed")


def test_is_it_slow(service, at_search, known):
    """Is it slow?"""
    service.call("GET", f"/v1/retrieve?namespace={known}&q=Ana")
    page = at_search()
    with walk("Is it slow?"):
        page.get_by_role("link", name="Is it slow?").click()
        p99 = page.locator(".tile").filter(has=page.locator("dt", has_text="p99"))
        expect(p99.locator(".figure")).to_contain_text("s")
        routes = page.get_by_role("region", name="Routes", exact=True)
        expect(routes.get_by_role("row").filter(has_text="GET /v1/retrieve")).to_be_visible()


def test_who_wrote_with_which_key(service, at_search, known):
    """Who wrote, and what failed?"""
    key = service.call("POST", "/v1/keys", {"name": KEY_NAME, "env": "live"})["key"]
    write = say(service, known, "My train leaves at noon.", credential=key)["id"]
    page = at_search()
    with walk("Who wrote with which key?"):
        page.get_by_role("link", name="Who wrote, and what failed?").click()
        row = page.get_by_role("region", name="Writes", exact=True).get_by_role("row").filter(has_text=write)
        expect(row).to_contain_text(KEY_NAME)


def test_what_would_the_agent_see(service, at_search, known):
    """Enter the prompt; Context."""
    prompt = "Where does Ana live?"
    sent = service.call("GET", f"/v1/context?namespace={known}&q=Where+does+Ana+live%3F")
    page = at_search()
    with walk("What would the agent see for this prompt?"):
        page.get_by_label("Query").fill(prompt)
        page.get_by_role("button", name="Context", exact=True).click()
        expect(page.get_by_label("Text of the context")).to_contain_text("bergen", ignore_case=True)
        expect(page.get_by_text(f"{sent['tokens']} of 1,500 tokens")).to_be_visible()
    assert page.get_by_label("Text of the context").text_content() == sent["text"]
