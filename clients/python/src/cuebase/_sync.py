"""The client that waits. Made from `_async.py` by `generate_sync.py`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from datetime import timezone as zone
from types import TracebackType
from typing import Any, Literal, TypeVar

import httpx

from . import models as m
from . import wire
from .environment import credential, server_url
from .errors import CuebaseError, NotIngested, Unreachable, from_answer
from .wire import Call, body, listed, memory_path, params, when

T = TypeVar("T")

#: Entries that a page of each listing holds at most.
_NAMESPACES_PAGE = 200
_CONVERSATIONS_PAGE = 200
_SOURCES_PAGE = 200
#: Between two looks at whether a write was ingested; seconds.
_LOOK_INTERVAL = 0.05
_LOOK_INTERVAL_MAX = 1.0
#: Memories that one look reads.
_LOOK_LIMIT = 200


class Client:
    """A client of one server, with one credential: an API key, or a dashboard session.

    Without `url` it takes the environment variable `CUEBASE_URL`, otherwise `http://127.0.0.1:8080`; without `key`,
    `CUEBASE_KEY`. `MissingKey` when there is no key.

    What fails because the server is busy or cannot be reached is tried again, `max_retries` times, after waits that
    grow, are spread at random, and are never shorter than the server asked for.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        namespace: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        base_url = server_url(url)
        headers = {"authorization": f"Bearer {credential(key)}"}
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=timeout, transport=transport)
        self._namespace = namespace
        self._max_retries = max_retries

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _do(self, call: Call[T]) -> T:
        attempt = 0
        while True:
            try:
                return call.read(self._once(call))
            except CuebaseError as error:
                wait = wire.wait_before_retry(call, error, attempt)
                if wait is None or attempt >= self._max_retries:
                    raise
            time.sleep(wait)
            attempt += 1

    def _once(self, call: Call[T]) -> Any:
        headers = {"content-type": call.content_type} if call.content_type else None
        try:
            response = self._http.request(
                call.method, call.path, params=call.params, json=call.body, content=call.content, headers=headers
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

    # Health and identity.

    def health(self) -> str:
        """The server's version, if it answers."""
        return self._do(Call("GET", "/health", lambda answer: str(answer["version"])))

    def whoami(self) -> m.Who:
        """What the credential is."""
        return self._do(Call("GET", "/v1/whoami", wire.who))

    def create_key(
        self, name: str = "", *, env: m.Environment = "live", namespace: str | None = None
    ) -> m.NewKey:
        """Makes a key, confined to a namespace where one is named. The whole key is told this once."""
        sent = body(name=name, env=env, namespace=namespace)
        return self._do(Call("POST", "/v1/keys", wire.new_key, body=sent, repeatable=False))

    def keys(self) -> tuple[m.Key, ...]:
        """All keys (dashboard session)."""
        return self._do(Call("GET", "/v1/keys", lambda value: wire.many(wire.key, value["keys"])))

    def revoke_key(self, key_id: str) -> None:
        """Revokes a key for good (dashboard session). It may keep working for up to 30 seconds."""
        self._do(Call("DELETE", f"/v1/keys/{wire.segment(key_id)}", wire.nothing))

    # Namespaces.

    def create_namespace(self, name: str) -> m.Namespace:
        """Makes a namespace; one that exists is told as it is."""
        return self._do(Call("POST", "/v1/namespaces", wire.namespace, body=body(name=name)))

    def namespaces(self) -> Iterator[m.Namespace]:
        """Every namespace, by name, however many there are."""
        after: str | None = None
        while True:
            page = self._do(
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

    def delete_namespace(self, name: str) -> None:
        """Removes a namespace with everything in it, for good (dashboard session)."""
        self._do(Call("DELETE", f"/v1/namespaces/{wire.segment(name)}", wire.nothing))

    # Memories.

    def remember(
        self,
        messages: m.Messages,
        *,
        namespace: str | None = None,
        session_id: str | None = None,
        tags: Sequence[str] | None = None,
        occurred_at: m.When | None = None,
        timezone: str | None = None,
    ) -> m.Accepted:
        """Stores a conversation: a list of messages, one message, or a text, which is one message of the user.

        The write is durable when this returns, and retrievable a moment later.
        """
        sent = body(
            messages=wire.messages(messages),
            namespace=self._in(namespace),
            session_id=session_id,
            tags=listed(tags),
            occurred_at=when(occurred_at),
            timezone=timezone,
        )
        return self._do(Call("POST", "/v1/memories", wire.accepted, body=sent))

    def retrieve(
        self,
        query: str | None = None,
        *,
        namespace: str | None = None,
        tiers: Sequence[m.Tier] | None = None,
        paths: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_all: Sequence[str] | None = None,
        since: m.When | None = None,
        until: m.When | None = None,
        time_field: m.TimeField | None = None,
        timezone: str | None = None,
        min_score: float | None = None,
        limit: int | None = None,
        detail: Literal["full"] | None = None,
    ) -> m.Retrieved:
        """What a query brings to mind, best first; without one, what the filters let through, newest first."""
        if not (query and query.strip()) and not any([tiers, paths, tags, tags_all]) and since is None and until is None:
            raise ValueError("retrieve needs a query, or a filter to list by: tiers, paths, tags, tags_all, since, until")
        sent = params(
            q=query,
            namespace=self._in(namespace),
            tiers=tiers,
            paths=paths,
            tags=tags,
            tags_all=tags_all,
            since=when(since),
            until=when(until),
            time_field=time_field,
            timezone=timezone,
            min_score=min_score,
            limit=limit,
            detail=detail,
        )
        return self._do(Call("GET", "/v1/retrieve", wire.retrieved, params=sent))

    def wait_until_ingested(self, accepted: m.Accepted, *, timeout: float = 60.0) -> tuple[m.Memory, ...]:
        """Waits until a write can be retrieved, and returns the memories that it made or changed.

        The service tells this by retrieval alone: a memory's history names the write that it came from. A write that
        made no memory (nothing in it was worth keeping) cannot be told from one that is still to come: `NotIngested`
        after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        pause = _LOOK_INTERVAL
        since = wire.accepted_at(accepted.id)
        mark = f"Cuebase-Message: {accepted.id}"
        while True:
            found = self.retrieve(
                namespace=accepted.namespace,
                since=datetime.fromtimestamp(since, zone.utc),
                time_field="updated",
                limit=_LOOK_LIMIT,
                detail="full",
            )
            made = tuple(hit for hit in found.hits if any(mark in each.message for each in hit.revisions or ()))
            if made:
                return made
            if time.monotonic() + pause > deadline:
                raise NotIngested(f"write {accepted.id} was not retrievable within {timeout} s", code="not_ingested")
            time.sleep(pause)
            pause = min(_LOOK_INTERVAL_MAX, pause * 1.5)

    def answer(
        self,
        question: str,
        *,
        namespace: str | None = None,
        tiers: Sequence[m.Tier] | None = None,
        paths: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_all: Sequence[str] | None = None,
        since: m.When | None = None,
        until: m.When | None = None,
        time_field: m.TimeField | None = None,
        timezone: str | None = None,
        min_score: float | None = None,
        limit: int | None = None,
    ) -> m.Answer:
        """Answers a question from the memories, with citations; filters as for `retrieve`. `NotFound` for no answer."""
        sent = body(
            q=question,
            namespace=self._in(namespace),
            tiers=listed(tiers),
            paths=listed(paths),
            tags=listed(tags),
            tags_all=listed(tags_all),
            since=when(since),
            until=when(until),
            time_field=time_field,
            timezone=timezone,
            min_score=min_score,
            limit=limit,
        )
        return self._do(Call("POST", "/v1/answer", wire.answer, body=sent))

    def get(
        self,
        path: str,
        *,
        namespace: str | None = None,
        section: str | None = None,
        revision: str | None = None,
        detail: Literal["full"] | None = None,
    ) -> m.Memory:
        """One memory by its path; `facts/a.md#Heading`, or `section`, is one section of it."""
        sent = params(namespace=self._in(namespace), section=section, revision=revision, detail=detail)
        return self._do(Call("GET", memory_path(path), wire.memory, params=sent))

    def write(
        self,
        path: str,
        content: str,
        *,
        namespace: str | None = None,
        tags: Sequence[str] | None = None,
        cues: Sequence[str] | None = None,
        occurred_at: m.When | None = None,
        expires_at: m.When | None = None,
        timezone: str | None = None,
    ) -> m.Written:
        """Writes a memory at a path that ends in `.md`: one commit, and the next read sees it."""
        sent = body(
            content=content,
            namespace=self._in(namespace),
            tags=listed(tags),
            cues=listed(cues),
            occurred_at=when(occurred_at),
            expires_at=when(expires_at),
            timezone=timezone,
        )
        return self._do(Call("POST", memory_path(path), wire.written, body=sent))

    def forget(self, path: str, *, namespace: str | None = None) -> m.Accepted:
        """Has a memory forgotten; earlier revisions stay in git history."""
        sent = params(namespace=self._in(namespace))
        return self._do(Call("DELETE", memory_path(path), wire.accepted, params=sent))

    def tree(self, path: str = "", *, namespace: str | None = None) -> tuple[m.TreeEntry, ...]:
        """What is right below a directory."""
        sent = params(path=path or None, namespace=self._in(namespace))
        read = lambda value: wire.many(wire.tree_entry, value["entries"])  # noqa: E731
        return self._do(Call("GET", "/v1/tree", read, params=sent))

    def topics(self, *, namespace: str | None = None) -> tuple[m.Topic, ...]:
        """Every topic with the number of its memories."""
        sent = params(namespace=self._in(namespace))
        return self._do(
            Call("GET", "/v1/topics", lambda value: wire.many(wire.topic, value["topics"]), params=sent)
        )

    def graph(
        self, path: str | None = None, *, depth: int | None = None, limit: int | None = None, namespace: str | None = None
    ) -> m.Graph:
        """The relations around a memory, or of the whole namespace."""
        sent = params(path=path, depth=depth, limit=limit, namespace=self._in(namespace))
        return self._do(Call("GET", "/v1/graph", wire.graph, params=sent))

    # Vocabulary and skills.

    def teach(self, terms: Sequence[m.NewTerm], *, namespace: str | None = None) -> m.Accepted:
        """Teaches terms, each with `term`, `aliases`, `definition`; a known one is rewritten."""
        sent = body(terms=list(terms), namespace=self._in(namespace))
        return self._do(Call("POST", "/v1/vocab", wire.accepted, body=sent))

    def vocabulary(
        self, *, like: str | None = None, limit: int | None = None, namespace: str | None = None
    ) -> tuple[m.Term, ...]:
        """The terms, those whose name holds `like`."""
        sent = params(like=like, limit=limit, namespace=self._in(namespace))
        return self._do(Call("GET", "/v1/vocab", lambda value: wire.many(wire.term, value["terms"]), params=sent))

    def resolve(self, word: str, *, namespace: str | None = None) -> m.Term | None:
        """The term that a word is a name of."""
        sent = params(word=word, namespace=self._in(namespace))
        read = lambda value: wire.term(value["term"]) if value["found"] else None  # noqa: E731
        return self._do(Call("GET", "/v1/vocab", read, params=sent))

    def forget_terms(self, terms: Sequence[str], *, namespace: str | None = None) -> m.Accepted:
        """Forgets terms by their canonical names."""
        sent = params(term=terms, namespace=self._in(namespace))
        return self._do(Call("DELETE", "/v1/vocab", wire.accepted, params=sent))

    def store_skills(self, skills: Sequence[m.NewSkill], *, namespace: str | None = None) -> m.Accepted:
        """Stores procedures; the answer names the paths at which they will be."""
        sent = body(skills=list(skills), namespace=self._in(namespace))
        return self._do(Call("POST", "/v1/skills", wire.accepted, body=sent))

    def skills(
        self,
        task: str | None = None,
        *,
        paths: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        limit: int | None = None,
        namespace: str | None = None,
    ) -> tuple[m.Skill, ...]:
        """The skills for a task, best first; without one, all of them."""
        sent = params(q=task, paths=paths, tags=tags, limit=limit, namespace=self._in(namespace))
        return self._do(Call("GET", "/v1/skills", lambda value: wire.many(wire.skill, value["skills"]), params=sent))

    # Conversations and media.

    def create_conversation(self, title: str | None = None, *, namespace: str | None = None) -> m.Conversation:
        """Begins a managed conversation."""
        sent = body(title=title, namespace=self._in(namespace))
        return self._do(Call("POST", "/v1/conversations", wire.conversation, body=sent, repeatable=False))

    def conversations(self, *, namespace: str | None = None) -> Iterator[m.Conversation]:
        """Every conversation, newest first, however many there are."""
        before: str | None = None
        while True:
            sent = params(namespace=self._in(namespace), before=before, limit=_CONVERSATIONS_PAGE)
            page = self._do(
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

    def conversation(self, conversation_id: str, *, branch: str | None = None) -> m.Conversation:
        """A conversation with the messages of a branch, by default the active one."""
        return self._do(Call("GET", _at(conversation_id), wire.conversation, params=params(branch=branch)))

    def update_conversation(
        self, conversation_id: str, *, title: str | None = None, branch: str | None = None
    ) -> m.Conversation:
        """Sets the title, or makes a branch the active one."""
        return self._do(
            Call("PATCH", _at(conversation_id), wire.conversation, body=body(title=title, branch=branch))
        )

    def delete_conversation(self, conversation_id: str) -> None:
        """Deletes a conversation; the memories made from it stay."""
        self._do(Call("DELETE", _at(conversation_id), wire.nothing))

    def append(
        self, conversation_id: str, messages: m.Messages, *, branch: str | None = None
    ) -> tuple[str, ...]:
        """Appends messages, which are also remembered, and returns their ids. A text is one message of the user."""
        sent = body(messages=wire.messages(messages), branch=branch)
        path = f"{_at(conversation_id)}/messages"
        return self._do(Call("POST", path, lambda value: tuple(value["ids"]), body=sent, repeatable=False))

    def rewind(self, conversation_id: str, to: str) -> m.Conversation:
        """Ends the active branch at a message; what came after stays, on a branch of its own."""
        path = f"{_at(conversation_id)}/rewind"
        return self._do(Call("POST", path, wire.conversation, body=body(to=to), repeatable=False))

    def edit_in_place(self, conversation_id: str, message_id: str, content: m.Content) -> m.ConversationMessage:
        """Puts other content in a message's place."""
        path = f"{_at(conversation_id)}/messages/{wire.segment(message_id)}"
        return self._do(Call("PATCH", path, wire.conversation_message, body=body(content=content)))

    def edit(self, conversation_id: str, message_id: str, content: m.Content) -> str:
        """Other content on a new branch that forks before the message; the branch's name."""
        path = f"{_at(conversation_id)}/messages/{wire.segment(message_id)}/edit"
        read = lambda value: str(value["branch"])  # noqa: E731
        return self._do(Call("POST", path, read, body=body(content=content), repeatable=False))

    def branches(self, conversation_id: str) -> tuple[m.Branch, ...]:
        """The branches of a conversation."""
        path = f"{_at(conversation_id)}/branches"
        return self._do(Call("GET", path, lambda value: wire.many(wire.branch, value["branches"])))

    def upload(
        self, content: bytes, content_type: str, *, filename: str | None = None, namespace: str | None = None
    ) -> m.Media:
        """Uploads a file of at most 32 MiB."""
        sent = params(filename=filename, namespace=self._in(namespace))
        return self._do(
            Call("POST", "/v1/media", wire.media, params=sent, content=content, content_type=content_type)
        )

    def media_url(self, media_id: str) -> tuple[str, datetime]:
        """An address that opens a file without a credential, and until when it does."""
        read = lambda value: (str(value["url"]), m.known(value["expires_at"]))  # noqa: E731
        return self._do(Call("GET", f"/v1/media/{wire.segment(media_id)}", read))

    # Sources: the conversations that memories were made from.

    def sources(
        self, session_id: str | None = None, *, namespace: str | None = None
    ) -> Iterator[m.SourceEntry]:
        """Every kept conversation, newest first; with `session_id`, only those of that session."""
        before: str | None = None
        while True:
            sent = params(namespace=self._in(namespace), session_id=session_id, before=before, limit=_SOURCES_PAGE)
            page = self._do(
                Call("GET", "/v1/sources", lambda value: wire.many(wire.source_entry, value["sources"]), params=sent)
            )
            for each in page:
                yield each
            if len(page) < _SOURCES_PAGE:
                return
            before = page[-1].id

    def source(self, source_id: str, *, namespace: str | None = None) -> m.SourceConversation:
        """A kept conversation as it was accepted, and the paths of the memories made from it.

        The id is that of the write: `id` of what `remember` returned, or `write` of a memory's source. `NotFound` before
        the write is ingested.
        """
        sent = params(namespace=self._in(namespace))
        return self._do(
            Call("GET", f"/v1/sources/{wire.segment(source_id)}", wire.source_conversation, params=sent)
        )

    def delete_source(self, source_id: str, *, namespace: str | None = None) -> None:
        """Deletes a kept conversation; the memories made from it stay."""
        sent = params(namespace=self._in(namespace))
        self._do(Call("DELETE", f"/v1/sources/{wire.segment(source_id)}", wire.nothing, params=sent))

    # Usage and billing.

    def queue(self, *, limit: int | None = None, after: str | None = None) -> m.Queue:
        """What waits to be ingested, and a page of what failed for good."""
        return self._do(Call("GET", "/v1/queue", wire.queue, params=params(limit=limit, after=after)))

    def usage(self) -> m.Usage:
        """What was used this month, and what may be."""
        return self._do(Call("GET", "/v1/usage", wire.usage))

    def billing(self) -> m.Billing:
        """The wallet."""
        return self._do(Call("GET", "/v1/billing", wire.billing))

    def recharge(self, amount_paise: int) -> tuple[str, str]:
        """A page to pay at, and the payment's id (dashboard session)."""
        read = lambda value: (str(value["payment_link"]), str(value["payment_id"]))  # noqa: E731
        sent = body(amount_paise=amount_paise)
        return self._do(Call("POST", "/v1/billing/recharge", read, body=sent, repeatable=False))

    def subscribe(self, plan: m.Plan) -> str:
        """A page to subscribe to a plan at (dashboard session)."""
        read = lambda value: str(value["payment_link"])  # noqa: E731
        return self._do(Call("POST", "/v1/billing/subscribe", read, body=body(plan=plan), repeatable=False))


def _at(conversation_id: str) -> str:
    return f"/v1/conversations/{wire.segment(conversation_id)}"
