"""Responses of the service as frozen dataclasses. Times are aware datetimes in UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from typing import Any, Literal, TypedDict, Union

Tier = Literal["facts", "incidents", "rules", "skills"]
TimeField = Literal["occurred", "created", "updated"]
#: What becomes of memories that no longer hold: ranked behind their successors, left out, or ranked like all others.
Current = Literal["first", "only", "any"]
#: Which standing facts a context begins with.
StandingFacts = Literal["auto", "off", "all"]
Admission = Literal["all", "recall", "balanced", "strict"]
Reading = Literal["auto", "always", "off"]
#: A way of finding a memory: by the words of the query, by a cue near it, or by a relation to one of the best hits.
Arm = Literal["lexical", "cue", "graph"]
#: What keeps a memory out of the hits. `filter` includes memories that are later than `as_of`.
ExcludedBy = Literal["filter", "expired", "superseded", "no_arm", "min_score", "limit", "admit", "unknown_path"]
#: State of a write. `dead` after the last failed attempt; `dropped` with its namespace, or as a dead letter.
WriteStatus = Literal["queued", "ingesting", "retrying", "ingested", "dead", "dropped"]
Environment = Literal["live", "test"]
#: A plan with a subscription.
Plan = Literal["starter", "growth", "scale", "max"]
#: A JSON object as the service sends it.
Json = dict[str, Any]
#: A part of a message's content, such as `{"type": "text", "text": "…"}` or `{"type": "media", "id": "…"}`.
ContentPart = Mapping[str, object]
#: The content of a message: a text, or a list of parts.
Content = Union[str, Sequence[ContentPart]]
#: Values to filter by with `where`: texts, numbers and booleans by key.
Metadata = Mapping[str, Union[str, int, float, bool]]
#: A time argument: a datetime (naive is read as UTC), a date, seconds since the epoch, or text.
When = Union[datetime, date, int, float, str]


class _RequiredMessage(TypedDict):
    role: Literal["user", "assistant", "system", "tool"]
    content: Content


class Message(_RequiredMessage, total=False):
    """A message to remember: `role`, `content`, and optionally `name`, `occurred_at` and `store`.

    With `store=False` the message is only read to understand the others: no memory has its text.
    """

    name: str
    occurred_at: When
    store: bool


#: Argument of `remember` and `append`: a list of messages, one message, or a text, which is one message of the user.
Messages = Union[str, Message, Sequence[Message]]


class NewTerm(TypedDict):
    """A term to teach."""

    term: str
    aliases: Sequence[str]
    definition: str


class _RequiredSkill(TypedDict):
    name: str


class NewSkill(_RequiredSkill, total=False):
    """A procedure to store. `description` or `content` is required."""

    description: str
    content: str
    topic: str
    path: str
    tags: Sequence[str]
    triggers: Sequence[str]
    metadata: Metadata
    confidence: float
    date: str


def to_wire(when: When) -> str | int | float:
    """Converts a time to the form that the service accepts."""
    if isinstance(when, datetime):
        aware = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
        return aware.isoformat()
    if isinstance(when, date):
        return when.isoformat()
    return when


def at(text: str | None) -> datetime | None:
    """Parses an optional time from the service."""
    if text is None:
        return None
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def known(text: str) -> datetime:
    """Parses a required time from the service."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


@dataclass(frozen=True)
class Who:
    account: str
    auth: Literal["api_key", "jwt"]
    env: str


@dataclass(frozen=True)
class NewKey:
    """A new API key. Only this response contains `key`."""

    id: str
    env: Environment
    name: str
    key: str = field(repr=False)
    namespace: str | None
    note: str


@dataclass(frozen=True)
class Key:
    id: str
    env: Environment
    name: str
    namespace: str | None
    revoked: bool
    created_at: datetime


@dataclass(frozen=True)
class Namespace:
    name: str
    created_at: datetime
    updated_at: datetime | None
    memories: int | None
    head: str | None


@dataclass(frozen=True)
class Accepted:
    """An accepted, durable write. `id` is the id of the write, not of a memory."""

    id: str
    namespace: str
    paths: tuple[str, ...] = ()
    #: Parts of the request that the server ignored, such as unknown fields.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class DroppedMessage:
    """A message that became no memory."""

    #: The position of the message in its conversation, from 0. None for a refused operation of a chat model.
    message: int | None
    #: `small_talk`, `question`, `adds_nothing`, `asked_not_to`, `system`, `no_text`, `too_long`, or why an operation of a chat model was refused.
    reason: str


@dataclass(frozen=True)
class WriteProgress:
    """Progress of the ingestion of a document."""

    #: Number of passages that are embedded.
    done: int
    #: Number of all passages.
    total: int


@dataclass(frozen=True)
class WriteState:
    """The state of an accepted write, and what the write changed."""

    id: str
    namespace: str
    status: WriteStatus
    #: Number of attempts, including a current one.
    attempts: int
    accepted_at: datetime
    #: Time at which the write was ingested or failed permanently.
    finished_at: datetime | None
    #: Code of the last failure of a write that failed permanently.
    error: str | None
    #: Paths of new memories, skills or terms.
    made: tuple[str, ...]
    #: Paths of existing ones with a new text.
    rewritten: tuple[str, ...]
    #: Paths of existing memories that already said the same.
    merged: tuple[str, ...]
    #: Paths of existing memories that are no longer valid.
    ended: tuple[str, ...]
    #: Messages of the conversation that became no memory; the first 500 of them.
    dropped: tuple[DroppedMessage, ...]
    #: Paths of memories that the user asked to forget in the conversation.
    forgotten: tuple[str, ...] = ()
    #: Progress of a document while `status` is `ingesting`; None otherwise.
    progress: WriteProgress | None = None
    #: Whether the memories have their vectors: `pending` or `done`. None in lists, and unless these follow in the background.
    vectors: str | None = None


@dataclass(frozen=True)
class Revision:
    commit: str
    at: datetime
    message: str


@dataclass(frozen=True)
class Relation:
    path: str
    kind: str
    snippet: str | None


@dataclass(frozen=True)
class Source:
    """A message that a memory was made from."""

    session_id: str | None
    #: The position of the message in its conversation, from 0.
    message: int
    #: The id of the write that contained the message, as `source` takes it; `None` if unknown.
    write: str | None = None


@dataclass(frozen=True)
class ArmRank:
    """An arm that found a memory."""

    arm: Arm
    #: Rank in the arm, from 1; for `graph`, the rank of the hit that it started from.
    rank: int | None
    #: BM25 for `lexical`, the cosine for `cue`, None for `graph`.
    score: float | None


@dataclass(frozen=True)
class NearestCue:
    #: None if some cues of the memory have no vector.
    text: str | None
    cosine: float


@dataclass(frozen=True)
class TermMatch:
    """A part of the query that a memory holds, and its part of the BM25 score."""

    term: str
    bm25: float


@dataclass(frozen=True)
class FollowedRelation:
    """The relation by which the graph arm reached a memory."""

    #: Path of the hit that the arm started from.
    source: str
    kind: str


@dataclass(frozen=True)
class Contribution:
    """What a group of features, such as `words` or `meaning`, adds to the log-odds."""

    feature: str
    log_odds: float


@dataclass(frozen=True)
class Explanation:
    """What a score was made from. `base_log_odds` and all `contributions` sum to the log-odds of the score."""

    #: The arms that found the memory.
    arms: tuple[ArmRank, ...]
    #: The cue of the memory that is nearest to the query.
    cue: NearestCue | None
    #: Words of the query that the memory holds, the rarest first.
    terms: tuple[TermMatch, ...]
    relation: FollowedRelation | None
    base_log_odds: float
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True)
class PathExplanation:
    """Why a query returns the memory at a path, or why it does not."""

    path: str
    #: Whether the query returns the memory as a hit.
    found: bool
    #: What keeps the memory out of the hits. Empty for a hit, and for a repetition of one.
    excluded_by: tuple[ExcludedBy, ...]
    #: For a repetition: path of the hit that says the same.
    repeats: str | None
    #: Rank among all memories that the query ranks, from 1. None for an unknown path.
    rank: int | None
    #: Probability that the memory answers the query. None for an unknown path.
    score: float | None
    #: None for an unknown path.
    explanation: Explanation | None
    #: Paths of the memories that rank higher, best first, up to 24.
    outranked_by: tuple[str, ...]
    #: Parts of the request that the server ignored, such as unknown fields.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class DocumentPlace:
    """The place of a memory in the document that it is a passage of."""

    #: Id of the document.
    id: str
    #: Name of the document, such as the name of its file.
    name: str
    #: Headings above the passage, outermost first.
    titles: tuple[str, ...]
    #: Position of the passage in the document, from 0.
    position: int
    #: First page of the passage, from 1. None if the document has no pages.
    page: int | None
    #: First line of the passage, from 1. None if the document has no lines.
    line: int | None


@dataclass(frozen=True)
class Memory:
    """A memory. The fields from `revisions` to `sources` are set with `detail="full"`."""

    path: str
    content: str
    sections: tuple[str, ...]
    score: float
    matched: tuple[str, ...]
    via: str | None
    created_at: datetime | None
    updated_at: datetime | None
    occurred_at: datetime | None
    expires_at: datetime | None
    occurred_precision: str | None
    occurred_source: str | None
    user_tags: tuple[str, ...]
    tags: tuple[str, ...]
    #: Deprecated: `created_at`, as text.
    created: str | None
    #: Deprecated: `updated_at`, as text.
    updated: str | None
    #: Whether the memory holds: now, or at the time of `as_of`.
    current: bool = True
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    #: End of the month or year that begins at `occurred_at`, exclusive.
    occurred_until: datetime | None = None
    #: Paths of the memories that this one ended.
    supersedes: tuple[str, ...] = ()
    #: Paths of the memories that ended this one.
    superseded_by: tuple[str, ...] = ()
    #: Paths of memories that say the same and are not hits of their own.
    also: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    revisions: tuple[Revision, ...] | None = None
    last_diff: str | None = None
    relations: tuple[Relation, ...] | None = None
    cues: tuple[str, ...] | None = None
    sources: tuple[Source, ...] | None = None
    #: The namespace of a hit, if several namespaces were searched.
    namespace: str | None = None
    #: What the score was made from, if `retrieve` was called with `explain=True` and a query.
    explanation: Explanation | None = None
    #: The place in a document, if the memory is a passage of one.
    document: DocumentPlace | None = None


@dataclass(frozen=True)
class Term:
    term: str
    aliases: tuple[str, ...]
    definition: str | None
    path: str | None


@dataclass(frozen=True)
class Retrieved:
    """Results of a query, best first, with the time of each search method and the definitions of terms in the query."""

    hits: tuple[Memory, ...]
    defined: tuple[Term, ...]
    vector_ms: float
    lexical_ms: float
    graph_ms: float
    cold_start: bool
    #: How many candidates were read together with the query; 0 from a server that does not do so.
    read: int = 0
    #: Parts of the request that the server ignored, such as unknown parameters.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Citation:
    path: str
    section: str | None
    quote: str
    #: The namespace of the memory, if several namespaces were searched.
    namespace: str | None = None


@dataclass(frozen=True)
class Answer:
    answer: str
    model: str
    citations: tuple[Citation, ...]
    hits: tuple[Memory, ...]


@dataclass(frozen=True)
class ContextCitation:
    path: str
    #: Heading of the section that the text has in place of a long memory.
    section: str | None
    score: float
    #: The namespace of the memory, if several namespaces were searched.
    namespace: str | None = None
    #: Whether it is a standing fact or rule that the request touches.
    standing: bool = False


@dataclass(frozen=True)
class Context:
    #: Text for a prompt. Empty if nothing is relevant.
    text: str
    tokens: int
    #: The memories that the text is made from, best first.
    citations: tuple[ContextCitation, ...]
    #: The namespace, or several separated by commas.
    namespace: str


@dataclass(frozen=True)
class ProfileClaim:
    attribute: str
    value: str
    #: Path of the memory that claims it.
    path: str
    valid_from: datetime | None
    #: None while the claim holds.
    valid_until: datetime | None
    current: bool


@dataclass(frozen=True)
class Profile:
    subject: str
    #: By attribute, current ones first, then the newest.
    claims: tuple[ProfileClaim, ...]
    #: The other subjects with claims.
    subjects: tuple[str, ...]


@dataclass(frozen=True)
class Written:
    path: str
    namespace: str
    commit: str
    #: Parts of the request that the server ignored, such as unknown fields.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TreeEntry:
    path: str
    kind: Literal["directory", "memory"]
    memories: int | None
    updated_at: datetime | None


@dataclass(frozen=True)
class Topic:
    tier: Tier
    topic: str
    memories: int
    updated_at: datetime | None


@dataclass(frozen=True)
class Node:
    path: str
    title: str
    tier: Tier


@dataclass(frozen=True)
class Edge:
    source: str
    target: str
    kind: str
    snippet: str | None


@dataclass(frozen=True)
class Graph:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Skill:
    path: str
    topic: str
    name: str
    description: str
    content: str
    tags: tuple[str, ...]
    triggers: tuple[str, ...]
    score: float | None
    matched: tuple[str, ...] | None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class ConversationMessage:
    id: str
    parent: str | None
    role: str
    content: str | list[dict[str, object]]
    created_at: datetime
    edited_at: datetime | None


@dataclass(frozen=True)
class Conversation:
    """A managed conversation. `messages`, if requested, are the messages of `branch`."""

    id: str
    namespace: str
    title: str | None
    branch: str
    created_at: datetime
    messages: tuple[ConversationMessage, ...] | None = None


@dataclass(frozen=True)
class Branch:
    name: str
    head: str | None
    messages: int
    active: bool
    forked_from: str | None


@dataclass(frozen=True)
class Media:
    id: str
    namespace: str
    content_type: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class AcceptedDocument(Accepted):
    """An accepted document. `id` is the id of the write."""

    document_id: str = field(kw_only=True)
    #: Number of passages. Each is a memory.
    passages: int = field(kw_only=True)


@dataclass(frozen=True)
class Document:
    """A document in the listing of `documents`."""

    document_id: str
    #: Name of the document, such as the name of its file.
    name: str
    #: Number of passages. Each is a memory.
    passages: int
    #: Last page with text. None if the document has no pages.
    pages: int | None
    tags: tuple[str, ...]
    #: Time at which the first passage was written.
    created_at: datetime | None
    #: Time at which a passage was last written.
    updated_at: datetime | None


@dataclass(frozen=True)
class Passage:
    """A passage of a document."""

    #: Path of the memory.
    path: str
    #: Headings above the passage, outermost first.
    titles: tuple[str, ...]
    #: First page of the passage, from 1. None if the document has no pages.
    page: int | None
    #: First line of the passage, from 1. None if the document has no lines.
    line: int | None


@dataclass(frozen=True)
class DocumentPassages(Document):
    """A document and its passages, in the order of the document."""

    namespace: str
    memories: tuple[Passage, ...]


@dataclass(frozen=True)
class SourceEntry:
    """A kept conversation in the listing of `sources`. `messages` is the number of messages."""

    id: str
    namespace: str
    session_id: str | None
    messages: int
    #: RFC 3339 or a calendar date, as `remember` takes it.
    occurred_at: str | None
    accepted_at: datetime


@dataclass(frozen=True)
class SourceMessage:
    """A message of a kept conversation. Text parts are joined."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str | list[dict[str, object]]
    name: str | None
    #: RFC 3339 or a calendar date, as `remember` takes it.
    occurred_at: str | None


@dataclass(frozen=True)
class ExtractedMemory:
    """A memory of a kept conversation."""

    path: str
    title: str
    #: Positions of the messages that the memory comes from, from 0.
    messages: tuple[int, ...]
    #: Whether the memory holds at present.
    current: bool


@dataclass(frozen=True)
class SourceConversation:
    """A kept conversation as it was accepted. `id` is the id of the write that contained it."""

    id: str
    namespace: str
    messages: tuple[SourceMessage, ...]
    session_id: str | None
    tags: tuple[str, ...]
    #: RFC 3339 or a calendar date, as `remember` takes it.
    occurred_at: str | None
    timezone: str | None
    accepted_at: datetime
    #: Paths of the existing memories made from the conversation, at most 200.
    memories: tuple[str, ...]
    metadata: Metadata = field(default_factory=dict)
    #: The same memories with the messages that they come from. Empty from an older server.
    extracted: tuple[ExtractedMemory, ...] = ()


@dataclass(frozen=True)
class DeadLetter:
    id: str
    namespace: str
    accepted_at: datetime
    died_at: datetime
    failures: int
    reason: str


@dataclass(frozen=True)
class Job:
    """A background job of the server."""

    name: str
    state: str
    """`active`, or `backing_off` after a failure."""
    last_run_at: datetime | None
    failures: int
    last_error: str | None


@dataclass(frozen=True)
class Queue:
    """The ingestion queue, the dead letters and the background jobs."""

    waiting: int
    waiting_since: datetime | None
    dead_letters: tuple[DeadLetter, ...]
    jobs: tuple[Job, ...] = ()
    next: str | None = None
    """The `after` of the next page; `None` on the last page of dead letters."""
    model_unavailable_since: datetime | None = None
    """Start of the current outage of the chat model; `None` while the model answers."""
    vectors_waiting: int | None = None
    """Memories that wait for their vectors; `None` unless these follow in the background."""


@dataclass(frozen=True)
class Usage:
    period: str
    plan: str
    used: dict[str, int]
    limits: dict[str, int]
    exceeded: bool


@dataclass(frozen=True)
class Transaction:
    amount_paise: int
    note: str
    at: datetime


@dataclass(frozen=True)
class Billing:
    plan: str
    currency: str
    ledger: str
    balance_paise: int
    min_recharge_paise: int
    rates_paise: dict[str, int]
    transactions: tuple[Transaction, ...]
