"""The memories of an application's users: one namespace for each user, and calls that delay a run for a limited time.

The adapters for LlamaIndex, Agent Framework, Google ADK and CrewAI share this module. It uses the synchronous client in
threads, because a framework may call one adapter from several event loops, and an asynchronous client works in one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, Union

from .. import error_codes
from .. import models as m
from .._sync import Client
from ..errors import CuebaseError, NotFound, NotIngested, Unreachable

T = TypeVar("T")

#: What becomes of an error during a run: a logged warning, or an exception that ends the run.
OnError = Literal["warn", "raise"]
#: A namespace, or the function that returns the namespace of a user id.
UserNamespace = Union[str, Callable[[str], str]]

#: Longest time by which a call may delay a run; seconds.
TIMEOUT = 5.0
#: Retries of a client that an adapter creates.
RETRIES = 1
#: Longest query that is sent; characters. The server reads 64 KiB.
_QUERY_CHARS_MAX = 65_536
#: Writes that `wait_until_ingested` remembers.
_WRITES_MAX = 1000

_PLAIN_ID = re.compile(r"[a-z0-9-]{1,59}")
_SLUG_CHARS_MAX = 24
_HASH_CHARS = 32

logger = logging.getLogger("cuebase.integrations")


def user_namespace(*ids: str) -> str:
    """Returns the namespace of a user. Different ids have different namespaces.

    An id of up to 59 characters of `a-z`, `0-9` and `-` stays readable: `mara` has the namespace `user-mara`. For any other
    id, and for several ids, the name has the prefix `userid-`, readable characters, and 128 bits of the SHA-256 of the ids.
    Ids are compared exactly: `Mara` and `mara` are two users.
    """
    if not ids or not all(ids):
        raise ValueError('invalid user id "": expected a text that identifies one user')
    if len(ids) == 1 and _PLAIN_ID.fullmatch(ids[0]):
        return f"user-{ids[0]}"
    digest = hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:_HASH_CHARS]
    slug = re.sub(r"[^a-z0-9]+", "-", "-".join(ids).lower())[:_SLUG_CHARS_MAX].strip("-")
    return f"userid-{slug}-{digest}" if slug else f"userid-{digest}"


def resolve_namespace(user_id: str | None, namespace: UserNamespace) -> str:
    """Returns the namespace of a user. Raises `ValueError` if neither a user nor a namespace is named."""
    if isinstance(namespace, str):
        return namespace
    if not user_id:
        raise ValueError("no user: pass `user_id`, or the name of the user's namespace as `namespace`")
    return namespace(user_id)


def new_client(client: Client | None, timeout: float) -> Client:
    """Returns `client`, or a new one that reads `CUEBASE_URL` and `CUEBASE_KEY`."""
    return Client(timeout=timeout, max_retries=RETRIES) if client is None else client


def write_creating(client: Client, namespace: str, write: Callable[[], T]) -> T:
    """Writes to a namespace. If it does not exist, creates it first."""
    try:
        return write()
    except NotFound as error:
        if error.code != error_codes.NAMESPACE_NOT_FOUND:
            raise
    client.create_namespace(namespace)
    return write()


def query_of(text: str) -> str:
    """Returns the end of a text that is too long for a query: a question usually stands there."""
    return text.strip()[-_QUERY_CHARS_MAX:]


class UserMemory:
    """Reads and writes the memories of users, for adapters that run in an event loop.

    With `on_error="warn"`, `context` and `remember` log a warning instead of raising a `CuebaseError`.
    """

    def __init__(self, client: Client | None = None, *, timeout: float = TIMEOUT, on_error: OnError = "warn") -> None:
        self.client = new_client(client, timeout)
        self._timeout = timeout
        self._on_error = on_error
        self._writes: deque[str] = deque(maxlen=_WRITES_MAX)

    async def context(
        self, namespace: str, query: str, *, max_tokens: int | None = None, admit: m.Admission | None = None
    ) -> str:
        """Returns a text for a prompt. It is empty if nothing is relevant, or if the user has no memories yet."""
        query = query_of(query)
        if not query:
            return ""
        try:
            found = await self.call(lambda: self.client.context(query, namespace=namespace, max_tokens=max_tokens, admit=admit))
        except CuebaseError as error:
            if error.code == error_codes.NAMESPACE_NOT_FOUND:
                return ""
            self._report(error, "the run continues without memories")
            return ""
        return found.text

    async def remember(self, namespace: str, messages: Sequence[m.Message], session_id: str | None) -> None:
        """Stores messages of a conversation. When this returns, the write is durable, but not yet ingested."""
        if not messages:
            return
        try:
            await self.store(namespace, messages, session_id)
        except CuebaseError as error:
            self._report(error, f"{len(messages)} messages were not remembered")

    async def store(
        self,
        namespace: str,
        messages: Sequence[m.Message],
        session_id: str | None,
        *,
        metadata: m.Metadata | None = None,
    ) -> None:
        """Stores messages like `remember`, and raises every error."""
        client = self.client
        accepted = await self.call(
            lambda: write_creating(
                client,
                namespace,
                lambda: client.remember(messages, namespace=namespace, session_id=session_id, metadata=metadata),
            )
        )
        self._writes.append(accepted.id)

    async def wait_until_ingested(self, timeout: float = 60.0) -> None:
        """Waits until everything that was stored so far can be retrieved. Raises `NotIngested` if a write failed."""
        deadline = time.monotonic() + timeout
        while self._writes:
            write_id = self._writes[0]
            remaining = max(0.0, deadline - time.monotonic())
            state = await asyncio.to_thread(self.client.write_state, write_id, wait=remaining)
            if state.status not in ("ingested", "dropped"):
                reason = f"status {state.status} after {timeout} s" if state.error is None else state.error
                raise NotIngested(f"write {write_id} was not ingested: {reason}", code="not_ingested")
            self._writes.popleft()

    async def call(self, function: Callable[[], T]) -> T:
        """Runs a call of the client in a thread. Raises `Unreachable` when the time is up; the thread ends later."""
        try:
            return await asyncio.wait_for(asyncio.to_thread(function), self._timeout)
        except asyncio.TimeoutError as error:
            raise Unreachable(f"no response within {self._timeout} s", code="unreachable") from error

    def _report(self, error: CuebaseError, consequence: str) -> None:
        if self._on_error == "raise":
            raise error
        logger.warning("%s: %s", consequence, error)
