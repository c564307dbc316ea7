"""The state of all namespaces after the last fault is healed: the API's view and a clone of each repository.

The state is plain data that can be written to a file and read again, so that a check can be repeated, and so that a
test can damage it.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from api import Api
from load import token_of
from process import NotReached, run, wait_for

TIERS = ("facts/", "incidents/", "rules/", "skills/")
#: The meters that are compared.
METERS = ("writes", "reads")
#: Time without a change after which the meters are final, seconds.
_USAGE_SETTLED = 2.0
#: Longest time until then, seconds. Nodes that show different meters never settle.
_USAGE_PATIENCE = 60.0
#: Statuses of writes that are not processed.
_UNFINISHED = frozenset({"queued", "ingesting", "retrying"})
#: How often a namespace is read if it changes meanwhile.
_READINGS = 5
#: Time for the queue to be processed after the last fault, seconds.
_PATIENCE = 300.0
_FORMAT = "%x01%H %P%x02%(trailers:key=Cuebase-Message,valueonly,separator=%x2C)"


@dataclass(frozen=True)
class Change:
    """A path that a commit changed. The token is that of the new content; a removed path has no content."""

    path: str
    is_removed: bool
    token: str | None = None


@dataclass(frozen=True)
class Commit:
    """A commit of a namespace's branch."""

    id: str
    parents: tuple[str, ...]
    #: Id of the accepted write that the commit ingested; empty for a direct write.
    message: str
    changes: tuple[Change, ...]


@dataclass
class Space:
    """A namespace."""

    #: The branch, oldest first.
    commits: list[Commit] = field(default_factory=list)
    #: Memories by path in the last commit, and in the API.
    files: dict[str, str] = field(default_factory=dict)
    memories: dict[str, str] = field(default_factory=dict)
    #: The recorded head.
    head: str | None = None
    #: What was wrong with the clone; empty if nothing was.
    damage: str = ""

    @property
    def last_commit(self) -> str | None:
        """The id of the newest commit, if there is one."""
        return self.commits[-1].id if self.commits else None


@dataclass
class FinalState:
    """Everything that the checker compares a history with."""

    #: By account and namespace, as in `Operation.space`.
    spaces: dict[str, Space] = field(default_factory=dict)
    #: Statuses of the accepted writes by account and id.
    writes: dict[str, dict[str, str]] = field(default_factory=dict)
    #: Units used since the begin of the run by account and meter. An account is absent if the month changed.
    usage: dict[str, dict[str, int]] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Writes the state to a file."""
        path.write_text(json.dumps(dataclasses.asdict(self)))


def load_state(path: Path) -> FinalState:
    """Reads a state from its file."""
    fields = json.loads(path.read_text())
    state = FinalState(writes=fields["writes"], usage=fields["usage"])
    for name, space in fields["spaces"].items():
        commits = []
        for commit in space.pop("commits"):
            changes = tuple(Change(**change) for change in commit["changes"])
            commits.append(Commit(commit["id"], tuple(commit["parents"]), commit["message"], changes))
        state.spaces[name] = Space(commits=commits, **space)
    return state


def collect(
    apis: dict[str, Api], namespaces: tuple[str, ...], usage_before: dict[str, dict[str, Any]], folder: Path
) -> FinalState:
    """Waits until all accepted writes are processed, and reads the state. The load must have ended."""
    state = FinalState()
    for account, api in apis.items():
        wait_for(f"the queue of {account} to be empty", partial(_is_idle, api), _PATIENCE)
        for namespace in namespaces:
            repository = folder / f"{account}-{namespace}.git"
            state.spaces[f"{account}/{namespace}"] = _unchanged_space(api, namespace, repository)
        state.writes[account] = _statuses(api)
        before, usage = usage_before[account], _settled_usage(api)
        if usage["period"] == before["period"]:
            state.usage[account] = {name: usage["used"][name] - before["used"][name] for name in METERS}
    return state


def _is_idle(api: Api) -> bool:
    """Returns whether no write waits: in the queue of a node, or in a namespace that no node has claimed yet."""
    response = api.request("GET", "/v1/queue", 10.0)
    if response.status != 200 or response.body["waiting"] != 0:
        return False
    try:
        return not _UNFINISHED.intersection(_statuses(api).values())
    except RuntimeError:
        # The namespace of a write may be without an owner for a moment.
        return False


def _unchanged_space(api: Api, namespace: str, repository: Path) -> Space:
    """Reads a namespace while nothing changes it. A request without an answer may still have its effect, for example if
    it was on its way through a link that was cut.
    """
    head = _head(api, namespace)
    for _ in range(_READINGS):
        shutil.rmtree(repository, ignore_errors=True)
        space = _cloned(api, namespace, repository)
        space.memories = _memories(api, namespace)
        before, head = head, _head(api, namespace)
        space.head = head
        if head == before and head == space.last_commit:
            break
    return space


def _head(api: Api, namespace: str) -> str | None:
    """Returns the recorded head of a namespace."""
    for listed in api.get("/v1/namespaces")["namespaces"]:
        if listed["name"] == namespace:
            head: str | None = listed["head"]
            return head
    return None


def _settled_usage(api: Api) -> dict[str, Any]:
    """Returns the usage once it has not changed for a while: a node may write its count of reads with a delay.

    Raises `NotReached` if it does not settle.
    """
    usage = api.get("/v1/usage")
    began = since = time.monotonic()
    while time.monotonic() - since < _USAGE_SETTLED:
        if time.monotonic() - began > _USAGE_PATIENCE:
            raise NotReached(f"the meters do not settle: {usage['used']}")
        time.sleep(_USAGE_SETTLED / 10)
        latest = api.get("/v1/usage")
        if latest["used"] != usage["used"]:
            usage, since = latest, time.monotonic()
    return usage


def _statuses(api: Api) -> dict[str, str]:
    """Returns the status of every accepted write."""
    found: dict[str, str] = {}
    query: dict[str, Any] = {"limit": 200}
    while True:
        page = api.get("/v1/writes", query)
        for write in page["writes"]:
            found[write["id"]] = write["status"]
        if page["next"] is None:
            return found
        query["before"] = page["next"]


def _memories(api: Api, namespace: str) -> dict[str, str]:
    """Returns the content of every memory by path."""
    found: dict[str, str] = {}
    offset = 0
    while True:
        query = {"namespace": namespace, "limit": 200, "offset": offset, "order": "title"}
        page = api.get("/v1/memories", query)
        for memory in page["memories"]:
            found[memory["path"]] = memory["content"].strip()
        offset += len(page["memories"])
        if not page["memories"] or offset >= page["total"]:
            return found


def _cloned(api: Api, namespace: str, repository: Path) -> Space:
    """Clones a namespace, checks every object, and reads the history."""
    host, port = api.address
    url = f"http://x:{api.key}@{host}:{port}/v1/git/{namespace}"
    try:
        run(["git", "clone", "--quiet", "--bare", url, repository], _PATIENCE)
        run(["git", "-C", repository, "fsck", "--strict", "--full"], _PATIENCE)
        return read_repository(repository)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return Space(damage=str(error).replace(api.key, "<key>"))


def read_repository(repository: Path) -> Space:
    """Reads the branch of a bare repository."""
    git = ["git", "-C", repository]
    if not run([*git, "for-each-ref"]):
        # A namespace without a commit.
        return Space()
    log = run([*git, "log", "--reverse", "--topo-order", f"--format={_FORMAT}", "--raw", "--no-abbrev", "--no-renames"])
    tree = run([*git, "ls-tree", "-r", "HEAD"])
    in_tree = dict(_tree_entry(line) for line in tree.splitlines())
    ids = set(in_tree.values())
    records = log.split("\x01")[1:]
    for record in records:
        for _, blob in _raw_changes(record):
            if blob:
                ids.add(blob)
    contents = _contents(repository, sorted(ids))
    commits = [_commit(record, contents) for record in records]
    files = {path: _body(contents[blob]) for path, blob in in_tree.items() if path.startswith(TIERS)}
    return Space(commits=commits, files=files)


def _tree_entry(line: str) -> tuple[str, str]:
    """Returns path and blob of a line of `git ls-tree`."""
    fields, path = line.split("\t")
    return path, fields.split()[2]


def _raw_changes(record: str) -> list[tuple[str, str]]:
    """Returns paths and new blobs of a commit in the raw format; a removed path has an empty blob."""
    changes = []
    for line in record.splitlines():
        if line.startswith(":"):
            fields, path = line.split("\t")
            blob, action = fields.split()[3:5]
            changes.append((path, "" if action == "D" else blob))
    return changes


def _commit(record: str, contents: dict[str, str]) -> Commit:
    head, _, rest = record.partition("\x02")
    ids = head.split()
    changes = []
    for path, blob in _raw_changes(rest):
        # Only the body counts: the front matter of a memory may name the paths of related memories.
        token = token_of(_body(contents[blob])) if blob else None
        changes.append(Change(path, not blob, token))
    return Commit(ids[0], tuple(ids[1:]), rest.partition("\n")[0].strip(), tuple(changes))


def _contents(repository: Path, ids: list[str]) -> dict[str, str]:
    """Returns the texts of blobs."""
    command = ["git", "-C", str(repository), "cat-file", "--batch"]
    done = subprocess.run(command, input="\n".join(ids).encode(), capture_output=True, check=True)
    found, rest = {}, done.stdout
    position = 0
    for blob in ids:
        line_end = rest.index(b"\n", position)
        size = int(rest[position:line_end].split()[2])
        found[blob] = rest[line_end + 1 : line_end + 1 + size].decode(errors="replace")
        position = line_end + 1 + size + 1
    return found


def _body(text: str) -> str:
    """Returns a memory file without its front matter."""
    if text.startswith("---\n"):
        text = text.partition("\n---\n")[2]
    return text.strip()
