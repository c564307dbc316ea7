"""Reads which Rust crates the binary consists of: from `Cargo.lock`, and from the manifests of their sources.

`Cargo.lock` lists the crates of all systems and of tests too. A dependency counts if the manifest of its user has it
for running or building on 64-bit Linux. Cargo keeps the sources of all such crates after a build.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from project import ROOT, PackagingError

REGISTRY_SOURCE = "registry+https://github.com/rust-lang/crates.io-index"
#: What `cfg(…)` of a manifest is compared with.
TARGET = "x86_64-unknown-linux-gnu"
TARGET_FLAGS = {"unix"}
TARGET_VALUES = {
    ("target_os", "linux"),
    ("target_family", "unix"),
    ("target_arch", "x86_64"),
    ("target_env", "gnu"),
    ("target_pointer_width", "64"),
    ("target_endian", "little"),
    ("target_vendor", "unknown"),
    ("panic", "unwind"),
    *(("target_has_atomic", size) for size in ("8", "16", "32", "64", "ptr")),
}
LICENCE_FILES = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense|authors)[^/]*", re.IGNORECASE)
#: AWS-LC keeps the sources of others, with their licences, three folders deep.
LICENCE_FOLDERS_MAX = 3
#: Crates of this repository, and their folders.
LOCAL_FOLDERS = {"cuebase": ".", "cuebase-storage": "storage", "cuebase-retrieval": "retrieval",
                 "cuebase-language": "language"}


@dataclass(frozen=True)
class Crate:
    """A crate of the binary. `uses` has the names and versions of the crates that it depends on."""

    name: str
    version: str
    checksum: str
    folder: Path
    licence: str
    uses: list[str]

    @property
    def id(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def is_local(self) -> bool:
        return self.name in LOCAL_FOLDERS


@cache
def crates_of_the_binary() -> list[Crate]:
    """Returns `cuebase` and every crate that it needs for running or building, sorted."""
    locked = _read_lock()
    found: dict[str, Crate] = {}
    waiting = [name for name in locked if name.startswith("cuebase ")]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _read_crate(locked[name], locked)
            waiting += found[name].uses
    return [found[name] for name in sorted(found)]


def _read_lock() -> dict[str, dict[str, Any]]:
    """Returns the packages of `Cargo.lock` by name and version, with full ids as their dependencies."""
    with (ROOT / "Cargo.lock").open("rb") as file:
        packages = tomllib.load(file)["package"]
    versions: dict[str, list[str]] = {}
    for package in packages:
        versions.setdefault(package["name"], []).append(package["version"])
        if package.get("source", REGISTRY_SOURCE) != REGISTRY_SOURCE:
            raise PackagingError(
                f"Cargo.lock: {package['name']} is from {package['source']}: adapt {Path(__file__).name}"
            )
    locked: dict[str, dict[str, Any]] = {}
    for package in packages:
        # A dependency has its version only where several versions are in the file.
        uses = [use if " " in use else f"{use} {versions[use][0]}" for use in package.get("dependencies", [])]
        locked[f"{package['name']} {package['version']}"] = {**package, "dependencies": uses}
    return locked


def _read_crate(package: dict[str, Any], locked: dict[str, dict[str, Any]]) -> Crate:
    name, version = package["name"], package["version"]
    folder = _source_folder(name, version)
    with (folder / "Cargo.toml").open("rb") as file:
        manifest = tomllib.load(file)
    needed = _needed_names(manifest)
    uses = [use for use in package["dependencies"] if locked[use]["name"] in needed]
    licence = "Apache-2.0" if name in LOCAL_FOLDERS else str(manifest["package"].get("license", ""))
    # A slash is the form of old manifests, and means a choice.
    licence = re.sub(r"\s*/\s*", " OR ", licence)
    return Crate(name, version, package.get("checksum", ""), folder, licence, uses)


def _source_folder(name: str, version: str) -> Path:
    if name in LOCAL_FOLDERS:
        return ROOT / LOCAL_FOLDERS[name]
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for folder in sorted(home.glob(f"registry/src/*/{name}-{version}")):
        return folder
    raise PackagingError(f"the sources of {name} {version} are not in {home}: run `cargo fetch --locked`")


def _needed_names(manifest: dict[str, Any]) -> set[str]:
    """Returns the names of the crates that a manifest asks for on the target, without those for tests.

    An optional crate is in `Cargo.lock` if a feature needs it, or another target. If both are possible, it is left out.
    """
    required, optional = _names(manifest)
    elsewhere: set[str] = set()
    for target, table in manifest.get("target", {}).items():
        names, optional_names = _names(table)
        if matches(target):
            required |= names
            optional |= optional_names
        else:
            elsewhere |= names
    return required | (optional - elsewhere)


def _names(table: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Returns the names of the required and of the optional crates in a table."""
    required: set[str] = set()
    optional: set[str] = set()
    for kind in ("dependencies", "build-dependencies"):
        for key, value in table.get(kind, {}).items():
            fields = value if isinstance(value, dict) else {}
            names = optional if fields.get("optional") else required
            names.add(fields.get("package", key))
    return required, optional


def matches(target: str) -> bool:
    """Returns whether a target of a manifest, such as `cfg(not(target_os = "macos"))`, is that of the binary."""
    if not target.startswith("cfg("):
        return target == TARGET
    tokens = re.findall(r'[\w.-]+|"[^"]*"|[(),=]', target.removeprefix("cfg")[1:-1])
    result = _evaluate(tokens)
    if tokens:
        raise PackagingError(f"the target {target!r} of a manifest is not understood: adapt {Path(__file__).name}")
    return result


def _evaluate(tokens: list[str]) -> bool:
    """Evaluates the predicate at the start of a list and removes its tokens."""
    name = tokens.pop(0)
    if tokens[:1] == ["="]:
        tokens.pop(0)
        return (name, tokens.pop(0).strip('"')) in TARGET_VALUES
    if name not in ("all", "any", "not") or tokens[:1] != ["("]:
        return name in TARGET_FLAGS
    tokens.pop(0)
    results: list[bool] = []
    while tokens and tokens[0] != ")":
        results.append(_evaluate(tokens))
        if tokens[:1] == [","]:
            tokens.pop(0)
    del tokens[:1]
    if name == "not":
        return not results[0]
    return all(results) if name == "all" else any(results)


@cache
def third_party_licences() -> bytes:
    """Returns the licence of each crate, then the texts that crates and the C sources in them carry, each once."""
    crates = [crate for crate in crates_of_the_binary() if not crate.is_local]
    users: dict[str, set[str]] = {}
    for crate in crates:
        for path in _licence_files(crate.folder):
            text = path.read_text(errors="replace").replace("\r\n", "\n").strip()
            users.setdefault(text, set()).add(crate.id)
    parts = ["Crates in the binary of Cuebase, with the licences in their manifests\n\n"]
    parts += [f"{crate.id}: {crate.licence or 'see below'}\n" for crate in crates]
    for text in sorted(users, key=lambda text: (sorted(users[text]), text)):
        parts.append(f"\n{'-' * 80}\n{', '.join(sorted(users[text]))}\n\n{text}\n")
    return "".join(parts).encode()


def _licence_files(folder: Path) -> list[Path]:
    """Returns the licence files of a crate, and of sources that it carries in folders of their own."""
    found: list[Path] = []
    for depth in range(LICENCE_FOLDERS_MAX + 1):
        found += folder.glob("*/" * depth + "*")
    return sorted(path for path in found if path.is_file() and LICENCE_FILES.fullmatch(path.name))
