"""The tools, through the official Python SDK as the client: on standard input and output, and over HTTP."""

import asyncio
import json
import os
import re
import subprocess
import urllib.request
import uuid
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

BINARY = os.environ["CUEBASE_BINARY"]
TOOLS = {"remember", "recall", "read", "write", "forget", "answer", "skills", "topics"}
WAYS = ["http", "url", "beside", "alone"]


def command(data, *arguments):
    done = subprocess.run([BINARY, *arguments, "--data", str(data)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    data = tmp_path_factory.mktemp("service") / "data"
    arguments = ["serve", "--listen", "127.0.0.1:0", "--dashboard-listen", "off", "--data", str(data)]
    process = subprocess.Popen([BINARY, *arguments], stdout=subprocess.PIPE, text=True)
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("listening on "):
            break
    yield {
        "data": data,
        "url": re.search(r"listening on (\S+)", said).group(1),
        "key": re.search(r"svc_live_\S+", said).group(0),
    }
    process.terminate()
    process.wait(60)


@asynccontextmanager
async def agent(way, service, tmp_path):
    """A client that came in one way or another."""
    stdio = {
        "url": ["--url", service["url"], "--key", service["key"]],
        "beside": ["--data", str(service["data"])],
        "alone": ["--data", str(tmp_path / "data")],
    }
    if way == "http":
        headers = {"authorization": f"Bearer {service['key']}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            async with Client(streamable_http_client(f"{service['url']}/v1/mcp", http_client=http)) as client:
                yield client
    else:
        async with Client(StdioServerParameters(command=BINARY, args=["mcp", *stdio[way]])) as client:
            yield client


async def told(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert len(result.content) == 1
    return result.is_error, result.content[0].text


async def good(client, tool, **arguments):
    failed, text = await told(client, tool, **arguments)
    assert not failed, text
    return text


async def until(look, holds):
    for _ in range(2000):
        text = await look()
        if holds(text):
            return text
        await asyncio.sleep(0.005)
    raise AssertionError(text)


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_remembers_and_recalls(way, service, tmp_path):
    name = f"Noor{uuid.uuid4().hex[:6]}"
    path = f"facts/{name.lower()}/boat.md"

    async def use():
        async with agent(way, service, tmp_path) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS
            for tool in tools:
                assert len(tool.description) > 30 and tool.input_schema["type"] == "object"
            said = [{"role": "user", "name": name, "content": f"I, {name}, moved to Lisbon last week."}]
            assert "recalled in a moment" in await good(client, "remember", messages=said, occurred_at="2026-05-04")
            question = f"Where does {name} live?"
            hits = await until(lambda: good(client, "recall", query=question, limit=3), lambda text: "Lisbon" in text)
            assert re.match(r"\[0\.\d\d\] \w+/\S+\.md \(2026-0[45]-\d\d\)\n", hits)
            # Few words: what an agent does not need is not told.
            assert "created_at" not in hits and "{" not in hits
            await good(client, "write", path=path, content=f"# The boat\n\nThe boat of {name} is green.\n", cues=[f"What colour is the boat of {name}?"])
            assert "green" in await good(client, "read", path=path)
            assert path in await good(client, "recall", query=f"What colour is the boat of {name}?", tiers=["facts"])
            assert path in await good(client, "answer", question=f"What colour is the boat of {name}?")
            assert f"facts/{name.lower()} (1)" in await good(client, "topics")
            assert path in await good(client, "topics", path=f"facts/{name.lower()}")
            await good(client, "skills")
            await good(client, "forget", path=path)
            await until(lambda: told(client, "read", path=path), lambda answer: answer[0])

    asyncio.run(use())


@pytest.mark.parametrize("way", ["http", "url"])
def test_errors_say_what_to_do(way, service, tmp_path):
    async def use():
        async with agent(way, service, tmp_path) as client:
            for tool, arguments, advice in [
                ("read", {"path": "facts/no/such.md"}, "recall or topics"),
                ("write", {"path": "elsewhere.md", "content": "x"}, "ends in .md"),
                ("recall", {"query": "x", "namespace": "never-made"}, "Leave namespace out"),
                ("recall", {"query": "x", "limit": 1000}, "invalid_limit"),
                ("answer", {"question": "zzz qqq xxx"}, "other words"),
            ]:
                failed, text = await told(client, tool, **arguments)
                assert failed and advice in text, text
            failed, text = await told(client, "recall")
            assert failed and "query" in text
            with pytest.raises(MCPError):
                await client.call_tool("no-such-tool", {})

    asyncio.run(use())


def test_a_key_that_is_not_good_is_told(service):
    def ask(headers):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
        request = urllib.request.Request(f"{service['url']}/v1/mcp", data=body, headers=headers)
        try:
            return urllib.request.urlopen(request).status
        except urllib.error.HTTPError as error:
            assert error.headers["x-request-id"]
            return error.code

    assert ask({}) == 401
    assert ask({"authorization": "Bearer svc_live_0123456789abcdef_x"}) == 403

    async def use():
        arguments = ["mcp", "--url", service["url"], "--key", "svc_live_0123456789abcdef_x"]
        async with Client(StdioServerParameters(command=BINARY, args=arguments)) as client:
            failed, text = await told(client, "recall", query="x")
            assert failed and "Only the user can give another" in text

    asyncio.run(use())


def test_a_confined_key_stays_in_its_namespace(service, tmp_path):
    name = f"own-{uuid.uuid4().hex[:8]}"
    command(service["data"], "namespaces", "create", name)
    key = command(service["data"], "keys", "create", "--namespace", name)

    async def use():
        async with agent("http", {**service, "key": key}, tmp_path) as client:
            await good(client, "write", path="facts/a/b.md", content="# Own\n\nOnly here.\n")
            failed, text = await told(client, "recall", query="x", namespace="default")
            assert failed and "forbidden_namespace" in text
        async with agent("http", service, tmp_path) as client:
            assert "Only here" in await good(client, "recall", query="only here", namespace=name)
            assert "Only here" not in await good(client, "recall", query="only here")

    asyncio.run(use())


def test_a_server_that_is_away_is_told():
    async def use():
        arguments = ["mcp", "--url", "http://127.0.0.1:9", "--key", "svc_live_x"]
        async with Client(StdioServerParameters(command=BINARY, args=arguments)) as client:
            failed, text = await told(client, "recall", query="x")
            assert failed and "unreachable" in text

    asyncio.run(use())
