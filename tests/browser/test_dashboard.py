"""All views and actions of the dashboard, in a real browser."""

import gzip
import os
import subprocess
from urllib.error import HTTPError

import pytest
from conftest import wait_for_reload_worker
from helpers import expect_graph, expect_view, go, screenshot, serious_violations, unique_name
from playwright.sync_api import expect

DEMO = "/n/demo"
# Compressed with gzip, as a proxy in front of the server does.
FIRST_VIEW_BYTES_MAX = 120_000


def test_a_link_signs_in_once(start, visit):
    service = start("serve")
    page = visit(service.first_link)
    expect_view(page, "Search")
    assert "code" not in page.url
    again = visit(service.first_link)
    expect(again.get_by_role("alert")).to_contain_text("used, expired or unknown")


@pytest.mark.parametrize("kind", ["session", "link", "key"])
def test_a_credential_can_be_pasted(service, visit, kind):
    proof = {"session": service.session, "link": service.link(), "key": service.command("keys", "create")}[kind]
    page = visit(service.dashboard)
    page.get_by_label("Or paste the link").fill(proof)
    page.get_by_role("button", name="Sign in").click()
    expect_view(page, "Search")


def test_an_invalid_credential_is_refused(service, visit):
    page = visit(service.dashboard)
    page.get_by_label("Or paste the link").fill("a.b.c")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("rejects this credential")


def test_the_palette_goes_to_a_view_by_keyboard(signed_in):
    page = signed_in()
    page.keyboard.press("Control+k")
    expect(page.get_by_label("Command or search")).to_be_focused()
    page.keyboard.type("go vocab")
    page.keyboard.press("Enter")
    expect_view(page, "Vocabulary")


def test_a_stopped_server_is_reported_and_retried(signed_in):
    page = signed_in()
    page.route("**/v1/retrieve*", lambda route: route.abort())
    page.get_by_label("Query").fill("harbour")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("does not respond")
    page.unroute("**/v1/retrieve*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("region", name="Results")).to_be_visible()


def test_the_menu_of_a_phone_shows_the_navigation(signed_in):
    page = signed_in(viewport={"width": 390, "height": 844})
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("link", name="Keys")).to_be_visible()


def test_the_first_view_is_small(service, visit):
    bodies = []
    # A page that has loaded nothing yet.
    page = visit(f"{service.dashboard}/icon.svg")
    page.on("response", lambda response: bodies.append(response))
    page.goto(service.link())
    expect_view(page, "Search")
    sizes = {each.url: len(gzip.compress(each.body())) for each in bodies if each.request.method == "GET"}
    assert len(sizes) > 3 and 20_000 < sum(sizes.values()) < FIRST_VIEW_BYTES_MAX, sizes


def test_the_policy_allows_nothing_from_elsewhere(service, signed_in):
    page = signed_in()
    policy = page.request.get(service.dashboard).headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_a_namespace_is_made_and_deleted(signed_in):
    name = unique_name("made")
    page = signed_in("/namespaces")
    page.get_by_role("button", name="New namespace").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("link", name=name)).to_be_visible()
    page.get_by_role("button", name=f"Delete {name}").click()
    delete = page.get_by_role("button", name="Delete permanently")
    expect(delete).to_be_disabled()
    page.get_by_label(f"Type {name} to confirm").fill(name)
    delete.click()
    expect(page.get_by_role("link", name=name)).to_have_count(0)


def test_the_command_that_clones_a_namespace_is_copied_and_works(service, signed_in, tmp_path):
    page = signed_in("/namespaces", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the command that clones demo").click()
    expect(page.get_by_role("status")).to_contain_text("Copied")
    command = page.evaluate("navigator.clipboard.readText()").split()
    assert command[:2] == ["git", "clone"]
    askpass, key = tmp_path / "password", service.command("keys", "create")
    askpass.write_text(f"#!/bin/sh\necho {key}\n")
    askpass.chmod(0o700)
    environment = {**os.environ, "GIT_ASKPASS": str(askpass), "GIT_TERMINAL_PROMPT": "0"}
    subprocess.run([*command, "clone"], cwd=tmp_path, env=environment, check=True)
    assert list((tmp_path / "clone").glob("*/**/*.md"))


def test_a_link_with_invalid_percent_signs_is_rendered(service, signed_in):
    name = unique_name("percent")
    path = f"facts/{name}/boat.md"
    content = "# The boat\n\nIt is **green**, see [one](facts/%zz.md), [two](%E0%A4%A.md) and [three](a%20b.md).\n"
    service.call("POST", f"/v1/memories/{path}", {"namespace": "demo", "content": content})
    page = signed_in(f"{DEMO}/memory/{path}")
    expect_view(page, "The boat")
    expect(page.locator(".prose strong")).to_have_text("green")
    links = page.locator(".prose a")
    expect(links.nth(0)).to_have_attribute("href", "#/n/demo/memory/facts/%25zz.md")
    expect(links.nth(2)).to_have_attribute("href", f"#/n/demo/memory/facts/{name}/a%20b.md")
    # The page's own URL may have invalid percent signs, too.
    for place in ("/%zz", f"{DEMO}/memory/facts/%zz.md", "/n/%E0%A4%A/memories"):
        go(page, place)
        expect(page.locator("main[aria-busy]")).to_have_count(0)
        expect(page.locator("main h1")).to_be_visible()
    go(page, f"{DEMO}/memory/{path}")
    expect_view(page, "The boat")


def test_a_memory_shows_what_was_said(service, signed_in):
    name = unique_name("lighthouse")
    said = f"The tower {name} is painted every spring."
    messages = [{"role": "user", "name": "Noor", "content": said}]
    write = service.call("POST", "/v1/memories?wait=30", {"namespace": "demo", "messages": messages})["id"]
    path = service.call("GET", f"/v1/writes/{write}")["made"][0]
    page = signed_in(f"{DEMO}/memory/{path}")
    page.get_by_role("button", name="Show message").click()
    expect(page.locator("blockquote")).to_have_text(f"Noor: {said}")


def test_a_memory_shows_the_timeline_of_its_facts(service, signed_in):
    name = unique_name("moved")
    service.call("POST", "/v1/namespaces", {"name": name})
    for text, at in [("I live in Oslo.", "2025-01-10T09:00:00Z"), ("I moved to Bergen.", "2025-06-10T09:00:00Z")]:
        body = {"namespace": name, "messages": [{"role": "user", "content": text}], "occurred_at": at}
        service.call("POST", "/v1/memories?wait=30", body)
    claims = service.call("GET", f"/v1/profile?namespace={name}")["claims"]
    paths = {claim["value"]: claim["path"] for claim in claims if claim["attribute"] == "home"}
    page = signed_in(f"/n/{name}/memory/{paths['oslo']}", bypass_csp=True)
    expect(page.get_by_role("heading", name="user: home", exact=True)).to_be_visible()
    values = page.locator("h3:text-is('user: home') + .timeline li")
    oslo, bergen = "oslo from 10 Jan 2025 until 10 Jun 2025", "bergen from 10 Jun 2025 present"
    expect(values).to_have_text([f"{oslo} this memory", bergen])
    expect(page.locator(".timeline .own").first).to_contain_text(oslo)
    screenshot(page, "timeline-light")
    assert serious_violations(page) == []
    values.get_by_role("link", name="bergen").click()
    expect(values).to_have_text([oslo, f"{bergen}this memory"])


def test_a_memory_is_written_read_edited_and_forgotten(service, signed_in):
    name = unique_name("page")
    path = f"facts/{name}/boat.md"
    page = signed_in(f"{DEMO}/memories")
    page.get_by_role("button", name="New memory").click()
    page.get_by_label("Path").last.fill(path)
    page.get_by_label("Content").fill("# The boat\n\nIt is **green**, see [another](other.md).\n")
    page.get_by_label("Tags", exact=True).fill("harbour")
    page.get_by_label("Cues").fill("What colour is the boat?")
    page.get_by_role("button", name="Write", exact=True).click()
    expect_view(page, "The boat")
    expect(page.locator(".prose strong")).to_have_text("green")
    expect(page.locator(".prose a")).to_have_attribute("href", f"#/n/demo/memory/facts/{name}/other.md")
    expect(page.get_by_text("harbour", exact=True)).to_be_visible()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Content").fill("# The boat\n\nIt is blue.\n")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".prose")).to_contain_text("blue")
    expect(page.get_by_text("What colour is the boat?", exact=True)).to_be_visible()
    expect(page.locator(".diff .added", has_text="It is blue.")).to_be_visible()
    screenshot(page, "memory-light")
    # The first revision, as a diff and in full.
    first = page.locator(".revisions li").last
    first.get_by_role("button", name="Diff").click()
    expect(page.locator(".diff .added", has_text="green")).to_be_visible()
    first.get_by_role("link", name="Show").click()
    expect(page.locator(".prose strong")).to_have_text("green")
    page.get_by_role("link", name="Current version").click()
    expect(page.locator(".prose")).to_contain_text("blue")
    page.get_by_role("button", name="Forget").click()
    expect_view(page, "Memories")
    assert service.call("GET", "/v1/whoami")["account"] == "default"
    expect(page.get_by_text("Forgot “The boat”")).to_be_visible()
    expect(page.get_by_text("“The boat” is forgotten")).to_be_visible()
    with pytest.raises(HTTPError, match="404"):
        service.call("GET", f"/v1/memories/{path}?namespace=demo")


def test_an_error_is_shown_in_the_dialog_that_caused_it(signed_in):
    page = signed_in(f"{DEMO}/memories")
    page.get_by_role("button", name="New memory").click()
    page.get_by_label("Path").last.fill("elsewhere/x.md")
    page.get_by_label("Content").fill("x")
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("elsewhere/x.md")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_graph_can_be_walked_by_keyboard(service, signed_in):
    path = service.call("GET", "/v1/retrieve?namespace=demo&q=hazelnuts")["hits"][0]["path"]
    page = signed_in(f"{DEMO}/graph/{path}")
    expect_view(page, "Graph")
    expect_graph(page)
    node = page.locator(".node.facts:not(.centre)").first
    title = node.get_attribute("aria-label").rpartition(",")[0]
    node.focus()
    page.keyboard.press("Enter")
    details = page.get_by_role("region", name="Selected node")
    expect(details.get_by_role("heading", name=title)).to_be_visible()
    page.get_by_role("button", name="Center here").click()
    expect(page.locator(".node.centre")).to_have_attribute("aria-label", f"{title}, facts")
    screenshot(page, "graph-around-light")
    details.get_by_role("link", name="Read").click()
    expect_view(page, title)


def test_a_term_is_taught_edited_and_forgotten(signed_in):
    term = unique_name("term")
    page = signed_in(f"{DEMO}/vocabulary")
    page.get_by_role("button", name="Teach a term").click()
    page.get_by_label("Term").last.fill(term)
    page.get_by_label("Aliases").fill("one, other")
    page.get_by_label("Definition").fill("What it means.")
    page.get_by_role("button", name="Teach", exact=True).click()
    row = page.get_by_role("row").filter(has_text=term)
    expect(row).to_contain_text("What it means.")
    row.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Aliases")).to_have_value("one, other")
    page.keyboard.press("Escape")
    # A closed dialog returns the focus.
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_label("Find a term").fill("no such")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_text("No term like that.")).to_be_visible()
    page.get_by_label("Find a term").fill(term)
    page.get_by_role("button", name="Find").click()
    row.get_by_role("button", name="Forget").click()
    expect(row).to_have_count(0)


def test_skills_are_found_by_the_task(signed_in):
    page = signed_in(f"{DEMO}/skills")
    expect_view(page, "Skills")
    page.get_by_label("Task").fill("feed the sourdough starter")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("img").first).to_have_attribute("aria-label", "score " + page.locator(".score strong").first.inner_text())
    page.get_by_text("Show", exact=True).first.click()
    expect(page.locator(".prose li").first).to_contain_text("rye flour")


def test_a_conversation_is_read_and_rewound(service, signed_in):
    made = service.call("POST", "/v1/conversations", {"namespace": "demo", "title": unique_name("talk")})
    messages = [{"role": "user", "name": "Noor", "content": "First."}, {"role": "assistant", "content": "Second."}]
    service.call("POST", f"/v1/conversations/{made['id']}/messages", {"messages": messages})
    page = signed_in(f"{DEMO}/conversations")
    page.get_by_role("link", name=made["title"]).click()
    expect(page.locator(".turn")).to_have_count(2)
    screenshot(page, "conversation-light")
    page.locator(".turn").first.get_by_role("button", name="Rewind").click()
    page.get_by_role("dialog").get_by_role("button", name="Rewind").click()
    expect(page.locator(".turn")).to_have_count(1)
    # The list of branches is its own request.
    expect(page.get_by_label("Branch").locator("option")).to_have_count(2)
    other = page.get_by_label("Branch").locator("option").last.get_attribute("value")
    page.get_by_label("Branch").select_option(other)
    expect(page.locator(".turn")).to_have_count(2)
    page.get_by_role("button", name="Make active").click()
    expect(page.get_by_role("button", name="Make active")).to_have_count(0)
    page.get_by_role("button", name="Title").click()
    page.get_by_label("Title").last.fill("Another title")
    page.get_by_role("button", name="Save").click()
    expect_view(page, "Another title")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect_view(page, "Conversations")


def test_a_key_is_shown_once_copied_and_revoked(service, signed_in):
    name = unique_name("key")
    page = signed_in("/keys", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Environment").select_option("test")
    page.get_by_label("Restricted to").select_option("demo")
    page.get_by_role("button", name="Create").click()
    key = page.locator(".secret").inner_text()
    assert key.startswith("svc_test_")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == key
    page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("demo")
    assert key not in page.content()
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")


def test_the_wallet_is_recharged_on_the_providers_page(service, signed_in):
    link = service.call("POST", "/v1/billing/recharge", {"amount_paise": 50_000})["payment_link"]
    page = signed_in("/billing", elsewhere=[link.split("/")[2]])
    expect_view(page, "Billing")
    page.get_by_role("button", name="Recharge").click()
    page.get_by_label("Amount").fill("750")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/pay/**")
    page.get_by_role("button", name="Pay").click()
    expect(page.get_by_text("Paid.")).to_be_visible()
    page.goto(f"{service.dashboard}/#/billing")
    expect(page.get_by_role("cell", name="750").first).to_be_visible()
    page.get_by_role("button", name="Subscribe to growth").click()
    page.wait_for_url("**/pay/**")
    expect(page.get_by_text("Plan: growth")).to_be_visible()


def test_billing_is_hidden_without_a_payment_provider(start, visit):
    service = start("serve")
    page = visit(service.link())
    expect_view(page, "Search")
    expect(page.get_by_role("link", name="Keys")).to_be_visible()
    expect(page.get_by_role("link", name="Billing")).to_have_count(0)
    expect(page.get_by_text("payg")).to_have_count(0)
    page.evaluate("location.hash = '/billing'")
    expect_view(page, "Search")
    expect(page.get_by_text("Balance:")).to_have_count(0)


def test_hostile_memories_are_harmless(service, signed_in):
    name = unique_name("hostile")
    content = "\n\n".join(
        [
            "# <img src=x onerror='window.pwned=1'>",
            "<script>window.pwned = 1</script>",
            "<svg onload='window.pwned=1'><iframe src='javascript:parent.pwned=1'></iframe>",
            "[click](javascript:window.pwned=1) [data](data:text/html,<script>parent.pwned=1</script>)",
            "![pixel](http://elsewhere.example/pixel.png)",
            "<a href='javascript:window.pwned=1' onclick='window.pwned=1'>raw</a>",
        ]
    )
    path = f"facts/{name}/x.md"
    body = {"namespace": "demo", "content": content, "cues": [f"<b>{name}</b>"], "tags": []}
    service.call("POST", f"/v1/memories/{path}", body)
    page = signed_in(f"{DEMO}/memory/{path}")
    expect(page.locator(".prose")).to_contain_text("<script>window.pwned = 1</script>")
    assert page.locator(".prose :is(script, img, svg, iframe)").count() == 0
    for link in page.locator(".prose a").all():
        link.click(no_wait_after=True)
        assert page.evaluate("window.pwned") is None
    page.evaluate(f"location.hash = '/n/demo/search?q={name}'")
    expect(page.locator(".hit").first).to_be_visible()
    page.evaluate(f"location.hash = '/n/demo/graph/{path}'")
    expect_view(page, "Graph")
    assert page.evaluate("window.pwned") is None


def test_a_revoked_credential_asks_to_sign_in_again(service, visit):
    key = service.call("POST", "/v1/keys", {"name": unique_name("revoked"), "env": "live"})
    page = visit(service.dashboard)
    page.get_by_label("Or paste the link").fill(key["key"])
    page.get_by_role("button", name="Sign in").click()
    expect_view(page, "Search")
    wait_for_reload_worker(page)
    service.call("DELETE", f"/v1/keys/{key['id']}")
    page.reload()
    expect_view(page, "Cuebase")
    expect(page.get_by_role("alert")).to_contain_text("over")
