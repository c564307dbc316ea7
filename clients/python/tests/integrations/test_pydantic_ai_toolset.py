"""The toolset and the instructions for Pydantic AI, in runs with `FunctionModel` and `TestModel`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from cuebase import AsyncClient, Client, NotFound, Unreachable
from cuebase.integrations.pydantic_ai import CuebaseToolset, memory_instructions

#: Seconds after which a test hangs. A busy disk can delay every write by seconds.
HANGS = 300


@dataclass
class Person:
    namespace: str


def namespace_of(ctx: RunContext[Person]) -> str:
    return ctx.deps.namespace


class Script:
    """A model that calls tools in turn and then answers with the last result. Keeps the requests that it got."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self._calls = list(calls)
        self.requests: list[tuple[list[ModelMessage], AgentInfo]] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append((messages, info))
        if len(self.requests) <= len(self._calls):
            name, arguments = self._calls[len(self.requests) - 1]
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart(self.results()[-1] if self._calls else "Done.")])

    def results(self) -> list[str]:
        """Returns what the tools returned, or asked the model to correct."""
        texts = []
        for message in self.requests[-1][0]:
            for part in message.parts:
                if isinstance(part, (ToolReturnPart, RetryPromptPart)):
                    texts.append(str(part.content))
        return texts

    def instructions(self) -> str:
        first = self.requests[0][0][0]
        assert isinstance(first, ModelRequest)
        return first.instructions or ""


def run_agent(service: Any, namespace: str, script: Script, prompt: str | Sequence[Any] = "Go.") -> str:
    async def run() -> str:
        async with AsyncClient(service.url, service.key, namespace=namespace) as client:
            agent = Agent(FunctionModel(script), toolsets=[CuebaseToolset(client)], instructions=memory_instructions(client))
            return (await agent.run(prompt)).output

    return asyncio.run(asyncio.wait_for(run(), HANGS))


def test_a_second_run_recalls_what_the_first_one_remembered(service: Any, namespace: str) -> None:
    said = Script(("remember", {"text": "Noor is allergic to walnuts. She lives in Lisbon."}))
    assert run_agent(service, namespace, said, "Remember that.").startswith("Remembered: ")
    asked = Script(("recall", {"query": "What is Noor allergic to?"}))
    found = run_agent(service, namespace, asked, "What can she eat?")
    assert "walnuts" in found and ".md]" in found
    # The instructions of a run with a question have the memory without a call of a tool.
    informed = Script()
    run_agent(service, namespace, informed, "What is Noor allergic to?")
    assert "walnuts" in informed.instructions() and "not instructions" in informed.instructions()


def test_a_memory_is_forgotten_by_the_path_that_recall_shows(client: Client, service: Any, namespace: str) -> None:
    client.write(
        "facts/noor/seat.md", "# Seats\n\nNoor takes the aisle.\n", namespace=namespace, cues=["Which seat for Noor?"]
    )
    script = Script(
        ("recall", {"query": "Which seat for Noor?"}),
        ("forget", {"path": "facts/noor/seat.md"}),
        ("forget", {"path": "facts/noor/seat.md"}),
        ("recall", {"query": "Which seat for Noor?"}),
    )
    run_agent(service, namespace, script)
    recalled, forgotten, again, nothing = script.results()
    assert "Noor takes the aisle." in recalled and "[facts/noor/seat.md]" in recalled
    assert forgotten == "Forgotten: facts/noor/seat.md"
    assert again == "There was no memory at facts/noor/seat.md."
    assert nothing == "Nothing about this is remembered."
    with pytest.raises(NotFound):
        client.get("facts/noor/seat.md", namespace=namespace)


def test_the_model_is_asked_to_correct_a_call_that_the_server_refuses(service: Any, namespace: str) -> None:
    script = Script(("forget", {"path": "notes.txt"}))
    run_agent(service, namespace, script)
    assert "must end in .md" in script.results()[0]
    script = Script(("remember", {"text": "Thanks!"}))
    run_agent(service, namespace, script)
    assert "Nothing was remembered (small_talk)" in script.results()[0]


def test_remembering_the_same_again_is_not_an_error(service: Any, namespace: str) -> None:
    call = ("remember", {"text": "Noor is allergic to walnuts."})
    script = Script(call, call)
    run_agent(service, namespace, script)
    first, second = script.results()
    assert first.startswith("Remembered: ") and second == first


def test_the_namespace_may_come_from_the_dependencies_of_a_run(client: Client, service: Any, namespace: str) -> None:
    client.write(
        "facts/noor/seat.md", "# Seats\n\nNoor takes the aisle.\n", namespace=namespace, cues=["Which seat for Noor?"]
    )
    empty = client.create_namespace(f"{namespace}-empty").name
    script = Script(("recall", {"query": "Which seat for Noor?"}))

    async def run(deps: Person) -> str:
        async with AsyncClient(service.url, service.key) as asynchronous:
            toolset = CuebaseToolset(asynchronous, namespace=namespace_of)
            instructions = memory_instructions(asynchronous, namespace=namespace_of)
            agent = Agent(FunctionModel(script), deps_type=Person, toolsets=[toolset], instructions=instructions)
            return (await agent.run("Which seat for Noor?", deps=deps)).output

    assert "Noor takes the aisle." in asyncio.run(run(Person(namespace)))
    assert "Noor takes the aisle." in script.instructions()
    script.requests.clear()
    assert asyncio.run(run(Person(empty))) == "Nothing about this is remembered."
    assert script.instructions() == ""


def test_the_instructions_read_the_texts_of_a_prompt(client: Client, service: Any, namespace: str) -> None:
    client.write(
        "facts/noor/seat.md", "# Seats\n\nNoor takes the aisle.\n", namespace=namespace, cues=["Which seat for Noor?"]
    )
    prompts: list[tuple[str | Sequence[Any], bool]] = [
        (["Which seat", TextContent("for Noor?"), ImageUrl("https://example.com/a.png")], True),
        ([ImageUrl("https://example.com/a.png")], False),
        ("", False),
        ("The price of copper in Chile", False),
    ]
    for prompt, is_known in prompts:
        script = Script()
        run_agent(service, namespace, script, prompt)
        assert ("Noor takes the aisle." in script.instructions()) is is_known, prompt


def test_the_tools_have_descriptions_and_schemas(service: Any, namespace: str) -> None:
    script = Script()
    run_agent(service, namespace, script)
    tools = {tool.name: tool for tool in script.requests[0][1].function_tools}
    assert set(tools) == {"recall", "remember", "forget"}
    for name, parameter in [("recall", "query"), ("remember", "text"), ("forget", "path")]:
        assert tools[name].description
        assert list(tools[name].parameters_json_schema["properties"]) == [parameter]
        assert tools[name].parameters_json_schema["properties"][parameter]["description"]


def test_every_tool_runs_with_generated_arguments(service: Any, namespace: str) -> None:
    async def run() -> str:
        async with AsyncClient(service.url, service.key, namespace=namespace) as client:
            agent = Agent(TestModel(call_tools=["recall"]), toolsets=[CuebaseToolset(client)])
            return (await agent.run("Go.")).output

    assert "Nothing about this is remembered." in asyncio.run(run())


def test_an_unreachable_server_ends_the_run_with_its_error(stopped_url: str, silent_url: str) -> None:
    async def run(url: str, with_instructions: bool) -> None:
        async with AsyncClient(url, "key", timeout=0.3, max_retries=0) as client:
            model = FunctionModel(Script(("recall", {"query": "x"})))
            instructions = memory_instructions(client) if with_instructions else None
            agent = Agent(model, toolsets=[CuebaseToolset(client)], instructions=instructions)
            await agent.run("Go.")

    for url in (stopped_url, silent_url):
        for with_instructions in (False, True):
            with pytest.raises(Unreachable, match="no response from"):
                asyncio.run(run(url, with_instructions))
