"""What a response proves, and the repetitions of a client, against small servers of the test."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api import Api, outcome_of
from balancer import Balancer
from history import History, Kind, Outcome
from load import Board, Client, Probe, token_of

NAMESPACE = "alpha"


class _Script(http.server.BaseHTTPRequestHandler):
    """Answers requests with the next entries of a script: a status and a body, or nothing for a reset."""

    script: list[tuple[int, dict[str, Any]] | None] = []
    seen: list[tuple[str, str, str]] = []

    def _handle(self) -> None:
        length = int(self.headers.get("content-length", 0))
        self.seen.append((self.command, self.path, self.rfile.read(length).decode()))
        entry = self.script.pop(0)
        if entry is None:
            self.close_connection = True
            return
        data = json.dumps(entry[1]).encode()
        self.send_response(entry[0])
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = _handle

    def log_message(self, *arguments: object) -> None:
        """Prints nothing."""


@pytest.fixture
def server() -> Iterator[tuple[str, int]]:
    _Script.script, _Script.seen = [], []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Script) as opened:
        thread = threading.Thread(target=opened.serve_forever, args=(0.02,))
        thread.start()
        yield ("127.0.0.1", opened.server_address[1])
        opened.shutdown()
        thread.join()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[History]:
    opened = History(tmp_path / "history.jsonl")
    yield opened
    opened.close()


def test_only_a_status_below_500_and_the_balancer_prove_that_nothing_happened() -> None:
    for status in (200, 201, 202):
        assert outcome_of(status, False) is Outcome.OK
    for status in (400, 404, 429):
        assert outcome_of(status, False) is Outcome.FAILED
    for status in (500, 502, 503):
        assert outcome_of(status, False) is Outcome.UNKNOWN
    assert outcome_of(503, True) is Outcome.FAILED


def test_a_refused_connection_is_a_failure_and_a_lost_answer_is_unknown(server: tuple[str, int]) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        closed = Api(reserved.getsockname(), "key")
        assert closed.request("GET", "/health", 1.0).outcome is Outcome.FAILED
    _Script.script = [None, (503, {"message": "busy"})]
    api = Api(server, "key")
    assert api.request("POST", "/v1/memories", 5.0, body={}).outcome is Outcome.UNKNOWN
    response = api.request("POST", "/v1/memories", 5.0, body={})
    assert (response.status, response.outcome, response.code) == (503, Outcome.UNKNOWN, "")


def test_the_balancers_own_answer_is_a_failure(tmp_path: Path) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        balancer = Balancer(("127.0.0.1", 0), [reserved.getsockname()], tmp_path / "balancer.log")
        try:
            response = Api(balancer.address, "key").request("POST", "/v1/memories", 5.0, body={"a": "b" * 1000})
            assert (response.status, response.outcome) == (503, Outcome.FAILED)
        finally:
            balancer.close()


def test_both_shapes_of_an_error_have_a_code(server: tuple[str, int]) -> None:
    _Script.script = [(404, {"error": {"code": "not_found"}}), (404, {"error": "namespace_not_found"})]
    api = Api(server, "key")
    assert [api.request("GET", "/", 5.0).code for _ in range(2)] == ["not_found", "namespace_not_found"]


def test_a_client_repeats_the_same_body_until_it_is_acknowledged(server: tuple[str, int], log: History) -> None:
    _Script.script = [None, (503, {}), (202, {"id": "id1"})]
    client = Client(1, "first", Api(server, "key"), log, Board(), seed=1)
    client._ingest(NAMESPACE)
    operations = log.recorded().operations
    assert [operation.outcome for operation in operations] == [Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.OK]
    assert len({operation.token for operation in operations}) == 1
    assert len(set(_Script.seen)) == 1 and operations[0].token in _Script.seen[0][2]
    assert operations[2].result == {"id": "id1"}


def test_a_client_does_not_repeat_a_refused_request(server: tuple[str, int], log: History) -> None:
    _Script.script = [(404, {"error": {"code": "namespace_not_found"}})]
    client = Client(1, "first", Api(server, "key"), log, Board(), seed=1)
    client._ingest(NAMESPACE)
    assert [operation.outcome for operation in log.recorded().operations] == [Outcome.FAILED]


def test_a_conversation_is_followed_until_it_is_ingested_and_then_looked_for(
    server: tuple[str, int], log: History
) -> None:
    board = Board()
    client = Client(1, "first", Api(server, "key"), log, board, seed=1)
    _Script.script = [(202, {"id": "id1"}), (200, {"status": "queued", "made": []})]
    client._ingest(NAMESPACE)
    client._look_for(NAMESPACE)
    hits = [{"content": "# Entry tok1n1x"}, {"content": "# Entry tok7n7x"}]
    _Script.script = [
        (200, {"status": "ingested", "made": ["facts/entry-tok1n1x.md"]}),
        (200, {"hits": hits}),
        (200, {"content": "# Entry tok1n1x"}),
    ]
    client._look_for(NAMESPACE)
    kinds = [operation.kind for operation in log.recorded().operations]
    assert kinds == [Kind.INGEST, Kind.STATUS, Kind.STATUS, Kind.RETRIEVE, Kind.READ]
    found, read = log.recorded().operations[3:]
    assert found.result == {"found": 1, "others": ["tok7n7x"]}
    assert read.target == "facts/entry-tok1n1x.md" and read.result == {"token": "tok1n1x"}


def test_an_absent_memory_is_an_answer_and_an_absent_namespace_is_not(server: tuple[str, int], log: History) -> None:
    _Script.script = [(404, {"error": {"code": "not_found"}}), (404, {"error": {"code": "namespace_not_found"}})]
    client = Client(1, "first", Api(server, "key"), log, Board(), seed=1)
    client._read_path(NAMESPACE)
    client._read_path(NAMESPACE)
    absent, refused = log.recorded().operations
    assert absent.outcome is Outcome.OK and absent.result == {"token": None}
    assert refused.outcome is Outcome.FAILED and refused.result == {"code": "namespace_not_found"}


def test_a_probe_needs_a_write_and_a_read(server: tuple[str, int], log: History) -> None:
    probe = Probe(1000, "first", NAMESPACE, Api(server, "key"), log)
    _Script.script = [(201, {"commit": "c1"}), (200, {"content": "# Note tok1000n1x"})]
    assert probe.answers()
    _Script.script = [(201, {"commit": "c2"}), (503, {})]
    assert not probe.answers()


def test_a_response_without_its_fields_ends_the_client(server: tuple[str, int], log: History) -> None:
    client = Client(1, "first", Api(server, "key"), log, Board(), seed=1)
    _Script.script = [(202, {})]
    with pytest.raises(KeyError):
        client._ingest(NAMESPACE)


def test_a_token_is_a_whole_word() -> None:
    assert token_of("# Entry tok12n3x was signed") == "tok12n3x"
    assert token_of("atok1n1x tok1n1") is None
