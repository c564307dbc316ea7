"""Required and optional arguments, tested with a fake server."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from datetime import datetime, timezone
from typing import Any, get_type_hints

import httpx
import pytest

import cuebase
from cuebase import AsyncClient, Client, Message

ACCEPTED = {"id": "1", "namespace": "default", "status": "accepted"}
TEA: Message = {"role": "user", "content": "I like tea"}


class Recorder(httpx.MockTransport):
    """A fake server that gives one response and records the requests."""

    def __init__(self, answer: object = ACCEPTED) -> None:
        self.requests: list[httpx.Request] = []
        self.answer = answer
        super().__init__(self.respond)

    def respond(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(200, json=self.answer)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUEBASE_URL", raising=False)
    monkeypatch.delenv("CUEBASE_KEY", raising=False)


@pytest.mark.parametrize("messages", ["I like tea", TEA, [TEA], (TEA,)])
def test_a_text_a_message_and_a_list_are_the_same_conversation(messages: cuebase.Messages) -> None:
    server = Recorder()
    Client(key="key", transport=server).remember(messages)
    assert json.loads(server.requests[0].content)["messages"] == [TEA]


@pytest.mark.parametrize(
    "messages, expected",
    [
        (17, "invalid messages of type int: the client accepts a text, a message such as .*, or a list"),
        (None, "invalid messages of type NoneType"),
        (b"I like tea", "invalid messages of type bytes"),
        (["I like tea"], r"invalid messages\[0\] of type str"),
    ],
)
def test_invalid_messages_are_rejected_with_the_accepted_forms(messages: Any, expected: str) -> None:
    server = Recorder()
    client = Client(key="key", transport=server)
    with pytest.raises(TypeError, match=expected):
        client.remember(messages)
    with pytest.raises(TypeError, match=expected):
        client.append("id", messages)
    assert not server.requests


def test_url_and_key_default_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUEBASE_URL", "http://memory.example:9000/")
    monkeypatch.setenv("CUEBASE_KEY", "key-of-the-environment")
    server = Recorder()
    Client(transport=server).remember("I like tea")
    Client("http://other.example", "other", transport=server).remember("I like tea")
    sent = [(str(request.url), request.headers["authorization"]) for request in server.requests]
    assert sent == [
        ("http://memory.example:9000/v1/memories", "Bearer key-of-the-environment"),
        ("http://other.example/v1/memories", "Bearer other"),
    ]


def test_the_default_url_is_the_default_address_of_the_server() -> None:
    server = Recorder()
    Client(key="key", transport=server).remember("I like tea")
    assert str(server.requests[0].url) == "http://127.0.0.1:8080/v1/memories"


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize("key", [None, ""])
def test_a_client_without_a_key_says_how_to_pass_one(client: type[Client] | type[AsyncClient], key: str | None) -> None:
    with pytest.raises(cuebase.MissingKey, match="pass `key`, or set the environment variable CUEBASE_KEY") as raised:
        client(key=key)
    assert raised.value.code == "missing_key"


def test_an_invalid_url_is_rejected_without_showing_a_key() -> None:
    with pytest.raises(ValueError, match="invalid url \"localhost…\": expected http://"):
        Client("localhost:8080", "key")
    with pytest.raises(ValueError) as raised:
        Client("svc_live_0123456789abcdef_secret", "http://127.0.0.1:8080")
    assert "0123456789abcdef" not in str(raised.value)


def test_warnings_of_the_server_are_returned() -> None:
    warning = 'unknown field "occured_at" ignored; did you mean "occurred_at"?'
    found = {"vector_ms": 0.1, "lexical_ms": 0.1, "graph_ms": 0.1, "cold_start": False}
    written = {"path": "facts/tea.md", "commit": "c"}
    client = Client(key="key", transport=Recorder({**ACCEPTED, **found, **written, "warnings": [warning]}))
    assert client.remember("I like tea").warnings == (warning,)
    assert client.retrieve("tea").warnings == (warning,)
    assert client.write("facts/tea.md", "# Tea\n").warnings == (warning,)
    assert Client(key="key", transport=Recorder()).remember("I like tea").warnings == ()


def test_the_queue_shows_the_start_of_a_model_outage() -> None:
    queue: dict[str, object] = {"waiting": 0, "waiting_since": None, "dead_letters": []}
    outage = {**queue, "model_unavailable_since": "2026-05-04T09:00:00Z"}
    since = Client(key="key", transport=Recorder(outage)).queue().model_unavailable_since
    assert since == datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
    assert Client(key="key", transport=Recorder(queue)).queue().model_unavailable_since is None


def test_source_methods_use_the_namespace_of_the_client() -> None:
    kept = {"id": "1", "namespace": "mine", "messages": [], "memories": [], "accepted_at": "2026-05-04T09:00:00Z"}
    server = Recorder({**kept, "sources": []})
    client = Client(key="key", namespace="mine", transport=server)
    list(client.sources())
    client.source("1")
    client.delete_source("1")
    assert [request.url.params["namespace"] for request in server.requests] == ["mine"] * 3


DOCUMENT: dict[str, object] = {
    "document_id": "guide-pdf",
    "name": "guide.pdf",
    "passages": 2,
    "pages": 7,
    "tags": ["boat"],
    "created_at": "2026-05-04T09:00:00Z",
    "updated_at": "2026-05-05T09:00:00Z",
}


def test_an_uploaded_document_is_sent_as_bytes_with_its_fields_in_the_query() -> None:
    server = Recorder({**ACCEPTED, "document_id": "guide-pdf", "passages": 2, "warnings": ["w"]})
    client = Client(key="key", namespace="mine", timeout=5, transport=server)
    accepted = client.upload_document(
        b"%PDF",
        filename="guide.pdf",
        content_type="application/pdf",
        document_id="guide",
        tags=["boat", "fuel"],
        metadata={"team": "dock é", "year": 2026, "draft": False},
        occurred_at=datetime(2026, 5, 4),
    )
    assert accepted == cuebase.AcceptedDocument("1", "default", warnings=("w",), document_id="guide-pdf", passages=2)
    request = server.requests[0]
    assert (request.method, request.url.path, request.content) == ("POST", "/v1/documents", b"%PDF")
    assert request.headers["content-type"] == "application/pdf"
    sent = dict(request.url.params)
    assert json.loads(sent.pop("metadata")) == {"team": "dock é", "year": 2026, "draft": False}
    assert sent == {
        "filename": "guide.pdf",
        "document_id": "guide",
        "namespace": "mine",
        "tags": "boat,fuel",
        "occurred_at": "2026-05-04T00:00:00+00:00",
    }
    assert request.extensions["timeout"]["read"] == 120


def test_the_ending_of_the_name_decides_the_kind_of_a_document_without_content_type() -> None:
    server = Recorder({**ACCEPTED, "document_id": "guide-md", "passages": 1})
    Client(key="key", timeout=300, transport=server).upload_document(b"# Guide", filename="guide.md")
    request = server.requests[0]
    assert request.headers["content-type"] == "application/octet-stream"
    assert dict(request.url.params) == {"filename": "guide.md"}
    assert request.extensions["timeout"]["read"] == 300


def test_only_the_upload_of_a_document_has_a_longer_timeout() -> None:
    server = Recorder({**DOCUMENT, "namespace": "mine", "memories": []})
    Client(key="key", timeout=5, transport=server).document("guide-pdf")
    assert server.requests[0].extensions["timeout"]["read"] == 5


def test_a_document_has_its_passages_in_order() -> None:
    passages = [
        {"path": "facts/documents/guide-pdf/guide.md", "titles": ["Guide", "Fuel"], "page": 3, "line": None},
        {"path": "facts/documents/guide-pdf/notes.md", "titles": [], "page": None, "line": 9},
    ]
    server = Recorder({**DOCUMENT, "namespace": "mine", "memories": passages})
    found = Client(key="key", namespace="mine", transport=server).document("a/b")
    assert server.requests[0].url.raw_path == b"/v1/documents/a%2Fb?namespace=mine"
    assert found == cuebase.DocumentPassages(
        document_id="guide-pdf",
        name="guide.pdf",
        passages=2,
        pages=7,
        tags=("boat",),
        created_at=datetime(2026, 5, 4, 9, tzinfo=timezone.utc),
        updated_at=datetime(2026, 5, 5, 9, tzinfo=timezone.utc),
        namespace="mine",
        memories=(
            cuebase.Passage("facts/documents/guide-pdf/guide.md", ("Guide", "Fuel"), 3, None),
            cuebase.Passage("facts/documents/guide-pdf/notes.md", (), None, 9),
        ),
    )


def test_document_methods_use_the_namespace_of_the_client() -> None:
    server = Recorder({**ACCEPTED, **DOCUMENT, "documents": [], "memories": []})
    client = Client(key="key", namespace="mine", transport=server)
    client.upload_document(b"x", filename="guide.md")
    assert list(client.documents()) == []
    client.document("guide-md")
    client.forget_document("guide-md")
    sent = [(request.method, request.url.params["namespace"]) for request in server.requests]
    assert sent == [("POST", "mine"), ("GET", "mine"), ("GET", "mine"), ("DELETE", "mine")]


class DocumentPages(Recorder):
    """A fake server that lists documents in pages of `limit`, after the id in `after`."""

    ids = [f"guide-{number:03}" for number in range(205)]

    def respond(self, request: httpx.Request) -> httpx.Response:
        asked = request.url.params
        start = self.ids.index(asked["after"]) + 1 if "after" in asked else 0
        page = self.ids[start : start + int(asked["limit"])]
        self.answer = {"namespace": "mine", "documents": [{**DOCUMENT, "document_id": each} for each in page]}
        return super().respond(request)


def test_documents_reads_every_page() -> None:
    server = DocumentPages()
    listed = list(Client(key="key", transport=server).documents())
    assert [each.document_id for each in listed] == server.ids and len(server.requests) == 2
    assert {(each.name, each.pages, each.tags) for each in listed} == {("guide.pdf", 7, ("boat",))}


def test_a_hit_has_its_place_in_a_document() -> None:
    place = {"id": "guide-pdf", "name": "guide.pdf", "titles": ["Guide", "Fuel"], "position": 4, "page": 3, "line": None}
    hit = {"path": "facts/a.md", "content": "# Guide › Fuel\n", "score": 0.5}
    found = {"vector_ms": 0.1, "lexical_ms": 0.1, "graph_ms": 0.1, "cold_start": False}
    server = Recorder({**found, "hits": [{**hit, "document": place}, hit]})
    hits = Client(key="key", transport=server).retrieve("fuel").hits
    expected = cuebase.DocumentPlace("guide-pdf", "guide.pdf", ("Guide", "Fuel"), 4, 3, None)
    assert [each.document for each in hits] == [expected, None]


def test_conditions_are_repeated_parameters_of_a_query_and_a_list_in_a_body() -> None:
    found = {"vector_ms": 0.1, "lexical_ms": 0.1, "graph_ms": 0.1, "cold_start": False}
    server = Recorder({**found, "answer": "", "model": "", "skills": []})
    client = Client(key="key", transport=server)
    client.retrieve(where=["team:a,b", "size>=2"])
    client.retrieve("tea", where="team:blue")
    client.skills(where=["team:blue"])
    client.answer("tea?", where=["team:a,b"])
    sent = [request.url.params.get_list("where") for request in server.requests[:3]]
    assert sent == [["team:a,b", "size>=2"], ["team:blue"], ["team:blue"]]
    assert json.loads(server.requests[3].content)["where"] == ["team:a,b"]


def test_a_memory_of_an_older_server_is_current_and_has_no_metadata() -> None:
    memory = Client(key="key", transport=Recorder({"path": "facts/a.md", "content": "", "score": 1})).get("facts/a.md")
    assert memory.current and memory.valid_from is None and memory.valid_until is None
    assert (memory.supersedes, memory.superseded_by, memory.also, memory.metadata) == ((), (), (), {})


def test_several_namespaces_are_searched_with_one_request() -> None:
    hit = {"path": "facts/tea.md", "content": "# Tea\n", "score": 0.5, "namespace": "team"}
    found = {"hits": [hit], "vector_ms": 0.1, "lexical_ms": 0.1, "graph_ms": 0.1, "cold_start": False}
    citation = {"path": "facts/tea.md", "quote": "Tea", "namespace": "team"}
    server = Recorder({**found, "answer": "Tea", "model": "extractive", "citations": [citation]})
    client = Client(key="key", namespace="mine", transport=server)
    assert client.retrieve("tea", namespace=["mine", "team"]).hits[0].namespace == "team"
    assert client.answer("tea", namespace=("mine", "team")).citations[0].namespace == "team"
    client.retrieve("tea")
    assert server.requests[0].url.params["namespace"] == "mine,team"
    assert json.loads(server.requests[1].content)["namespace"] == "mine,team"
    assert server.requests[2].url.params["namespace"] == "mine"


def test_an_empty_list_of_namespaces_is_rejected() -> None:
    server = Recorder()
    client = Client(key="key", namespace="mine", transport=server)
    with pytest.raises(ValueError, match="namespace is an empty list"):
        client.retrieve("tea", namespace=[])
    with pytest.raises(ValueError, match="namespace is an empty list"):
        client.answer("tea", namespace=[])
    assert not server.requests


def test_a_context_is_text_with_citations() -> None:
    citation = {"path": "facts/tea.md", "section": None, "score": 0.5}
    server = Recorder({"text": "- Tea", "tokens": 3, "citations": [citation], "namespace": "mine,team"})
    client = Client(key="key", transport=server)
    found = client.context("tea, and milk", max_tokens=100, standing="off", admit="strict", namespace=["mine", "team"])
    assert (found.text, found.tokens, found.namespace) == ("- Tea", 3, "mine,team")
    assert found.citations == (cuebase.ContextCitation("facts/tea.md", None, 0.5),)
    sent = dict(server.requests[0].url.params)
    assert sent == {"q": "tea, and milk", "max_tokens": "100", "standing": "off", "admit": "strict", "namespace": "mine,team"}


def test_a_profile_has_claims_with_times() -> None:
    claim = {"attribute": "home", "value": "oslo", "path": "facts/a.md", "valid_from": "2026-05-04T09:00:00Z"}
    server = Recorder({"subject": "ana", "claims": [{**claim, "valid_until": None, "current": True}], "subjects": ["bob"]})
    found = Client(key="key", namespace="mine", transport=server).profile("Ana", as_of=datetime(2026, 6, 1, tzinfo=timezone.utc))
    began = datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
    assert found.claims == (cuebase.ProfileClaim("home", "oslo", "facts/a.md", began, None, True),)
    assert (found.subject, found.subjects) == ("ana", ("bob",))
    params = server.requests[0].url.params
    assert (params["subject"], params["namespace"]) == ("Ana", "mine") and params["as_of"].startswith("2026-06-01")


def test_hits_can_be_admitted() -> None:
    found = {"vector_ms": 0.1, "lexical_ms": 0.1, "graph_ms": 0.1, "cold_start": False}
    server = Recorder({**found, "answer": "", "model": ""})
    client = Client(key="key", transport=server)
    client.retrieve("tea", admit="balanced")
    client.answer("tea?", admit="strict")
    assert server.requests[0].url.params["admit"] == "balanced"
    assert json.loads(server.requests[1].content)["admit"] == "strict"


EXPLANATION: dict[str, object] = {
    "arms": [{"arm": "lexical", "rank": 1, "score": 2.5}, {"arm": "graph", "rank": 2, "score": None}],
    "cue": {"text": None, "cosine": 0.5},
    "terms": [{"term": "tea", "bm25": 2.5}],
    "relation": {"from": "facts/milk.md", "kind": "see"},
    "base_log_odds": -3.0,
    "contributions": [{"feature": "words", "log_odds": 4.0}],
}
EXPLAINED = cuebase.Explanation(
    arms=(cuebase.ArmRank("lexical", 1, 2.5), cuebase.ArmRank("graph", 2, None)),
    cue=cuebase.NearestCue(None, 0.5),
    terms=(cuebase.TermMatch("tea", 2.5),),
    relation=cuebase.FollowedRelation("facts/milk.md", "see"),
    base_log_odds=-3.0,
    contributions=(cuebase.Contribution("words", 4.0),),
)


def test_hits_can_be_explained() -> None:
    hit = {"path": "facts/tea.md", "content": "# Tea\n", "score": 0.5}
    found = {"vector_ms": 0.1, "lexical_ms": 0.1, "graph_ms": 0.1, "cold_start": False}
    server = Recorder({**found, "hits": [{**hit, "explanation": EXPLANATION}, hit]})
    client = Client(key="key", transport=server)
    hits = client.retrieve("tea", explain=True).hits
    assert [each.explanation for each in hits] == [EXPLAINED, None]
    client.retrieve("tea")
    assert server.requests[0].url.params["explain"] == "true"
    assert "explain" not in server.requests[1].url.params


def test_an_explanation_of_a_path_says_why_it_is_not_a_hit() -> None:
    place = {"path": "facts/tea.md", "found": False, "excluded_by": ["filter", "limit"], "repeats": None, "rank": 2}
    more = {"score": 0.7, "explanation": EXPLANATION, "outranked_by": ["facts/a.md"], "warnings": ["w"]}
    server = Recorder({**place, **more})
    client = Client(key="key", namespace="mine", transport=server)
    explained = client.explain("tea", "facts/tea.md", tags="hot", since=datetime(2026, 5, 4), where=["size>=2"], limit=1)
    assert explained == cuebase.PathExplanation(
        path="facts/tea.md",
        found=False,
        excluded_by=("filter", "limit"),
        repeats=None,
        rank=2,
        score=0.7,
        explanation=EXPLAINED,
        outranked_by=("facts/a.md",),
        warnings=("w",),
    )
    assert (server.requests[0].method, server.requests[0].url.path) == ("POST", "/v1/explain")
    assert json.loads(server.requests[0].content) == {
        "q": "tea",
        "path": "facts/tea.md",
        "namespace": "mine",
        "tags": ["hot"],
        "since": "2026-05-04T00:00:00+00:00",
        "where": ["size>=2"],
        "limit": 1,
    }


WRITE: dict[str, object] = {
    "id": "1",
    "namespace": "mine",
    "status": "ingested",
    "attempts": 1,
    "accepted_at": "2026-05-04T09:00:00Z",
    "finished_at": "2026-05-04T09:00:01Z",
    "error": None,
    "made": ["facts/a.md"],
    "rewritten": ["facts/b.md"],
    "merged": ["facts/c.md"],
    "ended": ["facts/d.md"],
    "dropped": [{"message": 1, "reason": "small_talk"}, {"message": None, "reason": "r"}],
}


def test_the_state_of_a_write_names_what_it_changed() -> None:
    server = Recorder(WRITE)
    state = Client(key="key", transport=server).write_state("a/b")
    assert server.requests[0].url.raw_path == b"/v1/writes/a%2Fb"
    assert (state.status, state.attempts, state.error) == ("ingested", 1, None)
    assert state.accepted_at == datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
    assert state.finished_at == datetime(2026, 5, 4, 9, 0, 1, tzinfo=timezone.utc)
    assert (state.made, state.rewritten) == (("facts/a.md",), ("facts/b.md",))
    assert (state.merged, state.ended) == (("facts/c.md",), ("facts/d.md",))
    assert state.dropped == (cuebase.DroppedMessage(1, "small_talk"), cuebase.DroppedMessage(None, "r"))


def test_the_state_of_a_write_shows_its_progress() -> None:
    ingesting = {**WRITE, "status": "ingesting", "finished_at": None, "progress": {"done": 64, "total": 300}}
    state = Client(key="key", transport=Recorder(ingesting)).write_state("1")
    assert state.progress == cuebase.WriteProgress(done=64, total=300)
    assert Client(key="key", transport=Recorder(WRITE)).write_state("1").progress is None


class Progress(Recorder):
    """A fake server whose write goes through the given states, one per request, and stays in the last one."""

    def __init__(self, *states: str) -> None:
        super().__init__()
        self.states = states

    def respond(self, request: httpx.Request) -> httpx.Response:
        state = self.states[min(len(self.requests), len(self.states) - 1)]
        self.answer = {**WRITE, "status": state, "finished_at": None}
        return super().respond(request)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of a clock that only pauses advance."""
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    async def pause_async(seconds: float) -> None:
        pause(seconds)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", pause)
    monkeypatch.setattr(asyncio, "sleep", pause_async)
    return now


def test_without_wait_the_present_state_is_returned(clock: list[float]) -> None:
    server = Progress("queued", "ingested")
    state = Client(key="key", transport=server).write_state("1")
    assert (state.status, state.finished_at, len(server.requests), clock) == ("queued", None, 1, [0.0])


@pytest.mark.parametrize("last", ["ingested", "dead", "dropped"])
def test_waiting_for_a_write_ends_with_its_last_state(clock: list[float], last: str) -> None:
    server = Progress("queued", "ingesting", "retrying", last)
    assert Client(key="key", transport=server).write_state("1", wait=60).status == last
    assert len(server.requests) == 4 and clock[0] < 1


def test_waiting_for_a_write_ends_when_the_time_is_up(clock: list[float]) -> None:
    assert Client(key="key", transport=Progress("queued")).write_state("1", wait=5).status == "queued"
    assert clock[0] == pytest.approx(5)


def test_the_async_client_waits_for_a_write(clock: list[float]) -> None:
    server = Progress("queued", "ingested")
    assert asyncio.run(AsyncClient(key="key", transport=server).write_state("1", wait=60)).status == "ingested"
    assert len(server.requests) == 2


def test_unknown_fields_of_a_newer_server_are_ignored() -> None:
    who = {"account": "default", "auth": "api_key", "env": "live", "later": True}
    assert Client(key="key", transport=Recorder(who)).whoami().account == "default"


def test_answer_and_explain_take_the_filters_of_retrieve_and_all_are_typed() -> None:
    for client in (Client, AsyncClient):
        retrieve = inspect.signature(client.retrieve).parameters
        answer = inspect.signature(client.answer).parameters
        filters = set(retrieve) - {"query", "detail", "explain"}
        assert set(answer) - {"question"} == filters
        assert set(inspect.signature(client.explain).parameters) - {"query", "path"} == filters
        for name, method in inspect.getmembers(client, inspect.isfunction):
            if not name.startswith("_"):
                assert Any not in get_type_hints(method).values(), f"{client.__name__}.{name}"


@pytest.mark.parametrize("hits", [{}, {"hits": None}, {"hits": []}])
def test_a_response_without_hits_has_an_empty_list_of_them(hits: dict[str, Any]) -> None:
    times = {"vector_ms": 0.1, "lexical_ms": 0.1, "graph_ms": 0.1, "cold_start": False}
    found = Client(key="key", transport=Recorder({**times, **hits})).retrieve("Where is the ferry?")
    assert (found.hits, found.defined) == ((), ())
    answer = Client(key="key", transport=Recorder({"answer": "At nine.", "model": "m", **hits})).answer("When does the ferry leave?")
    assert (answer.hits, answer.citations) == ((), ())
