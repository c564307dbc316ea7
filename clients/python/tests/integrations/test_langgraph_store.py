"""The LangGraph store. What `BaseStore` documents is tested on LangGraph's `InMemoryStore` and on `CuebaseStore` alike."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from cuebase import Client, InvalidRequest, NotFound, Unreachable
from cuebase.integrations.langgraph import CuebaseStore

VALUES: list[dict[str, Any]] = [
    {},
    {"text": "plain"},
    {
        "null": None,
        "true": True,
        "false": False,
        "zero": 0,
        "float": 1.5,
        "tiny": 1e-300,
        "big": 2**80,
        "negative": -(2**63),
    },
    {"nested": {"list": [1, "two", None, {"three": [[]]}], "empty": {}}},
    {"unicode": "naïve 日本 🐝 \u2028 \u0000 \r\n \t", "ключ": "значение", "": "empty key"},
    {"lone surrogate": "\ud83d", "markdown": "# Title\n\n```json\n{}\n```\n---\n[[facts/a.md]]"},
    {"order": 1, "of": 2, "keys": 3, "a": 4},
    {f"field{number}": number for number in range(40)},
    {"langgraph.indexed": False, "langgraph.partial": True},
    {"long": "word " * 5000},
]
KEYS = [
    "key",
    "",
    " ",
    ".",
    "..",
    "../..",
    ".git",
    "a/b",
    "a.md",
    "A.MD",
    "_x20_",
    "50%",
    "ünïcode",
    "user_preferences",
    "x" * 180,
]
LABELS = ["users", "user 1", "_x", "*", "a/b", "日本", "-", "%2e", "md"]


@pytest.fixture(params=["memory", "cuebase"])
def store(request: pytest.FixtureRequest) -> BaseStore:
    if request.param == "memory":
        return InMemoryStore()
    return CuebaseStore(request.getfixturevalue("client"), namespace=request.getfixturevalue("namespace"))


@pytest.fixture
def cuebase_store(client: Client, namespace: str) -> CuebaseStore:
    return CuebaseStore(client, namespace=namespace)


def places(items: list[SearchItem]) -> list[tuple[tuple[str, ...], str]]:
    return [(item.namespace, item.key) for item in items]


# What both stores do.


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_value_comes_back_exactly(store: BaseStore, value: dict[str, Any]) -> None:
    store.put(("exact",), "key", value)
    item = store.get(("exact",), "key")
    assert item is not None
    assert item.value == value and list(item.value) == list(value)
    assert (item.namespace, item.key) == (("exact",), "key")
    assert item.created_at.tzinfo and item.created_at <= item.updated_at
    assert [found.value for found in store.search(("exact",))] == [value]


def test_any_text_is_a_key_or_a_label(store: BaseStore) -> None:
    for number, key in enumerate(KEYS):
        store.put(("keys",), key, {"number": number})
    for number, key in enumerate(KEYS):
        item = store.get(("keys",), key)
        assert item is not None and item.value == {"number": number} and item.key == key
    assert {item.key for item in store.search(("keys",), limit=100)} == set(KEYS)
    for label in LABELS:
        store.put((label, "below"), "key", {"label": label})
    for label in LABELS:
        assert [item.value for item in store.search((label,))] == [{"label": label}]
    assert set(store.list_namespaces()) == {("keys",), *((label, "below") for label in LABELS)}


def test_a_put_replaces_the_value_and_a_delete_removes_the_item(store: BaseStore) -> None:
    assert store.get(("a",), "key") is None
    store.put(("a",), "key", {"version": 1})
    first = store.get(("a",), "key")
    store.put(("a",), "key", {"version": 2})
    second = store.get(("a",), "key")
    assert first is not None and second is not None
    assert second.value == {"version": 2} and second.updated_at > first.updated_at
    for _ in range(3):
        store.delete(("a",), "key")
        assert store.get(("a",), "key") is None
        assert store.search(("a",)) == []
        store.put(("a",), "key", {"version": 3})
        assert store.get(("a",), "key") is not None
    store.delete(("a",), "other")
    assert len(store.search(("a",))) == 1


def test_a_prefix_selects_whole_labels(store: BaseStore) -> None:
    namespaces = [("a",), ("a", "b"), ("a", "b", "c"), ("a", "bb"), ("ab",), ("b", "a")]
    for namespace in namespaces:
        store.put(namespace, "key", {"namespace": list(namespace)})
    for prefix in [(), ("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("b",), ("x",), ("a", "b", "x")]:
        expected = {(each, "key") for each in namespaces if each[: len(prefix)] == prefix}
        assert set(places(store.search(prefix, limit=100))) == expected


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"a", "b", "c", "d"}),
    ({"kind": "report"}, {"a", "b"}),
    ({"kind": {"$eq": "report"}}, {"a", "b"}),
    ({"kind": {"$ne": "report"}}, {"c", "d"}),
    ({"score": {"$gt": 3}}, {"a", "d"}),
    ({"score": {"$gte": 3}}, {"a", "b", "d"}),
    ({"score": {"$lt": 3}}, {"c"}),
    ({"score": {"$lte": 3.0}}, {"b", "c"}),
    ({"score": {"$gt": 1, "$lt": 4}}, {"b", "c"}),
    ({"score": 3}, {"b"}),
    ({"kind": "report", "score": {"$gt": 3}}, {"a"}),
    ({"active": True}, {"a", "c"}),
    ({"active": False}, {"b"}),
    ({"active": None}, {"d"}),
    ({"tags": ["x", "y"]}, {"a"}),
    ({"nested": {"deep": 1}}, {"b"}),
    ({"nested": {"deep": {"$ne": 1}}}, {"c"}),
    ({"kind": "nothing like it"}, set()),
    ({"missing": "x"}, set()),
    ({"kind": "with, comma: and >= operators"}, {"d"}),
]


def put_filtered(store: BaseStore) -> None:
    store.put(("f",), "a", {"kind": "report", "score": 4.5, "active": True, "tags": ["x", "y"], "text": "red apple"})
    store.put(("f",), "b", {"kind": "report", "score": 3, "active": False, "nested": {"deep": 1, "x": 2}, "text": "red car"})
    store.put(("f",), "c", {"kind": "note", "score": 2, "active": True, "nested": {"deep": 2}, "text": "green apple"})
    store.put(("f",), "d", {"kind": "with, comma: and >= operators", "score": 7, "active": None, "text": "blue car"})


def test_filters(store: BaseStore) -> None:
    put_filtered(store)
    for wanted, keys in FILTERS:
        assert {item.key for item in store.search(("f",), filter=wanted)} == keys, wanted
    with pytest.raises(ValueError, match="[Uu]nsupported operator"):
        store.search(("f",), filter={"kind": {"$like": "x"}})


def test_pages_are_parts_of_one_order(store: BaseStore) -> None:
    for namespace in [("a",), ("a", "b"), ("ab",), ("a", "c", "d")]:
        for number in range(7):
            store.put(namespace, f"k{number}", {"number": number, "even": number % 2 == 0})
    all_places = places(store.search(("a",), limit=100))
    assert len(set(all_places)) == len(all_places) == 21
    pages = [places(store.search(("a",), limit=4, offset=offset)) for offset in range(0, 24, 4)]
    assert [place for page in pages for place in page] == all_places
    even = places(store.search(("a",), filter={"even": True}, limit=100))
    assert len(even) == 12
    assert places(store.search(("a",), filter={"even": True}, limit=3, offset=2)) == even[2:5]
    assert store.search(("a",), limit=0) == [] and store.search(("a",), offset=100) == []
    assert len(store.search(("a",))) == 10


def test_namespaces_are_listed_by_prefix_suffix_wildcard_and_depth(store: BaseStore) -> None:
    assert store.list_namespaces() == []
    namespaces = [
        ("a", "b", "c"),
        ("a", "b", "d", "e"),
        ("a", "b", "d", "i"),
        ("a", "b", "f"),
        ("a", "c", "f"),
        ("b", "a", "f"),
        ("users", "123"),
        ("users", "456", "settings"),
        ("admin", "users", "789"),
    ]
    for namespace in namespaces:
        store.put(namespace, "one", {"x": 1})
        store.put(namespace, "two", {"x": 2})
    assert store.list_namespaces() == sorted(namespaces)
    assert store.list_namespaces(prefix=("a", "b")) == namespaces[:4]
    assert store.list_namespaces(suffix=("f",)) == namespaces[3:6]
    assert store.list_namespaces(prefix=("a",), suffix=("f",)) == namespaces[3:5]
    assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]
    assert store.list_namespaces(max_depth=1) == [("a",), ("admin",), ("b",), ("users",)]
    assert store.list_namespaces(prefix=("a", "b"), limit=2) == namespaces[:2]
    assert store.list_namespaces(prefix=("a", "b"), offset=2) == namespaces[2:4]
    assert store.list_namespaces(prefix=("a", "*", "f")) == namespaces[3:5]
    assert store.list_namespaces(prefix=("*", "users")) == [("admin", "users", "789")]
    assert store.list_namespaces(suffix=("*", "f")) == namespaces[3:6]
    assert store.list_namespaces(prefix=("users", "*"), suffix=("*",)) == namespaces[6:8]
    assert store.list_namespaces(prefix=("nothing",)) == []
    assert store.list_namespaces(prefix=("a", "b", "c", "d", "e")) == []


def test_invalid_namespaces_are_refused(store: BaseStore) -> None:
    for namespace in [(), ("a", "b.c"), ("a", ""), ("langgraph", "a"), ("a\0",)]:
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "key", {})
    for namespace in [("b.c",), ("",), ("a\0",)]:
        with pytest.raises(InvalidNamespaceError):
            store.get(namespace, "key")
        with pytest.raises(InvalidNamespaceError):
            store.delete(namespace, "key")
        with pytest.raises(InvalidNamespaceError):
            store.search(namespace)
        with pytest.raises(InvalidNamespaceError):
            store.list_namespaces(prefix=namespace)
    store.batch([PutOp(("langgraph", "a"), "key", {"x": 1})])
    assert store.search(("langgraph",))[0].value == {"x": 1}


def test_ttl_is_refused(store: BaseStore) -> None:
    assert store.supports_ttl is False
    store.put(("a",), "key", {}, ttl=None)
    with pytest.raises(NotImplementedError, match="TTL"):
        store.put(("a",), "key", {}, ttl=5)


def test_a_batch_reads_before_it_writes_and_the_last_put_counts(store: BaseStore) -> None:
    store.put(("a",), "old", {"n": 0})
    results = store.batch(
        [
            PutOp(("a",), "new", {"n": 1}),
            GetOp(("a",), "new"),
            GetOp(("a",), "old"),
            PutOp(("a",), "new", {"n": 2}),
            SearchOp(("a",)),
            PutOp(("a",), "old", None),
            ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a",)),)),
        ]
    )
    assert results[0] is results[1] is results[3] is results[5] is None
    assert results[2].value == {"n": 0}  # type: ignore[union-attr]
    assert [item.key for item in results[4]] == ["old"]  # type: ignore[union-attr]
    assert results[6] == [("a",)]
    assert [(item.key, item.value) for item in store.search(("a",))] == [("new", {"n": 2})]
    assert store.batch([]) == []


def test_the_async_methods_do_the_same(store: BaseStore) -> None:
    async def run() -> None:
        await asyncio.gather(*(store.aput(("a", str(n)), "key", {"n": n, "text": "red apple"}) for n in range(5)))
        item = await store.aget(("a", "3"), "key")
        assert item is not None and item.value["n"] == 3
        assert {found.value["n"] for found in await store.asearch(("a",), filter={"n": {"$gte": 2}})} == {2, 3, 4}
        assert len(await store.asearch(("a",), query="red apple", limit=2)) == 2
        await store.adelete(("a", "3"), "key")
        assert await store.aget(("a", "3"), "key") is None
        assert await store.alist_namespaces(prefix=("a",), limit=2) == [("a", "0"), ("a", "1")]

    asyncio.run(run())
    # A second event loop uses the same store.
    assert len(asyncio.run(store.asearch(("a",)))) == 4


# What must be equal step by step.


def random_operations(seed: int, count: int) -> Iterator[tuple[str, tuple[str, ...], str, dict[str, Any]]]:
    chosen = random.Random(seed)
    for _ in range(count):
        namespace = tuple(chosen.choice(["a", "b", "x y"]) for _ in range(chosen.randint(1, 3)))
        value = {"n": chosen.randint(0, 3), "s": chosen.choice(["u", "v"]), "list": [chosen.random()]}
        yield chosen.choice(["put", "put", "put", "delete"]), namespace, chosen.choice(["k", "l.m", "é"]), value


@pytest.mark.parametrize("seed", range(3))
def test_random_operations_give_equal_stores(cuebase_store: CuebaseStore, seed: int) -> None:
    reference = InMemoryStore()
    for kind, namespace, key, value in random_operations(seed, 60):
        for store in (reference, cuebase_store):
            if kind == "put":
                store.put(namespace, key, value)
            else:
                store.delete(namespace, key)
    for prefix in [(), ("a",), ("a", "b"), ("x y",), ("x y", "a", "b")]:
        for wanted in [None, {"n": 1}, {"n": {"$gt": 0}, "s": "u"}, {"s": {"$ne": "v"}}]:
            expected = {
                place: item.value for item in reference.search(prefix, filter=wanted, limit=500) for place in places([item])
            }
            found = cuebase_store.search(prefix, filter=wanted, limit=500)
            assert {place: item.value for item in found for place in places([item])} == expected
            assert len(found) == len(expected)
    # InMemoryStore also lists namespaces whose items are all deleted.
    listed = [
        each
        for each in reference.list_namespaces(limit=500)
        if any(item.namespace == each for item in reference.search(each))
    ]
    assert cuebase_store.list_namespaces(limit=500) == listed


# What only Cuebase does.


def test_a_query_finds_items_best_first_with_probabilities(cuebase_store: CuebaseStore) -> None:
    put_filtered(cuebase_store)
    found = cuebase_store.search(("f",), query="apple")
    assert {item.key for item in found[:2]} == {"a", "c"}
    scores = [item.score for item in found]
    assert all(score is not None and 0 < score <= 1 for score in scores)
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    assert [item.key for item in cuebase_store.search(("f",), query="car", filter={"kind": "report"})][0] == "b"
    assert [item.key for item in cuebase_store.search(("f",), query="apple", filter={"score": {"$gt": 4}})][0] == "a"
    pages = [cuebase_store.search(("f",), query="apple", limit=1, offset=offset)[0] for offset in range(2)]
    assert places(pages) == places(found[:2])
    assert cuebase_store.search(("f",), query="  ", limit=2) == cuebase_store.search(("f",), limit=2)
    assert cuebase_store.search(("other",), query="apple") == []


def test_equal_values_are_separate_items(cuebase_store: CuebaseStore) -> None:
    for number in range(4):
        cuebase_store.put(("a", str(number)), "key", {"text": "Noor takes the aisle seat."})
    assert len(cuebase_store.search(("a",), query="Which seat does Noor take?")) == 4


def test_index_selects_the_texts_that_are_compared(client: Client, namespace: str) -> None:
    store = CuebaseStore(client, namespace=namespace, fields=["title"])
    store.put(("docs",), "default", {"title": "Beekeeping in winter", "body": "Clipboard"})
    store.put(
        ("docs",), "own", {"title": "x", "parts": [{"text": "Sailing at night"}, {"text": "Tides"}]}, index=["parts[*].text"]
    )
    store.put(("docs",), "none", {"title": "Beekeeping in summer"}, index=False)
    assert [item.key for item in store.search(("docs",), query="beekeeping")][0] == "default"
    assert [item.key for item in store.search(("docs",), query="sailing")][0] == "own"
    # The words of all fields are found, also of those that are not compared by meaning.
    assert [item.key for item in store.search(("docs",), query="clipboard")] == ["default"]
    assert all(item.key != "none" for item in store.search(("docs",), query="beekeeping in summer"))
    assert {item.key for item in store.search(("docs",))} == {"default", "own", "none"}
    cues = client.get("facts/langgraph/docs/own.md", namespace=namespace, detail="full").cues
    assert cues == ("Sailing at night", "Tides")


def test_a_value_with_too_many_fields_for_the_metadata_is_still_found_by_a_filter(cuebase_store: CuebaseStore) -> None:
    wide = {f"field{number}": number for number in range(40)} | {"kind": "wide", "text": "green parrot"}
    cuebase_store.put(("a",), "wide", wide)
    cuebase_store.put(("a",), "narrow", {"kind": "wide", "text": "green parrot"})
    cuebase_store.put(("a",), "other", {"kind": "other", "text": "green parrot"})
    assert {item.key for item in cuebase_store.search(("a",), filter={"kind": "wide"})} == {"wide", "narrow"}
    found = cuebase_store.search(("a",), query="green parrot", filter={"kind": "wide"})
    assert {item.key for item in found} == {"wide", "narrow"}


def test_more_items_than_a_page_are_listed(cuebase_store: CuebaseStore) -> None:
    cuebase_store.batch([PutOp(("many", str(number % 3)), str(number), {"n": number}) for number in range(230)])
    found = cuebase_store.search(("many",), limit=500)
    assert [item.value["n"] for item in found] == list(range(229, -1, -1))
    assert [item.value["n"] for item in cuebase_store.search(("many",), limit=5, offset=210)] == [19, 18, 17, 16, 15]
    assert [item.key for item in cuebase_store.search(("many",), filter={"n": {"$lt": 2}})] == ["1", "0"]
    assert cuebase_store.list_namespaces() == [("many", "0"), ("many", "1"), ("many", "2")]


def test_items_are_memories_that_people_can_read(client: Client, namespace: str) -> None:
    store = CuebaseStore(client, namespace=namespace, folder="facts/shared/")
    store.put(("users", "noor"), "seat", {"text": "Noor takes the aisle.", "sure": True})
    memory = client.get("facts/shared/users/noor/seat.md", namespace=namespace)
    assert (
        memory.content
        == '# seat\n\nNoor takes the aisle.\n\n```json\n{\n  "text": "Noor takes the aisle.",\n  "sure": true\n}\n```\n'
    )
    assert memory.metadata == {"text": "Noor takes the aisle.", "sure": True}
    # A person adds a sentence, and the value stays.
    client.write(memory.path, memory.content + "\nAlso on trains.\n", namespace=namespace)
    item = store.get(("users", "noor"), "seat")
    assert item is not None and item.value == {"text": "Noor takes the aisle.", "sure": True}
    assert item.created_at == memory.created_at


def test_memories_of_other_programs_are_not_items(client: Client, namespace: str) -> None:
    store = CuebaseStore(client, namespace=namespace)
    store.put(("a",), "key", {"text": "An item about bees."})
    client.write("facts/langgraph/a/note.md", "A note about bees.\n", namespace=namespace)
    client.write("facts/langgraph/a/broken.md", "Bees.\n\n```json\n{broken\n```\n", namespace=namespace)
    client.write("facts/langgraph/a/list.md", "Bees.\n\n```json\n[1]\n```\n", namespace=namespace)
    client.write("facts/langgraph/a/_x61_.md", 'Bees.\n\n```json\n{"n": 1}\n```\n', namespace=namespace)
    client.write("facts/other/bees.md", "Bees elsewhere.\n", namespace=namespace)
    assert [item.key for item in store.search((), limit=100)] == ["key"]
    assert [item.key for item in store.search((), query="bees")] == ["key"]
    assert store.get(("a",), "note") is None
    assert store.list_namespaces() == [("a",)]


def test_an_item_outlives_its_store(service: Any, namespace: str) -> None:
    with Client(service.url, service.key) as first:
        CuebaseStore(first, namespace=namespace).put(("a",), "key", {"n": 1})
    with Client(service.url, service.key, namespace=namespace) as second:
        item = CuebaseStore(second).get(("a",), "key")
    assert item is not None and item.value == {"n": 1}


class Talk(TypedDict, total=False):
    said: str
    reply: str


@dataclass
class Person:
    user_id: str


async def respond(state: Talk, runtime: Runtime[Person]) -> Talk:
    """Stands in for a model: recalls what the person said before, and keeps what the person says."""
    assert runtime.store is not None
    memories = ("memories", runtime.context.user_id)
    found = await runtime.store.asearch(memories, query=state["said"], limit=1)
    await runtime.store.aput(memories, str(uuid.uuid4()), {"text": state["said"]})
    return {"reply": found[0].value["text"] if found else "nothing"}


def test_a_second_thread_of_a_graph_recalls_what_the_first_one_said(service: Any, namespace: str) -> None:
    def converse(thread: str, person: str, said: str) -> str:
        # Each conversation has its own client, store, graph and event loop, as in two processes.
        with Client(service.url, service.key, namespace=namespace) as client:
            builder = StateGraph(Talk, context_schema=Person)
            builder.add_node("respond", respond)
            builder.add_edge(START, "respond")
            builder.add_edge("respond", END)
            graph = builder.compile(store=CuebaseStore(client), checkpointer=InMemorySaver())
            config: RunnableConfig = {"configurable": {"thread_id": thread}}
            return str(asyncio.run(graph.ainvoke({"said": said}, config, context=Person(person)))["reply"])

    assert converse("monday", "noor", "I take the aisle seat on long flights.") == "nothing"
    assert converse("friday", "noor", "Which seat do I take?") == "I take the aisle seat on long flights."
    assert converse("sunday", "omar", "Which seat do I take?") == "nothing"


def test_errors_say_what_is_wrong(client: Client, cuebase_store: CuebaseStore, stopped_url: str, silent_url: str) -> None:
    with pytest.raises(ValueError, match="too many levels.*maximum is 8"):
        cuebase_store.put(tuple("abcdefg"), "key", {})
    with pytest.raises(ValueError, match="too long.*maximum is 256"):
        cuebase_store.put(("a",), "é" * 100, {})
    with pytest.raises(TypeError, match=r"the value of \('a',\) 'key' is not JSON.*datetime"):
        cuebase_store.put(("a",), "key", {"at": datetime.now()})
    with pytest.raises(ValueError, match="limit is -1"):
        cuebase_store.search(("a",), limit=-1)
    with pytest.raises(TypeError, match="expected a list of field paths"):
        CuebaseStore(client, fields="text")
    with pytest.raises(NotFound) as missing:
        CuebaseStore(client, namespace="never-created").get(("a",), "key")
    assert missing.value.code == "namespace_not_found"
    with pytest.raises(InvalidRequest):
        CuebaseStore(client, folder="notes").put(("a",), "key", {})
    for url in (stopped_url, silent_url):
        with (
            Client(url, "key", timeout=0.3, max_retries=0) as unreachable,
            pytest.raises(Unreachable, match="no response from"),
        ):
            CuebaseStore(unreachable).get(("a",), "key")
