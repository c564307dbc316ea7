"""Helpers of the tests: running the binary, and MCP clients over each transport."""

import asyncio
import os
import subprocess
from contextlib import asynccontextmanager

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

BINARY = os.environ["CUEBASE_BINARY"]


def command(data, *arguments):
    done = subprocess.run([BINARY, *arguments, "--data", str(data)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def serve(data):
    """Starts a server. Returns the process and its output up to the line with the address."""
    arguments = ["serve", "--listen", "127.0.0.1:0", "--dashboard-listen", "off", "--data", str(data)]
    process = subprocess.Popen([BINARY, *arguments], stdout=subprocess.PIPE, text=True)
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith("listening on "):
            break
    return process, printed


def stop(process):
    process.terminate()
    process.wait(60)


def stopped_server(data):
    """Creates a data directory by starting and stopping a server."""
    process, _ = serve(data)
    stop(process)
    return data


@asynccontextmanager
async def agent(transport, service, tmp_path):
    """Yields an MCP client: over HTTP, or over standard input and output to a URL or a data directory."""
    if transport == "http":
        headers = {"authorization": f"Bearer {service['key']}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            async with Client(streamable_http_client(f"{service['url']}/v1/mcp", http_client=http)) as client:
                yield client
        return
    if transport == "url":
        arguments = ["--url", service["url"], "--key", service["key"]]
    elif transport == "running_server":
        arguments = ["--data", str(service["data"])]
    else:
        arguments = ["--data", str(stopped_server(tmp_path / "data"))]
    async with Client(StdioServerParameters(command=BINARY, args=["mcp", *arguments])) as client:
        yield client


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert len(result.content) == 1
    return result.is_error, result.content[0].text


async def good(client, tool, **arguments):
    failed, text = await call(client, tool, **arguments)
    assert not failed, text
    return text


async def bad(client, tool, **arguments):
    failed, text = await call(client, tool, **arguments)
    assert failed, text
    return text


async def until(read, holds):
    for _ in range(2000):
        text = await read()
        if holds(text):
            return text
        await asyncio.sleep(0.005)
    raise AssertionError(text)
