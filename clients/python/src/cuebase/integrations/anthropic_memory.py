"""Anthropic's memory tool on Cuebase: each file below `/memories` is one memory, and each change is a commit.

`/memories/travel/seats.md` is the memory `facts/memories/travel/seats.md`. The name of a file that does not end in `.md`
gets the ending `_x_.md`, and `_path_encoding` describes how other characters are written. A folder exists while there
is a file below it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import anyio.to_thread
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from .. import Client, Memory, NotFound, NotIngested, error_codes
from ._listing import memories_below
from ._path_encoding import check_path, decode_segment, encode_directory, encode_segment

__all__ = ["CuebaseAsyncMemoryTool", "CuebaseMemoryTool"]

#: The folder that the tool's paths begin with.
_ROOT = "/memories"
#: Ending of the name of a memory whose file does not end in `.md`.
_OTHER_ENDING = "_x_.md"
_LINES_MAX = 999_999
_LINE_NUMBER_WIDTH = 6
#: Levels of folders that a view shows.
_DEPTH_MAX = 2
#: Keys of the metadata for what a memory cannot hold: a text without a last line break, and a text of white space.
_UNTERMINATED = "memory-tool.unterminated"
_BLANK = "memory-tool.blank"
_BLANK_CONTENT = "(blank file)\n"


@dataclass(frozen=True)
class _Place:
    """A path of the tool: the path as the model wrote it, its names, and the memory or folder that it stands for."""

    given: str
    names: tuple[str, ...]
    file: str
    folder: str


class CuebaseMemoryTool(BetaAbstractMemoryTool):
    """A memory tool that keeps its files in one namespace of a Cuebase server.

    `namespace` is the Cuebase namespace, by default that of the client, and `folder` the directory of the files. A
    deletion waits up to `timeout` seconds for its end. Results and errors have the texts of the SDK's own file tool.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str | None = None,
        folder: str = "facts/memories",
        timeout: float = 30.0,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._client = client
        self._namespace = namespace
        self._folder = folder.rstrip("/")
        self._timeout = timeout

    # Commands.

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Returns the lines of a file, or the files and folders of a folder up to two levels deep."""
        place = self._place(command.path)
        memory = self._memory(place)
        if memory is not None:
            return _numbered_file(place.given, _text_of(memory), command.view_range)
        files = self._files_below(place)
        if not files and place.names:
            raise ToolError(f"The path {place.given} does not exist. Please provide a valid path.")
        return _directory_listing(place.given, files)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Writes a new file."""
        place = self._place(command.path)
        if self._exists(place):
            raise ToolError(f"File {place.given} already exists")
        self._check_parents(place)
        self._write(place, command.file_text, None)
        return f"File created successfully at: {place.given}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces a text that a file has exactly once."""
        place = self._place(command.path)
        memory = self._existing_file(place)
        text = _text_of(memory)
        _check_unique(place.given, text, command.old_str)
        position = text.find(command.old_str)
        changed = text[:position] + command.new_str + text[position + len(command.old_str) :]
        self._write(place, changed, memory)
        snippet = _snippet(changed, text[:position].count("\n"))
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Inserts a text after a line; line 0 is the beginning."""
        place = self._place(command.path)
        memory = self._existing_file(place)
        lines = _text_of(memory).split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        changed = "\n".join(lines)
        self._write(place, changed if changed.endswith("\n") else f"{changed}\n", memory)
        return f"The file {place.given} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file, or a folder with all files below it. The history keeps their texts."""
        place = self._place(command.path)
        if not place.names:
            raise ToolError(f"Cannot delete the {_ROOT} directory itself")
        paths = self._paths_at(place)
        if not paths:
            raise ToolError(f"The path {place.given} does not exist")
        self._forget(paths)
        return f"Successfully deleted {place.given}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Moves a file, or all files of a folder. Each file is written at the new path and then deleted at the old one."""
        old, new = self._place(command.old_path), self._place(command.new_path)
        if not old.names:
            raise ToolError(f"Cannot rename the {_ROOT} directory itself")
        if self._exists(new):
            raise ToolError(f"The destination {new.given} already exists")
        memories = self._memories_at(old)
        if not memories:
            raise ToolError(f"The path {old.given} does not exist")
        if new.names[: len(old.names)] == old.names:
            raise ToolError(f"Cannot rename {old.given} to {new.given}, which is below it")
        self._check_parents(new)
        moved = [(self._moved(memory, old, new), memory) for memory in memories]
        for place, memory in moved:
            self._write(place, _text_of(memory), memory)
        self._forget([memory.path for memory in memories])
        return f"Successfully renamed {old.given} to {new.given}"

    def clear_all_memory(self) -> str:
        """Deletes all files."""
        self._forget([memory.path for memory in self._below(self._folder)])
        return "All memory cleared"

    # Files as memories.

    def _place(self, path: str) -> _Place:
        """Reads a path of the tool. Raises `ToolError` for one that is not below `/memories`."""
        if path != _ROOT and not path.startswith(f"{_ROOT}/"):
            raise ToolError(f"Path must start with {_ROOT}, got: {path}")
        names: list[str] = []
        for name in path[len(_ROOT) :].split("/"):
            if name == "..":
                if not names:
                    raise ToolError(f"Path {path} would escape {_ROOT} directory")
                names.pop()
            elif name not in ("", "."):
                names.append(name)
        return self._place_of(path, tuple(names))

    def _place_of(self, given: str, names: tuple[str, ...]) -> _Place:
        try:
            folder = "/".join([self._folder, *map(encode_directory, names)])
            last = [encode_segment(name) for name in names[-1:]]
            file = "/".join([self._folder, *map(encode_directory, names[:-1]), *last])
            file = file if file.endswith(".md") else file + _OTHER_ENDING
            check_path(file, f"The path {given}")
        except ValueError as error:
            raise ToolError(str(error)) from None
        return _Place(given, names, file, folder)

    def _names_of(self, memory: Memory) -> tuple[str, ...] | None:
        """Returns the names of a file below `/memories`, or `None` for a memory that no name stands for."""
        *folders, file = memory.path.removeprefix(f"{self._folder}/").split("/")
        names = [decode_segment(folder) for folder in folders]
        names.append(decode_segment(file) or decode_segment(file.removesuffix(_OTHER_ENDING)))
        known = [name for name in names if name is not None]
        return tuple(known) if len(known) == len(names) else None

    def _moved(self, memory: Memory, old: _Place, new: _Place) -> _Place:
        names = self._names_of(memory) or ()
        below = names[len(old.names) :]
        return self._place_of("/".join([new.given, *below]), (*new.names, *below))

    def _memory(self, place: _Place) -> Memory | None:
        if not place.names:
            return None
        try:
            return self._client.get(place.file, namespace=self._namespace)
        except NotFound as error:
            if error.code != error_codes.NOT_FOUND:
                raise
            return None

    def _existing_file(self, place: _Place) -> Memory:
        memory = self._memory(place)
        if memory is not None:
            return memory
        if not place.names or self._exists(place):
            raise ToolError(f"The path {place.given} is not a file.")
        raise ToolError(f"The path {place.given} does not exist. Please provide a valid path.")

    def _exists(self, place: _Place) -> bool:
        return not place.names or self._memory(place) is not None or any(True for _ in self._below(place.folder))

    def _check_parents(self, place: _Place) -> None:
        """Raises `ToolError` if one of the folders of a path is a file."""
        for depth in range(1, len(place.names)):
            parent = self._place_of("/".join([_ROOT, *place.names[:depth]]), place.names[:depth])
            if self._memory(parent) is not None:
                raise ToolError(f"The path {place.given} is invalid: {parent.given} is a file, not a directory")

    def _below(self, folder: str) -> Iterator[Memory]:
        for memory in memories_below(self._client, folder, namespace=self._namespace):
            if self._names_of(memory) is not None:
                yield memory

    def _memories_at(self, place: _Place) -> list[Memory]:
        """Returns the memory of a file, or those of all files of a folder."""
        memory = self._memory(place)
        return list(self._below(place.folder)) if memory is None else [memory]

    def _paths_at(self, place: _Place) -> list[str]:
        return [memory.path for memory in self._memories_at(place)]

    def _files_below(self, place: _Place) -> dict[tuple[str, ...], int]:
        """Returns the sizes of the files of a folder in bytes, by their names below the folder."""
        files: dict[tuple[str, ...], int] = {}
        for memory in self._below(place.folder):
            names = self._names_of(memory) or ()
            files[names[len(place.names) :]] = len(_text_of(memory).encode())
        return files

    def _write(self, place: _Place, text: str, former: Memory | None) -> None:
        """Writes a file. The tags and the metadata of its former memory stay."""
        metadata = dict(former.metadata) if former else {}
        metadata.pop(_UNTERMINATED, None)
        metadata.pop(_BLANK, None)
        content = text
        if not text.strip():
            metadata[_BLANK] = json.dumps(text)
            content = _BLANK_CONTENT
        elif not text.endswith("\n"):
            metadata[_UNTERMINATED] = True
        tags = former.user_tags if former else None
        self._client.write(place.file, content, namespace=self._namespace, tags=tags, metadata=metadata)

    def _forget(self, paths: list[str]) -> None:
        accepted = [self._client.forget(path, namespace=self._namespace) for path in paths]
        for each in accepted:
            state = self._client.write_state(each.id, wait=self._timeout)
            if state.status != "ingested":
                raise NotIngested(f"deletion {each.id} is {state.status} after {self._timeout} s", code="not_ingested")


class CuebaseAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """`CuebaseMemoryTool` for `AsyncAnthropic`. Commands run in worker threads."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str | None = None,
        folder: str = "facts/memories",
        timeout: float = 30.0,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = CuebaseMemoryTool(client, namespace=namespace, folder=folder, timeout=timeout)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await anyio.to_thread.run_sync(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await anyio.to_thread.run_sync(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await anyio.to_thread.run_sync(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await anyio.to_thread.run_sync(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await anyio.to_thread.run_sync(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await anyio.to_thread.run_sync(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        return await anyio.to_thread.run_sync(self._tool.clear_all_memory)


# Texts.


def _text_of(memory: Memory) -> str:
    """Returns the exact text of a file. Line breaks of the form `\\r\\n` are `\\n`."""
    blank = memory.metadata.get(_BLANK)
    if isinstance(blank, str) and memory.content == _BLANK_CONTENT:
        return str(json.loads(blank))
    if memory.metadata.get(_UNTERMINATED) is True:
        return memory.content.removesuffix("\n")
    return memory.content


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{first + index:>{_LINE_NUMBER_WIDTH}}\t{line}" for index, line in enumerate(lines))


def _numbered_file(path: str, text: str, view_range: list[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > _LINES_MAX:
        raise ToolError(f"File {path} exceeds maximum line limit of {_LINES_MAX:,} lines.")
    begin, end = 0, len(lines)
    if view_range and len(view_range) == 2:
        begin = max(1, view_range[0]) - 1
        end = len(lines) if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {path} with line numbers:\n{_numbered(lines[begin:end], begin + 1)}"


def _check_unique(path: str, text: str, wanted: str) -> None:
    """Raises `ToolError` unless a text is in a file exactly once."""
    count = text.count(wanted)
    if count == 0:
        raise ToolError(f"No replacement was performed, old_str `{wanted}` did not appear verbatim in {path}.")
    if count == 1:
        return
    lines: list[str] = []
    position = text.find(wanted)
    while position >= 0:
        lines.append(str(text[:position].count("\n") + 1))
        position = text.find(wanted, position + 1)
    raise ToolError(
        f"No replacement was performed. Multiple occurrences of old_str `{wanted}` in lines: {', '.join(lines)}."
        " Please ensure it is unique"
    )


def _snippet(text: str, changed_line: int) -> str:
    """Returns the numbered lines around a changed line, which is counted from 0."""
    lines = text.split("\n")
    begin = max(0, changed_line - 2)
    return _numbered(lines[begin : changed_line + 3], begin + 1)


def _directory_listing(path: str, files: dict[tuple[str, ...], int]) -> str:
    """Lists the files and folders up to two levels deep with their sizes. The size of a folder is that of its files."""
    sizes: dict[tuple[str, ...], int] = {}
    folders: set[tuple[str, ...]] = set()
    for names, size in files.items():
        if any(name.startswith(".") for name in names[:_DEPTH_MAX]):
            continue
        for depth in range(1, min(len(names), _DEPTH_MAX) + 1):
            entry = names[:depth]
            sizes[entry] = sizes.get(entry, 0) + size
            if depth < len(names):
                folders.add(entry)
    lines = [f"{_size(sum(files.values()))}\t{path}"]
    for entry in sorted(sizes):
        ending = "/" if entry in folders else ""
        lines.append(f"{_size(sizes[entry])}\t{path}/{'/'.join(entry)}{ending}")
    header = f"Here're the files and directories up to {_DEPTH_MAX} levels deep in {path}, excluding hidden items:"
    return "\n".join([header, *lines])


def _size(count: int) -> str:
    """Returns a number of bytes in the form `512B`, `2K` or `1.5M`."""
    size, unit = float(count), "B"
    for larger in ("K", "M", "G"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{int(size)}{unit}" if size == int(size) else f"{size:.1f}{unit}"
