"""What is tried again, and after how long; the server is imitated."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import pytest

import cuebase
from cuebase import Client, wire

OK = httpx.Response(200, json={"version": "1"})


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def client(answer: Callable[[int], httpx.Response]) -> tuple[Client, list[httpx.Request]]:
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return answer(len(asked))

    return Client("http://server", "key", transport=httpx.MockTransport(handle)), asked


def refusal(status: int, code: str, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "message": "m"}}, headers={k.replace("_", "-"): v for k, v in headers.items()})


def test_a_busy_server_is_asked_again_no_sooner_than_it_said(waits: list[float]) -> None:
    answers = {1: refusal(429, "rate_limited", retry_after="7"), 2: httpx.Response(503, json={"message": "Service Unavailable"}, headers={"retry-after": "1"})}
    memory, asked = client(lambda turn: answers.get(turn, OK))
    assert memory.health() == "1"
    assert len(asked) == 3 and 7 < waits[0] <= 7.25 and 1 < waits[1] <= 1.5


def test_waits_grow_are_spread_and_end(waits: list[float]) -> None:
    memory, asked = client(lambda _: refusal(500, "internal"))
    with pytest.raises(cuebase.ServerError):
        memory.health()
    assert len(asked) == 4
    for turn, waited in enumerate(waits):
        assert wire.BACKOFF * 2**turn / 2 <= waited <= wire.BACKOFF * 2**turn
    spread = {wire.wait_before_retry(wire.Call("GET", "/", wire.nothing), cuebase.ServerError(""), 3) for _ in range(20)}
    assert len(spread) > 10


@pytest.mark.parametrize("status, code", [(429, "quota_exceeded"), (503, "merchant_not_live"), (400, "invalid_body"), (404, "not_found")])
def test_what_waiting_does_not_help_is_told_at_once(waits: list[float], status: int, code: str) -> None:
    memory, asked = client(lambda _: refusal(status, code, retry_after="1"))
    with pytest.raises(cuebase.CuebaseError) as told:
        memory.usage()
    assert told.value.code == code and len(asked) == 1 and not waits


def test_what_may_have_been_done_is_not_done_twice(waits: list[float]) -> None:
    memory, asked = client(lambda _: refusal(500, "internal"))
    with pytest.raises(cuebase.ServerError):
        memory.create_conversation("x")
    assert len(asked) == 1
    # A refusal did nothing, and an identical write is the same write.
    memory, asked = client(lambda turn: refusal(429, "rate_limited") if turn == 1 else httpx.Response(201, json={"id": "1", "namespace": "n", "branch": "main", "created_at": "2026-01-01T00:00:00Z"}))
    assert memory.create_conversation("x").id == "1" and len(asked) == 2
    memory, asked = client(lambda turn: refusal(500, "internal") if turn == 1 else httpx.Response(202, json={"id": "1", "namespace": "n"}))
    assert memory.remember([{"role": "user", "content": "x"}]).id == "1" and asked[0].content == asked[1].content


def test_a_connection_that_breaks_is_tried_again(waits: list[float]) -> None:
    def broken(turn: int) -> httpx.Response:
        if turn < 3:
            raise httpx.ConnectError("refused")
        return OK

    memory, asked = client(broken)
    assert memory.health() == "1" and len(asked) == 3


def test_an_answer_that_is_no_json_is_told() -> None:
    memory, _ = client(lambda _: httpx.Response(418, text="teapot"))
    with pytest.raises(cuebase.CuebaseError) as told:
        memory.health()
    assert told.value.status == 418


@pytest.mark.parametrize("status", [401, 403])
def test_a_rejected_credential_is_unauthorized_with_either_status_of_the_gateway(status: int) -> None:
    memory, _ = client(lambda _: httpx.Response(status, json={"message": "Unauthorized"}))
    with pytest.raises(cuebase.Unauthorized) as told:
        memory.whoami()
    assert told.value.status == status
