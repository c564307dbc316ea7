"""`CuebaseContextProvider` in the agents of Microsoft Agent Framework, with a fake chat client and a real server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    Message,
    ResponseStream,
)

from cuebase import Client, CuebaseError
from cuebase.integrations.agent_framework import CuebaseContextProvider
from example_pages import run_example
from servers import LONG_TIMEOUT, SHORT_TIMEOUT, Server, slow_client, stopped_client, use_server

FACT = "I moved to Lisbon last week, and I always take the aisle seat."
QUESTION = "Where do I live?"


class Recorder(BaseChatClient):
    """A chat client that keeps its prompts."""

    def __init__(self) -> None:
        super().__init__()
        self.prompts: list[list[Message]] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse] | ResponseStream[ChatResponseUpdate, ChatResponse]:
        self.prompts.append(list(messages))
        if stream:
            return ResponseStream(self._updates(), finalizer=ChatResponse.from_updates)
        return self._answer()

    async def _answer(self) -> ChatResponse:
        return ChatResponse(messages=Message("assistant", ["Understood."]))

    async def _updates(self) -> AsyncIterator[ChatResponseUpdate]:
        for part in ("Under", "stood."):
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(part)])

    def last_prompt(self) -> str:
        return "\n".join(message.text for message in self.prompts[-1])


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch, service: Server) -> None:
    use_server(monkeypatch, service)


def user_of(session: AgentSession) -> str:
    return str(session.state["user_id"])


def provider_of(user_id: str | Callable[[AgentSession], str]) -> CuebaseContextProvider:
    return CuebaseContextProvider(user_id=user_id, timeout=LONG_TIMEOUT)


def session_of(agent: Agent, session_id: str, user_id: str) -> AgentSession:
    session = agent.create_session(session_id=session_id)
    session.state["user_id"] = user_id
    return session


def test_a_second_session_recalls_the_first() -> None:
    chat = Recorder()
    provider = provider_of(user_of)
    agent = Agent(chat, instructions="You help with travel.", context_providers=[provider])

    async def talk() -> None:
        await agent.run(FACT, session=session_of(agent, "one", "af-noor"))
        assert "Memories of earlier conversations" not in chat.last_prompt()
        await provider.wait_until_ingested()
        answer = await agent.run(QUESTION, session=session_of(agent, "two", "af-noor"))
        assert answer.text == "Understood."

    asyncio.run(talk())
    memories, question = chat.prompts[-1][-2:]
    assert memories.role == "user" and "Lisbon" in memories.text
    assert question.text == QUESTION


def test_one_agent_separates_its_users() -> None:
    chat = Recorder()
    provider = provider_of(user_of)
    agent = Agent(chat, context_providers=[provider])

    async def talk() -> None:
        await agent.run(FACT, session=session_of(agent, "one", "af-ana"))
        await provider.wait_until_ingested()
        await agent.run(QUESTION, session=session_of(agent, "two", "af-ana@example.com"))
        assert "Lisbon" not in chat.last_prompt()
        await agent.run(QUESTION, session=session_of(agent, "three", "af-ana"))
        assert "Lisbon" in chat.last_prompt()

    asyncio.run(talk())


def test_both_sides_of_a_streamed_turn_are_remembered_once(client: Client) -> None:
    provider = provider_of("af-stream")
    agent = Agent(Recorder(), name="travel", context_providers=[provider])

    async def talk() -> None:
        session = agent.create_session(session_id="stream")
        async for _ in agent.run(FACT, session=session, stream=True):
            pass
        await agent.run("And I keep three hives of bees.", session=session)
        await provider.wait_until_ingested()

    asyncio.run(talk())
    sources = list(client.sources("stream", namespace="user-af-stream"))
    spoken = []
    for source in reversed(sources):
        messages = client.source(source.id, namespace=source.namespace).messages
        spoken.append([(message.role, message.content) for message in messages])
    assert spoken == [
        [("user", FACT), ("assistant", "Understood.")],
        [("user", "And I keep three hives of bees."), ("assistant", "Understood.")],
    ]


def test_an_irrelevant_question_adds_nothing_to_the_prompt() -> None:
    chat = Recorder()
    provider = provider_of("af-irrelevant")
    agent = Agent(chat, context_providers=[provider])

    async def talk() -> None:
        await agent.run(FACT)
        await provider.wait_until_ingested()
        await agent.run("Is the number 7919 prime?")

    asyncio.run(talk())
    assert chat.last_prompt() == "Is the number 7919 prime?"


def test_a_missing_user_is_an_error() -> None:
    with pytest.raises(ValueError, match="no user"):
        CuebaseContextProvider()
    agent = Agent(Recorder(), context_providers=[CuebaseContextProvider(user_id=lambda session: "")])
    with pytest.raises(ValueError, match="no user"):
        asyncio.run(run(agent, FACT))


async def run(agent: Agent, text: str) -> str:
    return (await agent.run(text)).text


def test_a_run_goes_on_without_a_server(caplog: pytest.LogCaptureFixture) -> None:
    provider = CuebaseContextProvider(user_id="af-noor", client=stopped_client())
    agent = Agent(Recorder(), context_providers=[provider])
    with caplog.at_level(logging.WARNING, logger="cuebase.integrations"):
        assert asyncio.run(run(agent, FACT)) == "Understood."
    assert [record.message.split(":")[0] for record in caplog.records if record.name == "cuebase.integrations"] == [
        "the run continues without memories",
        "2 messages were not remembered",
    ]
    assert FACT not in caplog.text


def test_a_slow_server_delays_a_run_by_the_timeout(caplog: pytest.LogCaptureFixture) -> None:
    with slow_client() as client:
        provider = CuebaseContextProvider(user_id="af-noor", client=client, timeout=SHORT_TIMEOUT)
        agent = Agent(Recorder(), context_providers=[provider])
        assert asyncio.run(run(agent, FACT)) == "Understood."
    assert caplog.text.count(f"no response within {SHORT_TIMEOUT} s") == 2


def test_a_run_fails_without_a_server_on_request() -> None:
    provider = CuebaseContextProvider(user_id="af-noor", client=stopped_client(), on_error="raise")
    agent = Agent(Recorder(), context_providers=[provider])
    with pytest.raises(CuebaseError):
        asyncio.run(run(agent, FACT))


def test_the_example_of_the_page(tmp_path: Path, service: Server) -> None:
    lines = run_example("agent-framework.md", tmp_path, service).splitlines()
    assert lines[0] == "Understood."
    assert "Lisbon" in "\n".join(lines[1:])
