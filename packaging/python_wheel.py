"""Builds the Python wheels: the client with the binary as the command `cuebase`, and the client alone.

Both have the same name and version. An installer chooses the first where its platform tag fits, else the second.
The second has the same files as the wheel that hatchling builds (`pip wheel ./clients/python`).
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import elf
from archives import Entry, zip_archive
from crates import third_party_licences
from project import ROOT, PackagingError, Project, licence_text, notice_text, read_toml

CLIENT = ROOT / "clients/python"


def build(project: Project, binary: Path, out: Path) -> list[Path]:
    name = f"cuebase-{project.version}"
    command = Entry(f"{name}.data/scripts/cuebase", binary.read_bytes(), mode=0o755)
    notices = [
        Entry(f"{name}.dist-info/licenses/NOTICE", notice_text()),
        Entry(f"{name}.dist-info/licenses/THIRD-PARTY.txt", third_party_licences()),
    ]
    return [
        _write_wheel(project, out, platform_tag(binary), [command, *notices]),
        _write_wheel(project, out, "py3-none-any", []),
    ]


def _write_wheel(project: Project, out: Path, tag: str, additional: list[Entry]) -> Path:
    name = f"cuebase-{project.version}"
    information = f"{name}.dist-info"
    licences = ["LICENSE"]
    for entry in additional:
        if entry.path.startswith(f"{information}/licenses/"):
            licences.append(Path(entry.path).name)
    entries = [*_client_files(), *additional]
    entries.append(Entry(f"{information}/METADATA", metadata(project, licences).encode()))
    entries.append(Entry(f"{information}/WHEEL", _wheel_file(tag).encode()))
    entries.append(Entry(f"{information}/licenses/LICENSE", licence_text()))
    entries.sort(key=lambda entry: entry.path)
    entries.append(_record(entries, f"{information}/RECORD"))
    path = out / f"{name}-{tag}.whl"
    path.write_bytes(zip_archive(entries, project.epoch))
    return path


def platform_tag(binary: Path) -> str:
    """Returns the tag of the oldest systems that the binary starts on: `pip` refuses the wheel on older ones."""
    major, minor = elf.oldest_system(binary)
    return f"py3-none-manylinux_{major}_{minor}_x86_64"


def _client_files() -> list[Entry]:
    source = CLIENT / "src"
    entries: list[Entry] = []
    for path in source.glob("cuebase/**/*"):
        if path.is_file() and "__pycache__" not in path.parts:
            entries.append(Entry(path.relative_to(source).as_posix(), path.read_bytes()))
    return entries


def metadata(project: Project, licences: list[str]) -> str:
    """Returns the core metadata, from the fields of the client's pyproject.toml."""
    fields = read_toml(CLIENT / "pyproject.toml")["project"]
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {fields['name']}",
        f"Version: {project.version}",
        f"Summary: {project.description}",
        f"License-Expression: {fields['license']}",
        *[f"License-File: {name}" for name in licences],
        f"Requires-Python: {fields['requires-python']}",
    ]
    lines += [f"Classifier: {each}" for each in _texts(fields["classifiers"])]
    lines += [f"Requires-Dist: {each}" for each in _texts(fields["dependencies"])]
    for extra, requirements in sorted(fields["optional-dependencies"].items()):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {each}; extra == '{extra}'" for each in _texts(requirements)]
    lines += ["Description-Content-Type: text/markdown", "", (CLIENT / "README.md").read_text()]
    return "\n".join(lines)


def _texts(value: object) -> list[str]:
    if not isinstance(value, list):
        raise PackagingError(f"{CLIENT / 'pyproject.toml'}: expected a list, found {value!r}")
    return [str(each) for each in value]


def _wheel_file(tag: str) -> str:
    pure = "true" if tag == "py3-none-any" else "false"
    return f"Wheel-Version: 1.0\nGenerator: cuebase-packaging\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"


def _record(entries: list[Entry], path: str) -> Entry:
    lines: list[str] = []
    for entry in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=").decode()
        lines.append(f"{entry.path},sha256={digest},{len(entry.data)}\n")
    lines.append(f"{path},,\n")
    return Entry(path, "".join(lines).encode())
