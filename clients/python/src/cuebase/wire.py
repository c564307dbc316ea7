"""Encoding of requests and decoding of responses. This module does no input or output."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Union
from urllib.parse import quote

from . import models as m
from .errors import CuebaseError, RateLimited, ServerError, Unavailable, Unreachable

#: Parameters of a query. A repeated one has a list of values.
Params = Mapping[str, Union[str, list[str]]]

T = TypeVar("T")
R = TypeVar("R")

#: The first wait before a retry, doubled for each further retry, and the longest wait; seconds.
BACKOFF = 0.25
BACKOFF_MAX = 20.0

#: Characters of a query that are sent in the address. Servers and proxies limit its length, often to 8 KB.
QUERY_CHARS_IN_ADDRESS_MAX = 2000


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and the function that reads the response. `repeatable` requests are safe to send twice."""

    method: str
    path: str
    read: Callable[[Any], T]
    params: Params | None = None
    body: m.Json | None = None
    content: bytes | None = None
    content_type: str | None = None
    repeatable: bool = True
    #: Shortest timeout of the request, seconds. The timeout of the client applies if it is longer.
    timeout_min: float = 0.0


def wait_before_retry(call: Call[Any], error: CuebaseError, attempt: int) -> float | None:
    """Returns the wait before a retry in seconds, or `None` if the request must not be retried."""
    busy = isinstance(error, (RateLimited, Unavailable)) and error.code != "merchant_not_live"
    unclear = isinstance(error, (ServerError, Unreachable))
    if not busy and not (unclear and call.repeatable):
        return None
    backoff = min(BACKOFF_MAX, BACKOFF * 2.0**attempt)
    # Random jitter spreads the retries of clients that were refused at the same time.
    jittered = backoff * random.uniform(0.5, 1.0)
    return jittered if error.retry_after is None else error.retry_after + jittered


def params(*, where: Sequence[str] | None = None, **values: Any) -> Params:
    """Encodes query parameters. Lists are comma-separated, except for `where`, whose values may hold commas. `None` is omitted."""
    query: dict[str, str | list[str]] = {}
    if conditions := listed(where):
        query["where"] = conditions
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, bool):
            query[name] = "true" if value else "false"
        elif isinstance(value, str):
            query[name] = value
        elif isinstance(value, Iterable):
            if joined := ",".join(str(each) for each in value):
                query[name] = joined
        else:
            query[name] = str(m.to_wire(value))
    return query


def question(path: str, read: Callable[[Any], T], sent: Params) -> Call[T]:
    """Makes a request with a query. A long query goes into a body, because servers limit the length of an address."""
    if len(sent.get("q", "")) > QUERY_CHARS_IN_ADDRESS_MAX:
        return Call("POST", path, read, body=dict(sent))
    return Call("GET", path, read, params=sent)


def body(**values: Any) -> m.Json:
    """Builds a request body. `None` is omitted."""
    return {name: value for name, value in values.items() if value is not None}


def when(value: m.When | None) -> str | int | float | None:
    return None if value is None else m.to_wire(value)


def listed(values: Sequence[str] | None) -> list[str] | None:
    """Returns a list for a body. A plain text is a list of one, as in a query."""
    if isinstance(values, str):
        return [values]
    return None if values is None else list(values)


def metadata_text(metadata: m.Metadata | None) -> str | None:
    """Returns metadata as JSON text, for a query."""
    return None if metadata is None else json.dumps(dict(metadata), ensure_ascii=False)


def segment(text: str) -> str:
    """Encodes one segment of a URL path."""
    return quote(text, safe="")


def memory_path(path: str) -> str:
    """Returns the URL path of a memory, or of one section: `facts/a.md#Heading`."""
    return "/v1/memories/" + quote(path, safe="/")


def messages(given: m.Messages) -> list[m.Json]:
    """Encodes the messages of a request. Raises `TypeError` for anything but a text, a message, or a list of messages."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if isinstance(given, Mapping):
        return [_message(given, "messages")]
    if isinstance(given, Iterable) and not isinstance(given, (bytes, bytearray)):
        return [_message(message, f"messages[{index}]") for index, message in enumerate(given)]
    raise _wrong_messages(given, "messages")


def _message(given: object, place: str) -> m.Json:
    if not isinstance(given, Mapping):
        raise _wrong_messages(given, place)
    written: m.Json = dict(given)
    if "occurred_at" in written:
        written["occurred_at"] = m.to_wire(written["occurred_at"])
    return written


def _wrong_messages(given: object, place: str) -> TypeError:
    accepted = 'a text, a message such as {"role": "user", "content": "I like tea"}, or a list of such messages'
    return TypeError(f"invalid {place} of type {type(given).__name__}: the client accepts {accepted}")


def many(read: Callable[[m.Json], R], values: Iterable[m.Json] | None) -> tuple[R, ...]:
    return tuple(read(value) for value in values or ())


def nothing(_: Any) -> None:
    return None


def key(value: m.Json) -> m.Key:
    return m.Key(
        id=value["id"],
        env=value["env"],
        name=value["name"],
        namespace=value.get("namespace") or None,
        revoked=value["revoked"],
        created_at=m.known(value["created_at"]),
    )


def new_key(value: m.Json) -> m.NewKey:
    fields = {name: value[name] for name in ("id", "env", "name", "key", "note")}
    return m.NewKey(namespace=value.get("namespace") or None, **fields)


def namespace(value: m.Json) -> m.Namespace:
    return m.Namespace(
        name=value["name"],
        created_at=m.known(value["created_at"]),
        updated_at=m.at(value.get("updated_at")),
        memories=value.get("memories"),
        head=value.get("head"),
    )


def who(value: m.Json) -> m.Who:
    return m.Who(account=value["account"], auth=value["auth"], env=value["env"])


def warnings(value: m.Json) -> tuple[str, ...]:
    return tuple(value.get("warnings") or ())


def accepted(value: m.Json) -> m.Accepted:
    return m.Accepted(value["id"], value["namespace"], tuple(value.get("paths") or ()), warnings(value))


def written(value: m.Json) -> m.Written:
    return m.Written(value["path"], value["namespace"], value["commit"], warnings(value))


def write_state(value: m.Json) -> m.WriteState:
    return m.WriteState(
        id=value["id"],
        namespace=value["namespace"],
        status=value["status"],
        attempts=value["attempts"],
        accepted_at=m.known(value["accepted_at"]),
        finished_at=m.at(value.get("finished_at")),
        error=value.get("error"),
        made=tuple(value.get("made") or ()),
        rewritten=tuple(value.get("rewritten") or ()),
        merged=tuple(value.get("merged") or ()),
        ended=tuple(value.get("ended") or ()),
        dropped=many(lambda each: m.DroppedMessage(each.get("message"), each["reason"]), value.get("dropped")),
        forgotten=tuple(value.get("forgotten") or ()),
        progress=write_progress(value.get("progress")),
        vectors=value.get("vectors"),
    )


def write_progress(value: m.Json | None) -> m.WriteProgress | None:
    return None if value is None else m.WriteProgress(value["done"], value["total"])


def explanation(value: m.Json | None) -> m.Explanation | None:
    if value is None:
        return None
    cue, relation = value.get("cue"), value.get("relation")
    return m.Explanation(
        arms=many(lambda each: m.ArmRank(each["arm"], each.get("rank"), each.get("score")), value["arms"]),
        cue=m.NearestCue(cue.get("text"), cue["cosine"]) if cue else None,
        terms=many(lambda each: m.TermMatch(each["term"], each["bm25"]), value["terms"]),
        relation=m.FollowedRelation(relation["from"], relation["kind"]) if relation else None,
        base_log_odds=value["base_log_odds"],
        contributions=many(lambda each: m.Contribution(each["feature"], each["log_odds"]), value["contributions"]),
    )


def path_explanation(value: m.Json) -> m.PathExplanation:
    return m.PathExplanation(
        path=value["path"],
        found=value["found"],
        excluded_by=tuple(value.get("excluded_by") or ()),
        repeats=value.get("repeats"),
        rank=value.get("rank"),
        score=value.get("score"),
        explanation=explanation(value.get("explanation")),
        outranked_by=tuple(value.get("outranked_by") or ()),
        warnings=warnings(value),
    )


def memory(value: m.Json) -> m.Memory:
    def full(name: str, read: Callable[[Any], R]) -> tuple[R, ...] | None:
        return many(read, value[name]) if name in value else None

    return m.Memory(
        path=value["path"],
        content=value["content"],
        sections=tuple(value.get("sections") or ()),
        score=value["score"],
        matched=tuple(value.get("matched") or ()),
        via=value.get("via"),
        created_at=m.at(value.get("created_at")),
        updated_at=m.at(value.get("updated_at")),
        occurred_at=m.at(value.get("occurred_at")),
        expires_at=m.at(value.get("expires_at")),
        occurred_precision=value.get("occurred_precision"),
        occurred_source=value.get("occurred_source"),
        occurred_until=m.at(value.get("occurred_until")),
        user_tags=tuple(value.get("user_tags") or ()),
        tags=tuple(value.get("tags") or ()),
        created=value.get("created"),
        updated=value.get("updated"),
        current=value.get("current", True),
        valid_from=m.at(value.get("valid_from")),
        valid_until=m.at(value.get("valid_until")),
        supersedes=tuple(value.get("supersedes") or ()),
        superseded_by=tuple(value.get("superseded_by") or ()),
        also=tuple(value.get("also") or ()),
        metadata=value.get("metadata") or {},
        revisions=full("revisions", lambda each: m.Revision(each["commit"], m.known(each["at"]), each["message"])),
        last_diff=value.get("last_diff"),
        relations=full("relations", lambda each: m.Relation(each["path"], each["kind"], each.get("snippet"))),
        cues=full("cues", str),
        sources=full("sources", lambda each: m.Source(each.get("session_id"), each["message"], each.get("write"))),
        namespace=value.get("namespace"),
        explanation=explanation(value.get("explanation")),
        document=document_place(value.get("document")),
    )


def document_place(value: m.Json | None) -> m.DocumentPlace | None:
    if value is None:
        return None
    return m.DocumentPlace(
        id=value["id"],
        name=value["name"],
        titles=tuple(value.get("titles") or ()),
        position=value["position"],
        page=value.get("page"),
        line=value.get("line"),
    )


def term(value: m.Json) -> m.Term:
    return m.Term(value["term"], tuple(value.get("aliases") or ()), value.get("definition"), value.get("path"))


def retrieved(value: m.Json) -> m.Retrieved:
    return m.Retrieved(
        hits=many(memory, value.get("hits")),
        defined=many(term, value.get("defined")),
        vector_ms=value["vector_ms"],
        lexical_ms=value["lexical_ms"],
        graph_ms=value["graph_ms"],
        cold_start=value["cold_start"],
        read=value.get("read", 0),
        warnings=warnings(value),
    )


def answer(value: m.Json) -> m.Answer:
    def citation(each: m.Json) -> m.Citation:
        return m.Citation(each["path"], each.get("section"), each["quote"], each.get("namespace"))

    citations = many(citation, value.get("citations"))
    return m.Answer(value["answer"], value["model"], citations, many(memory, value.get("hits")))


def context(value: m.Json) -> m.Context:
    def citation(each: m.Json) -> m.ContextCitation:
        standing = each.get("standing", False)
        return m.ContextCitation(each["path"], each.get("section"), each["score"], each.get("namespace"), standing)

    return m.Context(value["text"], value["tokens"], many(citation, value.get("citations")), value["namespace"])


def profile(value: m.Json) -> m.Profile:
    def claim(each: m.Json) -> m.ProfileClaim:
        return m.ProfileClaim(
            attribute=each["attribute"],
            value=each["value"],
            path=each["path"],
            valid_from=m.at(each.get("valid_from")),
            valid_until=m.at(each.get("valid_until")),
            current=each["current"],
        )

    return m.Profile(value["subject"], many(claim, value.get("claims")), tuple(value.get("subjects") or ()))


def tree_entry(value: m.Json) -> m.TreeEntry:
    return m.TreeEntry(value["path"], value["kind"], value.get("memories"), m.at(value.get("updated_at")))


def topic(value: m.Json) -> m.Topic:
    return m.Topic(value["tier"], value["topic"], value["memories"], m.at(value.get("updated_at")))


def graph(value: m.Json) -> m.Graph:
    return m.Graph(
        nodes=many(lambda each: m.Node(each["path"], each["title"], each["tier"]), value["nodes"]),
        edges=many(lambda each: m.Edge(each["from"], each["to"], each["kind"], each.get("snippet")), value["edges"]),
    )


def skill(value: m.Json) -> m.Skill:
    return m.Skill(
        path=value["path"],
        topic=value.get("topic") or "",
        name=value["name"],
        description=value.get("description") or "",
        content=value.get("content") or "",
        tags=tuple(value.get("tags") or ()),
        triggers=tuple(value.get("triggers") or ()),
        score=value.get("score"),
        matched=tuple(value["matched"]) if "matched" in value else None,
        metadata=value.get("metadata") or {},
    )


def conversation_message(value: m.Json) -> m.ConversationMessage:
    return m.ConversationMessage(
        id=value["id"],
        parent=value.get("parent"),
        role=value["role"],
        content=value["content"],
        created_at=m.known(value["created_at"]),
        edited_at=m.at(value.get("edited_at")),
    )


def conversation(value: m.Json) -> m.Conversation:
    return m.Conversation(
        id=value["id"],
        namespace=value["namespace"],
        title=value.get("title"),
        branch=value["branch"],
        created_at=m.known(value["created_at"]),
        messages=many(conversation_message, value["messages"]) if "messages" in value else None,
    )


def branch(value: m.Json) -> m.Branch:
    return m.Branch(value["name"], value.get("head"), value["messages"], value["active"], value.get("forked_from"))


def media(value: m.Json) -> m.Media:
    return m.Media(value["id"], value["namespace"], value["content_type"], value["bytes"], value["sha256"])


def accepted_document(value: m.Json) -> m.AcceptedDocument:
    return m.AcceptedDocument(
        id=value["id"],
        namespace=value["namespace"],
        warnings=warnings(value),
        document_id=value["document_id"],
        passages=value["passages"],
    )


def document(value: m.Json) -> m.Document:
    return m.Document(**_document_fields(value))


def document_passages(value: m.Json) -> m.DocumentPassages:
    def passage(each: m.Json) -> m.Passage:
        return m.Passage(each["path"], tuple(each.get("titles") or ()), each.get("page"), each.get("line"))

    memories = many(passage, value["memories"])
    return m.DocumentPassages(namespace=value["namespace"], memories=memories, **_document_fields(value))


def _document_fields(value: m.Json) -> dict[str, Any]:
    return {
        "document_id": value["document_id"],
        "name": value["name"],
        "passages": value["passages"],
        "pages": value.get("pages"),
        "tags": tuple(value.get("tags") or ()),
        "created_at": m.at(value.get("created_at")),
        "updated_at": m.at(value.get("updated_at")),
    }


def source_entry(value: m.Json) -> m.SourceEntry:
    return m.SourceEntry(
        id=value["id"],
        namespace=value["namespace"],
        session_id=value.get("session_id"),
        messages=value["messages"],
        occurred_at=value.get("occurred_at"),
        accepted_at=m.known(value["accepted_at"]),
    )


def source_message(value: m.Json) -> m.SourceMessage:
    return m.SourceMessage(value["role"], value["content"], value.get("name"), value.get("occurred_at"))


def extracted_memory(value: m.Json) -> m.ExtractedMemory:
    return m.ExtractedMemory(value["path"], value["title"], tuple(value["messages"]), value["current"])


def source_conversation(value: m.Json) -> m.SourceConversation:
    return m.SourceConversation(
        id=value["id"],
        namespace=value["namespace"],
        messages=many(source_message, value["messages"]),
        session_id=value.get("session_id"),
        tags=tuple(value.get("tags") or ()),
        occurred_at=value.get("occurred_at"),
        timezone=value.get("timezone"),
        accepted_at=m.known(value["accepted_at"]),
        memories=tuple(value["memories"]),
        metadata=value.get("metadata") or {},
        extracted=many(extracted_memory, value.get("extracted") or ()),
    )


def queue(value: m.Json) -> m.Queue:
    def letter(each: m.Json) -> m.DeadLetter:
        return m.DeadLetter(
            id=each["id"],
            namespace=each["namespace"],
            accepted_at=m.known(each["accepted_at"]),
            died_at=m.known(each["died_at"]),
            failures=each["failures"],
            reason=each["reason"],
        )

    def job(each: m.Json) -> m.Job:
        return m.Job(
            name=each["name"],
            state=each["state"],
            last_run_at=m.at(each.get("last_run_at")),
            failures=each["failures"],
            last_error=each.get("last_error"),
        )

    return m.Queue(
        waiting=value["waiting"],
        waiting_since=m.at(value.get("waiting_since")),
        dead_letters=many(letter, value["dead_letters"]),
        jobs=many(job, value.get("jobs", [])),
        next=value.get("next"),
        model_unavailable_since=m.at(value.get("model_unavailable_since")),
        vectors_waiting=value.get("vectors_waiting"),
    )


def usage(value: m.Json) -> m.Usage:
    return m.Usage(value["period"], value["plan"], value["used"], value["limits"], value["exceeded"])


def billing(value: m.Json) -> m.Billing:
    def transaction(each: m.Json) -> m.Transaction:
        return m.Transaction(each["amount_paise"], each["note"], m.known(each["at"]))

    return m.Billing(
        plan=value["plan"],
        currency=value["currency"],
        ledger=value["ledger"],
        balance_paise=value["balance_paise"],
        min_recharge_paise=value["min_recharge_paise"],
        rates_paise=value["rates_paise"],
        transactions=many(transaction, value.get("transactions")),
    )
