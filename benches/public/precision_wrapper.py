#!/usr/bin/env python3
"""Serves the HTTP contract of PrecisionMemBench in front of a running Cuebase server.

    python3 precision_wrapper.py --listen 127.0.0.1:8090

The runner of PrecisionMemBench (github.com/tenurehq/precisionMemBench) writes beliefs with POST /add, asks with
POST /search, and begins with DELETE /reset. This service passes them on:

    POST /add       one memory in the namespace of the user; `scope` becomes tags, `aliases` become cues
    POST /search    GET /v1/retrieve with --admit and --current; `scope` becomes a filter by tags
    PUT /update     as /add, for a belief that exists; other wrappers of the benchmark have it
    DELETE /reset   new namespaces from here on; POST works as well
    POST /wait      nothing: a memory is retrievable when /add responds

It returns the results of the server in their order. The only threshold is --admit, and belief ids have no
influence on them.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import threading
import time
from dataclasses import dataclass
from typing import Any

from server import CURRENT, LEVELS, LIMIT_MAX, Server, add_server_options, run, run_name, server_of
from service import BadRequest, Routes, Service, text_field, whole_field

#: Most characters of a cue and of a tag.
CUE_MAX = 1000
TAG_MAX = 64
#: Most cues of a memory.
CUES_MAX = 64
#: Results of a search that names no limit, as in the runner.
LIMIT = 20

_NO_TAG = re.compile(r"[^a-z0-9_.:/@-]")


@dataclass(frozen=True)
class Settings:
    """How a search is made, and whether aliases are used."""

    admit: str
    current: str
    uses_aliases: bool


class Beliefs:
    """The beliefs of all users, one namespace each."""

    def __init__(self, server: Server, settings: Settings) -> None:
        self._server = server
        self._settings = settings
        self._lock = threading.Lock()
        self._run = run_name()
        self._namespaces: dict[str, str] = {}

    def routes(self) -> Routes:
        """The routes of the contract."""
        return {
            ("POST", "/add"): self.add,
            ("PUT", "/update"): self.update,
            ("POST", "/search"): self.search,
            ("DELETE", "/reset"): self.reset,
            ("POST", "/reset"): self.reset,
            ("POST", "/wait"): self.health,
            ("GET", "/health"): self.health,
        }

    def add(self, request: dict[str, Any]) -> dict[str, Any]:
        """Writes a belief. The memory has the id of the belief in its metadata, and a path that says nothing of it."""
        metadata = request.get("metadata")
        if not isinstance(metadata, dict):
            raise BadRequest('field "metadata" must be an object with "beliefId"')
        belief = metadata.get("beliefId", metadata.get("belief_id", request.get("beliefId")))
        if not isinstance(belief, str) or not belief:
            raise BadRequest('field "metadata.beliefId" must be a text that is not empty')
        text = text_field(request, "text")
        fields = {"content": text, "tags": tags_of(metadata.get("scope")), "metadata": {"belief": belief}}
        aliases = request.get("aliases")
        if self._settings.uses_aliases and isinstance(aliases, list) and aliases:
            fields["cues"] = cues_of([text, *aliases])
        if metadata.get("superseded_by"):
            fields["valid_until"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._server.write_memory(self._namespace(text_field(request, "user_id")), path_of(belief), fields)
        return {"ok": True}

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """Writes a belief again."""
        metadata = request.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise BadRequest('field "metadata" must be an object')
        return self.add({**request, "metadata": {"beliefId": request.get("beliefId"), **metadata}})

    def search(self, request: dict[str, Any]) -> dict[str, Any]:
        """Searches the beliefs of a user. A user without beliefs has no results."""
        user, question = text_field(request, "user_id"), text_field(request, "query")
        limit = min(whole_field(request, "limit", LIMIT), LIMIT_MAX)
        with self._lock:
            namespace = self._namespaces.get(user)
        if namespace is None or not question.strip() or limit < 1:
            return {"results": []}
        parameters: dict[str, Any] = {"admit": self._settings.admit, "current": self._settings.current}
        tags = tags_of(request.get("scope"))
        if tags:
            parameters["tags"] = tags
        results = []
        for hit in self._server.retrieve([namespace], question, limit, **parameters):
            belief = hit["metadata"]["belief"]
            result = {"id": belief, "memory": hit["content"], "score": hit["score"], "metadata": {"beliefId": belief}}
            results.append(result)
        return {"results": results}

    def reset(self, _: dict[str, Any]) -> dict[str, Any]:
        """Forgets which namespaces were used. Only a dashboard session can delete a namespace."""
        with self._lock:
            self._run = run_name()
            self._namespaces.clear()
        return {"ok": True}

    def health(self, _: dict[str, Any]) -> dict[str, Any]:
        """Says that the service runs."""
        return {"ok": True}

    def _namespace(self, user: str) -> str:
        """Returns the namespace of a user, which is created at the first belief."""
        with self._lock:
            name = self._namespaces.get(user)
            if name is None:
                name = f"precision-{self._run}-{len(self._namespaces)}"
                self._server.create_namespace(name)
                self._namespaces[user] = name
            return name


def path_of(belief: str) -> str:
    """The path of a belief. It is a hash, so that no word of the id can be found."""
    return f"facts/beliefs/{hashlib.sha256(belief.encode()).hexdigest()[:24]}.md"


def tags_of(scope: object) -> list[str]:
    """The tags of a scope, which is a text, a list of texts, or missing."""
    scopes = scope if isinstance(scope, list) else [scope]
    tags = []
    for each in scopes:
        if isinstance(each, str) and each.strip():
            tags.append(_NO_TAG.sub("-", each.strip().lower())[:TAG_MAX])
    return tags


def cues_of(texts: list[Any]) -> list[str]:
    """Cues of texts: each on one line, none twice."""
    lines = [" ".join(text.split())[:CUE_MAX] for text in texts if isinstance(text, str)]
    return list(dict.fromkeys(line for line in lines if line))[:CUES_MAX]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", default="127.0.0.1:8090", metavar="ADDRESS",
                        help="address of this service; port 0 selects a free port; default: 127.0.0.1:8090")
    parser.add_argument("--admit", choices=LEVELS, default="balanced",
                        help="which hits are results: `strict` rather too few, `recall` rather too many, `all` all of "
                        "them; default: balanced, as in GET /v1/context")
    parser.add_argument("--current", choices=CURRENT, default="only",
                        help="whether beliefs that were sent with `superseded_by` are results: `only` leaves them out, "
                        "`first` ranks them last, `any` ranks them like all others; default: only")
    parser.add_argument("--aliases", choices=("cues", "ignore"), default="cues",
                        help="whether the aliases that the runner sends become cues of the memory; default: cues")
    add_server_options(parser)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    server = server_of(chosen)
    settings = Settings(chosen.admit, chosen.current, chosen.aliases == "cues")
    service = Service(chosen.listen, Beliefs(server, settings).routes())
    behind = f"Cuebase {server.version()} at {server.url}"
    print(f"listening on {service.url} for PrecisionMemBench, in front of {behind}", flush=True)
    service.serve_forever()


if __name__ == "__main__":
    run(main)
