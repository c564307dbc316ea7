"""The memory tool: compared command by command with the SDK's file tool, and in a run with scripted responses."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaLocalFilesystemMemoryTool
from anthropic.types.beta import BetaMemoryTool20250818CreateCommand

from cuebase import Client, InvalidRequest, NotFound, Unreachable
from cuebase.integrations.anthropic_memory import CuebaseAsyncMemoryTool, CuebaseMemoryTool

Command = dict[str, Any]


def answer(tool: BetaAbstractMemoryTool, command: Command) -> str:
    """Returns what the model reads, without the sizes of folders, which depend on the file system."""
    try:
        text = str(tool.call(command))
    except ToolError as error:
        text = f"error: {error}"
    # The folder itself is on the second line, and others end in a slash.
    text = re.sub(r"^(Here're the files .*\n)\S+\t", r"\1-\t", text)
    return re.sub(r"^\S+\t(/memories.*/)$", r"-\t\1", text, flags=re.MULTILINE)


def view(path: str, *lines: int) -> Command:
    return {"command": "view", "path": path, **({"view_range": list(lines)} if lines else {})}


def create(path: str, text: str) -> Command:
    return {"command": "create", "path": path, "file_text": text}


def replace(path: str, old: str, new: str) -> Command:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> Command:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> Command:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> Command:
    return {"command": "rename", "old_path": old, "new_path": new}


NOTES = "/memories/notes.md"
COMMANDS: list[Command] = [
    view("/memories"),
    view("/memories/missing.md"),
    create(NOTES, "one\ntwo\nthree\nfour\nfive\nsix\n"),
    create(NOTES, "again"),
    view(NOTES),
    view(NOTES, 2, 3),
    view(NOTES, 5, -1),
    view(NOTES, 0, 100),
    view("/memories"),
    replace(NOTES, "four", "4"),
    replace(NOTES, "nothing", "x"),
    replace(NOTES, "e", "E"),
    replace(NOTES, "three\n4\n", ""),
    replace("/memories/missing.md", "a", "b"),
    insert(NOTES, 0, "zero\n"),
    insert(NOTES, 2, "in\nthe middle"),
    insert(NOTES, 7, "end"),
    insert(NOTES, 100, "x"),
    insert(NOTES, -1, "x"),
    insert("/memories/missing.md", 0, "x"),
    view(NOTES),
    create("/memories/unterminated.txt", "a\nb"),
    view("/memories/unterminated.txt"),
    insert("/memories/unterminated.txt", 2, "c"),
    view("/memories/unterminated.txt"),
    create("/memories/empty", ""),
    view("/memories/empty"),
    insert("/memories/empty", 0, "first"),
    view("/memories/empty"),
    create("/memories/blank.txt", " \n\n\t"),
    view("/memories/blank.txt"),
    create("/memories/a/b/c/d.xml", "<d/>"),
    create("/memories/a/b/e.md", "e\n"),
    create("/memories/a/été 日本.txt", "é\n"),
    create("/memories/.hidden/x.md", "x"),
    create("/memories/a/.h", "x"),
    view("/memories"),
    view("/memories/"),
    view("/memories/a"),
    view("/memories/a/b"),
    view("/memories/a/../a/./b//e.md"),
    create("/memories/a/b", "a folder has this path"),
    replace("/memories/a/b", "x", "y"),
    insert("/memories/a/b", 0, "y"),
    rename("/memories/a/b/e.md", "/memories/f.md"),
    view("/memories/a/b/e.md"),
    view("/memories/f.md"),
    rename("/memories/a/b/e.md", "/memories/g.md"),
    rename("/memories/f.md", NOTES),
    rename("/memories/a/b", "/memories/moved/b"),
    view("/memories/moved"),
    view("/memories/moved/b/c/d.xml"),
    view("/memories/a/b"),
    delete("/memories/f.md"),
    delete("/memories/f.md"),
    delete("/memories/moved"),
    view("/memories/moved"),
    delete("/memories"),
    rename("/memories", "/memories/x"),
    rename(NOTES, "/memories"),
    view("/etc/passwd"),
    view("/memories/../../etc/passwd"),
    create("/memories/../x.md", "x"),
    create("/memories/code.py", "---\na: 1\n---\n```json\n{}\n```\n[[facts/a.md]] {{x}}\n"),
    view("/memories/code.py"),
    replace("/memories/code.py", "{{x}}", "\\1 $& {}"),
    view("/memories/code.py"),
]


@pytest.fixture
def tool(client: Client, namespace: str) -> CuebaseMemoryTool:
    return CuebaseMemoryTool(client, namespace=namespace)


def test_every_command_answers_like_the_file_tool_of_the_sdk(tool: CuebaseMemoryTool, tmp_path: Path) -> None:
    reference = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for command in COMMANDS:
        expected = answer(reference, command)
        assert answer(tool, command) == expected, command
    assert answer(tool, view("/memories")) == answer(reference, view("/memories"))


def random_commands(seed: int, count: int) -> Iterator[Command]:
    chosen = random.Random(seed)

    def path() -> str:
        return "/memories/" + chosen.choice(["d/", "d/e/", ""]) + chosen.choice(["a.md", "b", "c.txt", "_x_.md", "x_x_.md"])

    def text() -> str:
        return "".join(chosen.choice(["a", "b", " ", "\n"]) for _ in range(chosen.randint(0, 6)))

    for _ in range(count):
        commands: list[Callable[[], Command]] = [
            lambda: create(path(), text()),
            lambda: view(path()),
            lambda: replace(path(), text() or "a", text()),
            lambda: insert(path(), chosen.randint(0, 3), text()),
            lambda: delete(path()),
            lambda: rename(path(), path()),
        ]
        yield chosen.choice(commands)()


@pytest.mark.parametrize("seed", range(4))
def test_random_commands_answer_like_the_file_tool_of_the_sdk(tool: CuebaseMemoryTool, tmp_path: Path, seed: int) -> None:
    reference = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for command in random_commands(seed, 80):
        assert answer(tool, command) == answer(reference, command), command
    for folder in ("/memories", "/memories/d", "/memories/d/e"):
        expected = answer(reference, view(folder))
        # An empty folder exists in a file system, and not in git.
        if len(expected.splitlines()) > 2:
            shown = [line for line in expected.splitlines() if not line.endswith("/")]
            assert [line for line in answer(tool, view(folder)).splitlines() if not line.endswith("/")] == shown


def test_a_file_is_a_memory_and_each_change_is_a_commit(client: Client, tool: CuebaseMemoryTool, namespace: str) -> None:
    answer(tool, create("/memories/noor/seat.md", "# Seats\n\nNoor takes the aisle.\n"))
    answer(tool, replace("/memories/noor/seat.md", "aisle", "window"))
    answer(tool, create("/memories/noor/my list.txt", "milk"))
    memory = client.get("facts/memories/noor/seat.md", namespace=namespace, detail="full")
    assert memory.content == "# Seats\n\nNoor takes the window.\n"
    assert memory.revisions is not None and len(memory.revisions) == 2
    assert client.get("facts/memories/noor/my_x20_list.txt_x_.md", namespace=namespace).content == "milk\n"
    hits = client.retrieve("Which seat does Noor take?", namespace=namespace).hits
    assert hits[0].path == memory.path


def test_tags_metadata_and_texts_of_other_programs_stay(client: Client, tool: CuebaseMemoryTool, namespace: str) -> None:
    client.write("facts/memories/plan.md", "First.\n", namespace=namespace, tags=["work"], metadata={"team": "blue"})
    assert answer(tool, view("/memories/plan.md")).endswith("     1\tFirst.\n     2\t")
    answer(tool, replace("/memories/plan.md", "First.\n", "Second."))
    answer(tool, rename("/memories/plan.md", "/memories/plan2.md"))
    memory = client.get("facts/memories/plan2.md", namespace=namespace)
    assert memory.user_tags == ("work",) and memory.metadata["team"] == "blue"
    # A person rewrites the memory: nothing of the former text is left.
    client.write(memory.path, "Third.\n", namespace=namespace)
    assert answer(tool, view("/memories/plan2.md")).endswith("     1\tThird.\n     2\t")
    # A name that the tool does not write is not shown.
    client.write("facts/memories/_x61_.md", "Foreign.\n", namespace=namespace)
    assert "_x61_" not in answer(tool, view("/memories"))


def test_clear_all_memory_deletes_only_the_folder(client: Client, tool: CuebaseMemoryTool, namespace: str) -> None:
    answer(tool, create("/memories/a.md", "a"))
    answer(tool, create("/memories/b/c.md", "c"))
    client.write("facts/other.md", "Other.\n", namespace=namespace)
    assert tool.clear_all_memory() == "All memory cleared"
    assert answer(tool, view("/memories")).splitlines()[1:] == ["-\t/memories"]
    assert client.get("facts/other.md", namespace=namespace).content == "Other.\n"


def test_the_sizes_of_a_folder_are_those_of_its_files(tool: CuebaseMemoryTool) -> None:
    answer(tool, create("/memories/a.md", "x" * 1024))
    answer(tool, create("/memories/b/c.md", "é" * 256))
    answer(tool, create("/memories/b/d.md", "x" * 1024))
    assert str(tool.call(view("/memories"))).splitlines()[1:] == [
        "2.5K\t/memories",
        "1K\t/memories/a.md",
        "1.5K\t/memories/b/",
        "512B\t/memories/b/c.md",
        "1K\t/memories/b/d.md",
    ]


def test_paths_that_cannot_exist_are_refused_by_name(tool: CuebaseMemoryTool) -> None:
    assert "too many levels" in answer(tool, create("/memories/" + "/".join("abcdefgh"), "x"))
    assert "too long" in answer(tool, create("/memories/" + "x" * 250, "x"))
    answer(tool, create("/memories/a.md", "x"))
    assert answer(tool, create("/memories/a.md/b.md", "x")) == (
        "error: The path /memories/a.md/b.md is invalid: /memories/a.md is a file, not a directory"
    )
    answer(tool, create("/memories/d/e.md", "x"))
    assert answer(tool, rename("/memories/d", "/memories/d/f")) == (
        "error: Cannot rename /memories/d to /memories/d/f, which is below it"
    )
    assert answer(tool, view("/memoriesx/a.md")) == "error: Path must start with /memories, got: /memoriesx/a.md"


# Runs of the SDK with scripted responses of the API.


class ScriptedApi:
    """Answers requests of the Messages API: each call of the memory tool in turn, then the last result as text."""

    def __init__(self, *commands: Command) -> None:
        self._commands = list(commands)
        self._is_begun = False
        self.results: list[dict[str, Any]] = []

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        if not self._is_begun:
            assert {"type": "memory_20250818", "name": "memory"} in body["tools"]
        self._is_begun = True
        last = body["messages"][-1]["content"]
        if isinstance(last, list):
            self.results += [block for block in last if block["type"] == "tool_result"]
        if self._commands:
            command = self._commands.pop(0)
            content = {"type": "tool_use", "id": f"toolu_{len(self._commands)}", "name": "memory", "input": command}
        else:
            content = {"type": "text", "text": text_of(self.results[-1])}
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [content],
            "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }


def text_of(result: dict[str, Any]) -> str:
    content = result["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def transport(api: ScriptedApi) -> httpx2.MockTransport:
    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=api.answer(json.loads(request.content)))

    return httpx2.MockTransport(handle)


def run(tool: CuebaseMemoryTool, *commands: Command) -> ScriptedApi:
    api = ScriptedApi(*commands)
    with Anthropic(api_key="none", http_client=httpx2.Client(transport=transport(api))) as anthropic:
        runner = anthropic.beta.messages.tool_runner(
            model="scripted", max_tokens=100, tools=[tool], messages=[{"role": "user", "content": "Go."}]
        )
        runner.until_done()
    return api


def test_a_second_conversation_reads_what_the_first_one_wrote(client: Client, namespace: str) -> None:
    first = run(
        CuebaseMemoryTool(client, namespace=namespace),
        view("/memories"),
        create("/memories/noor.md", "# Noor\n\nTakes the aisle seat.\n"),
        replace("/memories/noor.md", "the sea", "x"),
    )
    assert text_of(first.results[1]) == "File created successfully at: /memories/noor.md"
    assert first.results[2]["is_error"] and "did not appear verbatim" in text_of(first.results[2])
    second = run(CuebaseMemoryTool(client, namespace=namespace), view("/memories"), view("/memories/noor.md"))
    assert "/memories/noor.md" in text_of(second.results[0])
    assert "Takes the aisle seat." in text_of(second.results[1])


def test_the_asynchronous_tool_does_the_same(client: Client, namespace: str) -> None:
    commands = [
        create("/memories/a.md", "one\ntwo\n"),
        replace("/memories/a.md", "one", "1"),
        insert("/memories/a.md", 2, "three"),
        rename("/memories/a.md", "/memories/b.md"),
        view("/memories/b.md"),
        delete("/memories/b.md"),
        delete("/memories/b.md"),
    ]
    api = ScriptedApi(*commands)

    async def converse() -> None:
        http = httpx2.AsyncClient(transport=transport(api))
        tool = CuebaseAsyncMemoryTool(client, namespace=namespace, cache_control={"type": "ephemeral"})
        assert tool.to_dict().get("cache_control") == {"type": "ephemeral"}
        async with AsyncAnthropic(api_key="none", http_client=http) as anthropic:
            runner = anthropic.beta.messages.tool_runner(
                model="scripted",
                max_tokens=100,
                tools=[CuebaseAsyncMemoryTool(client, namespace=namespace)],
                messages=[{"role": "user", "content": "Go."}],
            )
            await runner.until_done()
        await tool.create(construct(create("/memories/c.md", "c")))
        assert await tool.clear_all_memory() == "All memory cleared"

    asyncio.run(converse())
    assert [text_of(result) for result in api.results[2:4]] == [
        "The file /memories/a.md has been edited.",
        "Successfully renamed /memories/a.md to /memories/b.md",
    ]
    assert text_of(api.results[4]).endswith("     1\t1\n     2\ttwo\n     3\tthree\n     4\t")
    assert [bool(result.get("is_error")) for result in api.results] == [False] * 6 + [True]


def construct(command: Command) -> BetaMemoryTool20250818CreateCommand:
    return BetaMemoryTool20250818CreateCommand.model_validate(command)


def test_errors_of_the_server_are_results_that_say_what_is_wrong(
    client: Client, service: Any, stopped_url: str, silent_url: str
) -> None:
    with pytest.raises(NotFound) as missing:
        CuebaseMemoryTool(client, namespace="never-created").call(view("/memories"))
    assert missing.value.code == "namespace_not_found"
    with pytest.raises(InvalidRequest):
        CuebaseMemoryTool(client, folder="notes").call(view("/memories"))
    for url in (stopped_url, silent_url):
        with Client(url, "key", timeout=0.3, max_retries=0) as unreachable:
            tool = CuebaseMemoryTool(unreachable)
            with pytest.raises(Unreachable, match="no response from"):
                tool.call(view("/memories"))
            # The runner of the SDK logs the error and reports it to the model.
            result = run(tool, create("/memories/a.md", "x")).results[0]
            assert result["is_error"] and "no response from" in text_of(result)
