"""A Debian root filesystem in a folder: made by debootstrap once, copied for each test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support import CACHE, Server, run

SUITE = "bookworm"
#: Runs a command with mounts and processes of its own, which end with it. `$1` is the root.
SCRIPT = 'mount -t proc proc "$1/proc" && root="$1" && shift && exec chroot "$root" "$@"'
ISOLATED = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SCRIPT, "sh"]


def missing() -> str:
    """Returns why no root filesystem can be made here, or an empty text."""
    if os.geteuid() != 0:
        return "needs root: chroot and debootstrap"
    for tool in ("debootstrap", "unshare", "chroot"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    if (
        subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False).returncode
        != 0
    ):
        return "this machine allows no namespaces of processes and mounts"
    return ""


def mirror() -> str:
    """Returns the address from which apt installs the packages of the release."""
    listed = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"])
    for line in listed.splitlines():
        address, release = line.rsplit(" ", 1)
        if release == SUITE:
            return address
    raise AssertionError(f"apt has no source for {SUITE}:\n{listed}")


class Root:
    """A copy of the root filesystem."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        archive = _base_archive()
        folder.mkdir()
        run(["tar", "--extract", "--numeric-owner", "--file", archive, "--directory", folder])
        # No service is started, as in the build of an image.
        policy = folder / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def command(self, *words: str | Path) -> list[str]:
        return [*ISOLATED, str(self.folder), *(str(word) for word in words)]

    def run(self, *words: str | Path, status: int = 0) -> str:
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "DEBIAN_FRONTEND": "noninteractive",
            "LC_ALL": "C.UTF-8",
        }
        return run(self.command(*words), environment=environment, status=status)

    def serve(self, words: Sequence[str]) -> Server:
        return Server(self.command(*words), {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def path(self, inside: str) -> Path:
        return self.folder / inside.lstrip("/")

    def owner(self, inside: str) -> str:
        return self.run("stat", "-c", "%U:%G %a", inside).strip()


def _base_archive() -> Path:
    archive = CACHE / f"{SUITE}.tar"
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        folder = CACHE / f"{SUITE}.incomplete"
        shutil.rmtree(folder, ignore_errors=True)
        run(["debootstrap", "--variant=minbase", SUITE, folder, mirror()], timeout=1800)
        unfinished = archive.with_suffix(".unfinished")
        run(["tar", "--create", "--numeric-owner", "--file", unfinished, "--directory", folder, "."])
        shutil.rmtree(folder)
        unfinished.rename(archive)
    return archive


def library_files(root: Path) -> list[str]:
    """Returns the names of the shared libraries below a folder."""
    return sorted(path.name for path in root.rglob("*.so*") if path.is_file() and not path.is_symlink())


def process_owner(server: Server) -> set[int]:
    """Returns the user ids of the started command and all processes below it."""
    listed = subprocess.run(["ps", "-o", "uid=,pid=,ppid=", "-e"], capture_output=True, text=True, check=True).stdout
    rows = [tuple(map(int, re.findall(r"\d+", line))) for line in listed.splitlines()]
    below = {server.process.pid}
    for _ in rows:
        below |= {pid for _, pid, parent in rows if parent in below}
    return {uid for uid, pid, _ in rows if pid in below}
