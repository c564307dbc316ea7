"""The main actions with the keyboard alone. After each one the focus is on an element of the view, and visible."""

import re

import pytest
from helpers import expect_focus, expect_graph, expect_view, tab_to, unique_name
from playwright.sync_api import Page, expect

SEARCH = "/n/demo/search?q=When+did+Priya+break+her+wrist%3F"
# Returns the node that has the focus after two frames, in which a key that was sent before arrives.
READ_FOCUSED_NODE = """async () => {
    await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return document.activeElement.dataset.id;
}"""


@pytest.fixture
def namespace(service) -> str:
    """A namespace with two memories."""
    name = unique_name("keyboard")
    service.call("POST", "/v1/namespaces", {"name": name})
    for title in ["One", "Two"]:
        body = {"namespace": name, "content": f"# {title}\n\nIts hull is green.\n", "tags": ["old"]}
        service.call("POST", f"/v1/memories/facts/x/{title.lower()}.md", body)
    return name


def row(page: Page, title: str):
    return page.locator(".memory-row").filter(has=page.get_by_role("link", name=title, exact=True))


def button(page: Page, name: str):
    return page.get_by_role("button", name=name, exact=True)


def press(page: Page, name: str):
    """Goes to a button with Tab, and presses it."""
    tab_to(page, button(page, name))
    page.keyboard.press("Enter")


def test_a_search_is_explained_and_its_hit_opened(signed_in):
    page = signed_in("/n/demo/search")
    # The key belongs to the view, which is loaded after the frame.
    expect(page.get_by_label("Query")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Query")).to_be_focused()
    page.keyboard.type("What is Jonas allergic to?")
    page.keyboard.press("Enter")
    hit = page.locator(".hit").first
    expect(hit).to_contain_text("hazelnuts")
    tab_to(page, hit.locator("summary", has_text="Why this score?"))
    page.keyboard.press("Enter")
    expect(hit.locator(".waterfall li").first).to_be_visible()
    tab_to(page, hit.get_by_role("link").first, "Shift+Tab")
    page.keyboard.press("Enter")
    expect(button(page, "Forget")).to_be_visible()
    expect(page.locator("h1")).to_be_focused()


def test_a_dialog_takes_the_focus_and_returns_it(signed_in):
    page = signed_in(SEARCH)
    press(page, "Copy as code")
    expect(button(page, "Copy curl")).to_be_focused()
    page.keyboard.press("Escape")
    expect(button(page, "Copy as code")).to_be_focused()


def test_a_filter_is_chosen(signed_in):
    page = signed_in(SEARCH)
    tab_to(page, page.locator("summary", has_text="Filters"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("checkbox", name="skills"))
    page.keyboard.press("Space")
    expect(page.locator(".hit code").first).to_have_text(re.compile("^skills/"))
    expect(page.get_by_role("checkbox", name="skills")).to_be_focused()


def test_rows_are_selected_forgotten_and_brought_back(namespace, signed_in):
    page = signed_in(f"/n/{namespace}/memories")
    tab_to(page, row(page, "One").get_by_role("checkbox"))
    page.keyboard.press("Space")
    expect(page.get_by_text("1 selected")).to_be_visible()
    tab_to(page, button(page, "Forget"), "Shift+Tab")
    page.keyboard.press("Enter")
    expect(row(page, "One")).to_have_count(0)
    expect_focus(page)
    page.keyboard.press("Control+z")
    expect(row(page, "One")).to_be_visible()
    expect(page.get_by_text("Forgot")).to_have_count(0)


def test_a_memory_is_forgotten_and_brought_back(namespace, signed_in):
    page = signed_in(f"/n/{namespace}/memory/facts/x/one.md")
    press(page, "Forget")
    expect_view(page, "Memories")
    expect(page.locator("h1")).to_be_focused()
    page.keyboard.press("Control+z")
    expect(row(page, "One")).to_be_visible()
    expect_focus(page)


def test_rows_are_tagged(namespace, signed_in):
    page = signed_in(f"/n/{namespace}/memories")
    tab_to(page, row(page, "One").get_by_role("checkbox"))
    page.keyboard.press("Space")
    tab_to(page, button(page, "Tag"), "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Add tags")).to_be_focused()
    page.keyboard.type("new")
    page.keyboard.press("Tab")
    page.keyboard.type("old")
    page.keyboard.press("Enter")
    expect(row(page, "One")).to_contain_text("new")
    expect(row(page, "One")).not_to_contain_text("old")
    expect_focus(page)


def test_a_memory_is_edited_previewed_and_guarded(namespace, signed_in):
    page = signed_in(f"/n/{namespace}/memory/facts/x/one.md")
    press(page, "Edit")
    expect(page.get_by_label("Content")).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type("It has **two** masts.")
    press(page, "Preview")
    expect(page.get_by_role("region", name="Preview").locator("strong")).to_have_text("two")
    expect(button(page, "Preview")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Content")).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.type("go keys")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Leave without saving?")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.get_by_label("Content")).to_have_value(re.compile("two"))
    expect_focus(page)
    press(page, "Save")
    expect(page.locator(".prose strong")).to_have_text("two")
    expect(button(page, "Edit")).to_be_focused()


def test_an_edit_is_discarded(namespace, signed_in):
    page = signed_in(f"/n/{namespace}/memory/facts/x/one.md")
    press(page, "Edit")
    expect(page.get_by_label("Content")).to_be_focused()
    page.keyboard.type("Changed. ")
    press(page, "Cancel")
    tab_to(page, button(page, "Discard the changes"))
    page.keyboard.press("Enter")
    expect(page.locator(".prose")).to_contain_text("Its hull is green.")
    expect(button(page, "Edit")).to_be_focused()


def test_a_memory_is_written(namespace, signed_in):
    page = signed_in(f"/n/{namespace}/memories")
    press(page, "New memory")
    expect(page.get_by_role("dialog").get_by_label("Path")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type("x/three.md")
    page.keyboard.press("Tab")
    page.keyboard.type("# Three\n\nIts hull is red.\n")
    press(page, "Write")
    expect_view(page, "Three")
    expect(page.locator("h1")).to_be_focused()


def test_a_key_is_created_and_revoked(signed_in):
    name = unique_name("key")
    page = signed_in("/keys")
    press(page, "New key")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(page.locator(".secret")).to_be_visible()
    press(page, "Done")
    expect(button(page, "New key")).to_be_focused()
    press(page, f"Revoke {name}")
    expect(button(page, "Cancel")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").filter(has_text=name)).to_contain_text("revoked")
    expect_focus(page)


def test_a_namespace_is_created_and_deleted(signed_in):
    name = unique_name("keyboard")
    page = signed_in("/namespaces")
    press(page, "New namespace")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name=name)).to_be_visible()
    expect(button(page, "New namespace")).to_be_focused()
    press(page, f"Delete {name}")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name=name)).to_have_count(0)
    expect_focus(page)


def test_a_term_is_taught_edited_and_forgotten(signed_in):
    term = unique_name("term")
    page = signed_in(f"/n/demo/vocabulary?like={term}")
    press(page, "Teach a term")
    page.keyboard.type(term)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("What it means.")
    press(page, "Teach")
    found = page.get_by_role("row").filter(has_text=term)
    expect(found).to_contain_text("What it means.")
    expect(button(page, "Teach a term")).to_be_focused()
    press(page, f"Edit {term}")
    expect(page.get_by_label("Aliases")).to_be_focused()
    page.keyboard.type("other name")
    page.keyboard.press("Enter")
    expect(found).to_contain_text("other name")
    expect(button(page, f"Edit {term}")).to_be_focused()
    press(page, f"Forget {term}")
    expect(found).to_have_count(0)
    expect_focus(page)
    page.keyboard.press("Control+z")
    expect(found).to_be_visible()


def test_a_skill_is_created_and_edited(signed_in):
    name = unique_name("skill")
    page = signed_in("/n/demo/skills")
    press(page, "New skill")
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type("Keeps it going.")
    tab_to(page, page.get_by_label("Content"))
    page.keyboard.type("1. Feed it.")
    press(page, "Save")
    card = page.locator("section.card").filter(has=page.get_by_role("link", name=name, exact=True))
    expect(card).to_contain_text("Keeps it going.")
    expect(button(page, "New skill")).to_be_focused()
    press(page, f"Edit {name}")
    tab_to(page, page.get_by_label("Description"))
    page.keyboard.press("Control+a")
    page.keyboard.type("Keeps it warm.")
    page.keyboard.press("Enter")
    expect(card).to_contain_text("Keeps it warm.")
    expect(button(page, f"Edit {name}")).to_be_focused()


def test_a_node_of_the_graph_is_expanded(signed_in):
    page = signed_in("/n/demo/people/jonas")
    expect_graph(page)
    tab_to(page, page.locator('svg .node[tabindex="0"]'))
    for key in ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"]:
        page.keyboard.press(key)
        focused = page.evaluate(READ_FOCUSED_NODE)
        if focused != "subject:jonas":
            break
    assert focused != "subject:jonas"
    node = page.locator(f'svg [data-id="{focused}"]')
    before = page.locator("svg .node").count()
    page.keyboard.press("Enter")
    expect(node).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Expanded")).to_be_visible()
    assert page.locator("svg .node").count() >= before
    expect(node).to_be_focused()
