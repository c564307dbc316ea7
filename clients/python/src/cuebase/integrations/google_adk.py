"""Google Agent Development Kit: `CuebaseMemoryService`, a `BaseMemoryService` for runners.

It stores the events of sessions and finds memories for the tools `load_memory` and `preload_memory`. Requires `google-adk`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from .. import error_codes
from .. import models as m
from .._sync import Client
from ..errors import NotFound, NotIngested
from ._users import TIMEOUT, UserMemory, query_of, user_namespace, write_creating

__all__ = ["CuebaseMemoryService", "user_namespace"]

#: Folder of the memories that `add_memory` writes.
_FOLDER = "facts/adk"
#: Sessions whose stored events are known.
_SESSIONS_MAX = 1000
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

logger = logging.getLogger("cuebase.integrations")


class CuebaseMemoryService(BaseMemoryService):
    """Long-term memory of the users of ADK applications.

    `namespace` is a function of the application's name and the user's id. By default every pair has its own namespace,
    as in the other memory services of ADK. A namespace that does not exist is created by the first write.

    Every method raises `CuebaseError` if the server is stopped or slower than `timeout` seconds. Of the tools of ADK,
    `preload_memory` logs such an error and the run continues; with `load_memory` the run fails.
    """

    def __init__(
        self,
        *,
        namespace: Callable[[str, str], str] = user_namespace,
        client: Client | None = None,
        limit: int = 10,
        admit: m.Admission = "balanced",
        timeout: float = TIMEOUT,
    ) -> None:
        self._namespace = namespace
        self._limit = limit
        self._admit = admit
        self._timeout = timeout
        self._memory = UserMemory(client, timeout=timeout, on_error="raise")
        #: Ids of the events that were stored, by namespace and session. The most recent session is the last.
        self._stored: OrderedDict[tuple[str, str], set[str]] = OrderedDict()

    async def add_session_to_memory(self, session: Session) -> None:
        """Stores the events of a session that this service has not stored yet."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Stores events. Texts, numbers and booleans of `custom_metadata` become metadata of the memories."""
        namespace = self._namespace(app_name, user_id)
        stored = self._stored_events(namespace, session_id)
        turns: list[m.Message] = []
        ids: set[str] = set()
        for event in events:
            turn = _turn(event)
            if turn is None or event.id in stored:
                continue
            turns.append(turn)
            ids.add(event.id)
        if turns:
            await self._memory.store(namespace, turns, session_id, metadata=_metadata(custom_metadata))
            stored |= ids

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Writes memories as they are. The next search finds them.

        A memory with the `id` of an earlier one replaces it. Without an `id`, the same text replaces itself.
        """
        namespace = self._namespace(app_name, user_id)
        for memory in memories:
            await self._write(namespace, memory, custom_metadata or {})

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Returns the memories that are relevant to a query, best first, possibly none."""
        query = query_of(query)
        if not query:
            return SearchMemoryResponse()
        namespace = self._namespace(app_name, user_id)
        client = self._memory.client
        try:
            found = await self._memory.call(
                lambda: client.retrieve(query, namespace=namespace, limit=self._limit, admit=self._admit)
            )
        except NotFound as error:
            if error.code != error_codes.NAMESPACE_NOT_FOUND:
                raise
            return SearchMemoryResponse()
        return SearchMemoryResponse(memories=[_entry(hit) for hit in found.hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Deletes a memory by the `id` of its `MemoryEntry`. Deleting a memory that does not exist is not an error."""
        if not memory_id:
            raise ValueError('invalid memory_id "": expected the id of a MemoryEntry')
        namespace = self._namespace(app_name, user_id)
        client = self._memory.client
        path = _path(memory_id)
        try:
            accepted = await self._memory.call(lambda: client.forget(path, namespace=namespace))
        except NotFound:
            return
        state = await asyncio.to_thread(client.write_state, accepted.id, wait=self._timeout)
        if state.status != "ingested":
            raise NotIngested(f"the deletion of {path} has the status {state.status}", code="not_ingested")

    async def wait_until_ingested(self, timeout: float = 60.0) -> None:
        """Waits until all events that this service stored can be retrieved."""
        await self._memory.wait_until_ingested(timeout)

    async def _write(self, namespace: str, memory: MemoryEntry, metadata: Mapping[str, object]) -> None:
        text = _text(memory.content)
        if not text:
            raise ValueError("invalid memory: its content has no text")
        path = _path(memory.id) if memory.id else _hashed_path(text)
        sent = _metadata({**metadata, **memory.custom_metadata, "author": memory.author})
        client = self._memory.client
        await self._memory.call(
            lambda: write_creating(
                client,
                namespace,
                lambda: client.write(path, text, namespace=namespace, metadata=sent, occurred_at=memory.timestamp),
            )
        )

    def _stored_events(self, namespace: str, session_id: str | None) -> set[str]:
        """Returns the ids of the stored events of a session, for reading and adding. Forgets the oldest session."""
        if session_id is None:
            return set()
        key = (namespace, session_id)
        stored = self._stored.setdefault(key, set())
        self._stored.move_to_end(key)
        if len(self._stored) > _SESSIONS_MAX:
            self._stored.popitem(last=False)
        return stored


def _turn(event: Event) -> m.Message | None:
    """Returns what the user or an agent said in an event, or `None` if it has no text."""
    text = _text(event.content)
    if event.partial or not text:
        return None
    at = datetime.fromtimestamp(event.timestamp, timezone.utc)
    if event.author == "user":
        return {"role": "user", "content": text, "occurred_at": at}
    return {"role": "assistant", "content": text, "name": event.author, "occurred_at": at}


def _text(content: types.Content | None) -> str:
    """Returns the text of a content. The thoughts of a model are left out."""
    texts: list[str] = []
    for part in (content.parts if content is not None else None) or []:
        if part.text and not part.thought:
            texts.append(part.text)
    return "\n".join(texts).strip()


def _path(memory_id: str) -> str:
    """Returns the path of a memory. The ids that `search_memory` returns are paths."""
    if "/" in memory_id and memory_id.endswith(".md"):
        return memory_id
    if _PLAIN_NAME.fullmatch(memory_id):
        return f"{_FOLDER}/id-{memory_id}.md"
    return _hashed_path(memory_id)


def _hashed_path(text: str) -> str:
    return f"{_FOLDER}/{hashlib.sha256(text.encode()).hexdigest()}.md"


def _metadata(given: Mapping[str, object] | None) -> m.Metadata | None:
    """Returns the values that metadata can hold. Logs the keys of all others."""
    kept: dict[str, str | int | float | bool] = {}
    for key, value in (given or {}).items():
        if isinstance(value, (str, int, float, bool)):
            kept[key] = value
        elif value is not None:
            logger.warning("metadata %r is ignored: expected a text, a number or a boolean", key)
    return kept or None


def _entry(hit: m.Memory) -> MemoryEntry:
    return MemoryEntry(
        id=hit.path,
        content=types.Content(role="user", parts=[types.Part(text=hit.content.strip())]),
        timestamp=hit.occurred_at.isoformat() if hit.occurred_at else None,
        custom_metadata={**hit.metadata, "score": hit.score},
    )
