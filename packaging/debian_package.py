"""Builds the Debian package: binary, systemd unit, settings file, completions, manual pages.

The scripts that run at installation and removal are in `packaging/debian`. The package is written without dpkg, so that
its bytes depend on the contents only.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import time
from pathlib import Path

import elf
from archives import Entry, ar, folder, gzip, tar, with_parents, xz
from crates import third_party_licences
from project import ROOT, PackagingError, Project

SOURCES = ROOT / "packaging/debian"
UNIT = ROOT / "packaging/cuebase.service"
DOCUMENTS = "usr/share/doc/cuebase"
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/cuebase",
    "zsh": "usr/share/zsh/vendor-completions/_cuebase",
    "fish": "usr/share/fish/vendor_completions.d/cuebase.fish",
}
CONFFILES = ["etc/cuebase/cuebase.toml"]
#: The GCC release with each version of the libstdc++ interface, from the ABI history of libstdc++.
GCC_OF_GLIBCXX = {(3, 4, 29): "11", (3, 4, 30): "12", (3, 4, 31): "13.1", (3, 4, 32): "13.2", (3, 4, 33): "14"}
GCC_OF_CXXABI = {(1, 3, 13): "11", (1, 3, 14): "13", (1, 3, 15): "14"}
#: A release with all versions before those of the tables.
GCC_MIN = "10"
#: Lines of the unit for a binary installed by hand, and what they are in the package, which has a user of its own.
UNIT_CHANGES = {
    "ExecStart=/usr/local/bin/cuebase serve": "ExecStart=/usr/bin/cuebase serve",
    "DynamicUser=yes": "User=cuebase\nGroup=cuebase",
}
UNIT_HEADER = """\
# Cuebase as a systemd service. Settings are in /etc/cuebase/cuebase.toml, secrets in /etc/cuebase/environment as
# CUEBASE_… variables. The first start writes an API key to /var/lib/cuebase/first-key, and the path to the journal.
"""


def build(project: Project, binary: Path, out: Path) -> Path:
    files = with_parents(_files(project, binary))
    data = tar(files, project.epoch, prefix="./")
    control = tar(_control(project, binary, files), project.epoch, prefix="./")
    members = [("debian-binary", b"2.0\n"), ("control.tar.xz", xz(control)), ("data.tar.xz", xz(data))]
    path = out / f"cuebase_{project.version}_amd64.deb"
    path.write_bytes(ar(members, project.epoch))
    return path


def _files(project: Project, binary: Path) -> list[Entry]:
    files = [
        Entry("usr/bin/cuebase", binary.read_bytes(), mode=0o755),
        Entry("usr/lib/systemd/system/cuebase.service", unit().encode()),
        Entry("etc/cuebase/cuebase.toml", (SOURCES / "cuebase.toml").read_bytes()),
        Entry("usr/share/lintian/overrides/cuebase", (SOURCES / "lintian-overrides").read_bytes()),
        Entry(f"{DOCUMENTS}/copyright", (SOURCES / "copyright").read_bytes()),
        Entry(f"{DOCUMENTS}/changelog.gz", gzip(changelog(project).encode(), 9)),
        Entry(f"{DOCUMENTS}/CHANGELOG.md.gz", gzip((ROOT / "CHANGELOG.md").read_bytes(), 9)),
        Entry(f"{DOCUMENTS}/THIRD-PARTY.txt.gz", gzip(third_party_licences(), 9)),
        folder("var/lib/cuebase", mode=0o700),
    ]
    for shell, path in COMPLETIONS.items():
        files.append(Entry(path, _output(binary, "completions", shell)))
    files += _manual_pages(binary)
    return files


def unit() -> str:
    """Returns the systemd unit for a binary in /usr/bin and a user with a fixed name."""
    text = UNIT.read_text()
    start = text.index("\n[Unit]")
    text = UNIT_HEADER + text[start:]
    for old, new in UNIT_CHANGES.items():
        if text.count(f"\n{old}\n") != 1:
            raise PackagingError(f"{UNIT}: expected one line {old!r}: adapt UNIT_CHANGES in {Path(__file__).name}")
        text = text.replace(f"\n{old}\n", f"\n{new}\n")
    return text


def _output(binary: Path, *arguments: str) -> bytes:
    done = subprocess.run([str(binary), *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        raise PackagingError(f"{binary} {' '.join(arguments)} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _manual_pages(binary: Path) -> list[Entry]:
    with tempfile.TemporaryDirectory() as temporary:
        _output(binary, "man", temporary)
        pages = sorted(Path(temporary).iterdir())
        return [Entry(f"usr/share/man/man1/{page.name}.gz", gzip(page.read_bytes(), 9)) for page in pages]


def changelog(project: Project) -> str:
    """Returns a changelog in Debian's format that points to the one of the project."""
    written = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(project.epoch))
    maintainer = _maintainer()
    return (
        f"cuebase ({project.version}) unstable; urgency=medium\n\n"
        f"  * Release {project.version}; CHANGELOG.md.gz has the changes.\n\n -- {maintainer}  {written}\n"
    )


def _maintainer() -> str:
    for line in (SOURCES / "control").read_text().splitlines():
        if line.startswith("Maintainer: "):
            return line.removeprefix("Maintainer: ")
    raise PackagingError(f"{SOURCES / 'control'} has no Maintainer")


def _control(project: Project, binary: Path, files: list[Entry]) -> list[Entry]:
    size = sum(len(entry.data) for entry in files)
    control = (
        (SOURCES / "control")
        .read_text()
        .format(version=project.version, depends=", ".join(depends(binary)), installed_kib=-(-size // 1024))
    )
    sums = "".join(
        f"{hashlib.md5(entry.data, usedforsecurity=False).hexdigest()}  {entry.path}\n"
        for entry in files
        if not entry.is_folder and entry.path not in CONFFILES
    )
    entries = [
        Entry("control", control.encode()),
        Entry("conffiles", "".join(f"/{path}\n" for path in CONFFILES).encode()),
        Entry("md5sums", sums.encode()),
    ]
    for script in ("postinst", "prerm", "postrm"):
        entries.append(Entry(script, (SOURCES / script).read_bytes(), mode=0o755))
    return entries


def depends(binary: Path) -> list[str]:
    """Returns the packages that the binary and the installation scripts need, with the lowest fitting versions."""
    needed = elf.requirements(binary)
    packages = ["adduser"]
    for library in needed.libraries:
        if library in ("libc.so.6", "libm.so.6", Path(needed.interpreter).name):
            major, minor = elf.oldest_glibc(binary)
            packages.append(f"libc6 (>= {major}.{minor})")
        elif library == "libgcc_s.so.1":
            packages.append("libgcc-s1 (>= 4.2)")
        elif library == "libstdc++.so.6":
            packages.append(f"libstdc++6 (>= {oldest_gcc(needed)})")
        else:
            raise PackagingError(f"{binary} needs {library}: add its Debian package to {Path(__file__).name}")
    return sorted(set(packages))


def oldest_gcc(needed: elf.Requirements) -> str:
    """Returns the oldest GCC whose libstdc++ has all needed symbols."""
    releases = [GCC_MIN]
    for prefix, table in (("GLIBCXX", GCC_OF_GLIBCXX), ("CXXABI", GCC_OF_CXXABI)):
        version = needed.newest(prefix)
        if version is None or version < min(table):
            continue
        if version not in table:
            raise PackagingError(f"{prefix}_{'.'.join(map(str, version))} is unknown: add it to {Path(__file__).name}")
        releases.append(table[version])
    return max(releases, key=lambda release: [int(part) for part in release.split(".")])
