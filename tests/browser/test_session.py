"""The session of the dashboard: its tabs, its reloads, its end, its replacement, and what the browser stores of it."""

import os
from pathlib import Path

import pytest
from conftest import ARGUMENTS, CHROMIUM, TIMEOUT_MS, wait_for_reload_worker
from helpers import expect_view, unique_name
from playwright.sync_api import Page, expect


def account_link(service, account: str) -> str:
    """Returns a link that signs in as an account."""
    return service.command("token", "--link", "--account", account).replace(service.listener, service.dashboard)


def expect_account(page: Page, account: str):
    expect(page.locator(".session strong")).to_have_text(account)


def open_tab(page: Page, address: str) -> Page:
    """Opens another tab of the same browser."""
    tab = page.context.new_page()
    tab.set_default_timeout(TIMEOUT_MS)
    tab.goto(address)
    return tab


def test_a_reload_keeps_the_session_until_the_user_signs_out(signed_in):
    page = signed_in()
    page.reload()
    expect_view(page, "Search")
    page.get_by_role("button", name="Sign out").click()
    expect_view(page, "Cuebase")
    page.reload()
    expect_view(page, "Cuebase")


def test_all_tabs_share_the_session_and_its_end(service, signed_in):
    page = signed_in()
    others = [open_tab(page, service.dashboard), open_tab(page, service.dashboard)]
    for other in others:
        expect_view(other, "Search")
        expect(other.get_by_text("Session until")).to_be_visible()
    others[0].get_by_role("button", name="Sign out").click()
    for tab in [page, *others]:
        expect_view(tab, "Cuebase")


def test_the_session_ends_with_the_last_tab(service, signed_in):
    page = signed_in()
    context = page.context
    page.close()
    later = context.new_page()
    later.goto(service.dashboard)
    expect_view(later, "Cuebase")


@pytest.mark.parametrize("place", ["a tab with the page", "another tab"])
def test_the_link_of_another_account_replaces_a_session_only_after_a_question(service, visit, place):
    own, foreign = unique_name("own"), unique_name("foreign")
    first = visit(account_link(service, own))
    expect_account(first, own)
    link = account_link(service, foreign)
    if place == "another tab":
        asked = open_tab(first, link)
    else:
        asked = first
        asked.evaluate("fragment => { location.hash = fragment }", link.partition("#")[2])
    dialog = asked.get_by_role("dialog")
    expect(dialog).to_contain_text(f"You are signed in as {own}")
    expect(dialog).to_contain_text(f"is for {foreign}")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    for tab in [first, asked]:
        expect_account(tab, own)


def test_a_replaced_session_ends_in_all_tabs(service, visit):
    own, foreign = unique_name("own"), unique_name("foreign")
    first = visit(account_link(service, own))
    expect_account(first, own)
    second = open_tab(first, account_link(service, foreign))
    second.get_by_role("button", name=f"Sign in as {foreign}").click()
    for tab in [first, second]:
        expect_account(tab, foreign)


def test_a_link_of_the_same_account_asks_nothing(service, visit):
    page = visit(service.link())
    expect_view(page, "Search")
    link = service.link()
    with page.expect_response("**/v1/namespaces*"):
        # The namespaces are loaded again with the credential of the new session.
        page.evaluate("fragment => { location.hash = fragment }", link.partition("#")[2])
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect_view(page, "Search")


def test_a_closed_browser_has_stored_nothing_of_the_credential(service, browser, tmp_path):
    key = service.call("POST", "/v1/keys", {"name": unique_name("stored"), "env": "live"})["key"]
    context = browser.browser_type.launch_persistent_context(tmp_path, executable_path=CHROMIUM, args=ARGUMENTS)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(service.dashboard)
    page.get_by_label("Or paste the link").fill(key)
    page.get_by_role("button", name="Sign in").click()
    expect_view(page, "Search")
    wait_for_reload_worker(page)
    page.reload()
    expect_view(page, "Search")
    context.close()
    assert find_files(tmp_path, key) == []


def find_files(folder: Path, text: str) -> list[str]:
    """Returns the files below a folder with the second half of a text, in an encoding of the browser."""
    half = text[len(text) // 2 :]
    forms = [half.encode(), half.encode("utf-16-le")]
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent) / name
            # Sockets and links of the running browser are no files.
            if path.is_file() and any(form in path.read_bytes() for form in forms):
                found.append(str(path))
    return found
