"""The licences of the crates in the binary: which crates count, and that every package carries the texts."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import only
from support import run


@pytest.mark.parametrize(
    "target, expected",
    [
        ("cfg(unix)", True),
        ("cfg(windows)", False),
        ("cfg(not(windows))", True),
        ('cfg(target_os = "linux")', True),
        ('cfg(any(target_os = "macos", target_os = "linux"))', True),
        ('cfg(all(unix, not(target_os = "linux")))', False),
        ('cfg(all(target_arch = "x86_64", any(target_env = "musl", target_env = "gnu")))', True),
        ('cfg(not(any(target_family = "wasm", target_os = "android")))', True),
        ("cfg(any())", False),
        ("cfg(all())", True),
        ("x86_64-unknown-linux-gnu", True),
        ("x86_64-pc-windows-msvc", False),
    ],
)
def test_targets_of_manifests_are_evaluated(target: str, expected: bool) -> None:
    import crates

    assert crates.matches(target) == expected


def test_every_package_with_the_binary_has_the_licences_of_its_crates(
    packages: Path, wheel: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/licenses/THIRD-PARTY.txt"))
        text = archive.read(name)
    with tarfile.open(only(packages, "cuebase-npm-linux-x64-*.tgz")) as npm:
        file = npm.extractfile("package/THIRD-PARTY.txt")
        assert file and file.read() == text
    run(["dpkg-deb", "--extract", only(packages, "*.deb"), tmp_path])
    assert gzip.decompress((tmp_path / "usr/share/doc/cuebase/THIRD-PARTY.txt.gz").read_bytes()) == text
    assert in_image(only(packages, "cuebase-oci-*.tar"), "usr/share/doc/cuebase/THIRD-PARTY.txt") == text
    document = json.loads((packages / "cuebase.cdx.json").read_text())
    for component in document["components"]:
        if component["bom-ref"].startswith("pkg:cargo/") and not component["name"].startswith("cuebase"):
            line = f"{component['name']} {component['version']}: {component['licenses'][0]['expression']}\n"
            assert line.encode() in text
    # Texts of sources in other languages, which crates carry in folders of their own.
    for part in (b"Facebook Inc.", b"Yann Collet", b"AWS-LC", b"Permission is hereby granted"):
        assert part in text, part


def in_image(path: Path, name: str) -> bytes:
    """Returns a file of the last layer."""
    with tarfile.open(path) as layout:
        files = {member.name: member for member in layout.getmembers()}

        def read(name: str) -> bytes:
            file = layout.extractfile(files[name])
            assert file
            return file.read()

        index = json.loads(read("index.json"))
        manifest = json.loads(read("blobs/" + index["manifests"][0]["digest"].replace(":", "/")))
        layer = read("blobs/" + manifest["layers"][-1]["digest"].replace(":", "/"))
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer))) as archive:
        file = archive.extractfile(name)
        assert file
        return file.read()
