"""Checks a history of clients against the final state of the namespaces.

`check` returns all violations as data. The properties are in the folder `checks`:

- `writes.py`: every acknowledged write is stored exactly once, nothing else is, nothing is in a foreign namespace
- `order.py`: commits follow the order of acceptance
- `reads.py`: reads are stored contents, see earlier writes, and never go back
- `repository.py`: one linear history with every head that was seen, complete packs, an API that shows what is in git
- `usage.py`: the usage meters
"""

from __future__ import annotations

import dataclasses
from typing import Any

from checks import order, reads, repository, usage, writes
from checks.model import Index, Violation
from final_state import FinalState
from history import Recorded


def check(recorded: Recorded, state: FinalState) -> list[Violation]:
    """Returns every violation of a property."""
    index = Index(recorded, state)
    found = writes.check(index)
    found += order.check(index)
    found += reads.check(index)
    found += repository.check(index)
    found += usage.check(index)
    return found


def check_history(recorded: Recorded) -> list[Violation]:
    """Returns the violations that a history shows by itself, for a run that broke off before its final state was read."""
    return reads.check_retrievals(Index(recorded, FinalState()))


def as_data(violation: Violation) -> dict[str, Any]:
    """Returns a violation as JSON values."""
    return dataclasses.asdict(violation)
