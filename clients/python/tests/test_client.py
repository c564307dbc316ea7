"""Every method, tested with a real server."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from datetime import date, datetime, timezone

import pytest
from conftest import Service

import cuebase
from cuebase import AsyncClient, Client, Message

SAID: list[Message] = [
    {"role": "assistant", "content": "Which seat do you like on long flights?"},
    {"role": "user", "name": "Noor", "content": "An aisle seat, always. And I moved to Lisbon last week."},
]


def fresh(client: Client) -> str:
    return client.create_namespace(f"n-{uuid.uuid4().hex[:12]}").name


def test_a_conversation_is_remembered_and_retrieved(client: Client) -> None:
    namespace = fresh(client)
    at = datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
    accepted = client.remember(SAID, namespace=namespace, session_id="s", tags=["Travel"], occurred_at=at)
    made = client.wait_until_ingested(accepted)
    assert made and all(each.sources for each in made)
    found = client.retrieve("where does Noor live", namespace=namespace)
    best = found.hits[0]
    assert "Lisbon" in best.content and 0 < best.score <= 1 and best.matched
    assert best.user_tags == ("travel",) and "travel" in best.tags
    assert best.occurred_at == at and best.created_at and best.created_at.tzinfo
    assert best.revisions is None and found.vector_ms >= 0
    full = client.retrieve(tags=["travel"], namespace=namespace, detail="full").hits[0]
    assert full.revisions and full.last_diff and full.cues is not None and full.relations is not None
    assert full.score == 1


def test_a_plain_text_is_remembered(client: Client) -> None:
    namespace = fresh(client)
    accepted = client.remember("My bicycle is green and stands in the cellar.", namespace=namespace)
    assert "bicycle" in client.wait_until_ingested(accepted)[0].content
    made = client.create_conversation(namespace=namespace)
    assert len(client.append(made.id, "The cellar is dry.")) == 1


def test_answer_takes_the_filters_of_retrieve(client: Client) -> None:
    namespace = fresh(client)
    client.write("facts/noor/seat.md", "# Seats\n\nNoor takes the aisle.\n", namespace=namespace, tags=["travel"], cues=["Which seat?"])
    answer = client.answer(
        "Which seat?",
        namespace=namespace,
        tiers=["facts"],
        paths=["facts/noor"],
        tags=["travel"],
        tags_all="travel",
        since=date(2020, 1, 1),
        until=datetime(2999, 1, 1),
        time_field="updated",
        timezone="Europe/Lisbon",
        min_score=0.01,
        limit=3,
    )
    assert answer.citations[0].path == "facts/noor/seat.md"
    with pytest.raises(cuebase.NotFound, match="no_answer"):
        client.answer("Which seat?", namespace=namespace, until=date(2020, 1, 1))


def test_retrieve_needs_a_query_or_a_filter(client: Client) -> None:
    for query in (None, "", "  "):
        with pytest.raises(ValueError, match="query"):
            client.retrieve(query, limit=3)
    assert client.retrieve(tiers=["facts"], until=date(2026, 1, 1)).hits == ()


def test_waiting_for_a_write_without_memories_ends_when_it_is_ingested(client: Client) -> None:
    accepted = client.remember([{"role": "user", "content": "ok"}], namespace=fresh(client))
    assert client.wait_until_ingested(accepted) == ()


def test_waiting_for_a_write_ends_when_the_time_is_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = client.remember("My bicycle is green.", namespace=fresh(client))
    state = client.write_state(accepted.id)
    monkeypatch.setattr(client, "write_state", lambda *_, **__: dataclasses.replace(state, status="queued"))
    with pytest.raises(cuebase.NotIngested, match="not ingested within 0.1 s"):
        client.wait_until_ingested(accepted, timeout=0.1)


def test_a_long_query_is_sent_in_a_body(client: Client) -> None:
    namespace = fresh(client)
    long = "The parcel came late and the rain did not stop. " * 400 + "Which colour does my bicycle have?"
    client.wait_until_ingested(client.remember("My bicycle is green.", namespace=namespace))
    assert "green" in client.retrieve(long, namespace=namespace, tiers=["facts"], limit=3).hits[0].content
    assert "green" in client.context(long, namespace=namespace, max_tokens=200).text


def test_memories_by_path(client: Client) -> None:
    namespace = fresh(client)
    path = "facts/noor/the seat.md".replace(" ", "-")
    expires = datetime(2999, 1, 1)
    text = "# Seats\n\nThe aisle.\n\n## Trains\n\nThe window.\n"
    written = client.write(path, text, namespace=namespace, tags=["x"], cues=["Which seat?"], occurred_at=date(2026, 5, 4), expires_at=expires)
    assert written.path == path and len(written.commit) == 40
    memory = client.get(path, namespace=namespace, detail="full")
    assert memory.occurred_at == datetime(2026, 5, 4, 12, tzinfo=timezone.utc) and memory.occurred_precision == "day"
    assert memory.expires_at == expires.replace(tzinfo=timezone.utc)
    assert memory.cues == ("Which seat?",) and memory.sections == ("Seats", "Trains")
    assert "window" in client.get(f"{path}#Trains", namespace=namespace).content
    assert client.retrieve("Which seat?", namespace=namespace).hits[0].path == path
    client.write(path, "# Seats\n\nNow the window.\n", namespace=namespace)
    assert "aisle" in client.get(path, namespace=namespace, revision=written.commit).content
    assert [each.path for each in client.tree("facts", namespace=namespace)] == ["facts/noor"]
    assert [(each.tier, each.topic, each.memories) for each in client.topics(namespace=namespace)] == [("facts", "noor", 1)]
    assert client.graph(namespace=namespace).nodes[0].title == "Seats"
    answer = client.answer("Which seat?", namespace=namespace, tiers=["facts"])
    assert answer.model == "extractive" and answer.citations[0].path == path
    client.forget(path, namespace=namespace)
    wait_until_forgotten(client, path, namespace)
    with pytest.raises(cuebase.NotFound) as raised:
        client.answer("Which seat?", namespace=namespace)
    assert raised.value.code == "no_answer"


def test_memories_are_listed_page_after_page(client: Client, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = fresh(client)
    for number in range(5):
        client.write(f"facts/{number}.md", f"# Note {number}\n", namespace=namespace, tags=["odd"] if number % 2 else [])
    monkeypatch.setattr("cuebase._sync._MEMORIES_PAGE", 2)
    monkeypatch.setattr("cuebase._async._MEMORIES_PAGE", 2)
    expected = [f"facts/{number}.md" for number in range(5)]
    assert [each.path for each in client.memories(namespace=namespace, order="title")] == expected
    assert [each.path for each in client.memories(namespace=namespace, tags=["odd"], order="oldest")] == expected[1::2]

    async def use() -> None:
        async with AsyncClient(service.url, service.key, namespace=namespace) as awaited:
            assert [each.path async for each in awaited.memories(order="oldest")] == expected

    asyncio.run(use())


def test_metadata_and_validity(client: Client) -> None:
    namespace = fresh(client)
    old, new = "facts/noor/desk-1.md", "facts/noor/desk-2.md"
    client.write(old, "# Noor sits at desk 1\n", namespace=namespace, occurred_at=date(2026, 1, 5), metadata={"floor": 1})
    moved = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
    client.write(new, "# Noor sits at desk 2\n", namespace=namespace, metadata={"floor": 2}, valid_from=moved, supersedes=[old])
    found = client.retrieve("where does Noor sit", namespace=namespace).hits
    assert [(hit.path, hit.current) for hit in found] == [(new, True), (old, False)]
    assert found[0].supersedes == (old,) and found[1].superseded_by == (new,)
    assert found[0].valid_from == moved and found[1].valid_until == moved
    assert found[0].metadata == {"floor": 2}
    only = client.retrieve("where does Noor sit", namespace=namespace, current="only").hits
    assert [hit.path for hit in only] == [new]
    earlier = client.retrieve("where does Noor sit", namespace=namespace, as_of=date(2026, 2, 1)).hits
    assert [(hit.path, hit.current) for hit in earlier] == [(old, True)]
    listed = client.retrieve(where=["floor>=2"], namespace=namespace).hits
    assert [hit.path for hit in listed] == [new]


def test_a_query_explains_its_hits_and_a_path(client: Client) -> None:
    namespace = fresh(client)
    price, hull = "facts/ferry/price.md", "facts/ferry/hull.md"
    client.write(price, "# Price\n\nThe ferry costs three crowns.\n", namespace=namespace)
    client.write(hull, "# Hull\n\nThe ferry is green.\n", namespace=namespace, tags=["paint"])
    query = "What does the ferry cost?"
    assert client.retrieve(query, namespace=namespace).hits[0].explanation is None
    hit = client.retrieve(query, namespace=namespace, explain=True).hits[0]
    assert hit.path == price and hit.explanation and hit.explanation.arms and hit.explanation.contributions
    assert "ferry" in [each.term for each in hit.explanation.terms]
    best = client.explain(query, price, namespace=namespace)
    assert (best.found, best.rank, best.excluded_by, best.explanation) == (True, 1, (), hit.explanation)
    last = client.explain(query, hull, namespace=namespace, limit=1)
    assert (last.found, last.rank, last.excluded_by, last.outranked_by) == (False, 2, ("limit",), (price,))
    assert "filter" in client.explain(query, price, namespace=namespace, tags=["paint"]).excluded_by
    unknown = client.explain(query, "facts/no/such.md", namespace=namespace)
    assert (unknown.excluded_by, unknown.rank, unknown.explanation) == (("unknown_path",), None, None)


def test_the_state_of_a_write_tells_a_write_without_memories_from_a_queued_one(client: Client) -> None:
    namespace = fresh(client)
    empty = client.write_state(client.remember("ok", namespace=namespace).id, wait=60)
    assert (empty.status, empty.namespace, empty.made) == ("ingested", namespace, ())
    assert [each.message for each in empty.dropped] == [0] and empty.finished_at
    full = client.write_state(client.remember(SAID, namespace=namespace).id, wait=60)
    assert full.status == "ingested" and "Lisbon" in "".join(client.get(path, namespace=namespace).content for path in full.made)
    with pytest.raises(cuebase.NotFound):
        client.write_state("01HZZZZZZZZZZZZZZZZZZZZZZZ")


def wait_until_forgotten(client: Client, path: str, namespace: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            client.get(path, namespace=namespace)
        except cuebase.NotFound:
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} was not forgotten within 60 s")


def test_vocabulary_and_skills(client: Client) -> None:
    namespace = fresh(client)
    client.teach([{"term": "OKR", "aliases": ["objective"], "definition": "A goal."}], namespace=namespace)
    stored = client.store_skills([{"name": "Brew tea", "description": "How to brew tea.", "topic": "kitchen"}], namespace=namespace)
    assert stored.paths == ("skills/kitchen/brew-tea.md",)
    client.wait_until_ingested(stored)
    while client.resolve("objective", namespace=namespace) is None:
        pass
    assert client.vocabulary(like="ok", namespace=namespace)[0].definition == "A goal."
    defined = client.retrieve("what is our objective", namespace=namespace).defined
    assert defined[0].term == "OKR"
    assert client.skills("brewing tea", namespace=namespace)[0].score is not None
    assert client.skills(namespace=namespace)[0].score is None
    client.forget_terms(["OKR"], namespace=namespace)
    while client.resolve("OKR", namespace=namespace) is not None:
        pass


def test_conversations(client: Client) -> None:
    namespace = fresh(client)
    made = client.create_conversation("Flights", namespace=namespace)
    ids = client.append(made.id, SAID)
    shown = client.conversation(made.id)
    assert shown.messages and [each.id for each in shown.messages] == list(ids)
    branch = client.edit(made.id, ids[1], "A window seat.")
    assert {each.name for each in client.branches(made.id)} == {"main", branch}
    assert client.edit_in_place(made.id, ids[0], "Which seat?").edited_at
    client.update_conversation(made.id, title="Seats", branch="main")
    client.rewind(made.id, ids[0])
    assert len(client.conversation(made.id).messages or ()) == 1
    assert [each.title for each in client.conversations(namespace=namespace)] == ["Seats"]
    client.delete_conversation(made.id)
    assert list(client.conversations(namespace=namespace)) == []


def kept(client: Client, accepted: cuebase.Accepted) -> cuebase.SourceConversation:
    """Waits until a write is ingested and returns its kept conversation."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return client.source(accepted.id, namespace=accepted.namespace)
        except cuebase.NotFound:
            time.sleep(0.01)
    raise AssertionError(f"write {accepted.id} was not kept within 60 s")


def test_a_memory_names_the_write_that_it_came_from(client: Client) -> None:
    accepted = client.remember(SAID, namespace=fresh(client), session_id="s")
    memory = client.wait_until_ingested(accepted)[0]
    assert memory.sources and {(each.write, each.session_id) for each in memory.sources} == {(accepted.id, "s")}


def test_a_kept_conversation_is_returned_as_it_was_accepted(client: Client) -> None:
    namespace = fresh(client)
    said: list[Message] = [SAID[0], {**SAID[1], "occurred_at": "2026-05-05T08:00:00Z"}]
    accepted = client.remember(
        said, namespace=namespace, session_id="s", tags=["travel"], occurred_at=date(2026, 5, 4), timezone="Europe/Paris"
    )
    source = kept(client, accepted)
    assert (source.id, source.namespace, source.session_id) == (accepted.id, namespace, "s")
    assert (source.tags, source.occurred_at, source.timezone) == (("travel",), "2026-05-04", "Europe/Paris")
    assert source.messages == (
        cuebase.SourceMessage("assistant", "Which seat do you like on long flights?", None, None),
        cuebase.SourceMessage("user", str(SAID[1]["content"]), "Noor", "2026-05-05T08:00:00Z"),
    )
    assert source.accepted_at.tzinfo
    assert "Lisbon" in client.get(source.memories[0], namespace=namespace).content
    assert [(each.path, each.current) for each in source.extracted] == [(source.memories[0], True)]
    assert source.extracted[0].messages and source.extracted[0].title


def test_omitted_fields_of_a_kept_conversation_are_none_or_empty(client: Client) -> None:
    source = kept(client, client.remember("ok", namespace=fresh(client)))
    assert (source.session_id, source.occurred_at, source.timezone) == (None, None, None)
    assert (source.tags, source.memories) == ((), ())


def test_kept_conversations_are_listed_by_session_newest_first(client: Client) -> None:
    namespace = fresh(client)
    writes = [
        client.remember(f"ok {number}", namespace=namespace, session_id=session, occurred_at=date(2026, 5, 4))
        for number, session in enumerate(["a", "b", "a"])
    ]
    for each in writes:
        kept(client, each)
    first, second, third = [each.id for each in writes]
    assert [each.id for each in client.sources(namespace=namespace)] == [third, second, first]
    assert [each.id for each in client.sources("a", namespace=namespace)] == [third, first]
    (entry,) = client.sources("b", namespace=namespace)
    assert (entry.namespace, entry.session_id, entry.messages, entry.occurred_at) == (namespace, "b", 1, "2026-05-04")
    assert entry.accepted_at.tzinfo


def test_sources_reads_every_page(client: Client) -> None:
    namespace = fresh(client)
    writes = [client.remember(f"ok {number}", namespace=namespace) for number in range(205)]
    for each in writes:
        kept(client, each)
    assert [each.id for each in client.sources(namespace=namespace)] == [each.id for each in reversed(writes)]


def test_a_deleted_source_is_gone_and_its_memories_stay(client: Client) -> None:
    namespace = fresh(client)
    source = kept(client, client.remember(SAID, namespace=namespace))
    client.delete_source(source.id, namespace=namespace)
    with pytest.raises(cuebase.NotFound):
        client.source(source.id, namespace=namespace)
    assert list(client.sources(namespace=namespace)) == []
    assert client.get(source.memories[0], namespace=namespace).content


def test_long_listings_are_read_completely(client: Client) -> None:
    namespace = fresh(client)
    made = [client.create_conversation(str(number), namespace=namespace).id for number in range(205)]
    assert [each.id for each in client.conversations(namespace=namespace)] == made[::-1]
    names = [client.create_namespace(f"many-{number:03}").name for number in range(205)]
    listed = [each.name for each in client.namespaces()]
    assert listed == sorted(listed) and set(names) <= set(listed)


def test_media(client: Client, service: Service) -> None:
    media = client.upload(b"\x89PNG", "image/png", filename="dot.png")
    assert (media.bytes, media.content_type) == (4, "image/png")
    url, expires = client.media_url(media.id)
    assert url.startswith(service.url) and expires > datetime.now(timezone.utc)


GUIDE = "# Guide\n\n## Fuel\n\nThe ferry takes diesel at the east pier.\n\n## Berth\n\nThe berth has the number 14.\n"


def stored(client: Client, content: str, namespace: str) -> tuple[cuebase.AcceptedDocument, cuebase.WriteState]:
    """Uploads a guide and waits until it is ingested."""
    accepted = client.upload_document(
        content.encode(),
        filename="Ferry Guide.md",
        namespace=namespace,
        tags=["ferry"],
        metadata={"team": "dock"},
        occurred_at=date(2026, 5, 4),
    )
    state = client.write_state(accepted.id, wait=60)
    assert (state.status, state.progress) == ("ingested", None)
    return accepted, state


def test_a_document_is_stored_as_passages_and_retrieved(client: Client) -> None:
    namespace = fresh(client)
    accepted, state = stored(client, GUIDE, namespace)
    assert (accepted.namespace, accepted.document_id, accepted.passages) == (namespace, "ferry-guide-md", 2)
    document = client.document("ferry-guide-md", namespace=namespace)
    assert (document.namespace, document.document_id, document.name) == (namespace, "ferry-guide-md", "Ferry Guide.md")
    assert (document.passages, document.pages, document.tags) == (2, None, ("ferry",))
    assert document.created_at and document.updated_at and document.created_at <= document.updated_at
    assert [(each.titles, each.page, each.line) for each in document.memories] == [
        (("Guide", "Fuel"), None, 5),
        (("Guide", "Berth"), None, 9),
    ]
    paths = [each.path for each in document.memories]
    assert sorted(state.made) == sorted(paths) and all(path.startswith("facts/documents/ferry-guide-md/") for path in paths)
    hit = client.retrieve("which fuel does the ferry take", namespace=namespace).hits[0]
    assert hit.path == paths[0] and hit.content.startswith("# Guide › Fuel\n")
    place = cuebase.DocumentPlace("ferry-guide-md", "Ferry Guide.md", ("Guide", "Fuel"), 0, None, 5)
    assert (hit.document, hit.metadata, hit.user_tags) == (place, {"team": "dock"}, ("ferry",))
    assert hit.occurred_at == datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
    client.write("facts/ferry/hull.md", "# Hull\n\nThe ferry is green.\n", namespace=namespace)
    assert client.get("facts/ferry/hull.md", namespace=namespace).document is None


def test_a_new_version_of_a_document_changes_only_what_differs(client: Client) -> None:
    namespace = fresh(client)
    stored(client, GUIDE, namespace)
    fuel, berth = [each.path for each in client.document("ferry-guide-md", namespace=namespace).memories]
    _, unchanged = stored(client, GUIDE, namespace)
    assert (unchanged.made, unchanged.rewritten) == ((), ())
    _, changed = stored(client, GUIDE.replace("number 14", "number 15"), namespace)
    assert (changed.made, changed.rewritten) == ((), (berth,))
    assert len(client.get(berth, namespace=namespace, detail="full").revisions or ()) == 2
    assert len(client.get(fuel, namespace=namespace, detail="full").revisions or ()) == 1
    stored(client, GUIDE.split("## Berth")[0], namespace)
    assert [each.path for each in client.document("ferry-guide-md", namespace=namespace).memories] == [fuel]
    with pytest.raises(cuebase.NotFound):
        client.get(berth, namespace=namespace)


def test_documents_are_listed_by_id_and_forgotten(client: Client) -> None:
    namespace = fresh(client)
    named = client.upload_document(b"The anchor weighs 40 kg.", content_type="text/plain", document_id="anchor", namespace=namespace)
    client.write_state(named.id, wait=60)
    stored(client, GUIDE, namespace)
    listed = list(client.documents(namespace=namespace))
    assert [(each.document_id, each.name, each.passages) for each in listed] == [
        ("anchor", "anchor", 1),
        ("ferry-guide-md", "Ferry Guide.md", 2),
    ]
    forgotten = client.forget_document("ferry-guide-md", namespace=namespace)
    assert client.write_state(forgotten.id, wait=60).status == "ingested"
    with pytest.raises(cuebase.NotFound, match="not_found"):
        client.document("ferry-guide-md", namespace=namespace)
    assert [each.document_id for each in client.documents(namespace=namespace)] == ["anchor"]
    assert all(hit.document and hit.document.id == "anchor" for hit in client.retrieve("ferry", namespace=namespace).hits)


def test_a_file_that_is_no_document_is_refused(client: Client) -> None:
    namespace = fresh(client)
    for content, name in [(b"\x89PNG", "dot.png"), (b"%PDF-1.7 damaged", "a.pdf"), (b"\xff\xe4", "a.txt"), (b" \n", "a.md")]:
        with pytest.raises(cuebase.InvalidRequest, match="invalid_document") as raised:
            client.upload_document(content, filename=name, namespace=namespace)
        assert raised.value.status == 400, name
    with pytest.raises(cuebase.InvalidRequest, match="invalid_id"):
        client.upload_document(b"x", content_type="text/plain", namespace=namespace)
    with pytest.raises(cuebase.InvalidRequest, match="invalid_id"):
        client.upload_document(b"x", filename="a.txt", document_id="A b", namespace=namespace)
    with pytest.raises(cuebase.TooLarge, match="payload_too_large"):
        client.upload_document(b"word " * (2 << 20), filename="a.txt", namespace=namespace)
    assert list(client.documents(namespace=namespace)) == []


def test_keys_usage_and_billing(client: Client, service: Service) -> None:
    assert client.health() and client.whoami().env == "live"
    scoped = client.create_key("scoped", namespace="default", env="test")
    assert scoped.key.startswith("svc_test_") and scoped.key not in repr(scoped)
    assert client.usage().used["writes"] > 0 and client.billing().rates_paise["writes"] > 0
    queue = client.queue()
    assert queue.dead_letters == () and queue.model_unavailable_since is None
    assert "ingestion" in [job.name for job in queue.jobs]
    with Client(service.url, service.session) as session:
        assert scoped.id in [each.id for each in session.keys()]
        link, payment = session.recharge(50_000)
        assert link.startswith("http") and payment
        assert session.subscribe("starter").startswith("http")
        session.revoke_key(scoped.id)
        assert [each.revoked for each in session.keys() if each.id == scoped.id] == [True]
        session.create_namespace("for-deletion")
        session.delete_namespace("for-deletion")


def test_every_refusal_has_its_own_error_class(client: Client, service: Service) -> None:
    with Client(service.url, "svc_live_0123456789abcdef_x") as stranger, pytest.raises(cuebase.Unauthorized) as raised:
        stranger.whoami()
    assert (raised.value.code, raised.value.status) == ("unauthorized", 403)
    with pytest.raises(cuebase.Forbidden, match="dashboard_only"):
        client.keys()
    with pytest.raises(cuebase.InvalidRequest, match="invalid_path"):
        client.write("elsewhere/x.md", "x")
    with pytest.raises(cuebase.NotFound, match="namespace_not_found") as missing:
        client.retrieve("x", namespace="never-made")
    assert missing.value.request_id
    with pytest.raises(cuebase.TooLarge, match="too_many_terms"):
        client.teach([{"term": f"t{number}", "aliases": [], "definition": "d"} for number in range(201)])
    with Client("http://127.0.0.1:9", "x", max_retries=0) as nowhere, pytest.raises(cuebase.Unreachable, match="from http://127.0.0.1:9"):
        nowhere.health()


def test_the_async_client_has_the_same_behaviour(service: Service) -> None:
    async def use() -> None:
        async with AsyncClient(service.url, service.key, namespace="default") as client:
            accepted = await client.remember(SAID, tags=["awaited"])
            assert await client.wait_until_ingested(accepted)
            found, answer = await asyncio.gather(client.retrieve("where does Noor live"), client.answer("Where does Noor live?"))
            assert found.hits and answer.citations
            assert (await client.write_state(accepted.id)).status == "ingested"
            assert (await client.explain("where does Noor live", found.hits[0].path)).found
            assert "default" in [each.name async for each in client.namespaces()]
            with pytest.raises(cuebase.NotFound):
                await client.get("facts/no/such.md")

    asyncio.run(use())


def test_the_async_client_manages_kept_conversations(client: Client, service: Service) -> None:
    namespace = fresh(client)
    accepted = client.remember("ok", namespace=namespace)
    kept(client, accepted)

    async def use() -> None:
        async with AsyncClient(service.url, service.key, namespace=namespace) as awaited:
            assert [each.id async for each in awaited.sources()] == [accepted.id]
            assert (await awaited.source(accepted.id)).id == accepted.id
            await awaited.delete_source(accepted.id)
            assert [each.id async for each in awaited.sources()] == []

    asyncio.run(use())


def test_the_async_client_manages_documents(client: Client, service: Service) -> None:
    namespace = fresh(client)

    async def use() -> None:
        async with AsyncClient(service.url, service.key, namespace=namespace) as awaited:
            accepted = await awaited.upload_document(GUIDE.encode(), filename="guide.md")
            assert (await awaited.write_state(accepted.id, wait=60)).status == "ingested"
            assert [each.document_id async for each in awaited.documents()] == ["guide-md"]
            assert len((await awaited.document("guide-md")).memories) == accepted.passages == 2
            forgotten = await awaited.forget_document("guide-md")
            assert (await awaited.write_state(forgotten.id, wait=60)).status == "ingested"
            assert [each.document_id async for each in awaited.documents()] == []

    asyncio.run(use())
