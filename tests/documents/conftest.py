"""Fixture for the story of the current document."""

from __future__ import annotations

from collections.abc import Iterator

import blocks
import pytest
from story import Story


class Stories:
    """Holds the story of the current document, and closes it when the document changes."""

    def __init__(self, temporary: pytest.TempPathFactory) -> None:
        self._temporary = temporary
        self._document = ""
        self._story: Story | None = None

    def of(self, document: str) -> Story:
        if self._story is None or self._document != document:
            self.close()
            self._story = Story(self._temporary.mktemp("story"), blocks.read(document))
            self._document = document
        return self._story

    def close(self) -> None:
        if self._story is not None:
            self._story.stop()
        self._story = None


@pytest.fixture(scope="session")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stories]:
    stories = Stories(tmp_path_factory)
    yield stories
    stories.close()
