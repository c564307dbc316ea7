"""The context of the search view: the text for a prompt, exactly as an agent gets it."""

import re

from helpers import query_of, serious_violations
from playwright.sync_api import expect

SEARCH = "/n/demo/search?q=When+did+Priya+break+her+wrist%3F"


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
    # The context is shown for the former query, too.
    expect(page).to_have_url(re.compile("q=Where"))
    expect(page.get_by_role("region", name="Context")).to_be_visible()
    assert query_of(page)["mode"] == ["context"]


def test_the_context_is_accessible_and_fits(signed_in, width, scheme):
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "bypass_csp": True}
    page = signed_in(SEARCH + "&mode=context", **options)
    expect(page.get_by_label("Text of the context")).to_be_visible()
    assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
