"""Every unit is counted once: the meters are between the acknowledged operations and those that may have had an effect.

A repeated conversation is one write however often it was sent. Forgetting is free. Writes are counted together with
what they store, so no fault may lose one. Reads are counted in memory and written soon afterwards; those that ended
shortly before a fault or during one may be missing, in the account's favour. A read during a fault may be counted twice:
if its answer is lost between two nodes, it is repeated by the next owner.
"""

from __future__ import annotations

from collections.abc import Iterable

from checks.model import Index, Violation
from history import Kind, Operation, Outcome

RULE = "usage"
#: Time before a fault in which an answered read may still be uncounted, seconds.
_READS_UNCOUNTED = 2.0


def check(index: Index) -> list[Violation]:
    """Returns meters that are out of their bounds."""
    found = []
    for account, used in index.state.usage.items():
        for meter, (least, most) in _bounds(index, account).items():
            if not least <= used[meter] <= most:
                message = f"{used[meter]} {meter} were counted, expected {least} to {most}"
                found.append(Violation(RULE, account, message))
    return found


def _bounds(index: Index, account: str) -> dict[str, tuple[int, int]]:
    least, possible = 0, 0
    for write in index.writes.values():
        if write.attempts[0].account != account or write.kind is Kind.FORGET:
            continue
        if write.kind is Kind.WRITE:
            least += len(write.acknowledged)
            possible += len(write.unknown)
        elif write.acknowledged:
            least += len(write.ids())
        elif write.unknown:
            possible += 1
    return {"writes": (least, least + possible), "reads": _read_bounds(index, account)}


def _read_bounds(index: Index, account: str) -> tuple[int, int]:
    least, most = 0, 0
    for operation in _retrievals(index.recorded.operations, account):
        if operation.outcome is Outcome.FAILED:
            continue
        most += 2 if _is_near_fault(index, operation, 0) else 1
        if operation.outcome is Outcome.OK and not _is_near_fault(index, operation, _READS_UNCOUNTED):
            least += 1
    return least, most


def _retrievals(operations: Iterable[Operation], account: str) -> Iterable[Operation]:
    return (operation for operation in operations if operation.kind is Kind.RETRIEVE and operation.account == account)


def _is_near_fault(index: Index, operation: Operation, seconds_before: float) -> bool:
    """Returns whether a part of an operation was during a fault, or in the seconds before it."""
    for fault in index.recorded.faults:
        if fault.injected - seconds_before <= operation.end and operation.start <= fault.answered:
            return True
    return False
