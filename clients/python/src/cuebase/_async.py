"""The asynchronous client. `generate_sync.py` generates `_sync.py` from this file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from datetime import timezone as zone
from types import TracebackType
from typing import Any, Literal, TypeVar

import httpx

from . import models as m
from . import wire
from .environment import credential, server_url
from .errors import CuebaseError, NotFound, NotIngested, Unreachable, from_answer
from .wire import Call, body, listed, memory_path, params, when

T = TypeVar("T")

#: Largest number of entries in a page of each listing.
_NAMESPACES_PAGE = 200
_CONVERSATIONS_PAGE = 200
_SOURCES_PAGE = 200
_DOCUMENTS_PAGE = 200
# Memories in a page: the largest one.
_MEMORIES_PAGE = 200
#: Shortest timeout of the upload of a document, seconds. Before the server responds, it reads a PDF for up to a minute.
_DOCUMENT_TIMEOUT_MIN = 120.0
#: First and longest pause between two polls for an ingested write; seconds.
_POLL_INTERVAL = 0.05
_POLL_INTERVAL_MAX = 1.0
#: States of a write that do not change.
_ENDED = ("ingested", "dead", "dropped")
#: Memories that are read after a write was ingested.
_AWAITED_MAX = 200


class AsyncClient:
    """A client for one server with one credential: an API key or a dashboard session.

    `url` defaults to the environment variable `CUEBASE_URL`, then to `http://127.0.0.1:8080`. `key` defaults to
    `CUEBASE_KEY`. Without a key the constructor raises `MissingKey`.

    Requests that fail because the server is busy or unreachable are retried up to `max_retries` times. The waits grow,
    have random jitter, and are never shorter than the `retry-after` of the server.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        namespace: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        base_url = server_url(url)
        headers = {"authorization": f"Bearer {credential(key)}"}
        self._http = httpx.AsyncClient(base_url=base_url, headers=headers, timeout=timeout, transport=transport)
        self._namespace = namespace
        self._timeout = timeout
        self._max_retries = max_retries

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def _do(self, call: Call[T]) -> T:
        attempt = 0
        while True:
            try:
                return call.read(await self._once(call))
            except CuebaseError as error:
                wait = wire.wait_before_retry(call, error, attempt)
                if wait is None or attempt >= self._max_retries:
                    raise
            await asyncio.sleep(wait)
            attempt += 1

    async def _once(self, call: Call[T]) -> Any:
        headers = {"content-type": call.content_type} if call.content_type else None
        try:
            response = await self._http.request(
                call.method,
                call.path,
                params=call.params,
                json=call.body,
                content=call.content,
                headers=headers,
                timeout=max(self._timeout, call.timeout_min),
            )
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise Unreachable(f"no response from {self._http.base_url}: {reason}", code="unreachable") from error
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if response.is_success:
            return answer
        raise from_answer(response.status_code, answer, response.headers)

    def _in(self, namespace: str | None) -> str | None:
        return self._namespace if namespace is None else namespace

    def _in_all(self, namespaces: str | Sequence[str] | None) -> str | None:
        """Returns the namespaces of a search, separated by commas."""
        if namespaces is None or isinstance(namespaces, str):
            return self._in(namespaces)
        if not namespaces:
            raise ValueError("namespace is an empty list: name at least one namespace, or pass None")
        return ",".join(namespaces)

    # Health and identity.

    async def health(self) -> str:
        """Returns the version of the server."""
        return await self._do(Call("GET", "/health", lambda answer: str(answer["version"])))

    async def whoami(self) -> m.Who:
        """Returns the account and the kind of the credential."""
        return await self._do(Call("GET", "/v1/whoami", wire.who))

    async def create_key(
        self, name: str = "", *, env: m.Environment = "live", namespace: str | None = None
    ) -> m.NewKey:
        """Creates an API key, limited to `namespace` if given. Only this response contains the complete key."""
        sent = body(name=name, env=env, namespace=namespace)
        return await self._do(Call("POST", "/v1/keys", wire.new_key, body=sent, repeatable=False))

    async def keys(self) -> tuple[m.Key, ...]:
        """Returns all API keys. Requires a dashboard session."""
        return await self._do(Call("GET", "/v1/keys", lambda value: wire.many(wire.key, value["keys"])))

    async def revoke_key(self, key_id: str) -> None:
        """Revokes a key permanently. The key may work for up to 30 more seconds. Requires a dashboard session."""
        await self._do(Call("DELETE", f"/v1/keys/{wire.segment(key_id)}", wire.nothing))

    # Namespaces.

    async def create_namespace(self, name: str) -> m.Namespace:
        """Creates a namespace, or returns the existing one with this name."""
        return await self._do(Call("POST", "/v1/namespaces", wire.namespace, body=body(name=name)))

    async def namespaces(self) -> AsyncIterator[m.Namespace]:
        """Iterates over all namespaces, sorted by name. Reads page after page."""
        after: str | None = None
        while True:
            page = await self._do(
                Call(
                    "GET",
                    "/v1/namespaces",
                    lambda value: wire.many(wire.namespace, value["namespaces"]),
                    params=params(after=after),
                )
            )
            for each in page:
                yield each
            if len(page) < _NAMESPACES_PAGE:
                return
            after = page[-1].name

    async def delete_namespace(self, name: str) -> None:
        """Deletes a namespace and all its contents permanently. Requires a dashboard session."""
        await self._do(Call("DELETE", f"/v1/namespaces/{wire.segment(name)}", wire.nothing))

    # Memories.

    async def remember(
        self,
        messages: m.Messages,
        *,
        namespace: str | None = None,
        session_id: str | None = None,
        user: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: m.Metadata | None = None,
        occurred_at: m.When | None = None,
        timezone: str | None = None,
    ) -> m.Accepted:
        """Stores a conversation: a list of messages, one message, or a text, which becomes one message of the user.

        `user` is the name of the user, for messages of theirs without a name. When this returns, the write is durable. It can
        be retrieved a moment later.
        """
        sent = body(
            messages=wire.messages(messages),
            namespace=self._in(namespace),
            session_id=session_id,
            user=user,
            tags=listed(tags),
            metadata=metadata,
            occurred_at=when(occurred_at),
            timezone=timezone,
        )
        return await self._do(Call("POST", "/v1/memories", wire.accepted, body=sent))

    async def retrieve(
        self,
        query: str | None = None,
        *,
        user: str | None = None,
        namespace: str | Sequence[str] | None = None,
        tiers: Sequence[m.Tier] | None = None,
        paths: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_all: Sequence[str] | None = None,
        where: Sequence[str] | None = None,
        since: m.When | None = None,
        until: m.When | None = None,
        time_field: m.TimeField | None = None,
        timezone: str | None = None,
        as_of: m.When | None = None,
        current: m.Current | None = None,
        admit: m.Admission | None = None,
        read: m.Reading | None = None,
        read_budget_ms: int | None = None,
        min_score: float | None = None,
        limit: int | None = None,
        detail: Literal["full"] | None = None,
        explain: bool | None = None,
    ) -> m.Retrieved:
        """Returns the memories that match a query, best first. Without a query, lists what passes the filters, newest first.

        `user` is the name of the person who asks, for whom "I" stands; by default the only person who speaks in the
        namespace. `where` are conditions on the metadata, such as `team:blue` and `priority>=3`; a memory must meet all of them.
        `admit` returns only hits that their scores admit, possibly none. `read` says how many of the best candidates a model
        of the server reads with the query: as many as it can in `read_budget_ms` milliseconds (`auto`, the default), as many
        as it ever does (`always`), or none (`off`). With `explain=True`, each hit of a query has an `explanation` of its score.

        Of several namespaces, the hits are merged, and `limit` counts all of them. Each hit then has `namespace`.
        """
        filtered = any([tiers, paths, tags, tags_all, where]) or since is not None or until is not None
        if not (query and query.strip()) and not filtered:
            raise ValueError("retrieve needs a query, or a filter to list by: tiers, paths, tags, tags_all, where, since, until")
        sent = params(
            q=query,
            user=user,
            namespace=self._in_all(namespace),
            tiers=tiers,
            paths=paths,
            tags=tags,
            tags_all=tags_all,
            where=where,
            since=when(since),
            until=when(until),
            time_field=time_field,
            timezone=timezone,
            as_of=when(as_of),
            current=current,
            admit=admit,
            read=read,
            read_budget_ms=read_budget_ms,
            min_score=min_score,
            limit=limit,
            detail=detail,
            explain=explain,
        )
        return await self._do(wire.question("/v1/retrieve", wire.retrieved, sent))

    async def memories(
        self,
        *,
        namespace: str | None = None,
        tiers: Sequence[m.Tier] | None = None,
        paths: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_all: Sequence[str] | None = None,
        where: Sequence[str] | None = None,
        since: m.When | None = None,
        until: m.When | None = None,
        time_field: m.TimeField | None = None,
        timezone: str | None = None,
        order: Literal["newest", "oldest", "title"] | None = None,
        detail: Literal["full"] | None = None,
    ) -> AsyncIterator[m.Memory]:
        """Iterates over the memories of a namespace that pass the filters, newest first. Reads page after page.

        Writes during the iteration move the later pages, so a memory may be left out or be returned twice.
        """
        sent = params(
            namespace=self._in(namespace),
            tiers=tiers,
            paths=paths,
            tags=tags,
            tags_all=tags_all,
            where=where,
            since=when(since),
            until=when(until),
            time_field=time_field,
            timezone=timezone,
            order=order,
            detail=detail,
        )
        offset = 0
        while True:
            paged = {**sent, **params(limit=_MEMORIES_PAGE, offset=offset)}
            page = await self._do(
                Call("GET", "/v1/memories", lambda value: wire.many(wire.memory, value["memories"]), params=paged)
            )
            for each in page:
                yield each
            if len(page) < _MEMORIES_PAGE:
                return
            offset += len(page)

    async def explain(
        self,
        query: str,
        path: str,
        *,
        user: str | None = None,
        namespace: str | None = None,
        tiers: Sequence[m.Tier] | None = None,
        paths: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_all: Sequence[str] | None = None,
        where: Sequence[str] | None = None,
        since: m.When | None = None,
        until: m.When | None = None,
        time_field: m.TimeField | None = None,
        timezone: str | None = None,
        as_of: m.When | None = None,
        current: m.Current | None = None,
        admit: m.Admission | None = None,
        read: m.Reading | None = None,
        read_budget_ms: int | None = None,
        min_score: float | None = None,
        limit: int | None = None,
    ) -> m.PathExplanation:
        """Explains why a query returns the memory at a path, or why it does not. Takes one namespace, and the filters of
        `retrieve`.

        A path without a memory is not an error: `excluded_by` is then `("unknown_path",)`.
        """
        sent = body(
            q=query,
            user=user,
            path=path,
            namespace=self._in(namespace),
            tiers=listed(tiers),
            paths=listed(paths),
            tags=listed(tags),
            tags_all=listed(tags_all),
            where=listed(where),
            since=when(since),
            until=when(until),
            time_field=time_field,
            timezone=timezone,
            as_of=when(as_of),
            current=current,
            admit=admit,
            read=read,
            read_budget_ms=read_budget_ms,
            min_score=min_score,
            limit=limit,
        )
        return await self._do(Call("POST", "/v1/explain", wire.path_explanation, body=sent))

    async def write_state(self, write_id: str, *, wait: float | None = None) -> m.WriteState:
        """Returns the state of a write of the last 14 days, and what it changed. `write_id` is `id` of an `Accepted`.

        With `wait`, the client polls for up to `wait` seconds until the write is `ingested`, `dead` or `dropped`. If the
        time is up before, the result is the present state.
        """
        deadline = time.monotonic() + (wait or 0.0)
        pause = _POLL_INTERVAL
        while True:
            state = await self._do(Call("GET", f"/v1/writes/{wire.segment(write_id)}", wire.write_state))
            remaining = deadline - time.monotonic()
            if state.status in _ENDED or remaining <= 0:
                return state
            await asyncio.sleep(min(pause, remaining))
            pause = min(_POLL_INTERVAL_MAX, pause * 1.5)

    async def wait_until_ingested(self, accepted: m.Accepted, *, timeout: float = 60.0) -> tuple[m.Memory, ...]:
        """Waits until a write can be retrieved, and returns the memories that it made or changed; the first 200 of them.

        The result is empty if the write made no memory. `NotIngested` is raised if the write is not ingested within
        `timeout` seconds, and as soon as it has failed permanently.
        """
        state = await self.write_state(accepted.id, wait=timeout)
        if state.status in ("dead", "dropped"):
            raise NotIngested(f"write {accepted.id} is {state.status}: {state.error}", code="not_ingested")
        if state.status != "ingested":
            raise NotIngested(f"write {accepted.id} was not ingested within {timeout} s", code="not_ingested")
        made: list[m.Memory] = []
        for path in (state.made + state.rewritten + state.merged)[:_AWAITED_MAX]:
            try:
                made.append(await self.get(path, namespace=accepted.namespace, detail="full"))
            except NotFound:
                # A term of the vocabulary, or a memory that was forgotten since.
                continue
        return tuple(made)

    async def answer(
        self,
        question: str,
        *,
        user: str | None = None,
        namespace: str | Sequence[str] | None = None,
        tiers: Sequence[m.Tier] | None = None,
        paths: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_all: Sequence[str] | None = None,
        where: Sequence[str] | None = None,
        since: m.When | None = None,
        until: m.When | None = None,
        time_field: m.TimeField | None = None,
        timezone: str | None = None,
        as_of: m.When | None = None,
        current: m.Current | None = None,
        admit: m.Admission | None = None,
        read: m.Reading | None = None,
        read_budget_ms: int | None = None,
        min_score: float | None = None,
        limit: int | None = None,
    ) -> m.Answer:
        """Answers a question from the memories, with citations. Takes the namespaces and filters of `retrieve`.

        Raises `NotFound` if the memories contain no answer.
        """
        sent = body(
            q=question,
            user=user,
            namespace=self._in_all(namespace),
            tiers=listed(tiers),
            paths=listed(paths),
            tags=listed(tags),
            tags_all=listed(tags_all),
            where=listed(where),
            since=when(since),
            until=when(until),
            time_field=time_field,
            timezone=timezone,
            as_of=when(as_of),
            current=current,
            admit=admit,
            read=read,
            read_budget_ms=read_budget_ms,
            min_score=min_score,
            limit=limit,
        )
        return await self._do(Call("POST", "/v1/answer", wire.answer, body=sent))

    async def context(
        self,
        query: str,
        *,
        user: str | None = None,
        max_tokens: int | None = None,
        standing: m.StandingFacts | None = None,
        admit: m.Admission | None = None,
        read: m.Reading | None = None,
        read_budget_ms: int | None = None,
        namespace: str | Sequence[str] | None = None,
        tiers: Sequence[m.Tier] | None = None,
        paths: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_all: Sequence[str] | None = None,
        where: Sequence[str] | None = None,
        since: m.When | None = None,
        until: m.When | None = None,
        time_field: m.TimeField | None = None,
        timezone: str | None = None,
        as_of: m.When | None = None,
        current: m.Current | None = None,
        min_score: float | None = None,
        limit: int | None = None,
    ) -> m.Context:
        """Returns text for a prompt: what the memories hold about a query, which may ask for several things.

        `text` is empty if nothing is relevant. `admit` is `balanced` by default. A request ("suggest a recipe") begins with
        the standing facts that it touches, such as an allergy; `standing` leaves them out or shows all. Takes the
        namespaces and filters of `retrieve`.
        """
        sent = params(
            q=query,
            user=user,
            max_tokens=max_tokens,
            standing=standing,
            admit=admit,
            read=read,
            read_budget_ms=read_budget_ms,
            namespace=self._in_all(namespace),
            tiers=tiers,
            paths=paths,
            tags=tags,
            tags_all=tags_all,
            where=where,
            since=when(since),
            until=when(until),
            time_field=time_field,
            timezone=timezone,
            as_of=when(as_of),
            current=current,
            min_score=min_score,
            limit=limit,
        )
        return await self._do(wire.question("/v1/context", wire.context, sent))

    async def profile(
        self,
        subject: str | None = None,
        *,
        user: str | None = None,
        namespace: str | None = None,
        as_of: m.When | None = None,
        timezone: str | None = None,
    ) -> m.Profile:
        """Returns what the memories claim about a subject; by default about `user`, or the only person who speaks."""
        sent = params(subject=subject, user=user, namespace=self._in(namespace), as_of=when(as_of), timezone=timezone)
        return await self._do(Call("GET", "/v1/profile", wire.profile, params=sent))

    async def get(
        self,
        path: str,
        *,
        namespace: str | None = None,
        section: str | None = None,
        revision: str | None = None,
        detail: Literal["full"] | None = None,
    ) -> m.Memory:
        """Returns a memory by path. `facts/a.md#Heading` or `section` selects one section."""
        sent = params(namespace=self._in(namespace), section=section, revision=revision, detail=detail)
        return await self._do(Call("GET", memory_path(path), wire.memory, params=sent))

    async def write(
        self,
        path: str,
        content: str,
        *,
        namespace: str | None = None,
        tags: Sequence[str] | None = None,
        cues: Sequence[str] | None = None,
        metadata: m.Metadata | None = None,
        occurred_at: m.When | None = None,
        expires_at: m.When | None = None,
        valid_from: m.When | None = None,
        valid_until: m.When | None = None,
        supersedes: Sequence[str] | None = None,
        timezone: str | None = None,
    ) -> m.Written:
        """Writes a memory at a path that ends in `.md`. Each write is one commit, and the next read sees it.

        `supersedes` are paths of memories that no longer hold from `valid_from` on. A write replaces all fields of a memory.
        """
        sent = body(
            content=content,
            namespace=self._in(namespace),
            tags=listed(tags),
            cues=listed(cues),
            metadata=metadata,
            occurred_at=when(occurred_at),
            expires_at=when(expires_at),
            valid_from=when(valid_from),
            valid_until=when(valid_until),
            supersedes=listed(supersedes),
            timezone=timezone,
        )
        return await self._do(Call("POST", memory_path(path), wire.written, body=sent))

    async def forget(self, path: str, *, namespace: str | None = None) -> m.Accepted:
        """Deletes a memory. Earlier revisions stay in the git history."""
        sent = params(namespace=self._in(namespace))
        return await self._do(Call("DELETE", memory_path(path), wire.accepted, params=sent))

    async def tree(self, path: str = "", *, namespace: str | None = None) -> tuple[m.TreeEntry, ...]:
        """Returns the entries directly below a directory."""
        sent = params(path=path or None, namespace=self._in(namespace))
        read = lambda value: wire.many(wire.tree_entry, value["entries"])  # noqa: E731
        return await self._do(Call("GET", "/v1/tree", read, params=sent))

    async def topics(self, *, namespace: str | None = None) -> tuple[m.Topic, ...]:
        """Returns all topics with their numbers of memories."""
        sent = params(namespace=self._in(namespace))
        return await self._do(
            Call("GET", "/v1/topics", lambda value: wire.many(wire.topic, value["topics"]), params=sent)
        )

    async def graph(
        self, path: str | None = None, *, depth: int | None = None, limit: int | None = None, namespace: str | None = None
    ) -> m.Graph:
        """Returns the relations around a memory, or those of the whole namespace."""
        sent = params(path=path, depth=depth, limit=limit, namespace=self._in(namespace))
        return await self._do(Call("GET", "/v1/graph", wire.graph, params=sent))

    # Vocabulary and skills.

    async def teach(self, terms: Sequence[m.NewTerm], *, namespace: str | None = None) -> m.Accepted:
        """Stores terms, each with `term`, `aliases` and `definition`. A known term is replaced."""
        sent = body(terms=list(terms), namespace=self._in(namespace))
        return await self._do(Call("POST", "/v1/vocab", wire.accepted, body=sent))

    async def vocabulary(
        self, *, like: str | None = None, limit: int | None = None, namespace: str | None = None
    ) -> tuple[m.Term, ...]:
        """Returns the terms, or only those whose name contains `like`."""
        sent = params(like=like, limit=limit, namespace=self._in(namespace))
        return await self._do(Call("GET", "/v1/vocab", lambda value: wire.many(wire.term, value["terms"]), params=sent))

    async def resolve(self, word: str, *, namespace: str | None = None) -> m.Term | None:
        """Returns the term with the name or alias `word`, or `None`."""
        sent = params(word=word, namespace=self._in(namespace))
        read = lambda value: wire.term(value["term"]) if value["found"] else None  # noqa: E731
        return await self._do(Call("GET", "/v1/vocab", read, params=sent))

    async def forget_terms(self, terms: Sequence[str], *, namespace: str | None = None) -> m.Accepted:
        """Deletes terms by their canonical names."""
        sent = params(term=terms, namespace=self._in(namespace))
        return await self._do(Call("DELETE", "/v1/vocab", wire.accepted, params=sent))

    async def store_skills(self, skills: Sequence[m.NewSkill], *, namespace: str | None = None) -> m.Accepted:
        """Stores procedures. The result contains the paths at which they will be stored."""
        sent = body(skills=list(skills), namespace=self._in(namespace))
        return await self._do(Call("POST", "/v1/skills", wire.accepted, body=sent))

    async def skills(
        self,
        task: str | None = None,
        *,
        paths: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        where: Sequence[str] | None = None,
        limit: int | None = None,
        namespace: str | None = None,
    ) -> tuple[m.Skill, ...]:
        """Returns the skills for a task, best first. Without a task, returns all skills."""
        sent = params(q=task, paths=paths, tags=tags, where=where, limit=limit, namespace=self._in(namespace))
        return await self._do(Call("GET", "/v1/skills", lambda value: wire.many(wire.skill, value["skills"]), params=sent))

    # Conversations and media.

    async def create_conversation(self, title: str | None = None, *, namespace: str | None = None) -> m.Conversation:
        """Creates a managed conversation."""
        sent = body(title=title, namespace=self._in(namespace))
        return await self._do(Call("POST", "/v1/conversations", wire.conversation, body=sent, repeatable=False))

    async def conversations(self, *, namespace: str | None = None) -> AsyncIterator[m.Conversation]:
        """Iterates over all conversations, newest first. Reads page after page."""
        before: str | None = None
        while True:
            sent = params(namespace=self._in(namespace), before=before, limit=_CONVERSATIONS_PAGE)
            page = await self._do(
                Call(
                    "GET",
                    "/v1/conversations",
                    lambda value: wire.many(wire.conversation, value["conversations"]),
                    params=sent,
                )
            )
            for each in page:
                yield each
            if len(page) < _CONVERSATIONS_PAGE:
                return
            before = page[-1].id

    async def conversation(self, conversation_id: str, *, branch: str | None = None) -> m.Conversation:
        """Returns a conversation with the messages of a branch. Default: the active branch."""
        return await self._do(Call("GET", _at(conversation_id), wire.conversation, params=params(branch=branch)))

    async def update_conversation(
        self, conversation_id: str, *, title: str | None = None, branch: str | None = None
    ) -> m.Conversation:
        """Sets the title, or selects the active branch."""
        return await self._do(
            Call("PATCH", _at(conversation_id), wire.conversation, body=body(title=title, branch=branch))
        )

    async def delete_conversation(self, conversation_id: str) -> None:
        """Deletes a conversation. The memories made from it stay."""
        await self._do(Call("DELETE", _at(conversation_id), wire.nothing))

    async def append(
        self,
        conversation_id: str,
        messages: m.Messages,
        *,
        branch: str | None = None,
        metadata: m.Metadata | None = None,
    ) -> tuple[str, ...]:
        """Appends messages and returns their ids. The messages are also remembered. A text is one message of the user."""
        sent = body(messages=wire.messages(messages), branch=branch, metadata=metadata)
        path = f"{_at(conversation_id)}/messages"
        return await self._do(Call("POST", path, lambda value: tuple(value["ids"]), body=sent, repeatable=False))

    async def rewind(self, conversation_id: str, to: str) -> m.Conversation:
        """Ends the active branch at a message. Later messages stay on a separate branch."""
        path = f"{_at(conversation_id)}/rewind"
        return await self._do(Call("POST", path, wire.conversation, body=body(to=to), repeatable=False))

    async def edit_in_place(self, conversation_id: str, message_id: str, content: m.Content) -> m.ConversationMessage:
        """Replaces the content of a message."""
        path = f"{_at(conversation_id)}/messages/{wire.segment(message_id)}"
        return await self._do(Call("PATCH", path, wire.conversation_message, body=body(content=content)))

    async def edit(self, conversation_id: str, message_id: str, content: m.Content) -> str:
        """Adds the changed message on a new branch that forks before it. Returns the name of the branch."""
        path = f"{_at(conversation_id)}/messages/{wire.segment(message_id)}/edit"
        read = lambda value: str(value["branch"])  # noqa: E731
        return await self._do(Call("POST", path, read, body=body(content=content), repeatable=False))

    async def branches(self, conversation_id: str) -> tuple[m.Branch, ...]:
        """Returns the branches of a conversation."""
        path = f"{_at(conversation_id)}/branches"
        return await self._do(Call("GET", path, lambda value: wire.many(wire.branch, value["branches"])))

    async def upload(
        self, content: bytes, content_type: str, *, filename: str | None = None, namespace: str | None = None
    ) -> m.Media:
        """Uploads a file of at most 32 MiB."""
        sent = params(filename=filename, namespace=self._in(namespace))
        return await self._do(
            Call("POST", "/v1/media", wire.media, params=sent, content=content, content_type=content_type)
        )

    async def media_url(self, media_id: str) -> tuple[str, datetime]:
        """Returns a URL that opens a file without a credential, and the expiry of the URL."""
        read = lambda value: (str(value["url"]), m.known(value["expires_at"]))  # noqa: E731
        return await self._do(Call("GET", f"/v1/media/{wire.segment(media_id)}", read))

    # Documents: files whose passages are memories.

    async def upload_document(
        self,
        content: bytes,
        *,
        filename: str | None = None,
        content_type: str = "application/octet-stream",
        document_id: str | None = None,
        namespace: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: m.Metadata | None = None,
        occurred_at: m.When | None = None,
    ) -> m.AcceptedDocument:
        """Stores a file of at most 32 MiB as memories, one per passage: PDF, DOCX, HTML, Markdown, plain text or source
        code.

        `content_type` decides the kind of the file; by default, the ending of `filename` does. Without `document_id`, the
        id is made of `filename`. A file replaces the document with the same id. `tags`, `metadata` and `occurred_at`
        apply to every passage.

        When this returns, the document is durable. `write_state` returns whether it can be retrieved. The timeout of the
        request is at least 120 seconds, because the server reads the file before it responds.
        """
        sent = params(
            filename=filename,
            document_id=document_id,
            namespace=self._in(namespace),
            tags=tags,
            metadata=wire.metadata_text(metadata),
            occurred_at=when(occurred_at),
        )
        call = Call(
            "POST",
            "/v1/documents",
            wire.accepted_document,
            params=sent,
            content=content,
            content_type=content_type,
            timeout_min=_DOCUMENT_TIMEOUT_MIN,
        )
        return await self._do(call)

    async def documents(self, *, namespace: str | None = None) -> AsyncIterator[m.Document]:
        """Iterates over all documents, sorted by id. Reads page after page."""
        after: str | None = None
        while True:
            sent = params(namespace=self._in(namespace), after=after, limit=_DOCUMENTS_PAGE)
            page = await self._do(
                Call("GET", "/v1/documents", lambda value: wire.many(wire.document, value["documents"]), params=sent)
            )
            for each in page:
                yield each
            if len(page) < _DOCUMENTS_PAGE:
                return
            after = page[-1].document_id

    async def document(self, document_id: str, *, namespace: str | None = None) -> m.DocumentPassages:
        """Returns a document with its passages in order. Raises `NotFound` until the document is ingested."""
        sent = params(namespace=self._in(namespace))
        path = f"/v1/documents/{wire.segment(document_id)}"
        return await self._do(Call("GET", path, wire.document_passages, params=sent))

    async def forget_document(self, document_id: str, *, namespace: str | None = None) -> m.Accepted:
        """Deletes a document with the memories of its passages. Earlier revisions stay in the git history."""
        sent = params(namespace=self._in(namespace))
        path = f"/v1/documents/{wire.segment(document_id)}"
        return await self._do(Call("DELETE", path, wire.accepted, params=sent))

    # Sources: the conversations that memories were made from.

    async def sources(
        self, session_id: str | None = None, *, namespace: str | None = None
    ) -> AsyncIterator[m.SourceEntry]:
        """Iterates over kept conversations, newest first. `session_id` limits them to one session."""
        before: str | None = None
        while True:
            sent = params(namespace=self._in(namespace), session_id=session_id, before=before, limit=_SOURCES_PAGE)
            page = await self._do(
                Call("GET", "/v1/sources", lambda value: wire.many(wire.source_entry, value["sources"]), params=sent)
            )
            for each in page:
                yield each
            if len(page) < _SOURCES_PAGE:
                return
            before = page[-1].id

    async def source(self, source_id: str, *, namespace: str | None = None) -> m.SourceConversation:
        """Returns a kept conversation as it was accepted, with the paths of the memories made from it.

        `source_id` is the id of the write: `id` of the result of `remember`, or `write` of a memory's source. Raises
        `NotFound` until the write is ingested.
        """
        sent = params(namespace=self._in(namespace))
        return await self._do(
            Call("GET", f"/v1/sources/{wire.segment(source_id)}", wire.source_conversation, params=sent)
        )

    async def delete_source(self, source_id: str, *, namespace: str | None = None) -> None:
        """Deletes a kept conversation. The memories made from it stay."""
        sent = params(namespace=self._in(namespace))
        await self._do(Call("DELETE", f"/v1/sources/{wire.segment(source_id)}", wire.nothing, params=sent))

    # Usage and billing.

    async def queue(self, *, limit: int | None = None, after: str | None = None) -> m.Queue:
        """Returns the state of the ingestion queue and a page of dead letters."""
        return await self._do(Call("GET", "/v1/queue", wire.queue, params=params(limit=limit, after=after)))

    async def usage(self) -> m.Usage:
        """Returns the usage and the limits of this month."""
        return await self._do(Call("GET", "/v1/usage", wire.usage))

    async def billing(self) -> m.Billing:
        """Returns the plan, the wallet and its transactions."""
        return await self._do(Call("GET", "/v1/billing", wire.billing))

    async def recharge(self, amount_paise: int) -> tuple[str, str]:
        """Returns the URL of a payment page, and the id of the payment. Requires a dashboard session."""
        read = lambda value: (str(value["payment_link"]), str(value["payment_id"]))  # noqa: E731
        sent = body(amount_paise=amount_paise)
        return await self._do(Call("POST", "/v1/billing/recharge", read, body=sent, repeatable=False))

    async def subscribe(self, plan: m.Plan) -> str:
        """Returns the URL of a page that subscribes to a plan. Requires a dashboard session."""
        read = lambda value: str(value["payment_link"])  # noqa: E731
        return await self._do(Call("POST", "/v1/billing/subscribe", read, body=body(plan=plan), repeatable=False))


def _at(conversation_id: str) -> str:
    return f"/v1/conversations/{wire.segment(conversation_id)}"
