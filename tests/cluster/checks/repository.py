"""One linear history without a fork, complete packs, and an API that shows what is in git.

A fork shows in three ways: a commit that does not follow its predecessor, a head that a client has seen and that is not
in the final history, and a head that goes back.
"""

from __future__ import annotations

from checks.model import Index, Violation
from final_state import Space
from history import Kind, Operation, Outcome

FORK = "no_fork"
PACKS = "packs"
STATE = "api_matches_git"
REFUSED = "refused"
#: Paths in a message of a violation.
_LISTED = 5


def check(index: Index) -> list[Violation]:
    """Returns what is wrong with the repositories, and unexpected refusals."""
    found = []
    for name, space in index.state.spaces.items():
        if space.damage:
            found.append(Violation(PACKS, name, space.damage))
            continue
        found += _check_line(name, space)
        found += _check_heads(index, name)
        found += _check_api(name, space)
    for operation in index.recorded.operations:
        if operation.outcome is Outcome.FAILED and 400 <= operation.status < 500 and operation.status != 429:
            message = f"{operation.kind.value} got status {operation.status}, {operation.result.get('code')}"
            found.append(Violation(REFUSED, operation.space, message, (operation,)))
    return found


def _check_line(name: str, space: Space) -> list[Violation]:
    found = []
    before: tuple[str, ...] = ()
    for position, commit in enumerate(space.commits):
        if commit.parents != before:
            message = f"commit {position} has the parents {list(commit.parents)}, expected {list(before)}"
            found.append(Violation(FORK, name, message))
        before = (commit.id,)
    if space.head != space.last_commit:
        message = f"the recorded head is {space.head}, the branch ends at {space.last_commit}"
        found.append(Violation(STATE, name, message))
    return found


def _check_heads(index: Index, name: str) -> list[Violation]:
    found = []
    positions = index.spaces[name].positions
    seen: list[tuple[int, Operation]] = []
    for operation in index.by_space[name]:
        if operation.kind is not Kind.HEAD or operation.outcome is not Outcome.OK:
            continue
        head = operation.result["head"]
        position = -1 if head is None else positions.get(head)
        if position is None:
            found.append(Violation(FORK, name, f"the head {head} was seen and is not in the history", (operation,)))
        else:
            seen.append((position, operation))
    by_end = sorted(seen, key=lambda entry: entry[1].end)
    newest: tuple[int, Operation] | None = None
    next_ended = 0
    # `seen` is in the order of starts.
    for position, operation in seen:
        while by_end[next_ended][1].end < operation.start:
            if newest is None or by_end[next_ended][0] > newest[0]:
                newest = by_end[next_ended]
            next_ended += 1
        if newest is not None and position < newest[0]:
            message = f"the head went back from commit {newest[0]} to {position}"
            found.append(Violation(FORK, name, message, (newest[1], operation)))
    return found


def _check_api(name: str, space: Space) -> list[Violation]:
    found = []
    differing = []
    for path in sorted(space.files.keys() | space.memories.keys()):
        if space.files.get(path) != space.memories.get(path):
            differing.append(path)
    if differing:
        listed = ", ".join(differing[:_LISTED])
        found.append(Violation(STATE, name, f"{len(differing)} memories differ between API and git: {listed}"))
    return found
