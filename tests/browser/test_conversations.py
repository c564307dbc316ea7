"""Conversations: the list of all that was ingested, what each message became, and deletion."""

import pytest
from helpers import go, unique_name, wait_until
from playwright.sync_api import Page, expect


def ingest(service, namespace: str, texts: list[str], session: str | None = None) -> str:
    """Ingests a conversation, waits for its end, and returns the id of its write."""
    messages = [{"role": "user", "name": "Noor", "content": text} for text in texts]
    body = {"namespace": namespace, "messages": messages, "session_id": session}
    return service.call("POST", "/v1/memories?wait=30", body)["id"]


@pytest.fixture
def namespace(service) -> str:
    name = unique_name("talks")
    service.call("POST", "/v1/namespaces", {"name": name})
    return name


@pytest.fixture(scope="module")
def outcomes(service) -> tuple[str, str]:
    """A namespace, and a write in it of which one message became a memory, one was merged and one was dropped."""
    name = unique_name("outcomes")
    service.call("POST", "/v1/namespaces", {"name": name})
    ingest(service, name, ["I live in Oslo."], "first")
    return name, ingest(service, name, ["I live in Oslo.", "ok", "I moved to Bergen."], "second")


def turn(page: Page, index: int):
    return page.locator(".turn").nth(index)


def rows(page: Page):
    return page.get_by_role("region", name="Conversations").first.locator("tbody tr")


def test_conversations_that_are_not_managed_are_listed(signed_in):
    page = signed_in("/n/demo/conversations")
    for session in ["march", "april", "may"]:
        expect(rows(page).filter(has_text=session)).to_have_count(1)


def test_a_managed_conversation_is_listed_once_with_its_writes(service, namespace, signed_in):
    made = service.call("POST", "/v1/conversations", {"namespace": namespace, "title": "The boat"})
    for text in ["The boat is green.", "The boat has two masts."]:
        body = {"messages": [{"role": "user", "content": text}]}
        service.call("POST", f"/v1/conversations/{made['id']}/messages", body)
    wait_for_sources(service, namespace, 2)
    page = signed_in(f"/n/{namespace}/conversations")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("The boat managed 2 writes")


def wait_for_sources(service, namespace: str, count: int):
    """Waits until `count` ingested conversations are kept."""

    def are_kept() -> bool:
        return len(service.call("GET", f"/v1/sources?namespace={namespace}")["sources"]) >= count

    wait_until(are_kept, f"{count} sources")


def test_conversations_are_filtered_by_session(signed_in):
    page = signed_in("/n/demo/conversations")
    page.get_by_label("Session ID").fill("april")
    page.get_by_role("button", name="Filter").click()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("april")
    assert page.url.endswith("?session=april")


def test_an_unknown_session_is_reported(signed_in):
    page = signed_in("/n/demo/conversations?session=nowhere")
    expect(page.get_by_text("No conversation of this session")).to_be_visible()


def test_pages_of_conversations_are_walked(service, namespace, signed_in):
    ids = [ingest(service, namespace, [f"Boat number {number} is green."]) for number in range(53)]
    page = signed_in(f"/n/{namespace}/conversations")
    expect(rows(page)).to_have_count(50)
    page.get_by_role("button", name="Older").click()
    expect(rows(page)).to_have_count(3)
    expect(rows(page).last.get_by_role("link").first).to_have_attribute("href", f"#/n/{namespace}/conversations/source/{ids[0]}")
    page.get_by_role("button", name="Newest").click()
    expect(rows(page)).to_have_count(50)


def test_a_message_links_to_the_memory_that_it_became(outcomes, signed_in):
    namespace, write = outcomes
    page = signed_in(f"/n/{namespace}/conversations/source/{write}")
    expect(turn(page, 2)).to_contain_text("became")
    turn(page, 2).get_by_role("link").click()
    expect(page.get_by_role("button", name="Forget")).to_be_visible()
    expect(page.locator("main")).to_contain_text("Bergen")


def test_a_message_links_to_the_memory_that_it_was_merged_into(outcomes, signed_in):
    namespace, write = outcomes
    page = signed_in(f"/n/{namespace}/conversations/source/{write}")
    expect(turn(page, 0)).to_contain_text("merged into")
    expect(turn(page, 0).get_by_role("link")).to_contain_text("Oslo")


def test_a_message_says_why_it_was_dropped(outcomes, signed_in):
    namespace, write = outcomes
    page = signed_in(f"/n/{namespace}/conversations/source/{write}")
    expect(turn(page, 1)).to_contain_text("dropped small talk")


def test_a_write_that_the_server_no_longer_has_is_explained(outcomes, signed_in):
    namespace, write = outcomes
    page = signed_in()
    missing = {"status": 404, "json": {"error": {"code": "not_found", "message": "no write has that id"}}}
    page.route(f"**/v1/writes/{write}", lambda route: route.fulfill(**missing))
    go(page, f"/n/{namespace}/conversations/source/{write}")
    expect(turn(page, 1)).to_contain_text("The reason is kept for 14 days only")
    expect(turn(page, 2)).to_contain_text("became")


def test_the_messages_of_a_managed_conversation_show_their_memories(service, namespace, signed_in):
    made = service.call("POST", "/v1/conversations", {"namespace": namespace, "title": "Home"})
    messages = [{"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "Thanks!"}]
    service.call("POST", f"/v1/conversations/{made['id']}/messages", {"messages": messages})
    wait_for_sources(service, namespace, 1)
    page = signed_in(f"/n/{namespace}/conversations/{made['id']}")
    expect(turn(page, 0)).to_contain_text("became")
    expect(turn(page, 1)).to_contain_text("dropped small talk")


def test_a_conversation_is_deleted_after_confirmation(service, namespace, signed_in):
    write = ingest(service, namespace, ["The boat is green."])
    page = signed_in(f"/n/{namespace}/conversations/source/{write}")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No conversations")).to_be_visible()
    assert service.call("GET", f"/v1/sources?namespace={namespace}")["sources"] == []


def test_a_deletion_is_cancelled(service, namespace, signed_in):
    write = ingest(service, namespace, ["The boat is green."])
    page = signed_in(f"/n/{namespace}/conversations/source/{write}")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert len(service.call("GET", f"/v1/sources?namespace={namespace}")["sources"]) == 1


def test_the_command_that_extracts_again_is_copied(outcomes, signed_in):
    namespace, write = outcomes
    page = signed_in(
        f"/n/{namespace}/conversations/source/{write}", permissions=["clipboard-read", "clipboard-write"]
    )
    expect(turn(page, 0)).to_be_visible()
    page.get_by_role("button", name="Extract again").click()
    page.get_by_role("button", name="Copy Command").click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    command = page.evaluate("navigator.clipboard.readText()")
    assert command == f"cuebase reextract --namespace {namespace} --session=second"


def test_an_unknown_conversation_is_reported(signed_in):
    page = signed_in("/n/demo/conversations/source/01J00000000000000000000000")
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_hostile_message_is_harmless(service, namespace, signed_in):
    write = ingest(service, namespace, ["I like <img src=x onerror='window.pwned=1'> very much."])
    page = signed_in(f"/n/{namespace}/conversations/source/{write}")
    expect(turn(page, 0)).to_contain_text("<img src=x")
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.pwned") is None


@pytest.mark.parametrize("width", [1440, 390], ids=["desktop", "phone"])
def test_the_turns_start_at_the_right_from_right_to_left(outcomes, signed_in, width):
    namespace, write = outcomes
    page = signed_in(f"/n/{namespace}/conversations/source/{write}", viewport={"width": width, "height": 900})
    expect(turn(page, 2).get_by_role("link")).to_be_visible()
    page.evaluate("document.documentElement.dir = 'rtl'")
    first, main = turn(page, 0).bounding_box(), page.locator("main").bounding_box()
    assert first["x"] - main["x"] < main["width"] / 4


def test_a_view_that_is_left_while_a_response_arrives_has_no_error(service, signed_in):
    made = service.call("POST", "/v1/conversations", {"namespace": "demo", "title": unique_name("left")})
    message = {"role": "user", "content": "My bicycle is blue."}
    service.call("POST", f"/v1/conversations/{made['id']}/messages", {"messages": [message]})
    page = signed_in("/n/demo/conversations", bypass_csp=True)
    page.get_by_role("link", name=made["title"]).wait_for()
    # The head of each response arrives; its body never does.
    page.evaluate(
        """() => {
            const send = window.fetch;
            window.fetch = async (url, options) => {
                if (!String(url).includes("/v1/sources/")) return send(url, options);
                const start = body => options.signal.addEventListener("abort", () => {
                    body.error(options.signal.reason);
                    document.documentElement.dataset.response = "aborted";
                });
                document.documentElement.dataset.response = "awaited";
                return new Response(new ReadableStream({ start }));
            };
        }"""
    )
    page.get_by_role("link", name=made["title"]).click()
    expect(page.locator("html")).to_have_attribute("data-response", "awaited")
    page.get_by_role("link", name="All conversations").click()
    expect(page.locator("html")).to_have_attribute("data-response", "aborted")
    expect(page.get_by_role("link", name=made["title"])).to_be_visible()
