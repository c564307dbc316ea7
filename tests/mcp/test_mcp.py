"""The MCP tools, called with the official Python SDK over standard input and output and over HTTP."""

import asyncio
import json
import os
import re
import subprocess
import urllib.request
import uuid

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from support import BINARY, agent, call, command, good, until

TOOLS = {
    "memory_remember",
    "memory_recall",
    "memory_read",
    "memory_write",
    "memory_forget",
    "memory_answer",
    "memory_context",
    "memory_profile",
    "memory_explain",
    "memory_skills",
    "memory_topics",
}
TRANSPORTS = ["http", "url", "running_server", "stopped_server"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_agent_remembers_and_recalls(transport, service, tmp_path):
    name = f"Noor{uuid.uuid4().hex[:6]}"
    path = f"facts/{name.lower()}/boat.md"

    async def use():
        async with agent(transport, service, tmp_path) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS
            for tool in tools:
                assert len(tool.description) > 30 and tool.input_schema["type"] == "object"
            said = [{"role": "user", "name": name, "content": f"I, {name}, moved to Lisbon last week."}]
            assert "recalled in a moment" in await good(client, "memory_remember", messages=said, occurred_at="2026-05-04")
            question = f"Where does {name} live?"
            hits = await until(lambda: good(client, "memory_recall", query=question, limit=3), lambda text: "Lisbon" in text)
            assert re.match(r"\[0\.\d\d\] \w+/\S+\.md \(2026-0[45]-\d\d\)\n", hits)
            # The result omits fields that an agent does not need.
            assert "created_at" not in hits and "{" not in hits
            await good(client, "memory_write", path=path, content=f"# The boat\n\nThe boat of {name} is green.\n", cues=[f"What colour is the boat of {name}?"])
            assert "green" in await good(client, "memory_read", path=path)
            assert path in await good(client, "memory_recall", query=f"What colour is the boat of {name}?", tiers=["facts"])
            assert path in await good(client, "memory_answer", question=f"What colour is the boat of {name}?")
            assert f"] {path}" in await good(client, "memory_context", query=f"What colour is the boat of {name}?")
            profile = await good(client, "memory_profile", subject=name)
            assert profile.startswith(f"{name.lower()}:\n") and "- home: lisbon" in profile, profile
            explained = await good(client, "memory_explain", query=f"What colour is the boat of {name}?", path=path)
            assert explained.startswith(f"{path} is found: score "), explained
            assert f"facts/{name.lower()} (1)" in await good(client, "memory_topics")
            assert path in await good(client, "memory_topics", path=f"facts/{name.lower()}")
            await good(client, "memory_skills")
            await good(client, "memory_forget", path=path)
            await until(lambda: good(client, "memory_read", path=path), lambda text: text.startswith("not_found: "))

    asyncio.run(use())


@pytest.mark.parametrize("transport", ["http", "url"])
def test_errors_say_what_to_do(transport, service, tmp_path):
    async def use():
        async with agent(transport, service, tmp_path) as client:
            for tool, arguments, advice in [
                ("memory_write", {"path": "elsewhere.md", "content": "x"}, "ends in .md"),
                ("memory_recall", {"query": "x", "namespace": "never-made"}, "Leave namespace out"),
                ("memory_recall", {"query": "x", "limit": 1000}, "invalid_limit"),
            ]:
                failed, text = await call(client, tool, **arguments)
                assert failed and advice in text, text
            failed, text = await call(client, "memory_recall")
            assert failed and "query" in text
            with pytest.raises(MCPError):
                await client.call_tool("no-such-tool", {})

    asyncio.run(use())


def test_an_invalid_key_is_reported(service):
    def status_with(headers):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
        request = urllib.request.Request(f"{service['url']}/v1/mcp", data=body, headers=headers)
        try:
            return urllib.request.urlopen(request).status
        except urllib.error.HTTPError as error:
            assert error.headers["x-request-id"]
            return error.code

    assert status_with({}) == 401
    assert status_with({"authorization": "Bearer svc_live_0123456789abcdef_x"}) == 403

    async def use():
        arguments = ["mcp", "--url", service["url"], "--key", "svc_live_0123456789abcdef_x"]
        async with Client(StdioServerParameters(command=BINARY, args=arguments)) as client:
            failed, text = await call(client, "memory_recall", query="x")
            assert failed and "Only the user can give another" in text

    asyncio.run(use())


def test_a_confined_key_stays_in_its_namespace(service, tmp_path):
    name = f"own-{uuid.uuid4().hex[:8]}"
    command(service["data"], "namespaces", "create", name)
    key = command(service["data"], "keys", "create", "--namespace", name)

    async def use():
        async with agent("http", {**service, "key": key}, tmp_path) as client:
            await good(client, "memory_write", path="facts/a/b.md", content="# Own\n\nOnly here.\n")
            failed, text = await call(client, "memory_recall", query="x", namespace="default")
            assert failed and "forbidden_namespace" in text
        async with agent("http", service, tmp_path) as client:
            assert "Only here" in await good(client, "memory_recall", query="only here", namespace=name)
            assert "Only here" not in await good(client, "memory_recall", query="only here")

    asyncio.run(use())


def test_a_project_has_its_own_namespace(service, tmp_path):
    repository = tmp_path / "widget"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git/config").write_text('[remote "origin"]\n\turl = git@github.com:acme/widget.git\n')
    environment = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([BINARY, "bind"], cwd=repository, env=environment, check=True)
    key_file = tmp_path / "key"
    key_file.write_text(service["key"] + "\n")

    async def use():
        for source in (["--data", str(service["data"])], ["--url", service["url"], "--key-file", str(key_file)]):
            arguments = ["mcp", *source, "--project"]
            parameters = StdioServerParameters(command=BINARY, args=arguments, cwd=repository, env=environment)
            async with Client(parameters) as client:
                await good(client, "memory_write", path="facts/a/b.md", content="# Gate\n\nThe gate is blue.\n")
                assert "gate is blue" in await good(client, "memory_recall", query="colour of the gate")

    asyncio.run(use())
    names = [json.loads(line)["name"] for line in command(service["data"], "namespaces", "list").splitlines()]
    assert len([name for name in names if name.startswith("acme-widget-")]) == 1


def test_an_unreachable_server_is_reported():
    async def use():
        arguments = ["mcp", "--url", "http://127.0.0.1:9", "--key", "svc_live_x"]
        async with Client(StdioServerParameters(command=BINARY, args=arguments)) as client:
            failed, text = await call(client, "memory_recall", query="x")
            assert failed and "unreachable" in text

    asyncio.run(use())
