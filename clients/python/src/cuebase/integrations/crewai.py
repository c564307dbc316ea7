"""CrewAI: `CuebaseStorage`, a `StorageBackend` for `crewai.memory.Memory`.

CrewAI extracts statements from the output of tasks and agents, and decides with its model what to keep. The storage
writes each of its records as one memory and finds records by their words and meaning. Requires `crewai`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from crewai.memory.types import MemoryRecord, ScopeInfo
from crewai.memory.utils import normalize_scope_path

from .. import error_codes
from .. import models as m
from .._sync import Client
from ..errors import NotFound, NotIngested
from ._users import TIMEOUT, UserNamespace, new_client, query_of, resolve_namespace, user_namespace, write_creating

__all__ = ["CuebaseStorage", "TextEmbedder", "user_namespace"]

#: Folder of all records. A scope is a folder below it.
_FOLDER = "facts/crewai"
#: Scopes that are deeper share the folder of this level.
_LEVELS_MAX = 5
_SEGMENT_CHARS_MAX = 30
_ID_CHARS_MAX = 64
#: Longest result of a request, in hits.
_HITS_MAX = 200
#: Longest text of a value of metadata, and the number of values for the fields of a record.
_VALUE_CHARS_MAX = 512
_VALUES_MAX = 30
_DELETION_TIMEOUT = 60.0
#: The server ends a file with a newline if it has none. With this one, a content comes back as it was.
_END = "\n"
#: Layout of a vector of `TextEmbedder`: numbers from the SHA-256 of the text, then the bytes of its UTF-8 form.
_HEADER_NUMBERS = 32
_BYTE_SCALE = 2.0**-20


class TextEmbedder:
    """Encodes texts as vectors that contain the text, for `Memory(embedder=…)`.

    CrewAI gives a storage only the vector of a query, and Cuebase searches with its words. The first 32 numbers depend on
    the whole text and outweigh the rest. So the cosine of a text with itself is 1, as CrewAI expects of repetitions, and
    that of two different texts is near 0.
    """

    def __call__(self, input: Sequence[str]) -> list[list[float]]:
        return [_vector(text) for text in input]


def _vector(text: str) -> list[float]:
    encoded = text.encode(errors="replace")
    header = [number - 127.5 for number in hashlib.sha256(encoded).digest()]
    return header + [byte * _BYTE_SCALE for byte in encoded]


def _text_of(vector: Sequence[float]) -> str:
    """Returns the text in a vector. Raises `ValueError` for a vector of another embedder."""
    numbers = [round(number / _BYTE_SCALE) for number in vector[_HEADER_NUMBERS:]]
    if all(0 <= number <= 255 for number in numbers):
        text = bytes(numbers).decode(errors="replace")
        if _vector(text) == list(vector):
            return text
    raise ValueError(
        f"invalid embedding of {len(vector)} numbers: Cuebase searches with texts,"
        " so create the memory with `Memory(storage=storage, embedder=storage.embedder)`"
    )


class CuebaseStorage:
    """The records of one user. Different users need different storages, each in its own `Memory`.

    `namespace` is the user's namespace, or a function of `user_id`. A namespace that does not exist is created by the first
    write. Scores are probabilities that a record answers the query.

    Every method raises `CuebaseError` if the server is stopped. CrewAI itself reports such errors as events and logged
    warnings, and its crews and agents go on without memory; `Memory.remember` raises.
    """

    def __init__(
        self,
        *,
        user_id: str | None = None,
        namespace: UserNamespace = user_namespace,
        client: Client | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._namespace = resolve_namespace(user_id, namespace)
        self._client = new_client(client, timeout)
        self._owns_client = client is None
        #: The embedder that `Memory` needs for this storage.
        self.embedder = TextEmbedder()

    def close(self) -> None:
        """Closes the connections, unless the client was passed. `Memory.close` calls it."""
        if self._owns_client:
            self._client.close()

    # Writing.

    def save(self, records: list[MemoryRecord]) -> None:
        """Writes records. The next search finds them."""
        for record in records:
            self._write(record)

    def update(self, record: MemoryRecord) -> None:
        """Replaces the record with the same id, also in another scope."""
        earlier = self._find(record.id)
        self._write(record)
        if earlier is not None and earlier.path != _path(record):
            self._forget([earlier.path])

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Deletes the records that meet all criteria, and returns their number."""
        paths: list[str] = []
        for record in self._records(scope_prefix):
            if record_ids is not None and record.id not in record_ids:
                continue
            if older_than is not None and _utc(record.created_at) >= _utc(older_than):
                continue
            if _matches(record, categories, metadata_filter):
                paths.append(_path(record))
        self._forget(paths)
        return len(paths)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Deletes all records of a scope."""
        self.delete(scope_prefix)

    # Reading.

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Returns the best records for the text in `query_embedding`, with their scores."""
        query = query_of(_text_of(query_embedding))
        if not query or limit < 1:
            return []
        # The server filters by folder. What it cannot filter by is filtered here, so more hits are needed.
        filtered = categories or metadata_filter or len(_segments(scope_prefix)) > _LEVELS_MAX
        hits = self._retrieve(query, _folder(scope_prefix), limit=_HITS_MAX if filtered else min(limit, _HITS_MAX))
        found: list[tuple[MemoryRecord, float]] = []
        for hit in hits:
            record = _record(hit)
            if record is None or not _is_within(record.scope, scope_prefix) or hit.score < min_score:
                continue
            if _matches(record, categories, metadata_filter):
                found.append((record, hit.score))
        return found[:limit]

    def get_record(self, record_id: str) -> MemoryRecord | None:
        hit = self._find(record_id)
        return None if hit is None else _record(hit)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Returns records, newest first."""
        return self._records(scope_prefix)[offset : offset + limit]

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Returns the scopes directly below `parent`."""
        return _children(parent, self._records(parent))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Returns the categories with their numbers of records."""
        counts: dict[str, int] = {}
        for record in self._records(scope_prefix):
            for category in record.categories:
                counts[category] = counts.get(category, 0) + 1
        return counts

    def get_scope_info(self, scope: str) -> ScopeInfo:
        records = self._records(scope)
        categories = {category for record in records for category in record.categories}
        return ScopeInfo(
            path=normalize_scope_path(scope),
            record_count=len(records),
            categories=sorted(categories),
            oldest_record=records[-1].created_at if records else None,
            newest_record=records[0].created_at if records else None,
            child_scopes=_children(scope, records),
        )

    def count(self, scope_prefix: str | None = None) -> int:
        return len(self._records(scope_prefix))

    # The same in an event loop.

    async def asave(self, records: list[MemoryRecord]) -> None:
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        return await asyncio.to_thread(
            self.search, query_embedding, scope_prefix, categories, metadata_filter, limit, min_score
        )

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        return await asyncio.to_thread(
            self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter
        )

    # Requests.

    def _write(self, record: MemoryRecord) -> None:
        client, namespace = self._client, self._namespace
        path, content, metadata = _path(record), record.content + _END, _metadata(record)
        created_at = _utc(record.created_at)
        write_creating(
            client,
            namespace,
            lambda: client.write(path, content, namespace=namespace, metadata=metadata, occurred_at=created_at),
        )

    def _forget(self, paths: Iterable[str]) -> None:
        """Deletes memories, and returns when no search finds them."""
        accepted: list[m.Accepted] = []
        for path in paths:
            try:
                accepted.append(self._client.forget(path, namespace=self._namespace))
            except NotFound:
                # Another process deleted it.
                continue
        for each in accepted:
            state = self._client.write_state(each.id, wait=_DELETION_TIMEOUT)
            if state.status != "ingested":
                raise NotIngested(f"the deletion {each.id} has the status {state.status}", code="not_ingested")

    def _find(self, record_id: str) -> m.Memory | None:
        hits = self._retrieve(None, _FOLDER, limit=1, where=[f"record_id={_id(record_id)}"])
        return hits[0] if hits else None

    def _retrieve(
        self, query: str | None, folder: str, *, limit: int, where: Sequence[str] | None = None
    ) -> tuple[m.Memory, ...]:
        try:
            found = self._client.retrieve(query, namespace=self._namespace, paths=[folder], limit=limit, where=where)
        except NotFound as error:
            if error.code != error_codes.NAMESPACE_NOT_FOUND:
                raise
            return ()
        return found.hits

    def _records(self, scope_prefix: str | None) -> list[MemoryRecord]:
        """Returns all records of a scope, newest first."""
        records: list[MemoryRecord] = []
        for memory in self._memories(_folder(scope_prefix)):
            record = _record(memory)
            if record is not None and _is_within(record.scope, scope_prefix):
                records.append(record)
        records.sort(key=_created_at, reverse=True)
        return records

    def _memories(self, folder: str) -> list[m.Memory]:
        """Returns all memories below a folder. If one request cannot return them, reads folder by folder."""
        hits = self._retrieve(None, folder, limit=_HITS_MAX)
        if len(hits) < _HITS_MAX:
            return list(hits)
        found: list[m.Memory] = []
        for entry in self._client.tree(folder, namespace=self._namespace):
            if entry.kind == "directory":
                found += self._memories(entry.path)
            else:
                found.append(self._client.get(entry.path, namespace=self._namespace))
        return found


# Records as memories.


def _metadata(record: MemoryRecord) -> m.Metadata:
    """Returns the metadata of a memory: the id of the record, and its fields as JSON, cut into texts that fit."""
    fields = record.model_dump(mode="json", exclude={"content", "embedding"})
    text = json.dumps(fields, separators=(",", ":"))
    parts = [text[start : start + _VALUE_CHARS_MAX] for start in range(0, len(text), _VALUE_CHARS_MAX)]
    if len(parts) > _VALUES_MAX:
        limit = _VALUES_MAX * _VALUE_CHARS_MAX
        raise ValueError(f"invalid record {record.id}: its fields have {len(text)} characters as JSON; the limit is {limit}")
    metadata: dict[str, str | int | float | bool] = {"record_id": _id(record.id)}
    for index, part in enumerate(parts):
        metadata[f"record.{index}"] = part
    return metadata


def _record(memory: m.Memory) -> MemoryRecord | None:
    """Returns the record in a memory, or `None` if the memory was not written by this storage."""
    parts: list[str] = []
    while (part := memory.metadata.get(f"record.{len(parts)}")) is not None:
        parts.append(str(part))
    if not parts:
        return None
    return MemoryRecord.model_validate({**json.loads("".join(parts)), "content": memory.content.removesuffix(_END)})


def _path(record: MemoryRecord) -> str:
    return f"{_folder(record.scope)}/{_id(record.id)}.md"


def _id(record_id: str) -> str:
    """Returns an id that is valid in a path."""
    if len(record_id) <= _ID_CHARS_MAX and re.fullmatch(r"[A-Za-z0-9_-]+", record_id):
        return record_id
    return hashlib.sha256(record_id.encode()).hexdigest()


def _folder(scope: str | None) -> str:
    """Returns the folder of a scope. Several scopes may share a folder, so records are filtered by scope as well."""
    segments = [_segment(name) for name in _segments(scope)[:_LEVELS_MAX]]
    return "/".join([_FOLDER, *segments])


def _segment(name: str) -> str:
    if len(name) <= _SEGMENT_CHARS_MAX and re.fullmatch(r"[a-z0-9_-]+", name):
        return name
    return hashlib.sha256(name.encode()).hexdigest()[:_SEGMENT_CHARS_MAX]


# Scopes, categories and times.


def _segments(scope: str | None) -> list[str]:
    return [name for name in (scope or "").split("/") if name]


def _is_within(scope: str, prefix: str | None) -> bool:
    wanted = _segments(prefix)
    return _segments(scope)[: len(wanted)] == wanted


def _children(parent: str, records: Iterable[MemoryRecord]) -> list[str]:
    """Returns the scopes of the records directly below `parent`, sorted."""
    above = _segments(parent)
    children: set[str] = set()
    for record in records:
        segments = _segments(record.scope)
        if len(segments) > len(above):
            children.add("/" + "/".join(segments[: len(above) + 1]))
    return sorted(children)


def _matches(record: MemoryRecord, categories: Sequence[str] | None, metadata: Mapping[str, Any] | None) -> bool:
    """Whether a record has any of the categories and all of the metadata."""
    if categories and not any(category in record.categories for category in categories):
        return False
    for key, value in (metadata or {}).items():
        if record.metadata.get(key) != value:
            return False
    return True


def _utc(time: datetime) -> datetime:
    """Returns an aware time. CrewAI uses naive times in UTC."""
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _created_at(record: MemoryRecord) -> datetime:
    return _utc(record.created_at)
