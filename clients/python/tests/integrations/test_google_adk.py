"""`CuebaseMemoryService` in the runners of Google ADK, with a fake model and a real server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.load_memory_tool import load_memory_tool
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.genai import types
from pydantic import Field

from cuebase import Client, CuebaseError
from cuebase.integrations.google_adk import CuebaseMemoryService, user_namespace
from example_pages import run_example
from servers import LONG_TIMEOUT, SHORT_TIMEOUT, Server, slow_client, stopped_client, use_server

APP = "travel"
FACT = "I moved to Lisbon last week, and I always take the aisle seat."
QUESTION = "Where do I live?"


class Recorder(BaseLlm):
    """A model that keeps its prompts. If it has the tool `load_memory`, it calls it for every question."""

    model: str = "recorder"
    prompts: list[str] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.prompts.append("\n".join(each.model_dump_json() for each in llm_request.contents))
        last = (llm_request.contents[-1].parts or [])[-1]
        part = types.Part(text="Understood.")
        if last.text and last.text.endswith("?") and "load_memory" in llm_request.tools_dict:
            part = types.Part(function_call=types.FunctionCall(name="load_memory", args={"query": last.text}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch, service: Server) -> None:
    use_server(monkeypatch, service)


def service_of() -> CuebaseMemoryService:
    return CuebaseMemoryService(timeout=LONG_TIMEOUT)


def content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


async def remember_session(callback_context: CallbackContext) -> None:
    await callback_context.add_session_to_memory()


class Conversation:
    """A runner with an agent, a model and its prompts."""

    def __init__(self, memories: CuebaseMemoryService, *, preload: bool = False) -> None:
        self.model = Recorder()
        self.memories = memories
        self.sessions = InMemorySessionService()
        agent = LlmAgent(
            name="agent",
            model=self.model,
            tools=[preload_memory_tool if preload else load_memory_tool],
            after_agent_callback=remember_session,
        )
        self.runner = Runner(app_name=APP, agent=agent, session_service=self.sessions, memory_service=memories)

    async def say(self, user_id: str, session_id: str, text: str) -> str:
        if await self.sessions.get_session(app_name=APP, user_id=user_id, session_id=session_id) is None:
            await self.sessions.create_session(app_name=APP, user_id=user_id, session_id=session_id)
        answer = ""
        async for event in self.runner.run_async(user_id=user_id, session_id=session_id, new_message=content(text)):
            if event.is_final_response() and event.content and event.content.parts:
                answer = event.content.parts[0].text or ""
        await self.memories.wait_until_ingested()
        return answer


def spoken_in(client: Client, session_id: str, namespace: str) -> list[tuple[str, object]]:
    """Returns the messages of all writes of a session, in order."""
    spoken: list[tuple[str, object]] = []
    for source in reversed(list(client.sources(session_id, namespace=namespace))):
        for message in client.source(source.id, namespace=namespace).messages:
            spoken.append((message.name or message.role, message.content))
    return spoken


@pytest.mark.parametrize("preload", [False, True], ids=["load_memory", "preload_memory"])
def test_a_second_session_recalls_the_first(preload: bool) -> None:
    user = f"noor-{preload}"

    async def talk() -> None:
        conversation = Conversation(service_of(), preload=preload)
        assert await conversation.say(user, "one", FACT) == "Understood."
        assert await conversation.say(user, "two", QUESTION) == "Understood."
        assert "Lisbon" in conversation.model.prompts[-1]

    asyncio.run(talk())


def test_users_and_applications_are_separated() -> None:
    service = service_of()

    async def search(app_name: str, user_id: str) -> int:
        found = await service.search_memory(app_name=app_name, user_id=user_id, query=QUESTION)
        return len(found.memories)

    async def talk() -> None:
        await Conversation(service).say("ana", "one", FACT)
        assert await search(APP, "ana") == 1
        assert await search(APP, "Ana") == 0
        assert await search("travel2", "ana") == 0

    asyncio.run(talk())


def test_an_application_can_share_the_memories_of_a_user() -> None:
    service = CuebaseMemoryService(
        namespace=lambda app_name, user_id: user_namespace("adk-shared", user_id), timeout=LONG_TIMEOUT
    )

    async def talk() -> None:
        await Conversation(service).say("ana", "one", FACT)
        found = await service.search_memory(app_name="another", user_id="ana", query=QUESTION)
        assert "Lisbon" in str(found.memories[0].content)

    asyncio.run(talk())


def test_a_session_that_is_added_again_is_not_stored_again(client: Client) -> None:
    async def talk() -> None:
        conversation = Conversation(service_of())
        await conversation.say("again", "one", FACT)
        await conversation.say("again", "one", "And I keep three hives of bees.")
        session = await conversation.sessions.get_session(app_name=APP, user_id="again", session_id="one")
        assert session
        await conversation.memories.add_session_to_memory(session)
        await conversation.memories.wait_until_ingested()

    asyncio.run(talk())
    assert spoken_in(client, "one", user_namespace(APP, "again")) == [
        ("user", FACT),
        ("agent", "Understood."),
        ("user", "And I keep three hives of bees."),
        ("agent", "Understood."),
    ]


def test_another_process_that_stores_the_session_again_makes_no_second_memory(client: Client) -> None:
    async def talk() -> None:
        conversation = Conversation(service_of())
        await conversation.say("restart", "one", FACT)
        await conversation.say("restart", "one", "And I keep three hives of bees.")
        session = await conversation.sessions.get_session(app_name=APP, user_id="restart", session_id="one")
        assert session
        restarted = service_of()
        await restarted.add_session_to_memory(session)
        await restarted.wait_until_ingested()

    asyncio.run(talk())
    found = client.retrieve("Lisbon", namespace=user_namespace(APP, "restart"), admit="all").hits
    assert len([hit for hit in found if "Lisbon" in hit.content]) == 1


def test_events_keep_their_time_and_leave_out_calls_and_thoughts(client: Client) -> None:
    service = service_of()
    call = types.Part(function_call=types.FunctionCall(name="f", args={}))
    thought = types.Part(text="The user seems to travel.", thought=True)
    events = [
        Event(author="user", content=content(FACT), timestamp=1_767_225_600.0),
        Event(author="agent", content=types.Content(role="model", parts=[call]), timestamp=1_767_225_601.0),
        Event(author="agent", content=types.Content(role="model", parts=[thought]), timestamp=1_767_225_602.0),
        Event(author="agent", content=content("Under"), partial=True, timestamp=1_767_225_603.0),
        Event(author="agent", timestamp=1_767_225_604.0),
    ]

    async def add() -> None:
        await service.add_events_to_memory(
            app_name=APP, user_id="events", events=events, session_id="e", custom_metadata={"team": "blue", "list": [1]}
        )
        await service.wait_until_ingested()

    asyncio.run(add())
    namespace = user_namespace(APP, "events")
    assert spoken_in(client, "e", namespace) == [("user", FACT)]
    (hit,) = client.retrieve(where=["team:blue"], namespace=namespace).hits
    assert hit.occurred_at and hit.occurred_at.isoformat() == "2026-01-01T00:00:00+00:00", "the time of the event"


def test_explicit_memories_are_found_at_once_replaced_and_deleted() -> None:
    service = service_of()

    async def search(query: str) -> list[MemoryEntry]:
        return (await service.search_memory(app_name=APP, user_id="explicit", query=query)).memories

    async def add(text: str, memory_id: str | None = None) -> None:
        entry = MemoryEntry(content=content(text), id=memory_id, author="form", timestamp="2026-05-04T09:00:00Z")
        await service.add_memory(app_name=APP, user_id="explicit", memories=[entry], custom_metadata={"form": 7})

    async def steps() -> None:
        await add("Noor takes the aisle seat.", "seat")
        (found,) = await search("Which seat does Noor take?")
        assert "aisle" in str(found.content) and found.id == "facts/adk/id-seat.md"
        assert found.timestamp == "2026-05-04T09:00:00+00:00"
        assert found.custom_metadata["author"] == "form" and found.custom_metadata["form"] == 7
        await add("Noor takes the window seat.", found.id)
        (found,) = await search("Which seat does Noor take?")
        assert "window" in str(found.content)
        await service.delete_memory(app_name=APP, user_id="explicit", memory_id="seat")
        assert await search("Which seat does Noor take?") == []
        await service.delete_memory(app_name=APP, user_id="explicit", memory_id="seat")
        with pytest.raises(ValueError, match="no text"):
            await add(" ")
        with pytest.raises(ValueError, match="memory_id"):
            await service.delete_memory(app_name=APP, user_id="explicit")

    asyncio.run(steps())


def test_nothing_is_found_without_memories_or_without_a_query() -> None:
    service = service_of()
    for query in (QUESTION, "  "):
        found = asyncio.run(service.search_memory(app_name=APP, user_id="nobody", query=query))
        assert found.memories == []


def test_a_run_with_preload_memory_goes_on_without_a_server(caplog: pytest.LogCaptureFixture) -> None:
    conversation = Conversation(CuebaseMemoryService(client=stopped_client()), preload=True)
    agent = conversation.runner.agent
    assert isinstance(agent, LlmAgent)
    agent.after_agent_callback = None
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(conversation.say("noor", "one", QUESTION)) == "Understood."
    assert "Failed to preload memory" in caplog.text


def test_explicit_calls_and_load_memory_raise_without_a_server() -> None:
    service = CuebaseMemoryService(client=stopped_client())
    with pytest.raises(CuebaseError):
        asyncio.run(service.search_memory(app_name=APP, user_id="noor", query=QUESTION))
    with pytest.raises(CuebaseError):
        asyncio.run(
            service.add_events_to_memory(
                app_name=APP, user_id="noor", events=[Event(author="user", content=content(FACT))]
            )
        )
    with pytest.raises(CuebaseError):
        asyncio.run(Conversation(service).say("noor", "one", QUESTION))


def test_a_slow_server_delays_a_call_by_the_timeout() -> None:
    with slow_client() as client:
        service = CuebaseMemoryService(client=client, timeout=SHORT_TIMEOUT)
        with pytest.raises(CuebaseError, match=f"no response within {SHORT_TIMEOUT} s"):
            asyncio.run(service.search_memory(app_name=APP, user_id="noor", query=QUESTION))


def test_the_example_of_the_page(tmp_path: Path, service: Server) -> None:
    monday, tuesday = run_example("google-adk.md", tmp_path, service, user_namespace(APP, "noor")).split("tuesday: ")
    assert monday == "monday: Understood.\n"
    assert tuesday.startswith("I remember:") and "Lisbon" in tuesday
