#!/usr/bin/env python3
"""Serves memrank's system contract, version v1, in front of a running Cuebase server.

    python3 memrank.py --port 8099

memrank (github.com/atomicstrata/memrank) calls such a service a translator. Its client `memrank.systems.Native` sends
the documents of each group, asks its questions and clears the group. This service passes them on:

    GET  /memrank/v1/describe    versions and models
    POST /memrank/v1/prepare     new namespaces from here on
    POST /memrank/v1/ingest      one memory per document, or a conversation if the document has messages
    POST /memrank/v1/retrieve    GET /v1/retrieve; hits become documents, best first
    POST /memrank/v1/cleanup     forgets the namespaces of the group

A returned document has the id of the document that its hits come from, and the contents of these hits.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from server import LEVELS, LIMIT_MAX, Failure, Server, add_server_options, document_path, run, run_name, server_of
from service import BadRequest, Routes, Service, text_field, whole_field

CONTRACT_VERSION = "v1"
TRANSLATOR_VERSION = "1"
#: The embedding table that Cuebase has built in.
BUILT_IN_EMBEDDER = "cuebase/built-in-table/256"
#: Namespaces that one query may search.
NAMESPACES_MAX = 8
#: Hits that are asked for per wanted document, if documents are conversations and therefore several memories.
HITS_PER_CONVERSATION = 4
#: Documents that are written at a time.
WRITERS = 4
ROLES = ("user", "assistant", "system", "tool")


@dataclass
class Group:
    """The documents that share state, and where they are."""

    name: str
    #: Namespaces by the user of the documents; the key None is for documents without one.
    namespaces: dict[str | None, str] = field(default_factory=dict)
    documents: list[dict[str, Any]] = field(default_factory=list)
    #: Positions of the documents that a memory was made from, by its namespace and path.
    origins: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    has_conversations: bool = False

    def made_from(self, namespace: str, path: str, number: int) -> None:
        """Notes that a memory was made from a document."""
        self.origins.setdefault((namespace, path), []).append(number)


@dataclass(frozen=True)
class Placed:
    """A document as it is written: as the fields of a memory, or of a conversation."""

    namespace: str
    number: int
    fields: dict[str, Any]


class Translator:
    """The operations of the contract. One group is open at a time, so the operations follow one another."""

    def __init__(self, server: Server, components: dict[str, Any], admit: str) -> None:
        self._server = server
        self._components = components
        self._admit = admit
        self._lock = threading.Lock()
        self._group: Group | None = None

    def routes(self) -> Routes:
        """The routes of the contract."""
        return {
            ("GET", "/memrank/v1/describe"): self.describe,
            ("POST", "/memrank/v1/prepare"): self.prepare,
            ("POST", "/memrank/v1/ingest"): self.ingest,
            ("POST", "/memrank/v1/retrieve"): self.retrieve,
            ("POST", "/memrank/v1/cleanup"): self.cleanup,
        }

    def describe(self, _: dict[str, Any]) -> dict[str, Any]:
        """Says what is measured. Fails while the server does not respond, because memrank takes it as ready."""
        return {
            "contract_version": CONTRACT_VERSION,
            "adapter": {"name": "cuebase-translator", "version": TRANSLATOR_VERSION},
            "engine": {"name": "cuebase", "version": self._server.version()},
            "components": self._components,
            "capabilities": {"graph_snapshot": False, "context_budget": "matched"},
        }

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Opens a group. Its namespaces are new, so it sees nothing of the groups before it."""
        text_field(request, "isolation_unit")
        with self._lock:
            self._group = Group(f"memrank-{run_name()}")
        return {}

    def cleanup(self, _: dict[str, Any]) -> dict[str, Any]:
        """Closes the group. Only a dashboard session can delete its namespaces."""
        with self._lock:
            self._group = None
        return {}

    def ingest(self, request: dict[str, Any]) -> dict[str, Any]:
        """Writes documents, and returns when all of them are retrievable."""
        documents = request.get("documents")
        if not isinstance(documents, list):
            raise BadRequest('field "documents" must be a list')
        with self._lock:
            group = self._open_group("ingest")
            started = time.perf_counter()
            self._write_all(group, documents)
            return {"engine_ms": _milliseconds(started)}

    def retrieve(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answers a question with the documents that the hits come from."""
        question, wanted = text_field(request, "query"), whole_field(request, "k", 10)
        with self._lock:
            group = self._open_group("retrieve")
            namespaces = _namespaces_for(group, request.get("user_id"))
            if not namespaces or not question.strip() or wanted < 1:
                return {"documents": [], "raw": {"hits": []}}
            limit = min(wanted * (HITS_PER_CONVERSATION if group.has_conversations else 1), LIMIT_MAX)
            started = time.perf_counter()
            hits = self._server.retrieve(namespaces, question, limit, admit=self._admit)
            spent = _milliseconds(started)
            raw = [{"path": hit["path"], "score": hit["score"]} for hit in hits]
            documents = _documents_of(group, namespaces, hits)
            return {"documents": documents[:wanted], "raw": {"hits": raw}, "engine_ms": spent}

    def _open_group(self, operation: str) -> Group:
        if self._group is None:
            raise BadRequest(f"{operation} before prepare: no group is open")
        return self._group

    # Writing.

    def _write_all(self, group: Group, documents: list[Any]) -> None:
        placed = [self._place(group, document) for document in documents]
        texts = [each for each in placed if "content" in each.fields]
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(self._write_text, texts))
        for each in texts:
            group.made_from(each.namespace, document_path(each.number), each.number)
        conversations = [each for each in placed if "messages" in each.fields]
        writes = [self._server.send_conversation(each.namespace, each.fields) for each in conversations]
        for each, write in zip(conversations, writes, strict=True):
            group.has_conversations = True
            state = self._server.wait_until_ingested(write)
            for path in {*state["made"], *state["rewritten"], *state["merged"]}:
                group.made_from(each.namespace, path, each.number)

    def _place(self, group: Group, document: Any) -> Placed:
        """Gives a document its number and its namespace. A document without text has no fields and is not written."""
        if not isinstance(document, dict):
            raise BadRequest("every document must be an object")
        text_field(document, "id")
        content, messages = text_field(document, "content"), _messages(document.get("messages"))
        number = len(group.documents)
        group.documents.append(document)
        fields: dict[str, Any] = {}
        if messages:
            fields = {"session_id": f"d{number}", "messages": messages}
        elif content.strip():
            fields = {"content": content}
        if document.get("timestamp"):
            fields["occurred_at"] = document["timestamp"]
        return Placed(self._namespace(group, document.get("user_id")), number, fields)

    def _write_text(self, placed: Placed) -> None:
        self._server.write_memory(placed.namespace, document_path(placed.number), placed.fields)

    def _namespace(self, group: Group, user: str | None) -> str:
        """Returns the namespace of a user in a group, which is created at the first document."""
        if user not in group.namespaces:
            name = f"{group.name}-{len(group.namespaces)}"
            self._server.create_namespace(name)
            group.namespaces[user] = name
        return group.namespaces[user]


def _messages(messages: object) -> list[dict[str, str]]:
    """Returns the messages of a document. The role of another kind becomes the name of a user."""
    found = []
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict) or not str(message.get("content") or "").strip():
            continue
        role = str(message.get("role") or "user")
        known = {"role": role} if role in ROLES else {"role": "user", "name": role}
        found.append({**known, "content": str(message["content"])})
    return found


def _namespaces_for(group: Group, user: object) -> list[str]:
    """Returns the namespaces that a question of a user may see: the user's, and that of documents without a user."""
    if user is None:
        chosen = list(group.namespaces.values())
        if len(chosen) > NAMESPACES_MAX:
            raise BadRequest(f"a query without user_id would search {len(chosen)} users, more than {NAMESPACES_MAX}")
        return chosen
    return [group.namespaces[owner] for owner in (str(user), None) if owner in group.namespaces]


def _documents_of(group: Group, namespaces: list[str], hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the documents that hits come from, in the order of their best hits."""
    contents: dict[int, list[str]] = {}
    scores: dict[int, float] = {}
    for hit in hits:
        # Hits name their namespace only if several were searched.
        namespace = hit.get("namespace", namespaces[0])
        for number in group.origins.get((namespace, hit["path"]), []):
            contents.setdefault(number, []).append(hit["content"].strip())
            scores.setdefault(number, hit["score"])
    documents = []
    for number, parts in contents.items():
        document = group.documents[number]
        metadata = {**(document.get("metadata") or {}), "score": scores[number]}
        documents.append({**document, "content": "\n\n".join(parts), "messages": None, "metadata": metadata})
    return documents


def _milliseconds(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def component(text: str, fields: tuple[str, ...]) -> dict[str, Any] | None:
    """Returns a model as the contract describes it, from `provider/model` or `provider/model/dimensions`."""
    if text == "none":
        return None
    parts: list[Any] = text.split("/", 1)
    if "dims" in fields and len(parts) == 2:
        model, _, dimensions = parts[1].rpartition("/")
        parts = [parts[0], model, int(dimensions) if dimensions.isdigit() else 0]
    if len(parts) != len(fields) or not all(parts):
        raise Failure(f'invalid model "{text}": expected {"/".join(fields)} or none')
    return dict(zip(fields, parts, strict=True))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8099, help="port of this service on 127.0.0.1; default: 8099")
    parser.add_argument("--admit", choices=LEVELS, default="all", help="which hits become documents; default: all")
    parser.add_argument("--embedder", default=BUILT_IN_EMBEDDER, metavar="PROVIDER/MODEL/DIMENSIONS",
                        help=f"embedding model of the server, which memrank records; default: {BUILT_IN_EMBEDDER}")
    parser.add_argument("--llm", default="none", metavar="PROVIDER/MODEL",
                        help="chat model of the server, which memrank records; default: none")
    add_server_options(parser)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    components = {
        "llm": component(chosen.llm, ("provider", "model")),
        "embedder": component(chosen.embedder, ("provider", "model", "dims")),
    }
    server = server_of(chosen)
    service = Service(f"127.0.0.1:{chosen.port}", Translator(server, components, chosen.admit).routes())
    print(f"listening on {service.url} for memrank, in front of Cuebase {server.version()} at {server.url}", flush=True)
    service.serve_forever()


if __name__ == "__main__":
    run(main)
