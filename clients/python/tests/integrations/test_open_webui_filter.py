"""The filter function for Open WebUI, loaded from its file as Open WebUI loads it, against a real server."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from cuebase import Client
from cuebase.integrations._users import user_namespace
from servers import LONG_TIMEOUT, Server, stopped_server

FILE = Path(__file__).parents[4] / "docs/recipes/open_webui_filter.py"
FACT = "I moved to Lisbon last week, and I always take the aisle seat."
QUESTION = "Where do I live?"
MARA = {"id": "0b6f2c1e-6d0f-4d3c-9a53-0d3a6b1f7a01"}
ANA = {"id": "0b6f2c1e-6d0f-4d3c-9a53-0d3a6b1f7a02"}


def load(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Executes the text of the file in a new module that is registered during the execution only."""
    module = types.ModuleType("function_cuebase")
    with monkeypatch.context() as registered:
        registered.setitem(sys.modules, module.__name__, module)
        exec(FILE.read_text(), module.__dict__)
    return module


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch, service: Server) -> Any:
    function = load(monkeypatch).Filter()
    function.valves = function.Valves(url=service.url, key=service.key, timeout=LONG_TIMEOUT)
    return function


def body(*messages: tuple[str, Any], chat_id: str = "") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in messages], "chat_id": chat_id}


def ingested(client: Client, user: dict[str, str], chat_id: str) -> list[tuple[str, object]]:
    """Waits until a turn of a chat is ingested, and returns its messages."""
    namespace = user_namespace(user["id"])
    deadline = time.monotonic() + 60
    while not (sources := list(client.sources(chat_id, namespace=namespace))):
        assert time.monotonic() < deadline, "the turn was not ingested"
        time.sleep(0.05)
    return [(each.role, each.content) for each in client.source(sources[0].id, namespace=namespace).messages]


def test_a_second_chat_recalls_the_first_and_users_are_separated(function: Any, client: Client) -> None:
    first = body(("system", "Be brief."), ("user", FACT))
    assert asyncio.run(function.inlet(first, MARA)) == body(("system", "Be brief."), ("user", FACT))
    asyncio.run(function.outlet(body(("user", FACT), ("assistant", "Understood."), chat_id="one"), MARA))
    assert ingested(client, MARA, "one") == [("user", FACT), ("assistant", "Understood.")]

    question = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "data:"}}]
    second = asyncio.run(function.inlet(body(("system", "Be brief."), ("user", question)), MARA))
    assert [message["role"] for message in second["messages"]] == ["system", "system", "user"]
    assert "Lisbon" in second["messages"][1]["content"]
    assert second["messages"][2]["content"] == question

    assert asyncio.run(function.inlet(body(("user", QUESTION)), ANA)) == body(("user", QUESTION))


def test_temporary_chats_and_requests_without_a_user_are_not_stored(function: Any, client: Client) -> None:
    user = {"id": "0b6f2c1e-6d0f-4d3c-9a53-0d3a6b1f7a03"}
    for chat_id in ("temporary:1", "local:1"):
        asyncio.run(function.outlet(body(("user", FACT), chat_id=chat_id), user))
    asyncio.run(function.outlet(body(("user", FACT)), None))
    assert user_namespace(user["id"]) not in [each.name for each in client.namespaces()]


def test_a_chat_goes_on_without_a_server(function: Any, caplog: pytest.LogCaptureFixture) -> None:
    function.valves = function.Valves(url=stopped_server(), key="svc_live_unused")
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(function.inlet(body(("user", QUESTION)), MARA)) == body(("user", QUESTION))
        asyncio.run(function.outlet(body(("user", FACT)), MARA))
    assert [record.message.split(":")[0] for record in caplog.records if record.name == "cuebase"] == [
        "the chat continues without memories",
        "a turn was not remembered",
    ]


def test_every_id_has_a_namespace_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace_of = load(monkeypatch).namespace_of
    assert namespace_of(MARA["id"]) == user_namespace(MARA["id"])
    names = {namespace_of(each) for each in ("mara", "Mara", "mara@example.com", "mara-example-com", "x" * 200)}
    assert len(names) == 5 and all(len(name) <= 64 for name in names)
