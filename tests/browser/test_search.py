"""The search view, which is the home page: its address, its hits, their explanations, and 'why not …?'."""

import re

from helpers import lay_out_from_right_to_left, query_of
from playwright.sync_api import expect

QUESTION = "When did Priya break her wrist?"
SEARCH = "/n/demo/search?q=When+did+Priya+break+her+wrist%3F"


def test_search_is_the_home_page(signed_in):
    page = signed_in()
    expect(page.get_by_role("heading", name="Search", level=1)).to_be_visible()
    # Other tests may have made a larger namespace, which is the one that is shown first.
    namespace = page.locator(".namespace-switch select")
    if namespace.input_value() != "demo":
        namespace.select_option("demo")
        # The view of another namespace is a new one, with new fields.
        expect(page.get_by_role("heading", name="Search", level=1)).to_be_focused()
    page.get_by_label("Query").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_contain_text("wrist")
    assert query_of(page)["q"] == [QUESTION]


def test_the_navigation_is_mirrored_from_right_to_left(signed_in):
    page = signed_in(SEARCH, viewport={"width": 1440, "height": 900})
    lay_out_from_right_to_left(page)
    expect(page.locator(".hit").first).to_be_visible()
    navigation, main = page.locator("#nav").bounding_box(), page.locator("main").bounding_box()
    assert navigation["x"] >= main["x"] + main["width"] - 1


def test_matched_words_are_marked(signed_in):
    page = signed_in(SEARCH)
    expect(page.locator(".hit").first.locator("mark", has_text="wrist")).to_be_visible()


def test_a_filter_goes_to_the_address_and_applies_at_once(signed_in):
    page = signed_in(SEARCH)
    expect(page.locator(".hit").first).to_be_visible()
    page.locator("summary", has_text="Filters").click()
    page.get_by_role("checkbox", name="skills").check()
    expect(page.locator(".hit code").first).to_have_text(re.compile("^skills/"))
    for path in page.locator(".hit code").all_inner_texts():
        assert path.startswith("skills/")
    assert query_of(page)["tiers"] == ["skills"]


def test_the_day_of_as_of_leaves_later_memories_out(signed_in):
    page = signed_in(SEARCH + "&as_of=2020-01-01")
    expect(page.get_by_text("No memory matches")).to_be_visible()


def test_an_address_restores_the_query_and_the_filters(signed_in):
    page = signed_in(SEARCH + "&tiers=facts,rules&limit=2&admit=recall")
    expect(page.get_by_label("Query")).to_have_value(QUESTION)
    expect(page.get_by_label("facts", exact=True)).to_be_checked()
    expect(page.get_by_label("Maximum hits")).to_have_value("2")
    expect(page.get_by_label("Admission")).to_have_value("recall")


def test_back_restores_the_search_and_its_scroll_position(signed_in):
    page = signed_in(SEARCH, viewport={"width": 390, "height": 500})
    last = page.locator(".hit").last
    last.scroll_into_view_if_needed()
    last.get_by_role("link").first.click()
    expect(page.get_by_role("button", name="Forget")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Query")).to_have_value(QUESTION)
    expect(last).to_be_in_viewport()


def test_a_hit_explains_its_score(signed_in):
    page = signed_in(SEARCH)
    hit = page.locator(".hit").first
    hit.get_by_text("Why this score?").click()
    score = hit.locator(".score strong").inner_text()
    expect(hit.locator(".waterfall li").first).to_contain_text("without evidence")
    expect(hit.get_by_text(f"which is a probability of {score}.")).to_be_visible()


def test_a_hit_shows_the_history_of_its_facts(service, visit):
    service.call("POST", "/v1/namespaces", {"name": "histories"})
    for text, at in [("I live in Oslo.", "2025-01-10T09:00:00Z"), ("I moved to Bergen.", "2025-06-10T09:00:00Z")]:
        body = {"namespace": "histories", "messages": [{"role": "user", "content": text}], "occurred_at": at}
        service.call("POST", "/v1/memories?wait=30", body)
    page = visit(service.link())
    expect(page.get_by_role("heading", name="Search", level=1)).to_be_visible()
    page.evaluate("location.hash = '/n/histories/search?q=Where+do+I+live%3F'")
    page.get_by_text("History of its facts").first.click()
    expect(page.locator(".timeline").first).to_contain_text("oslo")
    expect(page.locator(".timeline").first).to_contain_text("bergen")


def test_why_not_names_the_reason(service, signed_in):
    hits = service.call("GET", "/v1/retrieve?namespace=demo&q=When+did+Priya+break+her+wrist%3F")["hits"]
    page = signed_in(SEARCH + "&limit=1")
    page.get_by_label("Path of a memory that you expect").fill(hits[1]["path"])
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".why-not")).to_contain_text("maximum number of hits")
    assert query_of(page)["why_not"] == [hits[1]["path"]]


def test_why_not_finds_the_memory_by_its_words(signed_in):
    page = signed_in(SEARCH + "&limit=1")
    page.get_by_label("Words or path of a memory that you expect").fill("sourdough starter")
    page.get_by_role("button", name="Explain").click()
    offered = page.get_by_role("group", name="Which memory?").locator(".row").filter(has_text="sourdough")
    offered.first.get_by_role("button").click()
    expect(page.locator(".why-not")).to_contain_text("maximum number of hits")
    assert query_of(page)["expected"] == ["sourdough starter"]
    assert query_of(page)["why_not"][0].endswith(".md")


def test_why_not_reports_an_unknown_path(signed_in):
    page = signed_in(SEARCH)
    page.get_by_label("Path of a memory that you expect").fill("facts/nowhere.md")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".why-not")).to_contain_text("No memory is stored at this path.")


def test_a_long_memory_is_folded(service, signed_in):
    content = "# Zanzibar timetable\n\n" + "\n\n".join(f"Ferry {number} sails at noon." for number in range(200))
    service.call("POST", "/v1/memories/facts/zanzibar.md", {"namespace": "demo", "content": content})
    page = signed_in("/n/demo/search?q=Zanzibar+timetable&limit=1")
    expect(page.get_by_text("Ferry 1 sails at noon.")).to_be_visible()
    expect(page.get_by_text("Ferry 199 sails at noon.")).to_have_count(0)
    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_text("Ferry 199 sails at noon.")).to_be_visible()


def test_an_invalid_filter_is_reported(signed_in):
    page = signed_in(SEARCH + "&paths=../etc")
    expect(page.get_by_role("alert")).to_contain_text("paths")


def test_the_search_is_copied_as_code(service, signed_in):
    page = signed_in(SEARCH + "&limit=2", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as code").click()
    page.get_by_role("button", name="Copy Python").click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    code = page.evaluate("navigator.clipboard.readText()")
    for part in [f'"{QUESTION}"', 'namespace="demo"', "limit=2", "memory.retrieve("]:
        assert part in code


def test_an_answer_comes_with_citations(signed_in):
    page = signed_in(SEARCH)
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("heading", name="Answer")).to_be_visible()
    expect(page.locator(".quotes q").first).to_be_visible()
    assert query_of(page)["mode"] == ["answer"]


def test_an_empty_namespace_shows_the_three_things_to_do_next(start, visit):
    service = start("serve")
    page = visit(service.link())
    page.get_by_role("button", name="Create a key").click()
    key = page.locator(".secret").inner_text().strip()
    assert key.startswith("svc_live_")
    for name in ["curl", "Python", "TypeScript", "MCP"]:
        snippet = page.locator(".snippet").filter(has=page.get_by_role("heading", name=name, exact=True))
        expect(snippet.locator("pre")).to_contain_text(key)
        expect(snippet.locator("pre")).to_contain_text(service.dashboard)
