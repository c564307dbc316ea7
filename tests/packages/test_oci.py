"""The container image: its digests and contents, and the binary in its root filesystem."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chroot import process_owner
from conftest import only
from support import Server, run

USER = 65532


@dataclass
class Image:
    """A layout that was read by following the digests from the index."""

    folder: Path
    descriptor: dict[str, Any]
    manifest: dict[str, Any]
    config: dict[str, Any]
    #: The tar archives of the layers.
    layers: list[bytes]


@pytest.fixture(scope="session")
def archive(packages: Path) -> Path:
    return only(packages, "cuebase-oci-*.tar")


@pytest.fixture(scope="session")
def image(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("layout")
    run(["tar", "--extract", "--file", archive, "--directory", folder])
    index = json.loads((folder / "index.json").read_text())
    assert len(index["manifests"]) == 1
    descriptor = index["manifests"][0]
    manifest = json.loads(content(folder, descriptor))
    config = json.loads(content(folder, manifest["config"]))
    layers = [gzip.decompress(content(folder, layer)) for layer in manifest["layers"]]
    return Image(folder, descriptor, manifest, config, layers)


@pytest.fixture(scope="session")
def filesystem(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the layers unpacked over each other."""
    folder = tmp_path_factory.mktemp("rootfs") / "root"
    folder.mkdir()
    folder.chmod(0o755)
    for layer in image.layers:
        subprocess.run(["tar", "-x", "--numeric-owner", "-p", "-C", folder], input=layer, check=True)
    return folder


def content(folder: Path, descriptor: dict[str, Any]) -> bytes:
    """Returns a blob after comparing it with its descriptor."""
    algorithm, digest = descriptor["digest"].split(":")
    path: Path = folder / "blobs" / algorithm / digest
    data = path.read_bytes()
    assert len(data) == descriptor["size"], descriptor
    assert hashlib.new(algorithm, data).hexdigest() == digest, descriptor
    return data


def test_the_layout_has_the_blobs_that_the_index_names_and_no_others(image: Image) -> None:
    assert json.loads((image.folder / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    named = {image.descriptor["digest"], image.manifest["config"]["digest"]}
    named |= {layer["digest"] for layer in image.manifest["layers"]}
    assert {f"sha256:{path.name}" for path in (image.folder / "blobs/sha256").iterdir()} == named
    digests = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in image.layers]
    assert image.config["rootfs"] == {"type": "layers", "diff_ids": digests}


def test_the_configuration_says_how_to_run_it(image: Image) -> None:
    config = image.config["config"]
    assert (image.config["os"], image.config["architecture"]) == ("linux", "amd64")
    assert config["User"] == f"{USER}:{USER}"
    assert config["Entrypoint"] + config["Cmd"] == ["/usr/bin/cuebase", "serve"]
    assert set(config["ExposedPorts"]) == {"8080/tcp", "8081/tcp"}
    assert set(config["Volumes"]) == {"/data"}
    assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_the_image_has_the_needed_libraries_and_no_other_program(image: Image, binary: Path) -> None:
    files: dict[str, tarfile.TarInfo] = {}
    for layer in image.layers:
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            files |= {member.name: member for member in archive.getmembers() if not member.isdir()}
    programs = {name for name, member in files.items() if member.mode & 0o111}
    # What the loader of this machine would use.
    needed = {line.split()[0].rsplit("/", 1)[-1] for line in run(["ldd", binary]).splitlines() if "vdso" not in line}
    assert {name.rsplit("/", 1)[-1] for name in programs} == needed | {"cuebase"}
    for name, member in files.items():
        assert (member.uid, member.gid) == (0, 0) and not member.mode & 0o022, name


def test_the_data_folder_belongs_to_the_user(filesystem: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can unpack files of another user")
    found = (filesystem / "data").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (USER, USER, 0o700)


def test_the_libraries_carry_their_licences_and_versions(filesystem: Path) -> None:
    names = {path.name for path in (filesystem / "var/lib/dpkg/status.d").iterdir()}
    assert names == {"ca-certificates", "libc6", "libgcc-s1", "libstdc++6"}
    for name in names:
        assert (filesystem / "usr/share/doc" / name / "copyright").stat().st_size > 0
        assert f"Package: {name}\n" in (filesystem / "var/lib/dpkg/status.d" / name).read_text()
    assert "WordNet" in (filesystem / "usr/share/doc/cuebase/NOTICE").read_text()


def test_the_server_runs_in_its_root_filesystem_and_stops(image: Image, filesystem: Path) -> None:
    config = image.config["config"]
    environment = dict(variable.split("=", 1) for variable in config["Env"])
    environment.update(CUEBASE_LISTEN="127.0.0.1:0", CUEBASE_DASHBOARD_LISTEN="off")
    command = [*inside(filesystem), *config["Entrypoint"], *config["Cmd"]]
    with Server(command, environment) as server:
        if os.geteuid() == 0:
            assert process_owner(server) == {USER}
        server.remember()
        server.check_retrieval()
        health = [*inside(filesystem), *config["Entrypoint"], "health"]
        run(health, environment={**environment, "CUEBASE_LISTEN": server.url.removeprefix("http://")})
        assert server.stop() == 0
    run(health, environment={**environment, "CUEBASE_LISTEN": server.url.removeprefix("http://")}, status=1)


def test_the_tls_client_finds_the_authorities_of_the_image(filesystem: Path) -> None:
    certificates = filesystem / "etc/ssl/certs/ca-certificates.crt"
    assert "Connection refused" in call_unreachable_model(filesystem)
    moved = certificates.rename(filesystem / "moved")
    try:
        assert "Connection refused" not in call_unreachable_model(filesystem)
    finally:
        moved.rename(certificates)


def call_unreachable_model(filesystem: Path) -> str:
    """Calls a model over TLS at a closed port, and returns the error. The client is made before it connects."""
    environment = {
        "CUEBASE_MODEL_BASE_URL": "https://127.0.0.1:9",
        "CUEBASE_MODEL_EMBEDDING": "any",
        "CUEBASE_DATA": "/tmp/models",
    }
    return run([*inside(filesystem), "/usr/bin/cuebase", "models"], environment=environment, status=1)


def test_skopeo_reads_the_image(archive: Path, image: Image, tmp_path: Path) -> None:
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed")
    source = f"oci-archive:{archive}"
    inspected = json.loads(run(["skopeo", "inspect", source]))
    assert inspected["Digest"] == image.descriptor["digest"]
    assert inspected["Layers"] == [layer["digest"] for layer in image.manifest["layers"]]
    # The format of `docker load` of older versions.
    run(
        [
            "skopeo",
            "copy",
            "--quiet",
            "--insecure-policy",
            source,
            f"docker-archive:{tmp_path / 'docker.tar'}:cuebase:test",
        ]
    )
    assert (tmp_path / "docker.tar").stat().st_size > 0


def inside(filesystem: Path) -> list[str | Path]:
    """Returns the beginning of a command that runs in a root filesystem as the user of the image."""
    if os.geteuid() == 0:
        return [str(shutil.which("chroot")), f"--userspec={USER}:{USER}", filesystem]
    return [str(shutil.which("unshare")), "--map-root-user", str(shutil.which("chroot")), filesystem]
