"""Which requests are retried and how long the waits are, tested with a fake server."""

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
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return answer(len(requests))

    return Client("http://server", "key", transport=httpx.MockTransport(handle)), requests


def refusal(status: int, code: str, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "message": "m"}}, headers={k.replace("_", "-"): v for k, v in headers.items()})


def test_retries_wait_at_least_as_long_as_retry_after(waits: list[float]) -> None:
    answers = {1: refusal(429, "rate_limited", retry_after="7"), 2: httpx.Response(503, json={"message": "Service Unavailable"}, headers={"retry-after": "1"})}
    memory, requests = client(lambda turn: answers.get(turn, OK))
    assert memory.health() == "1"
    assert len(requests) == 3 and 7 < waits[0] <= 7.25 and 1 < waits[1] <= 1.5


def test_waits_grow_have_jitter_and_are_limited_in_number(waits: list[float]) -> None:
    memory, requests = client(lambda _: refusal(500, "internal"))
    with pytest.raises(cuebase.ServerError):
        memory.health()
    assert len(requests) == 4
    for turn, waited in enumerate(waits):
        assert wire.BACKOFF * 2**turn / 2 <= waited <= wire.BACKOFF * 2**turn
    spread = {wire.wait_before_retry(wire.Call("GET", "/", wire.nothing), cuebase.ServerError(""), 3) for _ in range(20)}
    assert len(spread) > 10


@pytest.mark.parametrize("status, code", [(429, "quota_exceeded"), (503, "merchant_not_live"), (400, "invalid_body"), (404, "not_found")])
def test_errors_that_a_retry_cannot_fix_are_raised_at_once(waits: list[float], status: int, code: str) -> None:
    memory, requests = client(lambda _: refusal(status, code, retry_after="1"))
    with pytest.raises(cuebase.CuebaseError) as raised:
        memory.usage()
    assert raised.value.code == code and len(requests) == 1 and not waits


def test_a_request_that_is_not_repeatable_is_not_sent_twice(waits: list[float]) -> None:
    memory, requests = client(lambda _: refusal(500, "internal"))
    with pytest.raises(cuebase.ServerError):
        memory.create_conversation("x")
    assert len(requests) == 1
    # A refused request had no effect, and an identical write is the same write.
    memory, requests = client(lambda turn: refusal(429, "rate_limited") if turn == 1 else httpx.Response(201, json={"id": "1", "namespace": "n", "branch": "main", "created_at": "2026-01-01T00:00:00Z"}))
    assert memory.create_conversation("x").id == "1" and len(requests) == 2
    memory, requests = client(lambda turn: refusal(500, "internal") if turn == 1 else httpx.Response(202, json={"id": "1", "namespace": "n"}))
    assert memory.remember([{"role": "user", "content": "x"}]).id == "1" and requests[0].content == requests[1].content


def test_a_broken_connection_is_retried(waits: list[float]) -> None:
    def broken(turn: int) -> httpx.Response:
        if turn < 3:
            raise httpx.ConnectError("refused")
        return OK

    memory, requests = client(broken)
    assert memory.health() == "1" and len(requests) == 3


def test_a_response_without_json_is_an_error() -> None:
    memory, _ = client(lambda _: httpx.Response(418, text="teapot"))
    with pytest.raises(cuebase.CuebaseError) as raised:
        memory.health()
    assert raised.value.status == 418


@pytest.mark.parametrize("status", [401, 403])
def test_a_rejected_credential_is_unauthorized(status: int) -> None:
    memory, _ = client(lambda _: httpx.Response(status, json={"message": "Unauthorized"}))
    with pytest.raises(cuebase.Unauthorized) as raised:
        memory.whoami()
    assert raised.value.status == status
