"""The first visit of an empty namespace: each snippet is executed as the page shows it, against the running server.

A snippet contains the key that the page has created, or reads it from the environment variable `CUEBASE_KEY`.
"""

import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
import uuid
from pathlib import Path

import pytest
from helpers import wait_until
from playwright.sync_api import Page, expect

ROOT = Path(__file__).parents[2]
PYTHON_CLIENT = ROOT / "clients/python/src"
TYPESCRIPT_CLIENT = ROOT / "clients/typescript"
#: Timeout for a snippet, seconds.
TIMEOUT = 120


@pytest.fixture
def namespace(service) -> str:
    name = f"visit-{uuid.uuid4().hex[:8]}"
    service.call("POST", "/v1/namespaces", {"name": name})
    return name


@pytest.fixture(params=["created key", "variable"])
def first_visit(request, service, namespace, signed_in) -> tuple[Page, dict[str, str]]:
    """The page of an empty namespace, and the environment of its snippets: with a key in the snippets or in a variable."""
    page = signed_in(f"/n/{namespace}/search")
    expect(page.get_by_text(f"Nothing is remembered in “{namespace}” yet.")).to_be_visible()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUEBASE_")}
    if request.param == "variable":
        made = service.call("POST", "/v1/keys", {"name": "variable", "env": "live", "namespace": namespace})
        return page, {**environment, "CUEBASE_KEY": made["key"]}
    page.get_by_role("button", name="Create a key").click()
    expect(page.locator(".secret")).to_have_text(re.compile("^svc_live_"))
    return page, environment


def read_snippet(page: Page, title: str) -> str:
    """Returns the code below a heading, as a reader copies it."""
    snippet = page.locator(".snippet").filter(has=page.get_by_role("heading", name=title, exact=True))
    return snippet.locator("pre").inner_text()


def run(command: list[str], environment: dict[str, str], **options) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def expect_memory(service, page: Page, namespace: str):
    """Waits for the memory of the snippet, and asks the question that the page proposes."""
    question = re.search("Enter “(.+?)”", page.locator("main").inner_text()).group(1)
    address = "/v1/retrieve?" + urllib.parse.urlencode({"namespace": namespace, "q": question})
    wait_until(lambda: bool(service.call("GET", address).get("hits")), "the memory of the snippet")
    page.get_by_label("Query").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".hit")).to_have_count(1)
    expect(page.locator(".hit")).to_contain_text("moved to Lisbon")


def test_the_curl_snippet_works(service, namespace, first_visit):
    page, environment = first_visit
    code = read_snippet(page, "curl").replace("curl ", "curl --silent --show-error --fail-with-body ", 1)
    accepted = json.loads(run(["sh", "-c", code], environment))
    assert accepted["namespace"] == namespace and accepted["status"] in ("accepted", "ingested")
    expect_memory(service, page, namespace)


def test_the_python_snippet_works(service, namespace, first_visit, tmp_path):
    page, environment = first_visit
    program = tmp_path / "first.py"
    program.write_text(read_snippet(page, "Python"))
    run([sys.executable, str(program)], {**environment, "PYTHONPATH": str(PYTHON_CLIENT)})
    expect_memory(service, page, namespace)


def test_the_typescript_snippet_works(service, namespace, first_visit, tmp_path):
    page, environment = first_visit
    # The package as `npm install` puts it.
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/cuebase").symlink_to(TYPESCRIPT_CLIENT, target_is_directory=True)
    (tmp_path / "first.mjs").write_text(read_snippet(page, "TypeScript"))
    run(["node", "first.mjs"], environment, cwd=tmp_path)
    expect_memory(service, page, namespace)


def test_the_mcp_snippet_works(service, namespace, first_visit):
    page, environment = first_visit
    server = json.loads(read_snippet(page, "MCP"))["mcpServers"]["cuebase"]
    assert server["type"] == "http"
    # Agents replace `${NAME}` in the headers by the environment variable.
    filled = {}
    for name, value in server["headers"].items():
        filled[name] = re.sub(r"\$\{(\w+)\}", lambda match: environment[match[1]], value)
    agent = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    assert request_mcp(server["url"], filled, "initialize", agent)["serverInfo"]["name"] == "cuebase"
    message = {"role": "user", "name": "Noor", "content": "I moved to Lisbon last week."}
    arguments = {"name": "memory_remember", "arguments": {"messages": [message]}}
    called = request_mcp(server["url"], filled, "tools/call", arguments)
    assert not called.get("isError"), called
    # Without an argument, the tool writes to the namespace of the page.
    expect_memory(service, page, namespace)


def request_mcp(url: str, headers: dict[str, str], method: str, parameters: dict) -> dict:
    """Sends a JSON-RPC request over streamable HTTP. Returns its result."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()
    accepted = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    with urllib.request.urlopen(urllib.request.Request(url, data=body, headers={**accepted, **headers})) as response:
        return json.load(response)["result"]


def test_a_created_key_is_confined_to_the_namespace(service, namespace, signed_in):
    page = signed_in(f"/n/{namespace}/search")
    page.get_by_role("button", name="Create a key").click()
    expect(page.locator(".secret")).to_be_visible()
    keys = service.call("GET", "/v1/keys")["keys"]
    assert [key["name"] for key in keys if key.get("namespace") == namespace] == ["First steps"]
