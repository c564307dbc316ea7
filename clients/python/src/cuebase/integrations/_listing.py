"""Listing of all memories below a folder, page after page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from .._sync import Client
from ..errors import CuebaseError
from ..models import Memory

#: Memories in a page: the most that the server returns.
PAGE = 200


def memories_below(
    client: Client, folder: str, *, namespace: str | None = None, where: Sequence[str] | None = None
) -> Iterator[Memory]:
    """Iterates over the memories below a folder, the last written first.

    The next page begins at the time of the last memory of a page, because the server has no cursor. Memories that are
    written during the listing may be missing.
    """
    seen: set[str] = set()
    until: datetime | None = None
    while True:
        page = client.retrieve(paths=[folder], namespace=namespace, where=where, until=until, limit=PAGE).hits
        added = 0
        for memory in page:
            if memory.path not in seen:
                seen.add(memory.path)
                added += 1
                yield memory
        if len(page) < PAGE:
            return
        until = page[-1].updated_at
        if not added or until is None:
            raise CuebaseError(
                f"cannot list {folder}: more than {PAGE} of its memories have the same time, or none",
                code="unlistable_folder",
            )
