"""The session of the OpenAI Agents SDK: compared with the SDK's `SQLiteSession`, and in runs with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from agents import Agent, RunConfig, Runner, SQLiteSession, TResponseInputItem, function_tool
from agents.memory import Session, SessionSettings
from agents.testing import ScriptedModel, assistant_message, function_call

from cuebase import AsyncClient, Client, InvalidRequest, Memory, NotFound, Unreachable
from cuebase.integrations.openai_agents import CuebaseSession, recall_tool

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "I keep three hives of bees behind the school."},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Look."},
            {"type": "input_image", "image_url": "data:,", "detail": "auto"},
        ],
    },
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "They want facts."}],
        "encrypted_content": "x" * 500,
    },
    {"type": "function_call", "call_id": "c1", "name": "count", "arguments": '{"of": "hives"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "3"},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Three hives.", "annotations": [], "logprobs": []}],
    },
    {"role": "developer", "content": "Be brief."},
    {"role": "system", "content": "Be kind."},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "naïve 日本 🐝 \u0000 \ud83d", "extra": {"b": 2**70, "a": [None, 1.5]}},
    {"role": "user", "content": "I keep three hives of bees behind the school."},
]
NO_TRACES = RunConfig(tracing_disabled=True)
#: Seconds after which a test hangs. A busy disk can delay every write by seconds.
HANGS = 300


@asynccontextmanager
async def connected(service: Any, namespace: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service.url, service.key, namespace=namespace) as client:
        yield client


def items(given: list[dict[str, Any]]) -> list[TResponseInputItem]:
    return cast(list[TResponseInputItem], given)


async def retrievable(client: AsyncClient, query: str, text: str) -> Memory:
    """Waits until a query finds a memory with a text."""
    while True:
        for hit in (await client.retrieve(query)).hits:
            if text in hit.content:
                return hit
        await asyncio.sleep(0.02)


def on_both_sessions(service: Any, namespace: str, check: Callable[[Session], Awaitable[None]]) -> None:
    async def run() -> None:
        await check(SQLiteSession("s"))
        async with connected(service, namespace) as client:
            await check(CuebaseSession("s", client))

    asyncio.run(asyncio.wait_for(run(), HANGS))


def test_items_come_back_exactly_and_in_order(service: Any, namespace: str) -> None:
    async def check(session: Session) -> None:
        assert await session.get_items() == []
        await session.add_items(items(ITEMS[:4]))
        await session.add_items([])
        await session.add_items(items(ITEMS[4:]))
        found = await session.get_items()
        assert found == ITEMS
        assert json.dumps(found) == json.dumps(ITEMS)
        assert await session.get_items(limit=3) == ITEMS[-3:]
        assert await session.get_items(limit=100) == ITEMS
        assert await session.get_items(limit=0) == []

    on_both_sessions(service, namespace, check)


def test_pop_removes_the_last_item_until_none_is_left(service: Any, namespace: str) -> None:
    async def check(session: Session) -> None:
        assert await session.pop_item() is None
        await session.add_items(items(ITEMS[:3]))
        assert await session.pop_item() == ITEMS[2]
        assert await session.get_items() == ITEMS[:2]
        await session.add_items(items(ITEMS[3:4]))
        assert await session.get_items() == [*ITEMS[:2], ITEMS[3]]
        for expected in (ITEMS[3], ITEMS[1], ITEMS[0], None):
            assert await session.pop_item() == expected
        assert await session.get_items() == []
        await session.add_items(items(ITEMS[:1]))
        assert await session.get_items() == ITEMS[:1]

    on_both_sessions(service, namespace, check)


def test_clear_removes_all_items(service: Any, namespace: str) -> None:
    async def check(session: Session) -> None:
        await session.clear_session()
        await session.add_items(items(ITEMS))
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items(items(ITEMS[:2]))
        assert await session.get_items() == ITEMS[:2]

    on_both_sessions(service, namespace, check)


def test_sessions_with_the_same_id_share_items_and_others_do_not(service: Any, namespace: str) -> None:
    async def run() -> None:
        async with connected(service, namespace) as client:
            first, second = CuebaseSession("same", client), CuebaseSession("same", client)
            other = CuebaseSession("other", client)
            assert isinstance(first, Session)
            await first.add_items(items(ITEMS[:2]))
            assert await second.get_items() == ITEMS[:2]
            assert await other.get_items() == []
            assert second.conversation_id == first.conversation_id is not None
            by_id = CuebaseSession("any", client, conversation_id=first.conversation_id)
            assert await by_id.get_items() == ITEMS[:2]
            await second.clear_session()
            assert await first.get_items() == []
            await first.add_items(items(ITEMS[2:3]))
            assert await CuebaseSession("same", client).get_items() == ITEMS[2:3]
            limited = CuebaseSession("limited", client, session_settings=SessionSettings(limit=2))
            await limited.add_items(items(ITEMS))
            assert await limited.get_items() == ITEMS[-2:]
            assert await limited.get_items(limit=3) == ITEMS[-3:]

    asyncio.run(asyncio.wait_for(run(), HANGS))


def test_concurrent_additions_of_one_session_are_all_kept(service: Any, namespace: str) -> None:
    async def run() -> None:
        async with connected(service, namespace) as client:
            session = CuebaseSession("s", client)
            said = [{"role": "user", "content": f"Number {number}."} for number in range(20)]
            await asyncio.gather(*(session.add_items(items([each])) for each in said))
            found = await session.get_items()
            assert sorted(str(item) for item in found) == sorted(str(item) for item in said)

    asyncio.run(asyncio.wait_for(run(), HANGS))


def test_messages_of_other_programs_are_items(client: Client, service: Any, namespace: str) -> None:
    async def run() -> None:
        async with connected(service, namespace) as asynchronous:
            session = CuebaseSession("s", asynchronous)
            await session.add_items(items(ITEMS[:1]))
            assert session.conversation_id
            client.append(
                session.conversation_id,
                [
                    {"role": "assistant", "content": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]},
                    {"role": "tool", "content": "A result that no call belongs to."},
                ],
            )
            assert await session.get_items() == [ITEMS[0], {"role": "assistant", "content": "One.\n\nTwo."}]
            assert await session.pop_item() == {"role": "assistant", "content": "One.\n\nTwo."}
            assert await session.get_items() == ITEMS[:1]

    asyncio.run(asyncio.wait_for(run(), HANGS))


def test_what_is_said_becomes_memory_and_nothing_else(service: Any, namespace: str) -> None:
    async def run() -> None:
        async with connected(service, namespace) as client:
            session = CuebaseSession("s", client, user_name="Mara")
            await session.add_items(items(ITEMS[:9]))
            hit = await retrievable(client, "How many hives are behind the school?", "three hives")
            assert "Mara" in hit.content
            everything = "".join(
                memory.content for memory in (await client.retrieve(tiers=["facts", "incidents", "rules", "skills"])).hits
            )
            for unsaid in ("They want facts", "call_id", "output_text", "data:,", "Be brief", "Be kind"):
                assert unsaid not in everything

    asyncio.run(asyncio.wait_for(run(), HANGS))


def test_a_second_session_recalls_what_the_first_one_said(service: Any, namespace: str) -> None:
    @function_tool
    def weather(city: str) -> str:
        """Returns the weather."""
        return f"Rain in {city}."

    async def run() -> None:
        async with connected(service, namespace) as client:
            # The first session: a statement, and a call of a tool.
            model = ScriptedModel(
                [[function_call("weather", '{"city": "Lisbon"}', call_id="w1")], [assistant_message("Take a coat.")]]
            )
            agent = Agent(name="guide", model=model, tools=[weather])
            first = CuebaseSession("monday", client, user_name="Noor")
            result = await Runner.run(
                agent, "I moved to Lisbon last week. Do I need a coat?", session=first, run_config=NO_TRACES
            )
            assert result.final_output == "Take a coat."
            kept = await first.get_items()
            assert [cast(dict[str, Any], item).get("type", "message") for item in kept] == [
                "message",
                "function_call",
                "function_call_output",
                "message",
            ]
            # The same session continues with its history.
            model = ScriptedModel([[assistant_message("You asked about a coat.")]])
            await Runner.run(Agent(name="guide", model=model), "What did I ask?", session=first, run_config=NO_TRACES)
            assert model.last_call and len(cast(list[Any], model.last_call.input)) == 5
            assert await CuebaseSession("monday", client).get_items(limit=4) != kept
            await retrievable(client, "Where does Noor live?", "Lisbon")
            # Another session has no history, and recalls the statement.
            model = ScriptedModel(
                [
                    [function_call("recall", '{"query": "Where does Noor live?"}', call_id="r1")],
                    [assistant_message("In Lisbon.")],
                ]
            )
            second = CuebaseSession("friday", client)
            agent = Agent(name="guide", model=model, tools=[recall_tool(client)])
            result = await Runner.run(agent, "Where do I live?", session=second, run_config=NO_TRACES)
            assert result.final_output == "In Lisbon."
            output = [
                item for item in await second.get_items() if cast(dict[str, Any], item).get("type") == "function_call_output"
            ]
            assert "Lisbon" in str(output[0]) and ".md]" in str(output[0])
            model.assert_complete()

    asyncio.run(asyncio.wait_for(run(), HANGS))


def test_the_namespace_of_a_recall_may_come_from_the_run(client: Client, service: Any, namespace: str) -> None:
    client.write(
        "facts/noor/seat.md", "# Seats\n\nNoor takes the aisle.\n", namespace=namespace, cues=["Which seat for Noor?"]
    )

    async def run() -> str:
        async with AsyncClient(service.url, service.key) as asynchronous:
            tool = recall_tool(asynchronous, namespace=lambda context: str(context.context), admit="recall")
            model = ScriptedModel(
                [
                    [function_call("recall", '{"query": "Which seat for Noor?"}', call_id="r1")],
                    [function_call("recall", '{"query": "the price of copper"}', call_id="second")],
                    [assistant_message("Done.")],
                ]
            )
            agent = Agent(name="guide", model=model, tools=[tool])
            result = await Runner.run(agent, "Book.", context=namespace, run_config=NO_TRACES)
            return str([item.raw_item for item in result.new_items])

    outputs = asyncio.run(asyncio.wait_for(run(), HANGS))
    assert "Noor takes the aisle." in outputs and "Nothing about this is remembered." in outputs


def test_errors_say_what_is_wrong(service: Any, namespace: str, stopped_url: str, silent_url: str) -> None:
    async def run() -> None:
        async with connected(service, "never-created") as client:
            with pytest.raises(NotFound) as missing:
                await CuebaseSession("s", client).get_items()
            assert missing.value.code == "namespace_not_found"
        async with connected(service, namespace) as client:
            with pytest.raises(InvalidRequest):
                await CuebaseSession("s\n", client).add_items(items(ITEMS[:1]))
            with pytest.raises(InvalidRequest):
                await CuebaseSession("s" * 600, client).add_items(items(ITEMS[:1]))
        for url in (stopped_url, silent_url):
            async with AsyncClient(url, "key", timeout=0.3, max_retries=0) as unreachable:
                with pytest.raises(Unreachable, match="no response from"):
                    await CuebaseSession("s", unreachable).add_items(items(ITEMS[:1]))
                model = ScriptedModel(
                    [[function_call("recall", '{"query": "x"}', call_id="r1")], [assistant_message("I cannot look.")]]
                )
                agent = Agent(name="guide", model=model, tools=[recall_tool(unreachable)])
                result = await Runner.run(agent, "Look.", run_config=NO_TRACES)
                # The model reads the error as the result of the tool.
                assert "Memories cannot be searched now: unreachable: no response from" in str(
                    [item.raw_item for item in result.new_items]
                )

    asyncio.run(asyncio.wait_for(run(), HANGS))
