"""The comparison of nodes, with small servers in place of nodes."""

from __future__ import annotations

import json
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agreement import differences, fill, stable, unproven
from api import Api, Response
from history import Outcome


@contextmanager
def node(took_ms: float, forgotten: str = "") -> Iterator[Api]:
    """Serves one hit for each namespace that a request names, except for one that the node forgets."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            self.respond(200, query["namespace"][0])

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.respond(200 if self.path == "/v1/answer" else 201, body.get("namespace", ""))

        def respond(self, status: int, names: str) -> None:
            hits = [{"namespace": name} for name in names.split(",") if name != forgotten]
            content = json.dumps({"hits": hits, "vector_ms": took_ms}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *values: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Api(("127.0.0.1", server.server_port), "key")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_nodes_that_differ_in_times_agree() -> None:
    with node(1.0) as one, node(2.0) as other:
        names = fill([one, other])
        assert names == ("agree-0", "agree-1")
        assert unproven([one, other], names) == []
        assert differences([one, other], names) == []


def test_a_node_that_leaves_out_the_hits_of_another_one_is_found() -> None:
    with node(1.0) as one, node(1.0, forgotten="agree-1") as other:
        found = differences([one, other], ("agree-0", "agree-1"))
        assert found and all("node 1" in difference for difference in found)
        assert unproven([other], ("agree-0", "agree-1")) == ["agree-1"]


def test_a_failed_request_differs_from_an_answer() -> None:
    assert stable(Response(0, Outcome.FAILED)) != stable(Response(200, Outcome.OK))
