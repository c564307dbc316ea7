"""A LangGraph store: `CuebaseStore` keeps items as memories, so that graphs share them across threads and processes.

An item is one memory, at the path `folder/label/…/key.md` of one Cuebase namespace. The content of the memory is the
text of the item for people and for search, followed by the exact value as a block of JSON. `_path_encoding` describes
how labels and keys become names.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Literal

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from .. import Client, Memory, NotFound, NotIngested, error_codes
from ._listing import PAGE, memories_below
from ._path_encoding import check_path, decode_segment, encode_directory, encode_segment

__all__ = ["CuebaseStore"]

#: Field path of the whole value.
_WHOLE_VALUE = "$"
#: Keys of the metadata that say something about the item itself.
_INDEXED = "langgraph.indexed"
_PARTIAL = "langgraph.partial"
#: Limits of the server: keys of the metadata, characters of a text in it, cues of a memory, characters of a cue.
_METADATA_KEYS_MAX = 32
_METADATA_TEXT_MAX = 512
_CUES_MAX = 64
_CUE_CHARS_MAX = 1000
#: Integers up to here are the same number in every JSON decoder.
_INTEGER_MAX = 2**53
_METADATA_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BLOCK_BEGIN = "\n```json\n"
_BLOCK_END = "\n```"
#: Time of an item whose memory has none.
_UNKNOWN_TIME = datetime.fromtimestamp(0, timezone.utc)


class CuebaseStore(BaseStore):
    """A `BaseStore` that keeps items in one namespace of a Cuebase server.

    `client` is used from several threads. `namespace` is the Cuebase namespace, by default that of the client, and
    `folder` the directory of the items. `fields` are the paths of the texts that a query is compared with, by default
    all texts of a value; `index` of `put` overrides them. A deletion waits up to `timeout` seconds for its end.

    The `a…` methods run in worker threads, so the store works in every event loop. TTL is not supported.
    """

    __slots__ = ("_client", "_fields", "_folder", "_namespace", "_timeout")

    def __init__(
        self,
        client: Client,
        *,
        namespace: str | None = None,
        folder: str = "facts/langgraph",
        fields: Sequence[str] = (_WHOLE_VALUE,),
        timeout: float = 30.0,
    ) -> None:
        if isinstance(fields, str):
            raise TypeError(f"invalid fields {fields!r}: expected a list of field paths, for example ['text']")
        self._client = client
        self._namespace = namespace
        self._folder = folder.rstrip("/")
        self._fields = tuple(fields)
        self._timeout = timeout

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs operations: first all reads in order, then all writes. The last write to a key counts.

        The operations are separate requests. If one fails, its error is raised, and earlier writes stay.
        """
        operations = list(ops)
        for op in operations:
            validate_op_namespace(op)
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in operations:
            if isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._list_namespaces(op))
            elif isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
                results.append(None)
            else:
                raise ValueError(f"unknown operation {type(op).__name__}: the store accepts get, search, put and list")
        self._write(puts.values())
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs `batch` in a worker thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    # Reads.

    def _get(self, op: GetOp) -> Item | None:
        try:
            memory = self._client.get(self._path(op.namespace, op.key), namespace=self._namespace)
        except NotFound as error:
            if error.code != error_codes.NOT_FOUND:
                raise
            return None
        found = self._item(memory, None)
        if found is None:
            return None
        return Item(
            value=found.value,
            key=found.key,
            namespace=found.namespace,
            created_at=found.created_at,
            updated_at=found.updated_at,
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise ValueError(f"invalid page: limit is {op.limit} and offset is {op.offset}, both must be at least 0")
        end = op.offset + op.limit
        conditions = _conditions(op.filter or {})
        if op.query and op.query.strip():
            items = self._matches(op, op.query, conditions)
        else:
            items = self._listed(op.namespace_prefix, conditions)
        found: list[SearchItem] = []
        for item in items:
            if len(found) >= end:
                break
            if _passes(item.value, op.filter or {}):
                found.append(item)
        return found[op.offset :]

    def _matches(self, op: SearchOp, query: str, conditions: list[str]) -> Iterator[SearchItem]:
        """Yields the items that a query finds, best first."""
        limit = PAGE if op.filter else min(PAGE, max(1, op.offset + op.limit))
        found: list[SearchItem] = []
        for where in _alternatives(conditions):
            hits = self._client.retrieve(
                query,
                namespace=self._namespace,
                paths=[self._directory(op.namespace_prefix)],
                where=[f"{_INDEXED}!=false", *where],
                limit=limit,
            ).hits
            for hit in hits:
                if item := self._item(hit, hit.score):
                    found.append(item)
        found.sort(key=_score, reverse=True)
        return iter(found)

    def _listed(self, prefix: tuple[str, ...], conditions: list[str]) -> Iterator[SearchItem]:
        """Yields the items below a prefix, the last written first."""
        directory = self._directory(prefix)
        listings = [self._items_below(directory, where) for where in _alternatives(conditions)]
        return heapq.merge(*listings, key=_updated, reverse=True)

    def _items_below(self, directory: str, where: list[str]) -> Iterator[SearchItem]:
        for memory in memories_below(self._client, directory, namespace=self._namespace, where=where):
            if item := self._item(memory, None):
                yield item

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        found: set[tuple[str, ...]] = set()
        for item in self._listed(_common_prefix(conditions), []):
            if all(_matches_condition(item.namespace, condition) for condition in conditions):
                found.add(item.namespace if op.max_depth is None else item.namespace[: op.max_depth])
        return sorted(found)[op.offset : op.offset + op.limit]

    # Writes.

    def _write(self, puts: Iterable[PutOp]) -> None:
        removals = []
        for op in puts:
            path = self._path(op.namespace, op.key)
            if op.value is None:
                removals.append(self._client.forget(path, namespace=self._namespace))
            else:
                self._put(path, op, op.value)
        for accepted in removals:
            state = self._client.write_state(accepted.id, wait=self._timeout)
            if state.status != "ingested":
                raise NotIngested(
                    f"deletion {accepted.id} is {state.status} after {self._timeout} s;"
                    " `write_state` returns what became of it",
                    code="not_ingested",
                )

    def _put(self, path: str, op: PutOp, value: Mapping[str, Any]) -> None:
        try:
            encoded = json.dumps(dict(value), ensure_ascii=False, indent=2)
        except (TypeError, ValueError) as error:
            raise type(error)(f"the value of {op.namespace} {op.key!r} is not JSON: {error}") from error
        encoded = _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", encoded)
        cues = _cues(value, self._fields if op.index is None else op.index)
        title = _on_one_line(op.key) or "Item"
        content = "\n\n".join([f"# {title}", *cues]) + f"\n{_BLOCK_BEGIN}{encoded}{_BLOCK_END}\n"
        metadata: dict[str, str | int | float | bool] = _filterable(value)
        if not cues:
            metadata[_INDEXED] = False
        self._client.write(path, content, namespace=self._namespace, cues=cues, metadata=metadata)

    # Paths and contents.

    def _directory(self, prefix: tuple[str, ...]) -> str:
        directory = "/".join([self._folder, *map(encode_directory, prefix)])
        check_path(directory, f"the namespace {prefix}")
        return directory

    def _path(self, namespace: tuple[str, ...], key: str) -> str:
        path = f"{self._directory(namespace)}/{encode_segment(key)}.md"
        check_path(path, f"the item {key!r} in {namespace}")
        return path

    def _item(self, memory: Memory, score: float | None) -> SearchItem | None:
        """Returns the item of a memory, or `None` for a memory that the store did not write."""
        labels: list[str] = []
        for segment in memory.path.removeprefix(f"{self._folder}/").removesuffix(".md").split("/"):
            label = decode_segment(segment)
            if label is None:
                return None
            labels.append(label)
        value = _decoded(memory.content)
        if value is None:
            return None
        updated_at = memory.updated_at or _UNKNOWN_TIME
        return SearchItem(tuple(labels[:-1]), labels[-1], value, memory.created_at or updated_at, updated_at, score)


def _decoded(content: str) -> dict[str, Any] | None:
    """Returns the value in the last block of JSON of a memory."""
    _, begin, block = content.rpartition(_BLOCK_BEGIN)
    encoded, end, _ = block.partition(_BLOCK_END)
    if not begin or not end:
        return None
    try:
        value = json.loads(encoded)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _score(item: SearchItem) -> float:
    return item.score or 0.0


def _updated(item: SearchItem) -> datetime:
    return item.updated_at


# Texts that a query is compared with.


def _cues(value: Mapping[str, Any], fields: Sequence[str] | Literal[False]) -> list[str]:
    """Returns the texts of fields, in pieces that the server accepts as cues."""
    texts: list[str] = []
    for field in fields or ():
        # Without texts, the JSON of the value stands for it.
        own = list(_texts(value)) if field == _WHOLE_VALUE else []
        texts.extend(own or get_text_at_path(dict(value), field))
    cues: dict[str, None] = {}
    for text in texts:
        for piece in _pieces(_on_one_line(text)):
            cues[piece] = None
    return list(cues)[:_CUES_MAX]


def _texts(value: object) -> Iterator[str]:
    """Yields the texts of a value, at any depth."""
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def _on_one_line(text: str) -> str:
    return " ".join(_SURROGATE.sub(" ", _CONTROL.sub(" ", text)).split())


def _pieces(line: str) -> Iterator[str]:
    """Splits a line between words into pieces of at most `_CUE_CHARS_MAX` characters."""
    while len(line) > _CUE_CHARS_MAX:
        end = line.rfind(" ", 1, _CUE_CHARS_MAX)
        if end < 0:
            end = _CUE_CHARS_MAX
        yield line[:end]
        line = line[end:].strip()
    if line:
        yield line


# Filters. The server checks what it can by metadata, and the store checks everything on the values.


def _filterable(value: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    """Returns the metadata of a value: its fields on the first level that the server can filter by.

    If there are too many, the metadata says so, and searches include the item whatever the filter is.
    """
    metadata: dict[str, str | int | float | bool] = {}
    for key, field in value.items():
        if key not in (_INDEXED, _PARTIAL) and _METADATA_KEY.fullmatch(key) and _is_filterable(field):
            metadata[key] = field
    # One key is left for the mark of an item that is not indexed.
    return {_PARTIAL: True} if len(metadata) >= _METADATA_KEYS_MAX else metadata


def _is_filterable(field: object) -> bool:
    if isinstance(field, bool):
        return True
    if isinstance(field, int):
        return abs(field) <= _INTEGER_MAX
    if isinstance(field, float):
        return math.isfinite(field)
    if isinstance(field, str):
        return len(field) <= _METADATA_TEXT_MAX and not _CONTROL.search(field) and not _SURROGATE.search(field)
    return False


def _conditions(wanted: Mapping[str, Any]) -> list[str]:
    """Returns conditions on the metadata that every item which passes the filter meets."""
    conditions = []
    for key, condition in wanted.items():
        value = condition.get("$eq") if isinstance(condition, Mapping) else condition
        is_exact = isinstance(value, (str, bool, int)) and _is_filterable(value)
        if is_exact and key not in (_INDEXED, _PARTIAL) and _METADATA_KEY.fullmatch(key):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            conditions.append(f"{key}:{text}")
    # The server accepts 32 conditions, and one is used for `_INDEXED`.
    return conditions[: _METADATA_KEYS_MAX - 1]


def _alternatives(conditions: list[str]) -> list[list[str]]:
    """Returns the conditions of the requests that find all candidates of a filter."""
    return [conditions, [f"{_PARTIAL}:true"]] if conditions else [[]]


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_agrees(value.get(key), condition) for key, condition in wanted.items())


def _agrees(field: Any, condition: Any) -> bool:
    """Returns whether a field meets a condition: an equal value, operators, or an object of conditions."""
    if isinstance(condition, Mapping):
        if any(str(key).startswith("$") for key in condition):
            return all(_meets(field, operator, operand) for operator, operand in condition.items())
        return isinstance(field, Mapping) and _passes(field, condition)
    if isinstance(condition, (list, tuple)):
        if not isinstance(field, (list, tuple)) or len(field) != len(condition):
            return False
        return all(_agrees(each, wanted) for each, wanted in zip(field, condition))
    return bool(field == condition)


def _meets(field: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(field == operand)
    if operator == "$ne":
        return bool(field != operand)
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"unsupported operator {operator}: a filter accepts $eq, $ne, $gt, $gte, $lt and $lte")
    left, right = _comparable(field, operand)
    if left is None or right is None:
        return False
    if operator == "$gt":
        return bool(left > right)
    if operator == "$gte":
        return bool(left >= right)
    if operator == "$lt":
        return bool(left < right)
    return bool(left <= right)


def _comparable(field: Any, operand: Any) -> tuple[Any, Any]:
    """Returns both as numbers, or both as texts. Returns `None` for both if neither is possible."""
    try:
        return float(field), float(operand)
    except (TypeError, ValueError, OverflowError):
        return (field, operand) if isinstance(field, str) and isinstance(operand, str) else (None, None)


# Namespaces.


def _common_prefix(conditions: Iterable[MatchCondition]) -> tuple[str, ...]:
    """Returns the longest prefix without a wildcard that one of the conditions requires."""
    longest: tuple[str, ...] = ()
    for condition in conditions:
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            literal = path[: path.index("*")] if "*" in path else path
            longest = max(longest, literal, key=len)
    return longest


def _matches_condition(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    if condition.match_type == "prefix":
        compared = namespace[: len(path)]
    elif condition.match_type == "suffix":
        compared = namespace[len(namespace) - len(path) :]
    else:
        raise ValueError(f"unsupported match type {condition.match_type!r}: expected prefix or suffix")
    return all(wanted in ("*", label) for label, wanted in zip(compared, path))
