"""`CuebaseMemoryBlock` inside LlamaIndex's own `Memory` and chat engine, against a real server."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.memory import Memory

from cuebase import Client, CuebaseError
from cuebase.integrations.llama_index import CuebaseMemoryBlock
from example_pages import run_example
from servers import LONG_TIMEOUT, SHORT_TIMEOUT, Server, slow_client, stopped_client, use_server

FACT = "I moved to Lisbon last week, and I always take the aisle seat."
QUESTION = "Where do I live?"


class Recorder(CustomLLM):
    """A model that keeps its prompts."""

    prompts: list[str] = []

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text="Understood.")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch, service: Server) -> None:
    use_server(monkeypatch, service)


def block_of(user_id: str) -> CuebaseMemoryBlock:
    return CuebaseMemoryBlock(user_id=user_id, timeout=LONG_TIMEOUT)


def memory_of(block: CuebaseMemoryBlock, session_id: str, **settings: Any) -> Memory:
    return Memory.from_defaults(session_id=session_id, memory_blocks=[block], **settings)


def prompt_text(messages: list[ChatMessage]) -> str:
    return "\n".join(str(message.content) for message in messages)


def test_a_second_session_recalls_the_first() -> None:
    model = Recorder()

    async def session(session_id: str, message: str) -> None:
        block = block_of("llama-noor")
        memory = memory_of(block, session_id)
        await SimpleChatEngine.from_defaults(llm=model, memory=memory).achat(message)
        await block.aput_active(memory)
        await block.wait_until_ingested()

    asyncio.run(session("one", FACT))
    assert "Lisbon" in model.prompts[-1] and "<cuebase>" not in model.prompts[-1], "the first session has no memories"
    asyncio.run(session("two", QUESTION))
    assert "Lisbon" in model.prompts[-1]
    assert "<cuebase>" in model.prompts[-1]


def test_an_agent_recalls_what_another_session_said() -> None:
    model = Recorder()

    async def session(session_id: str, message: str) -> None:
        block = block_of("llama-agent")
        memory = memory_of(block, session_id, insert_method="user")
        agent = ReActAgent(llm=model, tools=[], streaming=False)
        await agent.run(message, memory=memory)
        await block.aput_active(memory)
        await block.wait_until_ingested()

    asyncio.run(session("one", FACT))
    asyncio.run(session("two", QUESTION))
    assert "Lisbon" in model.prompts[-1]


def test_the_synchronous_engine_uses_one_block_in_several_event_loops() -> None:
    block = block_of("llama-sync")
    model = Recorder()
    engine = SimpleChatEngine.from_defaults(llm=model, memory=memory_of(block, "one"))
    engine.chat(FACT)
    engine.chat("And I keep three hives of bees.")
    asyncio.run(block.aput([ChatMessage(role="user", content=FACT)], session_id="one"))
    asyncio.run(block.wait_until_ingested())
    engine.chat(QUESTION)
    assert "<cuebase>" in model.prompts[-1]


def test_messages_that_leave_the_queue_are_remembered_with_their_session(client: Client) -> None:
    block = block_of("llama-queue")

    async def talk() -> None:
        memory = memory_of(block, "long", token_limit=60, token_flush_size=10, chat_history_token_ratio=0.5)
        await memory.aput(ChatMessage(role="user", content=FACT))
        await memory.aput(ChatMessage(role="assistant", content="Lisbon is lovely in May."))
        for number in range(4):
            await memory.aput(ChatMessage(role="user", content=f"Please read line {number} of the long poem to me."))
            await memory.aput(ChatMessage(role="assistant", content=f"Here is line {number} of the long poem."))
        await block.wait_until_ingested()

    asyncio.run(talk())
    sources = list(client.sources("long", namespace="user-llama-queue"))
    assert sources
    spoken = [message for each in sources for message in client.source(each.id, namespace=each.namespace).messages]
    assert ("user", FACT) in [(message.role, message.content) for message in spoken]
    assert ("assistant", "Lisbon is lovely in May.") in [(message.role, message.content) for message in spoken]


def test_users_are_separated() -> None:
    asyncio.run(remember("llama-ana", FACT))
    other = block_of("llama-ana@example.com")
    assert asyncio.run(other.aget([ChatMessage(role="user", content=QUESTION)])) == ""
    same = block_of("llama-ana")
    assert "Lisbon" in asyncio.run(same.aget([ChatMessage(role="user", content=QUESTION)]))


async def remember(user_id: str, text: str) -> None:
    block = block_of(user_id)
    await block.aput([ChatMessage(role="user", content=text)], session_id="one")
    await block.wait_until_ingested()


def test_instructions_and_tool_calls_are_not_remembered(client: Client) -> None:
    block = block_of("llama-roles")
    messages = [
        ChatMessage(role=MessageRole.SYSTEM, content="You are a travel agent."),
        ChatMessage(role=MessageRole.USER, content=FACT),
        ChatMessage(role=MessageRole.TOOL, content="{}"),
        ChatMessage(role=MessageRole.ASSISTANT, content=""),
        ChatMessage(role=MessageRole.MODEL, content="Understood."),
    ]

    async def put() -> None:
        await block.aput(messages, session_id="roles")
        await block.wait_until_ingested()

    asyncio.run(put())
    (source,) = client.sources("roles", namespace="user-llama-roles")
    spoken = client.source(source.id, namespace=source.namespace).messages
    assert [(message.role, message.content) for message in spoken] == [("user", FACT), ("assistant", "Understood.")]


def test_truncation_keeps_the_beginning() -> None:
    block = CuebaseMemoryBlock(namespace="unused")
    content = "\n".join(f"- memory {number} of the user" for number in range(10))
    shorter = asyncio.run(block.atruncate(content, 20))
    assert shorter and content.startswith(shorter) and 100 <= len(content) - len(shorter) <= 150
    assert asyncio.run(block.atruncate(content, 1000)) is None


def test_a_memory_that_exceeds_the_token_limit_is_shortened() -> None:
    asyncio.run(remember("llama-limit", FACT))
    question = ChatMessage(role="user", content=QUESTION)

    async def prompt(token_limit: int) -> str:
        memory = memory_of(block_of("llama-limit"), "two", token_limit=token_limit)
        await memory.aput(question)
        return prompt_text(await memory.aget())

    assert "Lisbon" in asyncio.run(prompt(1000))
    assert "Lisbon" not in asyncio.run(prompt(12))


def test_a_block_without_a_user_is_refused() -> None:
    with pytest.raises(ValueError, match="no user"):
        CuebaseMemoryBlock()


def test_a_run_goes_on_without_a_server(caplog: pytest.LogCaptureFixture) -> None:
    model = Recorder()
    block = CuebaseMemoryBlock(user_id="llama-noor", client=stopped_client())
    engine = SimpleChatEngine.from_defaults(llm=model, memory=memory_of(block, "stopped"))
    with caplog.at_level(logging.WARNING, logger="cuebase.integrations"):
        assert str(asyncio.run(engine.achat(QUESTION))) == "Understood."
        asyncio.run(block.aput([ChatMessage(role="user", content=FACT)]))
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "the run continues without memories",
        "1 messages were not remembered",
    ]
    assert FACT not in caplog.text


def test_a_slow_server_delays_a_run_by_the_timeout(caplog: pytest.LogCaptureFixture) -> None:
    with slow_client() as client:
        block = CuebaseMemoryBlock(user_id="llama-noor", client=client, timeout=SHORT_TIMEOUT)
        found = asyncio.run(block.aget([ChatMessage(role="user", content=QUESTION)]))
    assert found == ""
    assert f"no response within {SHORT_TIMEOUT} s" in caplog.text


def test_errors_are_raised_on_request_and_by_explicit_calls() -> None:
    strict = CuebaseMemoryBlock(user_id="llama-noor", client=stopped_client(), on_error="raise")
    with pytest.raises(CuebaseError):
        asyncio.run(strict.aget([ChatMessage(role="user", content=QUESTION)]))
    lenient = CuebaseMemoryBlock(user_id="llama-noor", client=stopped_client())

    async def put_active() -> None:
        memory = memory_of(lenient, "stopped")
        await memory.aput(ChatMessage(role="user", content=FACT))
        await lenient.aput_active(memory)

    with pytest.raises(CuebaseError):
        asyncio.run(put_active())


def test_the_example_of_the_page(tmp_path: Path, service: Server) -> None:
    lines = run_example("llama-index.md", tmp_path, service).splitlines()
    assert lines[0] == "monday: Understood."
    assert "Lisbon" in "\n".join(lines[1:])
