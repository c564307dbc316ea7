"""Compares the answers of nodes to requests over several namespaces.

Each namespace is first used through another node, which then owns it. So each node answers the same request from other
namespaces of its own and of other nodes, and all answers must be equal apart from times:

    python3 tests/cluster/agreement.py --key KEY 127.0.0.1:7070 127.0.0.1:7071

The account of the key must have no namespace `agree-0`, `agree-1` and so on. A single process can be one of the
addresses only if it serves the same data. Exit code 0: all answers are equal. 1: some differ, or prove nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from dataclasses import dataclass
from typing import Any

from api import Api, Response

# Fields of a response that depend on the moment or on the node.
VOLATILE = ("vector_ms", "lexical_ms", "graph_ms", "cold_start")
# Most namespaces that a request can name.
NAMESPACES_MAX = 8
TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class Request:
    """A request without its namespaces."""

    method: str
    path: str
    fields: dict[str, Any]

    def send(self, node: Api, names: tuple[str, ...]) -> Response:
        """Sends the request to a node, with the namespaces in an order."""
        fields = {**self.fields, "namespace": ",".join(names)}
        if self.method == "POST":
            return node.request("POST", self.path, TIMEOUT_SECONDS, body=fields)
        return node.request("GET", self.path, TIMEOUT_SECONDS, fields)

    def __str__(self) -> str:
        return f"{self.method} {self.path} {json.dumps(self.fields)}"


QUERY = "where are the boathouse keys and the oars"
REQUESTS = (
    Request("GET", "/v1/retrieve", {"q": QUERY}),
    Request("GET", "/v1/retrieve", {"q": QUERY, "detail": "full", "explain": "true"}),
    Request("GET", "/v1/retrieve", {"q": QUERY, "limit": 2}),
    Request("GET", "/v1/retrieve", {"q": QUERY, "admit": "balanced", "min_score": "0.05"}),
    Request("GET", "/v1/retrieve", {"tags": "boat", "time_field": "occurred", "limit": 3}),
    Request("GET", "/v1/retrieve", {"tags": "boat", "detail": "full"}),
    Request("GET", "/v1/context", {"q": QUERY, "admit": "all"}),
    Request("GET", "/v1/context", {"q": "Where does Ana live?", "admit": "all"}),
    Request("POST", "/v1/answer", {"q": QUERY}),
    Request("GET", "/v1/retrieve", {"q": QUERY, "limit": 0}),
)


def fill(nodes: list[Api]) -> tuple[str, ...]:
    """Makes a namespace for each node, with memories that are written through that node. Returns the names."""
    names = []
    for number, node in enumerate(nodes[:NAMESPACES_MAX]):
        name = f"agree-{number}"
        must_be(201, node.request("POST", "/v1/namespaces", TIMEOUT_SECONDS, body={"name": name}))
        contents = {
            "facts/keys.md": f"# Keys\n\nThe boathouse keys of crew {number} hang by the door.\n",
            "facts/oars.md": f"# Oars\n\nCrew {number} keeps the oars of the boathouse on shelf {number + 3}.\n",
            "facts/ana.md": f"# Ana\n\nAna lives in Harbour Street {number + 10}.\n",
        }
        for day, (path, content) in enumerate(contents.items(), start=1):
            occurred = f"2026-{number + 1:02}-{day:02}"
            body = {"content": content, "namespace": name, "tags": ["boat"], "occurred_at": occurred}
            must_be(201, node.request("POST", f"/v1/memories/{path}", TIMEOUT_SECONDS, body=body))
        names.append(name)
    return tuple(names)


def must_be(status: int, response: Response) -> None:
    """Raises an error if a request that prepares the comparison failed."""
    if response.status != status:
        raise RuntimeError(f"expected status {status}, got {response.status}: {response.body}")


def stable(response: Response) -> str:
    """Returns the status and the body of a response without what depends on the moment, as text."""
    body = {name: value for name, value in response.body.items() if name not in VOLATILE}
    return f"{response.status} {json.dumps(body)}"


def differences(nodes: list[Api], names: tuple[str, ...]) -> list[str]:
    """Returns what differs between the nodes, for each request and each order of the namespaces that is tried."""
    found = []
    orders = [names, tuple(reversed(names)), *itertools.islice(itertools.combinations(names, 2), 3)]
    for request, order in itertools.product(REQUESTS, orders):
        answers = [stable(request.send(node, order)) for node in nodes]
        for number, answer in enumerate(answers[1:], start=1):
            if answer != answers[0]:
                found.append(f"{request} in {','.join(order)}: node 0 {answers[0]}; node {number} {answer}")
    return found


def unproven(nodes: list[Api], names: tuple[str, ...]) -> list[str]:
    """Returns the namespaces without a hit: answers without their hits would be equal whoever owns them."""
    response = REQUESTS[0].send(nodes[0], names)
    seen = {hit.get("namespace") for hit in response.body.get("hits", [])}
    return [name for name in names if name not in seen]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares the answers of nodes to requests over several namespaces.")
    parser.add_argument("--key", required=True, help="API key of the account")
    parser.add_argument("nodes", nargs="+", help="HOST:PORT of each node")
    options = parser.parse_args()
    nodes = []
    for address in options.nodes:
        host, port = address.rsplit(":", 1)
        nodes.append(Api((host, int(port)), options.key))
    names = fill(nodes)
    missing = unproven(nodes, names)
    if missing:
        print(f"no hit of {', '.join(missing)}: the comparison proves nothing")
        return 1
    found = differences(nodes, names)
    for difference in found:
        print(difference)
    print(f"{len(found)} answers differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
