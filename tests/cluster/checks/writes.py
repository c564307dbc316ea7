"""Every acknowledged write is stored exactly once, a refused one not at all, and nothing is stored that nobody sent.

A conversation has an id, with which its commit is marked, and a repeated body is the same write for five minutes. So an
acknowledged conversation is in one commit, and its token is introduced once, whatever the number of attempts.

A direct write has no such id: each attempt that reaches the server is a commit. The number of its commits is between
the acknowledged attempts and all attempts that may have had an effect.
"""

from __future__ import annotations

from collections import defaultdict

from checks.model import Index, SpaceIndex, Violation, Write
from final_state import Commit
from history import Kind, Outcome

RULE = "exactly_once"
ISOLATION = "isolation"
#: Time in which a repeated body is the same write, seconds.
_DEDUP_WINDOW = 300.0


def check(index: Index) -> list[Violation]:
    """Returns the writes that are lost, repeated, misplaced or invented."""
    found = []
    for name in index.spaces:
        if index.state.spaces[name].damage:
            continue
        for write in index.writes_of(name, Kind.INGEST):
            found += _check_conversation(index, write)
        for write in index.writes_of(name, Kind.WRITE):
            found += _check_direct(index.spaces[name], write)
        found += _check_forgets(index, name)
        found += _check_origins(index, name)
    found += _check_hits(index)
    return found


def _check_conversation(index: Index, write: Write) -> list[Violation]:
    found = []
    space = index.spaces[write.space]
    ids = write.ids()
    span = write.attempts[-1].end - write.start
    if len(ids) > 1 and span < _DEDUP_WINDOW:
        found.append(write.violation(RULE, f"accepted as {len(ids)} writes: {', '.join(ids)}"))
    for id in ids:
        found += _check_message(index, write, id)
        if not space.messages[id]:
            found.append(write.violation(RULE, f"acknowledged as {id}, which is in no commit"))
    introduced = space.introduced[write.token]
    if len(introduced) > 1:
        found.append(write.violation(RULE, f"stored {len(introduced)} times: {_places(introduced)}"))
    if ids and not introduced:
        found.append(write.violation(RULE, "acknowledged, and no memory has its token"))
    if introduced and not ids and not write.unknown:
        found.append(write.violation(RULE, f"refused, and stored at {_places(introduced)}"))
    return found


def _check_message(index: Index, write: Write, id: str) -> list[Violation]:
    """Checks the commits and the final status of an accepted write."""
    found = []
    positions = index.spaces[write.space].messages[id]
    if len(positions) > 1:
        found.append(write.violation(RULE, f"{id} is in {len(positions)} commits, at {positions}"))
    status = index.state.writes.get(write.attempts[0].account, {}).get(id, "absent")
    if status != "ingested":
        found.append(write.violation(RULE, f"acknowledged as {id}, whose final status is {status}"))
    return found


def _check_direct(space: SpaceIndex, write: Write) -> list[Violation]:
    found = []
    written = space.written[write.token]
    for attempt in write.acknowledged:
        position = space.positions.get(attempt.result["commit"])
        if position is None:
            found.append(write.violation(RULE, f"the commit {attempt.result['commit']} is not in the history"))
        elif (position, write.path) not in written:
            found.append(write.violation(RULE, f"the commit {attempt.result['commit']} does not have its content"))
    most = len(write.acknowledged) + len(write.unknown)
    if len(written) > most:
        found.append(write.violation(RULE, f"stored {len(written)} times by {most} attempts: {_places(written)}"))
    if any(path != write.path for _, path in written):
        found.append(write.violation(RULE, f"stored elsewhere: {_places(written)}"))
    return found


def _check_forgets(index: Index, name: str) -> list[Violation]:
    found = []
    space = index.spaces[name]
    forgets = index.writes_of(name, Kind.FORGET)
    for write in forgets:
        for id in write.ids():
            found += _check_message(index, write, id)
        if write.acknowledged and _is_without_effect(index, write):
            found.append(write.violation(RULE, f"acknowledged, and {write.path} exists without a later write"))
    acknowledged = {id for write in forgets for id in write.ids()}
    chances: dict[str, int] = defaultdict(int)
    for write in forgets:
        chances[write.path] += len(write.unknown)
    for commit in index.state.spaces[name].commits:
        for change in commit.changes:
            if not change.is_removed or commit.message in acknowledged:
                continue
            chances[change.path] -= 1
            if chances[change.path] < 0:
                position = space.positions[commit.id]
                found.append(Violation(RULE, name, f"commit {position} removes {change.path} without a request"))
    return found


def _is_without_effect(index: Index, forget: Write) -> bool:
    """Returns whether the path of an acknowledged removal exists although no write could come after the removal."""
    if index.spaces[forget.space].paths[forget.path][-1].token is None:
        return False
    for write in index.by_path[forget.space, forget.path]:
        for attempt in write.attempts:
            # An attempt of unknown outcome may have its effect at any later time.
            is_late = attempt.outcome is Outcome.UNKNOWN or attempt.end > forget.start
            if attempt.outcome is not Outcome.FAILED and is_late:
                return False
    return True


def _check_origins(index: Index, name: str) -> list[Violation]:
    """Checks that every commit comes from a write of this namespace."""
    found = []
    for position, commit in enumerate(index.state.spaces[name].commits):
        for token in _tokens(commit):
            write = index.writes.get(token)
            if write is None:
                found.append(Violation(RULE, name, f"commit {position} has {token}, which no client sent"))
            elif write.space != name:
                found.append(write.violation(ISOLATION, f"it is in commit {position} of {name}"))
        if not commit.message and any(change.token is None for change in commit.changes):
            found.append(Violation(RULE, name, f"commit {position} is not from a client: {commit.id}"))
    return found


def _tokens(commit: Commit) -> list[str]:
    return sorted({change.token for change in commit.changes if change.token is not None})


def _check_hits(index: Index) -> list[Violation]:
    found = []
    for operation in index.recorded.operations:
        if operation.kind is not Kind.RETRIEVE or operation.outcome is not Outcome.OK:
            continue
        if operation.result["found"] > 1:
            message = f"{operation.token} was retrieved {operation.result['found']} times by one query"
            found.append(Violation(RULE, operation.space, message, (operation,)))
        for token in operation.result["others"]:
            write = index.writes.get(token)
            if write is None or write.space != operation.space:
                message = f"a query returned {token}, which was not written to this namespace"
                found.append(Violation(ISOLATION, operation.space, message, (operation,)))
    return found


def _places(places: list[tuple[int, str]]) -> str:
    return ", ".join(f"{path} in commit {position}" for position, path in places)
