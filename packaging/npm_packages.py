"""Builds the npm packages: `cuebase` (client and launcher), and `@cuebase/linux-x64` (binary).

npm installs the second one only where its `os`, `cpu` and `libc` fit, because it is an optional dependency.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import elf
from archives import Entry, gzip, tar
from crates import third_party_licences
from project import ROOT, PackagingError, Project, licence_text, notice_text

CLIENT = ROOT / "clients/typescript"
LAUNCHER = ROOT / "packaging/npm/cuebase.cjs"
PLATFORM_PACKAGE = "@cuebase/linux-x64"


def build(project: Project, binary: Path, out: Path) -> list[Path]:
    return [
        _write(project, out / f"cuebase-npm-{project.version}.tgz", _main_package(project)),
        _write(project, out / f"cuebase-npm-linux-x64-{project.version}.tgz", _platform_package(project, binary)),
    ]


def _main_package(project: Project) -> list[Entry]:
    manifest = json.loads((CLIENT / "package.json").read_text())
    for development in ("scripts", "devDependencies"):
        del manifest[development]
    manifest["description"] = project.description
    manifest["bin"] = {"cuebase": "bin/cuebase.cjs"}
    manifest["files"] = ["bin", "dist"]
    manifest["optionalDependencies"] = {PLATFORM_PACKAGE: project.version}
    entries = [
        _manifest(manifest),
        Entry("package/README.md", (CLIENT / "README.md").read_bytes()),
        Entry("package/LICENSE", licence_text()),
        Entry("package/bin/cuebase.cjs", LAUNCHER.read_bytes(), mode=0o755),
    ]
    compiled = sorted((CLIENT / "dist").rglob("*.*"))
    if not compiled:
        raise PackagingError(f"{CLIENT / 'dist'} is empty: run `npm ci && npm run build` in {CLIENT}")
    entries += [Entry(f"package/{path.relative_to(CLIENT)}", path.read_bytes()) for path in compiled]
    return entries


def _platform_package(project: Project, binary: Path) -> list[Entry]:
    major, minor = elf.oldest_system(binary)
    manifest = {
        "name": PLATFORM_PACKAGE,
        "version": project.version,
        "description": f"Binary of Cuebase for Linux on x86-64 with glibc {major}.{minor} or later",
        "license": project.licence,
        "os": ["linux"],
        "cpu": ["x64"],
        "libc": ["glibc"],
        "files": ["bin", "NOTICE", "THIRD-PARTY.txt"],
    }
    readme = f"# {PLATFORM_PACKAGE}\n\n{manifest['description']}. Install the package `cuebase`, which depends on it.\n"
    return [
        _manifest(manifest),
        Entry("package/README.md", readme.encode()),
        Entry("package/LICENSE", licence_text()),
        Entry("package/NOTICE", notice_text()),
        Entry("package/THIRD-PARTY.txt", third_party_licences()),
        Entry("package/bin/cuebase", binary.read_bytes(), mode=0o755),
    ]


def _manifest(fields: Mapping[str, object]) -> Entry:
    return Entry("package/package.json", (json.dumps(fields, indent=2) + "\n").encode())


def _write(project: Project, path: Path, entries: list[Entry]) -> Path:
    path.write_bytes(gzip(tar(entries, project.epoch)))
    return path
