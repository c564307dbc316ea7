"""A memory: its content, claims, relations, sources, revisions and place in a document, and the actions on it."""

import json

import pytest
from helpers import expect_view, go, unique_name
from playwright.sync_api import Page, expect

CLINIC = "facts/priya/2026-03/altona-clinic-doctor-brandt-put-blue.md"
VIEW = f"/n/demo/memory/{CLINIC}"


@pytest.fixture
def boat(service) -> str:
    """The path of a memory with two revisions."""
    path = f"facts/{unique_name('boats')}/boat.md"
    for colour in ["green", "blue"]:
        content = f"# The boat\n\nIts hull is {colour} since May.\n"
        body = {"namespace": "demo", "content": content, "tags": ["harbour"], "cues": ["What colour is the boat?"]}
        service.call("POST", f"/v1/memories/{path}", body)
    return path


def card(page: Page, title: str):
    return page.locator(".card").filter(has=page.get_by_role("heading", name=title, level=2, exact=True))


def edit_content(page: Page):
    """Changes the content in the editor. The first change sets the guard at the latest when the second is rendered."""
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Content").fill("# Chang\n")
    page.get_by_label("Content").fill("# Changed\n")


def test_relations_are_shown_in_both_directions(signed_in):
    page = signed_in(VIEW)
    relations = card(page, "Relations")
    expect(relations.get_by_role("link", name="Priya: My week was worse.")).to_be_visible()
    expect(relations.get_by_role("link", name="Jonas: If you bake for me again")).to_be_visible()


def test_a_source_opens_the_conversation_at_its_turn(signed_in):
    page = signed_in(VIEW)
    card(page, "Sources").get_by_role("button", name="Open the conversation").last.click()
    turn = page.get_by_role("dialog").locator(".turn[aria-current]")
    expect(turn).to_contain_text("Altona clinic")
    expect(turn).to_be_in_viewport()


def test_the_place_in_a_document_is_shown(signed_in):
    """The server of this test may not have documents, so the response is extended as a server with documents does."""
    page = signed_in()

    def extend(route):
        response = route.fetch()
        place = {"id": "handbook-pdf", "name": "handbook.pdf", "titles": ["Handbook", "Fuel"], "position": 0}
        route.fulfill(response=response, json={**response.json(), "document": {**place, "page": 7, "line": None}})

    page.route("**/v1/memories/**", extend)
    go(page, VIEW)
    place = card(page, "In a document")
    expect(place).to_contain_text("handbook.pdf, page 7")
    expect(place.get_by_role("listitem")).to_have_text(["Handbook", "Fuel"])
    expect(place.get_by_role("link")).to_have_attribute("href", "#/n/demo/memories?document=handbook-pdf")


def test_the_last_change_is_shown_as_words_of_the_text(signed_in, boat):
    page = signed_in(f"/n/demo/memory/{boat}")
    expect(page.locator(".diff .removed strong").first).to_have_text("green")
    expect(page.locator(".diff .added strong").first).to_have_text("blue")
    expect(page.locator(".diff").first).not_to_contain_text("updated_at")


def test_the_front_matter_of_a_change_is_folded(signed_in, boat):
    page = signed_in(f"/n/demo/memory/{boat}")
    changed = page.locator(".diff.code", has_text="updated_at")
    expect(page.get_by_text("Front matter:")).to_be_visible()
    expect(changed).to_be_hidden()
    page.get_by_text("Front matter:").click()
    expect(changed).to_be_visible()


def test_an_earlier_revision_is_shown_in_full(signed_in, boat):
    page = signed_in(f"/n/demo/memory/{boat}")
    page.locator(".revisions li").last.get_by_role("link", name="Show").click()
    expect(page.locator(".prose")).to_contain_text("green")
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    page.get_by_role("link", name="Current version").click()
    expect(page.locator(".prose")).to_contain_text("blue")


def test_an_edit_keeps_what_is_not_changed(service, signed_in, boat):
    page = signed_in(f"/n/demo/memory/{boat}")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Content").fill("# The boat\n\nIts hull is red.\n")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".prose")).to_contain_text("red")
    memory = service.call("GET", f"/v1/memories/{boat}?namespace=demo&detail=full")
    assert memory["user_tags"] == ["harbour"] and "What colour is the boat?" in memory["cues"]


def test_an_edit_is_previewed(signed_in, boat):
    page = signed_in(f"/n/demo/memory/{boat}")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Content").fill("# The ship\n\nIt is **fast**.\n")
    page.get_by_role("button", name="Preview").click()
    preview = page.get_by_role("region", name="Preview")
    expect(preview.get_by_role("heading", name="The ship")).to_be_visible()
    expect(preview.locator("strong")).to_have_text("fast")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_label("Content")).to_have_value("# The ship\n\nIt is **fast**.\n")


def test_unsaved_changes_are_guarded_against_a_link(signed_in, boat):
    page = signed_in(f"/n/demo/memory/{boat}")
    edit_content(page)
    page.get_by_role("link", name="Search", exact=True).click()
    dialog = page.get_by_role("dialog", name="Leave without saving?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_label("Content")).to_have_value("# Changed\n")
    assert boat in page.url
    page.get_by_role("link", name="Search", exact=True).click()
    dialog.get_by_role("button", name="Discard the changes").click()
    expect_view(page, "Search")


def test_unsaved_changes_are_guarded_against_back(signed_in, boat):
    page = signed_in(f"/n/demo/memory/{boat}")
    edit_content(page)
    page.go_back()
    page.get_by_role("dialog", name="Leave without saving?").get_by_role("button", name="Cancel").click()
    expect(page.get_by_label("Content")).to_have_value("# Changed\n")


def test_an_edit_that_is_refused_reports_the_error(signed_in, boat):
    page = signed_in(f"/n/demo/memory/{boat}")
    page.get_by_role("button", name="Edit").click()
    # The editor takes the focus to its content.
    expect(page.get_by_label("Content")).to_be_focused()
    page.get_by_label("Tags").fill("x" * 5000)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("form", name="Edit the memory").get_by_role("alert")).to_contain_text("tag")


def test_forgetting_is_undone(service, signed_in, boat):
    page = signed_in(f"/n/demo/memory/{boat}")
    page.get_by_role("button", name="Forget").click()
    expect_view(page, "Memories")
    page.get_by_role("button", name="Undo").click()
    go(page, f"/n/demo/memory/{boat}")
    expect(page.locator(".prose")).to_contain_text("blue")


def test_a_memory_is_copied_as_code(signed_in):
    page = signed_in(VIEW, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as code").click()
    page.get_by_role("button", name="Copy Python").click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    code = page.evaluate("navigator.clipboard.readText()")
    assert "memory.get(" in code and json.dumps(CLINIC) in code


def test_a_memory_that_does_not_exist_is_reported(signed_in):
    page = signed_in("/n/demo/memory/facts/nowhere.md")
    expect(page.get_by_role("alert")).to_contain_text("facts/nowhere.md")
