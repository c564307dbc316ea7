"""`CuebaseStorage` below CrewAI's own `Memory`, agents and crews, with a fake model and a real server."""

from __future__ import annotations

import asyncio
import json
import math
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory
from pydantic import Field

from cuebase import Client, CuebaseError, Unreachable
from cuebase.integrations.crewai import CuebaseStorage, TextEmbedder
from example_pages import run_example
from servers import LONG_TIMEOUT, SHORT_TIMEOUT, Server, slow_server, stopped_client, use_server

FACT = "Noor moved to Lisbon and always takes the aisle seat."
QUESTION = "Where does Noor live?"


class Recorder(BaseLLM):
    """A model that keeps its prompts. It extracts `FACT` from every output of a task."""

    prompts: list[str] = Field(default_factory=list)

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        prompt = messages if isinstance(messages, str) else "\n".join(str(each["content"]) for each in messages)
        self.prompts.append(prompt)
        if '"memories"' in prompt or "discrete" in prompt:
            return json.dumps({"memories": [FACT]})
        return "Final Answer: Understood."


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch, service: Server) -> None:
    use_server(monkeypatch, service)


def storage_of(user_id: str) -> CuebaseStorage:
    return CuebaseStorage(user_id=user_id, timeout=LONG_TIMEOUT)


def memory_of(storage: CuebaseStorage) -> Memory:
    return Memory(storage=storage, embedder=storage.embedder, llm=Recorder(model="fake"))


def record(content: str, scope: str = "/", **fields: Any) -> MemoryRecord:
    return MemoryRecord(content=content, scope=scope, **fields)


def contents(records: list[MemoryRecord]) -> list[str]:
    return [each.content for each in records]


def test_the_storage_implements_the_protocol() -> None:
    storage: StorageBackend = storage_of("crew-protocol")
    assert isinstance(storage, StorageBackend)


def test_a_second_memory_recalls_what_the_first_remembered() -> None:
    first = memory_of(storage_of("crew-noor"))
    first.remember(FACT, scope="/travel", categories=["Home"], importance=0.8, metadata={"source": "chat"})
    first.close()
    second = memory_of(storage_of("crew-noor"))
    for depth in ("shallow", "deep"):
        (match,) = second.recall(QUESTION, depth=depth)
        assert match.record.content == FACT
        assert match.record.categories == ["Home"]
        assert match.record.metadata == {"source": "chat"}
        assert match.record.importance == 0.8
    second.close()


def test_a_crew_recalls_what_another_crew_learned() -> None:
    model = Recorder(model="fake")

    def run(description: str) -> str:
        storage = storage_of("crew-crew")
        memory = Memory(storage=storage, embedder=storage.embedder, llm=model)
        agent = Agent(role="Travel agent", goal="Help with travel", backstory="You know the user.", llm=model)
        task = Task(description=description, expected_output="A short answer", agent=agent)
        answer = str(Crew(agents=[agent], tasks=[task], memory=memory).kickoff())
        memory.close()
        return answer

    assert run("Noor moved to Lisbon last week.") == "Understood."
    count = len(model.prompts)
    assert run(QUESTION) == "Understood."
    assert "Lisbon" in model.prompts[count]
    assert "Relevant memories" in model.prompts[count]


def test_users_are_separated() -> None:
    storage_of("crew-ana").save([record(FACT)])
    other = storage_of("crew-ana@example.com")
    assert other.count() == 0
    assert other.search(other.embedder([QUESTION])[0]) == []
    assert memory_of(other).recall(QUESTION) == []
    assert storage_of("crew-ana").count() == 1
    with pytest.raises(ValueError, match="no user"):
        CuebaseStorage()


def test_records_come_back_as_they_were() -> None:
    storage = storage_of("crew-fields")
    given = [
        record("Plain."),
        record("# Title\n\nTwo paragraphs.\n\n- and a list\n", "/a/b"),
        record("---\nnot: front matter\n---\ntext", "/a"),
        record("日本語の文。🙂", "/Größe/x y/z.w", categories=["Ünïcode!", "B"], source="user:7", private=True),
        record("Nested.", "/deep/2/3/4/5/6/7/8/9", metadata={"list": [1, {"a": None}], "text": "x\ny" * 1000}),
        record("With an id of its own.", id="not/a valid: id"),
        record("long " * 3000, importance=1.0, created_at=datetime(2026, 5, 4, 9)),
    ]
    storage.save(given)
    for each in given:
        assert storage.get_record(each.id) == each
    assert storage.get_record("unknown") is None
    assert {each.id for each in storage.list_records()} == {each.id for each in given}


def test_a_record_with_too_many_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="the limit is 15360"):
        storage_of("crew-large").save([record("x", metadata={"text": "x" * 20_000})])


def test_scopes_categories_and_counts() -> None:
    storage = storage_of("crew-scopes")
    start = datetime(2026, 1, 1)
    storage.save(
        [
            record("one", "/a", categories=["x"], created_at=start),
            record("two", "/a/b", categories=["x", "y"], created_at=start + timedelta(days=1)),
            record("three", "/a/b/c/d/e/f/g", created_at=start + timedelta(days=2)),
            record("four", "/a/b/c/d/e/f/h", created_at=start + timedelta(days=3)),
            record("five", "/ab", categories=["X"], created_at=start + timedelta(days=4)),
        ]
    )
    assert storage.count() == 5
    assert storage.count("/a") == 4
    assert storage.count("/a/b/c/d/e/f/g") == 1
    assert storage.list_scopes() == ["/a", "/ab"]
    assert storage.list_scopes("/a/b/c/d/e/f") == ["/a/b/c/d/e/f/g", "/a/b/c/d/e/f/h"]
    assert storage.list_categories() == {"X": 1, "x": 2, "y": 1}
    assert storage.list_categories("/a/b") == {"x": 1, "y": 1}
    assert contents(storage.list_records("/a", limit=2, offset=1)) == ["three", "two"]
    info = storage.get_scope_info("/a")
    assert (info.path, info.record_count, info.categories) == ("/a", 4, ["x", "y"])
    assert (info.oldest_record, info.newest_record) == (start, start + timedelta(days=3))
    assert info.child_scopes == ["/a/b"]
    assert storage.get_scope_info("/none").record_count == 0


def test_a_search_keeps_to_its_scope_and_filters() -> None:
    storage = storage_of("crew-search")
    storage.save(
        [
            record("The red bicycle stands in the cellar.", "/home", categories=["bike"], metadata={"year": 2024}),
            record("The blue bicycle stands in the garage.", "/home/new", categories=["Bike"], metadata={"year": 2026}),
            record("The office bicycle stands in the yard.", "/homework"),
        ]
    )
    query = storage.embedder(["Where does the bicycle stand?"])[0]
    assert len(storage.search(query)) == 3
    assert len(storage.search(query, limit=1)) == 1
    assert len(storage.search(query, "/home")) == 2
    (found,) = storage.search(query, "/home", ["Bike"])
    assert "blue" in found[0].content and 0 < found[1] <= 1
    (found,) = storage.search(query, metadata_filter={"year": 2024})
    assert "red" in found[0].content
    assert storage.search(query, min_score=1.1) == []
    # Deep scopes share a folder.
    storage.save([record(f"The bicycle {name} stands in the hall.", f"/1/2/3/4/5/6/{name}") for name in ("Ada", "Bo")])
    assert len(storage.search(query, "/1/2/3/4/5/6")) == 2
    (found,) = storage.search(query, "/1/2/3/4/5/6/Bo", limit=1)
    assert "Bo" in found[0].content
    assert storage.search(storage.embedder(["  "])[0]) == []


def test_updates_and_deletions_take_effect_at_once() -> None:
    storage = storage_of("crew-update")
    kept, moved, old = record("kept", "/a"), record("moved", "/a"), record("old", "/b", created_at=datetime(2020, 1, 1))
    storage.save([kept, moved, old])
    storage.update(moved.model_copy(update={"content": "moved away", "scope": "/c"}))
    assert storage.count("/a") == 1
    assert contents(storage.list_records("/c")) == ["moved away"]
    assert storage.delete(record_ids=[moved.id], scope_prefix="/a") == 0
    assert storage.delete(record_ids=[moved.id]) == 1
    assert storage.delete(older_than=datetime(2021, 1, 1)) == 1
    assert contents(storage.list_records()) == ["kept"]
    storage.reset("/b")
    assert storage.count() == 1
    storage.reset()
    assert storage.count() == 0
    assert storage.delete() == 0


def test_memory_forgets_updates_and_resets() -> None:
    memory = memory_of(storage_of("crew-memory"))
    kept = memory.remember("Noor keeps bees.", scope="/a", categories=[], importance=0.5)
    assert kept
    memory.remember("Noor sails.", scope="/b", categories=[], importance=0.5)
    assert memory.list_scopes() == ["/a", "/b"]
    memory.update(kept.id, content="Noor keeps three hives of bees.")
    assert "three hives" in memory.recall("bees", depth="shallow")[0].record.content
    assert memory.forget(scope="/b") == 1
    memory.reset()
    assert memory.list_records() == []
    memory.close()


def test_other_memories_of_the_user_are_neither_found_nor_deleted(client: Client) -> None:
    storage = storage_of("crew-others")
    storage.save([record(FACT)])
    client.write("facts/noor/bees.md", "Noor keeps three hives of bees.", namespace="user-crew-others")
    client.write("facts/crewai/note.md", "Noor lives in a house by the river.", namespace="user-crew-others")
    assert storage.count() == 1
    assert contents([each for each, _ in storage.search(storage.embedder(["Noor"])[0])]) == [FACT]
    storage.reset()
    assert client.get("facts/crewai/note.md", namespace="user-crew-others").content


def test_more_records_than_a_request_returns() -> None:
    storage = storage_of("crew-many")
    records = [record(f"Line {number}.", "/poem/long") for number in range(201)]
    records += [record(f"Verse {number}.", "/poem/short") for number in range(2)]
    # The server syncs writes that arrive together once.
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(storage.save, [[each] for each in records]))
    assert storage.count() == 203
    assert len({each.id for each in storage.list_records(limit=1000)}) == 203


def test_a_batch_drops_repetitions_and_nothing_else() -> None:
    memory = memory_of(storage_of("crew-batch"))
    texts = ["Noor likes tea.", "Noor likes tea.", "Noor likes sea.", "Noah likes tea."]
    memory.remember_many(texts, scope="/", categories=[], importance=0.5)
    memory.drain_writes()
    assert sorted(contents(memory.list_records())) == sorted(set(texts))
    memory.close()


def test_vectors_hold_texts_and_only_equal_texts_are_similar() -> None:
    texts = ["a", "b", "Noor likes tea.", "Noor likes sea.", "日本語", "x" * 10_000]
    vectors = TextEmbedder()(texts)
    for one, left in enumerate(vectors):
        for other, right in enumerate(vectors):
            if len(left) == len(right):
                assert (cosine(left, right) > 0.9) == (one == other)
    storage = storage_of("crew-vectors")
    for foreign in ([0.1, 0.2, 0.3], [0.1] * 1536, []):
        with pytest.raises(ValueError, match="embedder=storage.embedder"):
            storage.search(foreign)


def cosine(left: list[float], right: list[float]) -> float:
    product = sum(a * b for a, b in zip(left, right))
    return product / math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))


def test_the_methods_for_event_loops() -> None:
    storage = storage_of("crew-async")

    async def steps() -> None:
        await storage.asave([record(FACT)])
        ((found, _),) = await storage.asearch(storage.embedder([QUESTION])[0], limit=3)
        assert found.content == FACT
        assert await storage.adelete(record_ids=[found.id]) == 1

    asyncio.run(steps())


def test_a_crew_goes_on_without_a_server_and_explicit_calls_raise() -> None:
    storage = CuebaseStorage(user_id="crew-noor", client=stopped_client())
    model = Recorder(model="fake")
    memory = Memory(storage=storage, embedder=storage.embedder, llm=model)
    agent = Agent(role="Travel agent", goal="Help with travel", backstory="You know the user.", llm=model)
    task = Task(description=QUESTION, expected_output="A short answer", agent=agent)
    assert str(Crew(agents=[agent], tasks=[task], memory=memory).kickoff()) == "Understood."
    with pytest.raises(CuebaseError):
        memory.remember(FACT, scope="/", categories=[], importance=0.5)
    with pytest.raises(CuebaseError):
        memory.recall(QUESTION, depth="shallow")
    with pytest.raises(CuebaseError):
        memory.forget()
    assert memory.recall(QUESTION) == []
    assert memory.remember_many([FACT], scope="/", categories=[], importance=0.5) == []
    memory.close()


def test_a_slow_server_delays_a_call_by_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    with slow_server() as url:
        monkeypatch.setenv("CUEBASE_URL", url)
        storage = CuebaseStorage(user_id="crew-noor", timeout=SHORT_TIMEOUT)
        with pytest.raises(Unreachable):
            storage.count()
        storage.close()


def test_the_example_of_the_page(tmp_path: Path, service: Server) -> None:
    printed = run_example("crewai.md", tmp_path, service)
    monday, tuesday = printed.split("tuesday: ")
    assert monday.rstrip().endswith("monday: Understood.")
    assert "Lisbon" in tuesday
