"""What the page shows when something fails: what happened and what to do, in plain words."""

import re

import pytest
from helpers import expect_view, go, unique_name
from playwright.sync_api import Page, expect

# The views that read the namespace in their address.
VIEWS = ["search?q=boat", "memories", "people", "people/noor", "conversations", "vocabulary", "skills"]


def expect_error(page: Page, *parts: str):
    """Waits for an error that contains all parts, and nothing of the API."""
    alert = page.locator("main [role=alert]").first
    for part in parts:
        expect(alert).to_contain_text(part)
    assert not re.search(r"/v1/|undefined|\[object|[{}]|_not_found|TypeError", alert.inner_text())


def create_namespace(service, name: str):
    """Creates a namespace with one memory."""
    service.call("POST", "/v1/namespaces", {"name": name})
    body = {"namespace": name, "content": "# The boat\n\nIts hull is green.\n"}
    service.call("POST", "/v1/memories/facts/x/boat.md", body)


def test_a_server_that_stops_is_reported(start, visit):
    service = start("serve")
    page = visit(service.link())
    expect_view(page, "Search")
    go(page, "/keys")
    expect_view(page, "Keys")
    expect(page.get_by_role("img", name=re.compile("^Reads:"))).to_be_visible()
    service.stop_process()
    go(page, "/n/default/search?q=boat")
    expect_error(page, "does not respond", "cuebase serve", "Try again")
    # The files of a view that was not shown yet may be missing, too.
    go(page, "/n/default/vocabulary")
    expect_error(page, "running")
    go(page, "/keys")
    expect_view(page, "Keys")
    page.get_by_role("button", name="New key").click()
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("The server does not respond")


def test_a_view_whose_files_do_not_arrive_is_loaded_again(signed_in):
    page = signed_in()
    page.route("**/assets/vocabulary-*", lambda route: route.abort())
    go(page, "/n/demo/vocabulary")
    expect_error(page, "could not be loaded", "reload the page")
    page.unroute("**/assets/vocabulary-*")
    page.get_by_role("button", name="Reload the page").click()
    expect_view(page, "Vocabulary")


def test_a_key_that_is_revoked_asks_to_sign_in_again(service, visit):
    key = service.call("POST", "/v1/keys", {"name": unique_name("revoked"), "env": "live"})
    page = visit(service.dashboard)
    page.get_by_label("Or paste the link").fill(key["key"])
    page.get_by_role("button", name="Sign in").click()
    expect_view(page, "Search")
    service.call("DELETE", f"/v1/keys/{key['id']}")
    page.get_by_label("Query").fill("boat")
    page.keyboard.press("Enter")
    expect_view(page, "Cuebase")
    expect(page.get_by_role("alert")).to_contain_text("revoked")
    expect(page.get_by_text("cuebase token --link")).to_be_visible()


@pytest.fixture(scope="module")
def damaged(start):
    """A server of which the repository of the namespace `boats` is moved away."""
    service = start("serve")
    for name in ["boats", "others"]:
        create_namespace(service, name)
    service.stop_process()
    (repository,) = service.data.glob("repositories/*/boats.*")
    repository.rename(service.folder / "moved.git")
    service.launch()
    return service


@pytest.mark.parametrize("place", ["search?q=boat", "memories", "memory/facts/x/boat.md", "people"])
def test_a_damaged_namespace_is_reported(damaged, visit, place):
    page = visit(damaged.link())
    expect_view(page, "Search")
    go(page, f"/n/boats/{place}")
    expect_error(page, "This namespace is damaged", "cuebase doctor")


def test_other_namespaces_work_next_to_a_damaged_one(damaged, visit):
    page = visit(damaged.link())
    expect_view(page, "Search")
    go(page, "/n/boats/memories")
    expect_error(page, "Other namespaces keep working")
    page.get_by_label("Namespace").select_option("others")
    expect(page.get_by_role("link", name="The boat", exact=True)).to_be_visible()


def test_a_namespace_that_was_deleted_elsewhere_is_reported_by_every_view(service, signed_in):
    name = unique_name("deleted")
    create_namespace(service, name)
    page = signed_in(f"/n/{name}/memory/facts/x/boat.md")
    expect_view(page, "The boat")
    service.call("DELETE", f"/v1/namespaces/{name}")
    for place in [*VIEWS, "memory/facts/x/other.md", "conversations/source/01J00000000000000000000000"]:
        go(page, f"/n/{name}/{place}")
        expect_error(page, "This namespace does not exist", "It was deleted or never created", "navigation")


def test_a_write_to_a_namespace_that_was_deleted_elsewhere_is_explained(service, signed_in):
    name = unique_name("deleted")
    create_namespace(service, name)
    page = signed_in(f"/n/{name}/memories")
    page.locator(".memory-row").get_by_role("checkbox").check()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_label("Add tags").fill("new")
    service.call("DELETE", f"/v1/namespaces/{name}")
    page.get_by_role("button", name="Save tags").click()
    alert = page.get_by_role("dialog").get_by_role("alert")
    expect(alert).to_contain_text("This namespace does not exist")
    expect(alert).not_to_contain_text("/v1/")


@pytest.mark.parametrize(
    "place",
    [
        "memory/facts/nowhere.md",
        "memory/facts/nowhere.md?revision=0123456789012345678901234567890123456789",
        "conversations/source/01J00000000000000000000000",
        "conversations/01J00000000000000000000000",
    ],
)
def test_an_address_of_nothing_says_what_to_do(signed_in, place):
    page = signed_in(f"/n/demo/{place}")
    expect_error(page, "Nothing is stored at this address", "deleted or moved", "Search for it")
