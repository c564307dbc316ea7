"""The list of memories: titles, filters, order, pages, timeline, and actions for selected memories."""

import json
import re
from pathlib import Path

import pytest
from helpers import go, query_of, unique_name
from playwright.sync_api import Page, expect

LIST = "/n/demo/memories"
MANY = 450


@pytest.fixture
def namespace(service) -> str:
    """An empty namespace."""
    name = unique_name("list")
    service.call("POST", "/v1/namespaces", {"name": name})
    return name


@pytest.fixture(scope="module")
def many(service) -> str:
    """A namespace with many memories that were all written at the same time, of 45 days in January and February."""
    name = unique_name("many")
    service.call("POST", "/v1/namespaces", {"name": name})
    messages = []
    for number in range(MANY):
        month, day = divmod(number % 45, 28)
        text = f"Buoy number {number} near pier {number % 97} was inspected, its lamp code is K{number * 7919 % 10007}."
        occurred_at = f"2026-{month + 1:02d}-{day + 1:02d}T12:00:00Z"
        messages.append({"role": "user", "name": "Noor", "content": text, "occurred_at": occurred_at})
    for start in range(0, MANY, 225):
        body = {"namespace": name, "messages": messages[start : start + 225]}
        assert service.call("POST", "/v1/memories?wait=30", body)["status"] == "ingested"
    return name


def write(service, namespace: str, path: str, content: str, **fields):
    service.call("POST", f"/v1/memories/{path}", {"namespace": namespace, "content": content, **fields})


def rows(page: Page):
    return page.locator(".memory-row")


def row(page: Page, title: str):
    return rows(page).filter(has=page.get_by_role("link", name=title, exact=True))


def test_the_first_line_is_the_title_of_a_memory_without_a_heading(service, namespace, signed_in):
    write(service, namespace, "facts/x/note-17.md", "- The **ferry** sails at noon.\n- It returns at six.\n")
    page = signed_in(f"/n/{namespace}/memories")
    expect(row(page, "The ferry sails at noon.")).to_contain_text("It returns at six.")


def test_a_row_shows_tags_tier_and_validity(service, namespace, signed_in):
    ended = {"valid_from": "2025-01-01", "valid_until": "2025-02-01", "tags": ["harbour"]}
    write(service, namespace, "rules/x/pier.md", "# The pier\n\nIt is closed.\n", **ended)
    page = signed_in(f"/n/{namespace}/memories")
    for text in ["rules", "no longer holds", "harbour", "It is closed."]:
        expect(row(page, "The pier")).to_contain_text(text)


def test_a_tier_filters_the_list(service, namespace, signed_in):
    write(service, namespace, "facts/x/reef.md", "# Reef\n")
    write(service, namespace, "skills/x/knots.md", "# Knots\n")
    page = signed_in(f"/n/{namespace}/memories")
    page.get_by_role("checkbox", name="skills").check()
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("skills")
    assert query_of(page)["tiers"] == ["skills"]


def test_a_topic_filters_the_list(signed_in):
    page = signed_in(LIST)
    page.get_by_label("Topic").select_option("priya")
    expect(page.get_by_text("1–5 of 5 memories")).to_be_visible()
    assert query_of(page)["topic"] == ["priya"]


def test_a_month_filters_the_list(signed_in):
    page = signed_in(LIST + "?by=occurred&month=2026-04")
    expect(rows(page).filter(has_text="sourdough")).to_have_count(1)
    expect(rows(page).filter(has_text="wrist")).to_have_count(0)


def test_a_tag_filters_the_list(service, namespace, signed_in):
    write(service, namespace, "facts/x/a.md", "# One\n", tags=["red"])
    write(service, namespace, "facts/x/b.md", "# Two\n", tags=["blue"])
    page = signed_in(f"/n/{namespace}/memories")
    page.get_by_role("group", name="Frequent tags").get_by_role("button", name="red").click()
    expect(row(page, "Two")).to_have_count(0)
    expect(row(page, "One")).to_be_visible()
    assert query_of(page)["tags"] == ["red"]


def test_a_document_filters_the_list(service, namespace, signed_in):
    write(service, namespace, "facts/documents/handbook-md/fuel.md", "# Handbook › Fuel\n\nDiesel.\n")
    write(service, namespace, "facts/x/a.md", "# Elsewhere\n")
    page = signed_in(f"/n/{namespace}/memories")
    page.get_by_label("Document").select_option("handbook-md")
    expect(row(page, "Elsewhere")).to_have_count(0)
    expect(row(page, "Handbook › Fuel")).to_be_visible()


def test_only_what_holds_is_listed_on_request(service, namespace, signed_in):
    write(service, namespace, "facts/x/a.md", "# Past\n", valid_from="2025-01-01", valid_until="2025-02-01")
    write(service, namespace, "facts/x/b.md", "# Present\n")
    page = signed_in(f"/n/{namespace}/memories")
    expect(row(page, "Past")).to_be_visible()
    page.get_by_label("Only what holds").check()
    expect(row(page, "Past")).to_have_count(0)
    expect(row(page, "Present")).to_be_visible()


def test_directories_lead_to_their_memories_and_back(signed_in):
    page = signed_in(LIST)
    directories = page.get_by_role("navigation", name="Directories")
    directories.get_by_role("link", name="facts").click()
    directories.get_by_role("link", name="jonas").click()
    directories.get_by_role("link", name="2026-03").click()
    expect(rows(page)).to_have_count(1)
    page.get_by_role("navigation", name="Path").get_by_role("link", name="demo").click()
    # Other tests write to the namespace, too.
    expect(page.get_by_text(re.compile(r"^1–\d+ of \d+ memories$"))).to_be_visible()


def test_the_list_is_ordered_by_title(service, namespace, signed_in):
    for title in ["Cedar 10", "Ash", "Cedar 9"]:
        write(service, namespace, f"facts/x/{title.lower().replace(' ', '-')}.md", f"# {title}\n")
    page = signed_in(f"/n/{namespace}/memories")
    page.get_by_label("Order").select_option("title")
    expect(page.locator(".memory-text > a")).to_have_text(["Ash", "Cedar 9", "Cedar 10"])


def test_a_forgotten_memory_leaves_an_ordered_list(service, namespace, signed_in):
    for name in ["Cedar", "Alder", "Birch"]:
        write(service, namespace, f"facts/x/{name}.md", f"# {name}\n")
    page = signed_in(f"/n/{namespace}/memories?order=title")
    expect(rows(page).locator("a")).to_have_text(["Alder", "Birch", "Cedar"])
    row(page, "Birch").get_by_role("checkbox").check()
    page.get_by_role("button", name="Forget").click()
    expect(rows(page).locator("a")).to_have_text(["Alder", "Cedar"])
    page.get_by_role("button", name="Undo").click()
    expect(rows(page).locator("a")).to_have_text(["Alder", "Birch", "Cedar"])


def test_each_order_shows_its_first_memory(many, signed_in):
    page = signed_in(f"/n/{many}/memories?by=occurred")
    expect(rows(page).first).to_contain_text("17 Feb 2026")
    page.get_by_label("Order").select_option("oldest")
    expect(rows(page).first).to_contain_text("1 Jan 2026")
    page.get_by_label("Order").select_option("newest")
    expect(rows(page).first).to_contain_text("17 Feb 2026")


def test_the_oldest_memories_come_first_on_request(service, namespace, signed_in):
    for name, day in [("b", "2026-08-02"), ("a", "2024-01-01"), ("c", "2025-03-04")]:
        write(service, namespace, f"facts/x/{name}.md", f"# {name}\n", occurred_at=day)
    page = signed_in(f"/n/{namespace}/memories?by=occurred&order=oldest")
    expect(page.locator(".memory-time time")).to_have_text(["1 Jan 2024", "4 Mar 2025", "2 Aug 2026"])


def test_a_page_has_a_bounded_number_of_rows(many, signed_in):
    page = signed_in(f"/n/{many}/memories")
    expect(page.get_by_text(f"1–50 of {MANY} memories")).to_be_visible()
    assert rows(page).count() == 50
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_text(f"51–100 of {MANY} memories")).to_be_visible()
    assert rows(page).count() == 50


def test_all_memories_of_one_time_are_listed(many, signed_in):
    """A response has at most 200 memories, and here more than that have the same time."""
    page = signed_in(f"/n/{many}/memories?page=9")
    expect(page.get_by_text(f"401–{MANY} of {MANY} memories")).to_be_visible()
    expect(page.get_by_role("button", name="Next page")).to_be_disabled()


def test_back_returns_to_the_page_of_the_list(many, signed_in):
    page = signed_in(f"/n/{many}/memories?page=3")
    rows(page).first.get_by_role("link").click()
    expect(page.get_by_role("button", name="Forget")).to_be_visible()
    page.go_back()
    expect(page.get_by_text(f"101–150 of {MANY} memories")).to_be_visible()


def test_the_timeline_counts_the_memories_of_each_day(many, signed_in):
    page = signed_in(f"/n/{many}/memories?by=occurred&timeline=1", timezone_id="UTC")
    page.get_by_text("Show as a table").click()
    table = page.get_by_role("region", name="Memories by the day they happened")
    expect(table.get_by_role("row").nth(1)).to_contain_text("17 February 2026")
    expect(table.get_by_role("row").nth(1)).to_contain_text("10")
    expect(table.get_by_role("row")).to_have_count(32)
    page.get_by_role("button", name="Show more days").click()
    expect(table.get_by_role("row")).to_have_count(46)


def test_a_day_of_the_table_filters_the_list(many, signed_in):
    page = signed_in(f"/n/{many}/memories?by=occurred&timeline=1", timezone_id="UTC")
    page.get_by_text("Show as a table").click()
    page.get_by_role("button", name=re.compile("16 February 2026")).click()
    expect(page.get_by_text("1–10 of 10 memories")).to_be_visible()
    assert query_of(page)["day"] == ["2026-02-16"]


def test_a_day_of_the_chart_filters_the_list(service, namespace, signed_in):
    write(service, namespace, "facts/x/a.md", "# One\n", occurred_at="2026-03-10T12:00:00Z")
    page = signed_in(f"/n/{namespace}/memories?by=occurred&timeline=1", timezone_id="UTC")
    plot = page.locator(".u-over")
    box = plot.bounding_box()
    # The day of the memory is in the middle, between the day before and the day after it.
    plot.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    expect(page.get_by_role("button", name="Day 2026-03-10")).to_be_visible()


def test_forgetting_is_undone(service, namespace, signed_in):
    write(service, namespace, "facts/x/a.md", "# One\n")
    write(service, namespace, "facts/x/b.md", "# Two\n")
    page = signed_in(f"/n/{namespace}/memories")
    page.get_by_label("Select this page").check()
    page.get_by_role("button", name="Forget").click()
    expect(rows(page)).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(rows(page)).to_have_count(2)


def test_forgotten_memories_are_written_back(service, namespace, signed_in):
    write(service, namespace, "facts/x/a.md", "# One\n\nText.\n", tags=["kept"], cues=["Which one?"])
    page = signed_in(f"/n/{namespace}/memories")
    row(page, "One").get_by_role("checkbox").check()
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("button", name="Write back")).to_be_visible()
    # The list without the memory is its own request. Until its response, the former list is shown.
    expect(row(page, "One")).to_have_count(0)
    page.get_by_role("button", name="Write back").click()
    expect(row(page, "One")).to_contain_text("kept")
    memory = service.call("GET", f"/v1/memories/facts/x/a.md?namespace={namespace}&detail=full")
    assert memory["content"].strip() == "# One\n\nText." and "Which one?" in memory["cues"]


def test_selected_memories_are_tagged(service, namespace, signed_in):
    write(service, namespace, "facts/x/a.md", "# One\n", tags=["old", "stays"], cues=["Which one?"])
    page = signed_in(f"/n/{namespace}/memories")
    row(page, "One").get_by_role("checkbox").check()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_label("Add tags").fill("new")
    page.get_by_label("Remove tags").fill("old")
    page.get_by_role("button", name="Save tags").click()
    expect(page.get_by_text("Tagged 1 memory")).to_be_visible()
    memory = service.call("GET", f"/v1/memories/facts/x/a.md?namespace={namespace}&detail=full")
    assert memory["user_tags"] == ["new", "stays"] and "Which one?" in memory["cues"]


def saved(page: Page, button: str) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    return Path(download.value.path()).read_text()


def test_the_whole_list_is_exported_as_json_lines(many, signed_in):
    page = signed_in(f"/n/{many}/memories", accept_downloads=True)
    expect(rows(page).first).to_be_visible()
    memories = [json.loads(line) for line in saved(page, "Export JSON Lines").splitlines()]
    assert len({memory["path"] for memory in memories}) == MANY
    assert memories[0]["cues"] and memories[0]["content"].startswith("# Noor: Buoy number")


def test_a_selection_is_exported_as_markdown(service, namespace, signed_in):
    write(service, namespace, "facts/x/a.md", "# One\n\nText.\n", tags=["red"])
    write(service, namespace, "facts/x/b.md", "# Two\n")
    page = signed_in(f"/n/{namespace}/memories", accept_downloads=True)
    row(page, "One").get_by_role("checkbox").check()
    text = saved(page, "Export Markdown")
    assert re.match(r'---\npath: "facts/x/a.md"\ntags: \["red"\]\n', text)
    assert text.endswith("---\n\n# One\n\nText.\n\n") and "Two" not in text


def test_shift_selects_a_range(signed_in):
    page = signed_in(LIST)
    rows(page).nth(1).get_by_role("checkbox").click()
    rows(page).nth(4).get_by_role("checkbox").click(modifiers=["Shift"])
    expect(page.get_by_text("4 selected")).to_be_visible()


def test_a_list_without_matches_offers_to_clear_the_filters(signed_in):
    page = signed_in(LIST + "?tags=nowhere")
    expect(page.get_by_text("No memory matches these filters")).to_be_visible()
    page.locator(".empty").get_by_role("button", name="Clear the filters").click()
    expect(rows(page).first).to_be_visible()


def test_an_empty_namespace_shows_how_to_fill_it(namespace, signed_in):
    page = signed_in(f"/n/{namespace}/memories")
    expect(page.get_by_text("Nothing is remembered here yet")).to_be_visible()
    expect(page.locator(".snippet pre")).to_contain_text(namespace)


def test_an_error_is_shown_and_retried(signed_in):
    page = signed_in()
    page.route("**/v1/memories?*", lambda route: route.abort())
    go(page, LIST)
    expect(page.get_by_role("alert")).to_contain_text("does not respond")
    page.unroute("**/v1/memories?*")
    page.get_by_role("button", name="Try again").click()
    expect(rows(page).first).to_be_visible()


def test_a_written_memory_is_shown_and_listed(namespace, signed_in):
    page = signed_in(f"/n/{namespace}/memories")
    page.get_by_role("button", name="New memory").click()
    page.get_by_label("Path").last.fill("facts/boats/green.md")
    page.get_by_label("Content").fill("# The boat\n\nIt is green.\n")
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_role("heading", name="The boat", level=1)).to_be_visible()
    page.get_by_role("link", name="Memories").click()
    expect(row(page, "The boat")).to_be_visible()
