"""Reads from an ELF file which libraries, and which of their symbol versions, it needs. Uses `readelf` of binutils."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from project import PackagingError

#: Folders in which Debian's loader finds libraries.
LIBRARY_FOLDERS = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"]
#: Versions without a number, and the glibc that introduced them.
UNNUMBERED_GLIBC = {"GLIBC_ABI_DT_RELR": (2, 36)}
#: The glibc of a system, and the newest interfaces of libstdc++ on it, as the `manylinux` tags define them.
LIBSTDCXX_OF_SYSTEMS = [
    ((2, 31), {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12)}),
    ((2, 34), {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}),
    ((2, 35), {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}),
    ((2, 39), {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15)}),
]


@dataclass(frozen=True)
class Requirements:
    """What the loader must find for a file to start. `versions` lists the symbol versions by library."""

    interpreter: str
    libraries: list[str]
    versions: dict[str, set[str]] = field(default_factory=dict)

    def newest(self, prefix: str) -> tuple[int, ...] | None:
        """Returns the highest version of a family such as `GLIBC`, or None if none of the family is needed."""
        found: list[tuple[int, ...]] = []
        for names in self.versions.values():
            for name in names:
                if name in UNNUMBERED_GLIBC and prefix == "GLIBC":
                    found.append(UNNUMBERED_GLIBC[name])
                elif re.fullmatch(rf"{prefix}_[0-9.]+", name):
                    found.append(tuple(int(part) for part in name.removeprefix(f"{prefix}_").split(".")))
        return max(found, default=None)


def requirements(path: Path) -> Requirements:
    """Reads the dynamic section and the version requirements of a file."""
    text = _readelf(path)
    interpreter = re.search(r"program interpreter: (\S+?)\]", text)
    libraries = re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", text)
    versions: dict[str, set[str]] = {}
    # Entries of `.gnu.version_r`: a line with `File:` for each library, then lines with `Name:` for its versions.
    needs = text.split("Version needs section", 1)
    library = ""
    for line in needs[1].splitlines() if len(needs) == 2 else []:
        if file := re.search(r"Version: \d+\s+File: (\S+)", line):
            library = file.group(1)
            versions[library] = set()
        elif name := re.search(r"Name: (\S+)\s+Flags:", line):
            versions[library].add(name.group(1))
    return Requirements(interpreter.group(1) if interpreter else "", libraries, versions)


def _readelf(path: Path) -> str:
    command = ["readelf", "--wide", "--dynamic", "--program-headers", "--version-info", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    except FileNotFoundError as error:
        raise PackagingError("readelf is missing: install the package binutils") from error
    if done.returncode != 0 or "Dynamic section" not in done.stdout:
        raise PackagingError(f"{path} is not a dynamically linked ELF file: pass the path of the built cuebase binary")
    return done.stdout


def oldest_glibc(path: Path) -> tuple[int, int]:
    """Returns the oldest glibc with all symbols that a file needs, for example (2, 34)."""
    newest = requirements(path).newest("GLIBC")
    if newest is None:
        raise PackagingError(f"{path} needs no glibc: it is not the binary of the release build")
    return newest[0], newest[1]


def oldest_system(path: Path) -> tuple[int, int]:
    """Returns the glibc of the oldest systems that a file runs on: those whose libstdc++ is new enough too."""
    needed = requirements(path)
    for glibc, limits in LIBSTDCXX_OF_SYSTEMS:
        if all((needed.newest(prefix) or limit) <= limit for prefix, limit in limits.items()):
            return max(glibc, oldest_glibc(path))
    raise PackagingError(
        f"{path} needs a newer libstdc++ than any known system: extend the table in {Path(__file__).name}"
    )


def shared_libraries(path: Path) -> dict[str, Path]:
    """Returns every library that a file needs, directly or indirectly, with its place on this machine.

    The loader is included under its full path, because the kernel opens it by that.
    """
    needed = requirements(path)
    found = {needed.interpreter: Path(needed.interpreter)}
    waiting = list(needed.libraries)
    while waiting:
        name = waiting.pop()
        if name in found or name == Path(needed.interpreter).name:
            continue
        found[name] = _find(name)
        waiting += requirements(found[name]).libraries
    return dict(sorted(found.items()))


def _find(name: str) -> Path:
    for folder in LIBRARY_FOLDERS:
        path = Path(folder) / name
        if path.exists():
            return path
    raise PackagingError(f"{name} is not in {', '.join(LIBRARY_FOLDERS)}: install it, or build on Debian 12")
