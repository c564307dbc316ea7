"""The context of the search view: the text for a prompt, exactly as an agent gets it."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

SEARCH = "/n/demo/search?q=When+did+Priya+break+her+wrist%3F"


@pytest.fixture(params=[1440, 390], ids=["desktop", "phone"])
def width(request) -> int:
    return request.param


@pytest.fixture(params=["light", "dark"])
def scheme(request) -> str:
    return request.param


def query_of(page: Page) -> dict[str, list[str]]:
    """Returns the parameters of the view's address."""
    return parse_qs(urlsplit(page.url).fragment.partition("?")[2])


def serious_violations(page: Page) -> list:
    found = Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious]


def test_the_context_is_shown_as_an_agent_gets_it(service, signed_in):
    sent = service.call("GET", "/v1/context?namespace=demo&q=When+did+Priya+break+her+wrist%3F")
    page = signed_in(SEARCH, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Context", exact=True).click()
    text = page.get_by_label("Text of the context")
    expect(text).to_contain_text("wrist")
    assert text.text_content() == sent["text"]
    expect(page.get_by_text(f"{sent['tokens']} of 1,500 tokens")).to_be_visible()
    expect(page.get_by_role("region", name="Context").get_by_role("listitem")).to_have_count(len(sent["citations"]))
    page.get_by_role("button", name="Copy the context").click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == sent["text"]


def test_the_most_tokens_of_a_context_are_in_the_address(service, signed_in):
    page = signed_in(SEARCH + "&mode=context")
    page.get_by_label("Most tokens").fill("20")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"of 20 tokens|The context is empty"))).to_be_visible()
    assert query_of(page)["max_tokens"] == ["20"]


def test_an_empty_context_leads_to_the_hits(signed_in):
    page = signed_in("/n/demo/search?q=Who+won+the+election+on+the+moon%3F&mode=context&admit=strict")
    expect(page.get_by_text("The context is empty")).to_be_visible()
    page.get_by_role("button", name="Show the hits").click()
    expect(page.get_by_role("region", name="Results")).to_be_visible()
    assert "mode" not in query_of(page)


def test_another_query_keeps_what_is_shown(signed_in):
    page = signed_in(SEARCH + "&mode=context")
    page.get_by_label("Query").fill("Where is the cabin?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Context")).to_be_visible()
    assert query_of(page)["mode"] == ["context"]


def test_the_context_is_accessible_and_fits(signed_in, width, scheme):
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "bypass_csp": True}
    page = signed_in(SEARCH + "&mode=context", **options)
    expect(page.get_by_label("Text of the context")).to_be_visible()
    assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
