"""People and things: the list of subjects, the profiles, and the graph of subjects and memories."""

import re

import pytest
from helpers import expect_graph, unique_name
from playwright.sync_api import Page, expect

MOVES = [("I live in Oslo.", "2025-01-10T09:00:00Z"), ("I moved to Bergen.", "2025-06-10T09:00:00Z")]
# More memories than a graph shows, all of one subject.
MANY = 300
# More values of an attribute, and more memories, than a profile shows at first.
VALUES = 60


@pytest.fixture(scope="module")
def moved(service) -> str:
    """A namespace in which the user moved from Oslo to Bergen."""
    name = unique_name("moved")
    service.call("POST", "/v1/namespaces", {"name": name})
    for text, at in MOVES:
        body = {"namespace": name, "messages": [{"role": "user", "content": text}], "occurred_at": at}
        service.call("POST", "/v1/memories?wait=30", body)
    return name


@pytest.fixture(scope="module")
def crowded(service) -> str:
    """A namespace with many memories about one subject."""
    name = unique_name("crowded")
    service.call("POST", "/v1/namespaces", {"name": name})
    messages = []
    for number in range(MANY):
        content = f"The lighthouse Zephyr{number} belongs to Mirela since its keeper number {number} left the coast."
        messages.append({"role": "user", "name": "Mirela", "content": content})
    for start in range(0, MANY, 100):
        body = {"namespace": name, "messages": messages[start : start + 100]}
        service.call("POST", "/v1/memories?wait=30", body)
    return name


@pytest.fixture(scope="module")
def collector(service) -> str:
    """A namespace with a person who is allergic to many things."""
    name = unique_name("collector")
    service.call("POST", "/v1/namespaces", {"name": name})
    messages = []
    for number in range(VALUES):
        messages.append({"role": "user", "name": "Ilvar", "content": f"I am allergic to zephyr{number}."})
    body = {"namespace": name, "messages": messages}
    assert service.call("POST", "/v1/memories?wait=30", body)["status"] == "ingested"
    return name


def memory_path(service, namespace: str, query: str) -> str:
    return service.call("GET", f"/v1/retrieve?namespace={namespace}&q={query}")["hits"][0]["path"]


def fit_graph(page: Page):
    """Waits for the graph, and fits it, after which its nodes keep their places."""
    expect_graph(page)
    page.get_by_role("button", name="Fit", exact=True).click()


def selected_title(page: Page) -> str:
    return page.get_by_role("region", name="Selected node").get_by_role("heading").inner_text()


def test_the_subjects_are_listed(service, signed_in):
    profile = service.call("GET", "/v1/profile?namespace=demo")
    page = signed_in("/n/demo/people")
    for subject in [profile["subject"], *profile["subjects"]]:
        expect(page.locator(".subjects a").filter(has_text=subject)).to_be_visible()


def test_the_list_is_filtered_by_name(signed_in):
    page = signed_in("/n/demo/people")
    expect(page.locator(".subjects a").first).to_be_visible()
    page.get_by_label("Name", exact=True).fill("Tyc")
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".subjects a")).to_have_count(1)
    expect(page.locator(".subjects a")).to_contain_text("tycho")
    assert page.url.endswith("/people?find=Tyc")


def test_a_subject_outside_of_the_list_is_opened_by_its_name(signed_in):
    page = signed_in("/n/demo/people")
    expect(page.locator(".subjects a").first).to_be_visible()
    page.get_by_label("Name", exact=True).fill("Kepler")
    page.get_by_role("button", name="Open profile").click()
    expect(page.get_by_role("heading", name="kepler", level=1)).to_be_visible()
    expect(page.locator(".about li").filter(has_text="names it").first).to_be_visible()


def test_many_memories_about_a_subject_are_shown_in_steps(collector, signed_in):
    page = signed_in(f"/n/{collector}/people/ilvar")
    entries = page.locator(".about li")
    expect(entries).to_have_count(50)
    page.get_by_role("button", name="Show more memories").click()
    expect(entries).to_have_count(VALUES)
    expect(page.get_by_role("button", name="Show more memories")).to_have_count(0)


def test_many_values_of_an_attribute_are_shown_in_steps(collector, signed_in):
    page = signed_in(f"/n/{collector}/people/ilvar")
    values = page.locator(".claims .current li")
    more = page.get_by_role("button", name="Show more values")
    expect(values).to_have_count(20)
    more.click()
    expect(values).to_have_count(40)
    more.click()
    expect(values).to_have_count(VALUES)
    expect(more).to_have_count(0)


def test_a_profile_shows_the_current_value(moved, signed_in):
    page = signed_in(f"/n/{moved}/people/user")
    home = page.locator(".claims > div").filter(has=page.locator("dt", has_text=re.compile("^home$")))
    expect(home.locator(".current")).to_have_text("bergen from 10 Jun 2025")


def test_a_profile_shows_the_history_of_a_fact(moved, signed_in):
    page = signed_in(f"/n/{moved}/people/user")
    home = page.locator(".claims > div").filter(has=page.locator("dt", has_text=re.compile("^home$")))
    home.locator("summary").click()
    expect(home.locator(".timeline li")).to_have_text(["oslo from 10 Jan 2025 until 10 Jun 2025"])


def test_a_profile_is_compared_with_an_earlier_day(moved, signed_in):
    page = signed_in(f"/n/{moved}/people/user")
    page.get_by_label("Compare with").fill("2025-03-01")
    row = page.get_by_role("row").filter(has_text=re.compile("^home"))
    expect(row.get_by_role("cell")).to_have_text(["home", "oslo", "bergen", "changed"])
    assert page.url.endswith("?as_of=2025-03-01")


def test_a_profile_lists_the_memories_about_the_subject(service, signed_in):
    claims = service.call("GET", "/v1/profile?namespace=demo&subject=jonas")["claims"]
    page = signed_in("/n/demo/people/jonas")
    for path in {claim["path"] for claim in claims}:
        expect(page.locator(f'.about a[href="#/n/demo/memory/{path}"]')).to_be_visible()


def test_a_profile_is_copied_as_code(moved, signed_in):
    page = signed_in(f"/n/{moved}/people/user")
    page.get_by_role("button", name="Copy as code").click()
    python = page.locator(".snippet").filter(has=page.get_by_role("heading", name="Python"))
    expect(python.locator("pre")).to_contain_text('memory.profile(namespace="' + moved)


def test_a_name_without_facts_says_so(signed_in):
    page = signed_in("/n/demo/people/nobody-of-that-name")
    expect(page.get_by_text("No facts about this name")).to_be_visible()


def test_the_graph_starts_with_the_neighbours_of_the_subject(service, signed_in):
    claims = service.call("GET", "/v1/profile?namespace=demo&subject=jonas")["claims"]
    page = signed_in("/n/demo/people/jonas")
    expect_graph(page)
    expect(page.locator("svg .node.centre")).to_have_attribute("aria-label", "jonas, subject")
    for path in {claim["path"] for claim in claims}:
        expect(page.locator(f'svg [data-id="memory:{path}"]')).to_have_count(1)


def test_the_former_address_of_the_graph_leads_to_people_and_things(signed_in):
    page = signed_in("/n/demo/graph")
    expect(page.get_by_role("heading", name="People and things", level=1)).to_be_visible()
    expect(page).to_have_url(re.compile("#/n/demo/people$"))


def test_the_former_address_of_a_memorys_graph_still_works(service, signed_in):
    path = memory_path(service, "demo", "hazelnuts")
    page = signed_in(f"/n/demo/graph/{path}?depth=2")
    expect(page.locator("svg .node.centre")).to_have_attribute("data-id", f"memory:{path}")


def test_a_node_expands_to_its_neighbours(signed_in):
    page = signed_in("/n/demo/people/jonas")
    expect_graph(page)
    before = page.locator("svg .node").count()
    page.locator("svg .node.incidents").first.press("Enter")
    page.get_by_role("button", name="Expand", exact=True).click()
    expect(page.get_by_role("button", name="Expanded")).to_be_visible()
    assert page.locator("svg .node").count() > before


def test_only_one_node_is_in_the_order_of_tab(signed_in):
    page = signed_in("/n/demo/people/jonas")
    expect_graph(page)
    expect(page.locator('svg .node[tabindex="0"]')).to_have_count(1)


def test_the_graph_zooms_with_keys_and_buttons(signed_in):
    page = signed_in("/n/demo/people/jonas")
    fit_graph(page)
    picture = page.locator(".graph-picture svg")
    fitted = picture.get_attribute("data-scale")
    page.get_by_role("button", name="Zoom in").click()
    expect(picture).not_to_have_attribute("data-scale", fitted)
    enlarged = float(picture.get_attribute("data-scale"))
    assert enlarged > float(fitted)
    page.locator('svg .node[tabindex="0"]').press("-")
    expect(picture).to_have_attribute("data-scale", fitted)


def test_the_graph_is_panned_with_the_pointer(signed_in):
    page = signed_in("/n/demo/people/jonas")
    fit_graph(page)
    # The memories are above the graph.
    expect(page.locator(".about li").first).to_be_visible()
    centre = page.locator("svg .node.centre circle")
    picture = page.locator(".graph-picture svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    before = centre.get_attribute("cx")
    page.mouse.move(box["x"] + 12, box["y"] + box["height"] - 12)
    page.mouse.down()
    page.mouse.move(box["x"] + 72, box["y"] + box["height"] - 12, steps=4)
    page.mouse.up()
    expect(centre).not_to_have_attribute("cx", before)
    assert float(centre.get_attribute("cx")) > float(before)


def test_the_search_of_the_graph_selects_a_match(signed_in):
    page = signed_in("/n/demo/people/jonas")
    expect_graph(page)
    page.get_by_label("Find a node").fill("offer")
    expect(page.get_by_role("search", name="Graph").get_by_role("status")).to_contain_text("nodes match")
    expect(page.locator("svg .node.faded").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Selected node").get_by_role("heading")).to_contain_text("offer")


def test_the_search_of_the_graph_finds_other_memories(signed_in):
    page = signed_in("/n/demo/people/planetarium")
    expect_graph(page)
    page.get_by_label("Find a node").fill("sourdough starter")
    page.get_by_role("button", name="Search all memories").click()
    page.get_by_role("navigation", name="Graphs around memories").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Graph", level=1)).to_be_focused()
    expect(page.locator("svg .node.centre.skills")).to_have_count(1)


def test_the_graph_is_centred_on_another_node(signed_in):
    page = signed_in("/n/demo/people/jonas")
    expect_graph(page)
    node = page.locator("svg .node.incidents").first
    name = node.get_attribute("data-id")
    node.press("Enter")
    page.get_by_role("button", name="Center here").click()
    expect(page.locator("svg .node.centre")).to_have_attribute("data-id", name)


def test_the_table_shows_the_same_nodes_and_expands_them(signed_in):
    page = signed_in("/n/demo/people/jonas")
    expect_graph(page)
    page.get_by_text("Show as a table").click()
    rows = page.get_by_role("region", name="Nodes of the graph").locator("tbody tr")
    expect(rows.filter(has_text="incidents").first).to_be_visible()
    expect(page.locator("svg .node")).to_have_count(rows.count())
    row = rows.filter(has_text="incidents").first
    row.get_by_role("button", name="Expand").click()
    expect(row.get_by_role("cell").last).to_have_text("shown")
    expect(page.locator("svg .node")).to_have_count(rows.count())


def test_a_graph_of_many_memories_stays_readable(service, crowded, signed_in):
    claims = service.call("GET", f"/v1/profile?namespace={crowded}")
    page = signed_in(f"/n/{crowded}/people/mirela")
    fit_graph(page)
    assert page.locator("svg .node").count() <= 90, claims["subject"]
    boxes = [label.bounding_box() for label in page.locator("svg .node text").all()]
    assert len(boxes) > 1
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            overlap = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
            below = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
            assert overlap <= 6 or below <= 4, (one, other)


def test_a_hostile_name_is_harmless(signed_in):
    page = signed_in("/n/demo/people/%3Cimg%20src%3Dx%20onerror%3D%22window.pwned%3D1%22%3E")
    expect(page.get_by_text("No facts about this name")).to_be_visible()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.pwned") is None


@pytest.mark.parametrize("width", [1440, 390], ids=["desktop", "phone"])
def test_the_graph_is_in_its_picture_from_right_to_left(signed_in, width):
    page = signed_in("/n/demo/people/jonas", viewport={"width": width, "height": 900})
    fit_graph(page)
    page.evaluate("document.documentElement.dir = 'rtl'")
    expect_graph(page)
    picture = page.locator(".graph-picture svg").bounding_box()
    node = page.locator("svg .node.centre circle").bounding_box()
    assert picture["x"] <= node["x"] <= picture["x"] + picture["width"]
