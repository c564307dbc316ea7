"""A progress line on standard error, and work on several items at a time."""

from __future__ import annotations

import concurrent.futures
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Shortest time between two updates of the line, seconds.
_INTERVAL = 0.5


class Progress:
    """Counts finished items and shows how many are left and how long they may take. Use it in a `with` statement."""

    def __init__(self, total: int, what: str) -> None:
        self._total = total
        self._what = what
        self._done = 0
        self._started = time.monotonic()
        self._shown = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._total:
            self._show()
            print(file=sys.stderr)

    def step(self) -> None:
        """Counts one finished item."""
        self._done += 1
        if time.monotonic() - self._shown > _INTERVAL:
            self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        passed = self._shown - self._started
        left = passed / self._done * (self._total - self._done) if self._done else 0.0
        text = f"{self._done} of {self._total} {self._what}, {passed:.0f} s, about {left:.0f} s left"
        print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)


def each(action: Callable[[Item], Result], items: Sequence[Item], workers: int, what: str) -> list[Result]:
    """Applies an action to all items, several at a time, and returns the results in order. Stops at the first error."""
    results = []
    with concurrent.futures.ThreadPoolExecutor(workers) as pool, Progress(len(items), what) as progress:
        try:
            for result in pool.map(action, items):
                results.append(result)
                progress.step()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results
