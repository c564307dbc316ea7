"""Builds the packages of a release from one binary.

Usage: python3 packaging/build.py --binary PATH --out FOLDER [--only wheel,npm,deb,oci,chart,sbom]

The same binary, commit and Debian packages result in the same bytes. Needs Python 3.11 and binutils; the container
image and the SBOM also need a Debian system. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit("packaging: Python 3.11 or later is needed, this is " + sys.version.split()[0])

import debian_package
import helm_chart
import npm_packages
import oci_image
import python_wheel
import sbom
from project import PackagingError, Project, read_project

PARTS: dict[str, Callable[[Project, Path, Path], list[Path]]] = {
    "wheel": python_wheel.build,
    "npm": npm_packages.build,
    "deb": lambda project, binary, out: [debian_package.build(project, binary, out)],
    "oci": lambda project, binary, out: [oci_image.build(project, binary, out)],
    "chart": lambda project, binary, out: [helm_chart.build(project, out)],
    "sbom": lambda project, binary, out: [sbom.build(project, binary, out)],
}
SUMS = "SHA256SUMS"


def main() -> int:
    arguments = _arguments()
    began = time.monotonic()
    try:
        built = build(arguments.binary.resolve(), arguments.out, arguments.only)
    except PackagingError as error:
        print(f"packaging: {error}", file=sys.stderr)
        return 1
    _report(f"{len(built)} files in {arguments.out}, {time.monotonic() - began:.1f} s in total")
    return 0


def build(binary: Path, out: Path, parts: list[str]) -> list[Path]:
    """Builds the parts into a folder, then writes the checksums of all files in it."""
    project = read_project()
    _check_binary(binary, project)
    out.mkdir(parents=True, exist_ok=True)
    built: list[Path] = []
    for part in parts:
        began = time.monotonic()
        for path in PARTS[part](project, binary, out):
            size = path.stat().st_size / (1 << 20)
            _report(f"{part}: {path.name}, {size:.1f} MiB, {time.monotonic() - began:.1f} s")
            built.append(path)
    (out / SUMS).write_text(checksums(out))
    return [*built, out / SUMS]


def _check_binary(binary: Path, project: Project) -> None:
    expected = f"cuebase {project.version}"
    try:
        printed = subprocess.run([str(binary), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise PackagingError(f"{binary} --version fails: {error}: pass the path of a built cuebase binary") from error
    if printed != expected:
        raise PackagingError(f"{binary} is {printed!r}, the sources are {expected!r}: build the binary again")


def checksums(folder: Path) -> str:
    """Returns one line for each file of a folder, in the format of sha256sum."""
    lines: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name != SUMS:
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    return "".join(lines)


def _report(line: str) -> None:
    print(f"packaging: {line}", file=sys.stderr, flush=True)


def _parts(text: str) -> list[str]:
    parts = text.split(",")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown part {unknown[0]!r}: expected {', '.join(PARTS)}")
    return parts


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Builds the packages of a release from one binary.")
    parser.add_argument("--binary", type=Path, required=True, help="the built server, such as target/release/cuebase")
    parser.add_argument("--out", type=Path, required=True, help="folder for the packages; created if it does not exist")
    parser.add_argument("--only", type=_parts, default=list(PARTS), help=f"parts to build: {','.join(PARTS)}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
