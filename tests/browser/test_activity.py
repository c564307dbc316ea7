"""The view of the activity: the list of writes, dead letters, background jobs, usage, and live updates."""

import re

import pytest
from helpers import expect_focus, go, query_of, serious_violations, tab_to, unique_name, wait_until
from playwright.sync_api import Page, expect

ACTIVITY = "/n/demo/activity"
SERVER = f"{ACTIVITY}?tab=server"


def expect_activity(page: Page):
    expect(page.get_by_role("heading", name="Activity", level=1)).to_be_visible()
    expect(tabs(page).get_by_role("link", name="Writes")).to_be_visible()
    expect(page.get_by_text("Waiting writes")).to_be_visible()


def tabs(page: Page):
    return page.get_by_role("navigation", name="Parts of the activity")


def remember(service, namespace: str = "demo", wait: str = "?wait=30", credential: str | None = None) -> str:
    """Sends a conversation. Returns the id of its write."""
    word = unique_name("quay")
    messages = [{"role": "user", "name": "Noor", "content": f"My boat lies at the {word} this summer."}]
    body = {"namespace": namespace, "messages": messages}
    return service.call("POST", f"/v1/memories{wait}", body, credential)["id"]


def row_of(page: Page, write: str):
    return page.get_by_role("region", name="Writes", exact=True).get_by_role("row").filter(has_text=write)


def test_activity_is_the_second_entry_of_the_navigation(signed_in):
    page = signed_in()
    page.locator("#nav li a").nth(1).click()
    expect_activity(page)


def test_the_former_address_of_the_overview_works(signed_in):
    expect_activity(signed_in("/overview"))


def test_a_write_is_listed_with_its_state_and_its_result(service, signed_in):
    write = remember(service)
    page = signed_in(ACTIVITY)
    expect(row_of(page, write)).to_contain_text("ingested")
    expect(row_of(page, write)).to_contain_text("1 new")


def test_a_new_write_appears_by_itself(service, signed_in):
    page = signed_in(ACTIVITY)
    expect_activity(page)
    expect(row_of(page, remember(service))).to_contain_text("ingested")


def test_a_write_of_a_term_is_listed(signed_in):
    term = unique_name("term")
    page = signed_in("/n/demo/vocabulary")
    page.get_by_role("button", name="Teach a term").click()
    page.get_by_label("Term").last.fill(term)
    page.get_by_label("Definition").fill("What it means.")
    with page.expect_response(lambda response: response.request.method == "POST") as sent:
        page.get_by_role("button", name="Teach", exact=True).click()
    write = sent.value.json()["id"]
    expect(page.get_by_role("row").filter(has_text=term)).to_be_visible()
    go(page, ACTIVITY)
    expect(row_of(page, write)).to_contain_text("ingested")


def test_the_writes_of_other_namespaces_are_listed_on_request(service, signed_in):
    name = unique_name("writes")
    service.call("POST", "/v1/namespaces", {"name": name})
    write = remember(service, name)
    here = remember(service)
    page = signed_in(ACTIVITY)
    expect(row_of(page, here)).to_be_visible()
    expect(row_of(page, write)).to_have_count(0)
    page.get_by_label("Writes of").select_option("account")
    expect(row_of(page, write)).to_contain_text(name)
    assert query_of(page)["of"] == ["account"]


def test_the_state_of_the_listed_writes_is_in_the_address(failing_service, visit):
    name = unique_name("states")
    failing_service.call("POST", "/v1/namespaces", {"name": name})
    failed = remember(failing_service, name)
    body = {"namespace": name, "terms": [{"term": "quay", "definition": "The place where a boat lies."}]}
    written = failing_service.call("POST", "/v1/vocab?wait=30", body)["id"]
    page = visit(failing_service.link())
    page.get_by_role("heading", name="Search", level=1).wait_for()
    page.evaluate("place => { location.hash = place }", f"/n/{name}/activity")
    expect(row_of(page, written)).to_contain_text("ingested")
    expect(row_of(page, failed)).to_contain_text("failed")
    page.get_by_label("State", exact=True).select_option(label="failed")
    expect(row_of(page, written)).to_have_count(0)
    expect(row_of(page, failed)).to_be_visible()
    assert query_of(page)["status"] == ["dead"]
    page.get_by_label("State", exact=True).select_option(label="dropped")
    expect(page.get_by_text("No write of the last 14 days has this state")).to_be_visible()


def test_older_writes_are_on_the_next_page(service, signed_in):
    name = unique_name("pages")
    service.call("POST", "/v1/namespaces", {"name": name})
    writes = [remember(service, name, "") for _ in range(51)]
    page = signed_in(f"/n/{name}/activity")
    expect(row_of(page, writes[-1])).to_be_visible()
    expect(row_of(page, writes[0])).to_have_count(0)
    page.get_by_role("button", name="Older writes").click()
    expect(row_of(page, writes[0])).to_be_visible()
    expect(row_of(page, writes[-1])).to_have_count(0)
    page.get_by_role("button", name="Newest writes").click()
    expect(row_of(page, writes[-1])).to_be_visible()


def test_a_sender_keeps_the_name_of_its_revoked_key(service, signed_in):
    name = unique_name("sender")
    service.call("POST", "/v1/namespaces", {"name": name})
    key = service.call("POST", "/v1/keys", {"name": "Old assistant", "env": "live"})
    write = remember(service, name, credential=key["key"])
    page = signed_in(f"/n/{name}/activity")
    expect(row_of(page, write)).to_contain_text("Old assistant")
    service.call("DELETE", f"/v1/keys/{key['id']}")
    page.reload()
    expect(row_of(page, write)).to_contain_text("Old assistant")


def test_a_memory_and_its_conversation_name_the_sender(service, signed_in):
    name = unique_name("sender")
    service.call("POST", "/v1/namespaces", {"name": name})
    key = service.call("POST", "/v1/keys", {"name": "Harbour assistant", "env": "live"})["key"]
    write = remember(service, name, credential=key)
    path = service.call("GET", f"/v1/writes/{write}")["made"][0]
    page = signed_in(f"/n/{name}/memory/{path}")
    page.get_by_role("button", name="Show message").click()
    expect(page.get_by_text("Sender: key Harbour assistant")).to_be_visible()
    page.evaluate("place => { location.hash = place }", f"/n/{name}/conversations/source/{write}")
    expect(page.get_by_role("region", name="Write", exact=True)).to_contain_text("by key Harbour assistant")


def test_a_write_is_followed_by_its_id(service, signed_in):
    service.call("POST", "/v1/namespaces", {"name": "elsewhere"})
    write = remember(service, "elsewhere")
    page = signed_in(ACTIVITY)
    page.get_by_label("Id of a write").fill(write.lower())
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_role("heading", name=f"Write {write}")).to_be_visible()
    expect(page.get_by_role("heading", name="New (1)")).to_be_visible()
    made = service.call("GET", f"/v1/writes/{write}")["made"][0]
    expect(page.get_by_role("link", name=made)).to_have_attribute("href", f"#/n/elsewhere/memory/{made}")


def test_the_followed_write_is_in_the_address(service, signed_in):
    write = remember(service)
    page = signed_in(ACTIVITY)
    row_of(page, write).get_by_role("link").click()
    expect(page.get_by_role("heading", name=f"Write {write}")).to_be_visible()
    assert query_of(page)["write"] == [write]
    page.go_back()
    expect(page.get_by_role("heading", name=f"Write {write}")).to_have_count(0)


def test_an_unknown_write_is_reported(signed_in):
    page = signed_in(f"{ACTIVITY}?write=01AAAAAAAAAAAAAAAAAAAAAAAA")
    expect(page.get_by_text("This write is not known")).to_be_visible()


def test_background_jobs_are_listed_with_their_states(signed_in):
    page = signed_in(SERVER)
    row = page.get_by_role("region", name="Background jobs").get_by_role("row").filter(has_text="Ingestion")
    expect(row).to_contain_text("active")


def test_usage_counts_up_by_itself(service, signed_in):
    page = signed_in(SERVER)
    meter = page.get_by_role("img", name=re.compile("^Writes:"))
    expect(meter).to_be_visible()
    before = meter.get_attribute("aria-label")
    remember(service)
    expect(meter).not_to_have_attribute("aria-label", before)


def test_a_failed_update_keeps_the_last_data(signed_in):
    page = signed_in(ACTIVITY)
    expect_activity(page)
    page.route("**/v1/queue", lambda route: route.abort())
    expect(page.get_by_role("alert").filter(has_text="The last update failed")).to_be_visible()
    expect_activity(page)


def open_with_clock(page: Page) -> list[str]:
    """Reloads the view with a clock that the test controls. Returns the list of requests for the queue."""
    requests: list[str] = []
    page.clock.install()
    page.reload()
    expect_activity(page)
    page.on("request", lambda request: requests.append(request.url) if "/v1/queue" in request.url else None)
    with page.expect_response("**/v1/queue"):
        page.clock.run_for(10_000)
    return requests


def test_paused_updates_send_no_requests(signed_in):
    page = signed_in(ACTIVITY)
    expect_activity(page)
    requests = open_with_clock(page)
    with page.expect_response("**/v1/queue"):
        page.get_by_role("button", name="Pause updates").click()
    expect(page.get_by_text("Updates are paused.")).to_be_visible()
    # The last request is sent by an effect, which needs the clock. The response above may be that of an earlier one.
    page.clock.run_for(1_000)
    requests.clear()
    page.clock.run_for(60_000)
    page.evaluate("fetch('/health')")
    assert requests == []
    with page.expect_response("**/v1/queue"):
        page.get_by_role("button", name="Resume updates").click()


def test_a_hidden_tab_sends_no_requests(signed_in):
    page = signed_in(ACTIVITY)
    expect_activity(page)
    requests = open_with_clock(page)
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => window.isHidden, configurable: true})")
    page.evaluate("window.isHidden = true; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_load_state("networkidle")
    requests.clear()
    page.clock.run_for(60_000)
    page.evaluate("fetch('/health')")
    assert requests == []
    with page.expect_response("**/v1/queue"):
        page.evaluate("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")


def has_no_waiting_write(service) -> bool:
    return service.call("GET", "/v1/writes?status=queued,ingesting,retrying")["writes"] == []


def died_at(service) -> dict[str, str]:
    """Returns the time of the failure of each dead letter."""
    return {each["id"]: each["died_at"] for each in service.call("GET", "/v1/queue")["dead_letters"]}


@pytest.fixture
def dead_letters(failing_service, visit):
    """Two fresh dead letters: the page that shows them, and their rows."""
    # A letter that another test has retried becomes a dead letter again.
    wait_until(lambda: has_no_waiting_write(failing_service), "the end of the writes of other tests")
    for letter in failing_service.call("GET", "/v1/queue")["dead_letters"]:
        failing_service.call("DELETE", f"/v1/dead-letters/{letter['id']}")
    writes = [remember(failing_service, "default", "") for _ in range(2)]
    page = visit(failing_service.link(), bypass_csp=True)
    page.get_by_role("link", name="Activity").click()
    expect_activity(page)
    rows = page.get_by_role("region", name="Dead letters").locator("tbody tr")
    expect(rows).to_have_count(2)
    return page, rows, writes


def test_a_chat_model_that_is_down_is_shown(start, visit):
    service = start("serve", CUEBASE_MODEL_BASE_URL="http://127.0.0.1:9/v1", CUEBASE_MODEL_CHAT="unreachable")
    service.call("POST", "/v1/memories", {"messages": [{"role": "user", "content": "I like tea very much."}]})
    page = visit(service.link())
    page.get_by_role("link", name="Activity").click()
    expect_activity(page)
    expect(page.get_by_text("The chat model does not answer")).to_be_visible()


def test_dead_letters_show_their_reason_and_are_accessible(dead_letters):
    page, rows, writes = dead_letters
    expect(rows.first).to_contain_text(writes[0])
    expect(rows.first.get_by_role("cell").nth(5)).not_to_be_empty()
    assert serious_violations(page) == []


def test_a_dead_letter_is_retried(dead_letters, failing_service):
    page, rows, writes = dead_letters
    before = died_at(failing_service)[writes[0]]
    rows.first.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("status")).to_contain_text("Back in the queue")
    # The model still fails, so the write becomes a dead letter again, later than before.
    wait_until(lambda: died_at(failing_service).get(writes[0], before) > before, "the second failure of the write")
    expect(rows).to_have_count(2)


def test_a_dead_letter_is_retried_by_keyboard(dead_letters):
    page, rows, _ = dead_letters
    tab_to(page, rows.first.get_by_role("button", name="Retry"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Back in the queue")
    expect_focus(page)


def test_all_dead_letters_are_retried(dead_letters, failing_service):
    page, rows, writes = dead_letters
    before = died_at(failing_service)
    assert set(before) == set(writes)
    page.get_by_role("button", name="Retry all").click()
    expect(page.get_by_role("status")).to_contain_text("2 writes are back in the queue")
    # The model still fails, so each becomes a dead letter again, later than before.

    def have_failed_again() -> bool:
        after = died_at(failing_service)
        return set(after) == set(writes) and all(after[write] > before[write] for write in writes)

    wait_until(have_failed_again, "the second failure of both writes")
    expect(rows).to_have_count(2)


def test_a_dead_letter_is_dropped_after_a_confirmation(dead_letters):
    page, rows, _ = dead_letters
    rows.first.get_by_role("button", name="Drop").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(rows).to_have_count(2)
    rows.first.get_by_role("button", name="Drop").click()
    page.get_by_role("dialog").get_by_role("button", name="Drop").click()
    expect(rows).to_have_count(1)
