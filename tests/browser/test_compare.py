"""Two searches side by side: their address, the differences of their hits, and how the comparison starts and ends."""

import re

from helpers import query_of
from playwright.sync_api import Page, expect

QUESTION = "When did Priya break her wrist?"
SEARCH = "/n/demo/search?q=When+did+Priya+break+her+wrist%3F"
# The second search returns only the best hit, so all others of the first one differ.
COMPARED = f"{SEARCH}&compare=1&b_limit=1"


def hits_of(page: Page, name: str):
    return page.get_by_role("region", name=name).locator(".compared")


def test_a_comparison_starts_with_a_copy_of_the_search(signed_in):
    page = signed_in(f"{SEARCH}&limit=3&admit=recall")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_label("Second query")).to_have_value(QUESTION)
    expect(page.get_by_text("Both searches return the same hits in the same order.")).to_be_visible()
    query = query_of(page)
    assert query["b_limit"] == ["3"] and query["b_admit"] == ["recall"] and query["b_q"] == [QUESTION]


def test_hits_of_one_search_only_are_marked(signed_in):
    page = signed_in(COMPARED)
    expect(hits_of(page, "Second search")).to_have_count(1)
    expect(hits_of(page, "Second search").get_by_text("only here")).to_have_count(0)
    first = hits_of(page, "First search")
    expect(first.first.get_by_text("only here")).to_have_count(0)
    expect(first.nth(1).get_by_text("only here")).to_be_visible()


def test_another_query_is_compared(signed_in):
    page = signed_in(COMPARED)
    page.get_by_label("Second query").fill("What is Jonas allergic to?")
    page.keyboard.press("Enter")
    expect(hits_of(page, "Second search").first).to_contain_text("hazelnuts")
    assert query_of(page)["b_q"] == ["What is Jonas allergic to?"]
    assert query_of(page)["q"] == [QUESTION]


def test_a_hit_at_another_rank_is_marked(service, signed_in):
    other = "What is Jonas allergic to?"
    address = "/v1/retrieve?namespace=demo&q="
    first = [each["path"] for each in service.call("GET", address + QUESTION.replace(" ", "+"))["hits"]]
    second = [each["path"] for each in service.call("GET", address + other.replace(" ", "+"))["hits"]]
    moved = [path for path in first if path in second and first.index(path) != second.index(path)]
    page = signed_in(f"{SEARCH}&compare=1&b_q={other.replace(' ', '+')}")
    hit = hits_of(page, "First search").and_(page.locator(f"[data-path='{moved[0]}']"))
    expect(hit.get_by_text(f"rank {second.index(moved[0]) + 1} in the other")).to_be_visible()


def test_a_filter_changes_the_second_search_only(signed_in):
    page = signed_in(COMPARED)
    expect(hits_of(page, "Second search")).to_have_count(1)
    second = page.get_by_role("form", name="Second search")
    second.get_by_role("checkbox", name="skills").check()
    expect(hits_of(page, "Second search").first).to_have_attribute("data-path", re.compile("^skills/"))
    assert query_of(page)["b_tiers"] == ["skills"]
    assert "tiers" not in query_of(page)


def test_an_address_restores_the_comparison(signed_in):
    page = signed_in(f"{COMPARED}&b_admit=strict&b_as_of=2020-01-01")
    second = page.get_by_role("form", name="Second search")
    expect(second.get_by_label("Admission")).to_have_value("strict")
    expect(second.get_by_label("As of")).to_have_value("2020-01-01")
    expect(page.get_by_role("region", name="Second search").get_by_text("No memory matches")).to_be_visible()
    expect(hits_of(page, "First search").first.get_by_text("only here")).to_be_visible()


def test_back_ends_the_comparison(signed_in):
    page = signed_in(SEARCH)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("region", name="Comparison")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("region", name="Results")).to_be_visible()


def test_the_end_of_a_comparison_leaves_the_search(signed_in):
    page = signed_in(COMPARED)
    page.get_by_role("button", name="End the comparison").click()
    expect(page.get_by_role("region", name="Results")).to_be_visible()
    assert query_of(page) == {"q": [QUESTION]}


def test_a_compared_hit_is_shown_in_full(signed_in):
    page = signed_in(COMPARED)
    hit = hits_of(page, "First search").first
    hit.get_by_text("Show", exact=True).click()
    expect(hit.get_by_text("Why this score?")).to_be_visible()


def test_a_comparison_starts_from_the_palette(signed_in):
    page = signed_in(SEARCH)
    expect(page.locator(".hit").first).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_label("Command or search").fill("compare")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Comparison")).to_be_visible()
