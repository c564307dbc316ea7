"""Builds a container image as an OCI layout in a tar archive, without a container engine.

The image has two layers. The first is a root filesystem with what the binary needs of the build machine's Debian: the
loader, its shared libraries and the certificate authorities. The second is the binary. Files that no program of the
image reads, such as a shell, are not in it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import elf
from archives import Entry, folder, gzip, tar, with_parents
from crates import third_party_licences
from project import PackagingError, Project, notice_text

#: Number of the user, as in the images of distroless.
USER = 65532
API_PORT = 8080
DASHBOARD_PORT = 8081
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
ENVIRONMENT = {
    "PATH": "/usr/bin",
    "CUEBASE_DATA": "/data",
    # Inside the container, the server listens on all addresses; published ports select what is reachable from outside.
    "CUEBASE_LISTEN": f"0.0.0.0:{API_PORT}",
    "CUEBASE_DASHBOARD_LISTEN": f"0.0.0.0:{DASHBOARD_PORT}",
    "CUEBASE_SERVER_PUBLIC_URL": f"http://localhost:{API_PORT}",
    "CUEBASE_DASHBOARD_PUBLIC_URL": f"http://localhost:{DASHBOARD_PORT}",
}


@dataclass(frozen=True)
class DebianPackage:
    """A package of the build machine with files in the image."""

    name: str
    version: str
    #: The entry of the package database.
    status: str


@dataclass(frozen=True)
class Blob:
    """A content of the layout, which is stored under its digest."""

    media_type: str
    data: bytes

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.data).hexdigest()}"

    @property
    def descriptor(self) -> dict[str, object]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.data)}


def build(project: Project, binary: Path, out: Path) -> Path:
    layers = [
        tar(_base_files(binary), project.epoch),
        tar(_binary_files(binary), project.epoch),
    ]
    blobs = [Blob(LAYER_TYPE, gzip(layer)) for layer in layers]
    config = _json_blob(CONFIG_TYPE, _config(project, layers))
    manifest = _json_blob(
        MANIFEST_TYPE,
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": config.descriptor,
            "layers": [blob.descriptor for blob in blobs],
            "annotations": _labels(project),
        },
    )
    path = out / f"cuebase-oci-{project.version}-amd64.tar"
    path.write_bytes(tar(_layout(project, manifest, [*blobs, config, manifest]), project.epoch))
    return path


def _layout(project: Project, manifest: Blob, blobs: list[Blob]) -> list[Entry]:
    image = {
        **manifest.descriptor,
        "platform": {"architecture": "amd64", "os": "linux"},
        "annotations": {
            "org.opencontainers.image.ref.name": project.version,
            # containerd and Docker name the loaded image by this annotation.
            "io.containerd.image.name": f"docker.io/library/cuebase:{project.version}",
        },
    }
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [image]}
    entries = [Entry("oci-layout", _json({"imageLayoutVersion": "1.0.0"})), Entry("index.json", _json(index))]
    for blob in blobs:
        entries.append(Entry(f"blobs/{blob.digest.replace(':', '/')}", blob.data))
    return with_parents(entries)


def _config(project: Project, layers: list[bytes]) -> dict[str, object]:
    created = _timestamp(project)
    return {
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "ExposedPorts": {f"{API_PORT}/tcp": {}, f"{DASHBOARD_PORT}/tcp": {}},
            "Env": [f"{name}={value}" for name, value in ENVIRONMENT.items()],
            "Entrypoint": ["/usr/bin/cuebase"],
            "Cmd": ["serve"],
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "Labels": _labels(project),
            "StopSignal": "SIGTERM",
        },
        "rootfs": {
            "type": "layers",
            "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers],
        },
        "history": [
            {"created": created, "created_by": "packaging/oci_image.py", "comment": comment}
            for comment in ("shared libraries of Debian", "cuebase")
        ],
    }


def _labels(project: Project) -> dict[str, str]:
    return {
        "org.opencontainers.image.title": "cuebase",
        "org.opencontainers.image.description": project.description,
        "org.opencontainers.image.version": project.version,
        "org.opencontainers.image.licenses": project.licence,
        "org.opencontainers.image.created": _timestamp(project),
    }


def _timestamp(project: Project) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(project.epoch))


def _binary_files(binary: Path) -> list[Entry]:
    return with_parents(
        [
            Entry("usr/bin/cuebase", binary.read_bytes(), mode=0o755),
            Entry("usr/share/doc/cuebase/NOTICE", notice_text()),
            Entry("usr/share/doc/cuebase/THIRD-PARTY.txt", third_party_licences()),
        ]
    )


def _base_files(binary: Path) -> list[Entry]:
    user = f"nonroot:x:{USER}:{USER}:nonroot:/data:/sbin/nologin"
    entries = [
        Entry("etc/passwd", f"root:x:0:0:root:/root:/sbin/nologin\n{user}\n".encode()),
        Entry("etc/group", f"root:x:0:\nnonroot:x:{USER}:\n".encode()),
        Entry("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n"),
        Entry("etc/os-release", Path("/etc/os-release").read_bytes()),
        # The TLS client reads the system's certificates.
        Entry(str(CERTIFICATES)[1:], _certificates()),
        folder("tmp", mode=0o1777),
        folder("data", mode=0o700, owner=USER),
    ]
    for name, path in elf.shared_libraries(binary).items():
        # The loader has a full path; it searches this folder for all others.
        place = name[1:] if name.startswith("/") else f"lib/x86_64-linux-gnu/{name}"
        entries.append(Entry(place, path.resolve().read_bytes(), mode=0o755))
    for package in packages(binary):
        # Scanners for known vulnerabilities read the versions from here, as in the images of distroless.
        entries.append(Entry(f"var/lib/dpkg/status.d/{package.name}", package.status.encode()))
        copyright_file = Path(f"/usr/share/doc/{package.name}/copyright")
        if not copyright_file.exists():
            raise PackagingError(f"{copyright_file} is missing, and the image must carry it: reinstall {package.name}")
        entries.append(Entry(str(copyright_file)[1:], copyright_file.read_bytes()))
    return with_parents(entries)


def _certificates() -> bytes:
    if not CERTIFICATES.exists():
        raise PackagingError(f"{CERTIFICATES} is missing: install the package ca-certificates")
    return CERTIFICATES.read_bytes()


def packages(binary: Path) -> list[DebianPackage]:
    """Returns the Debian packages with files in the image, by name."""
    names = {_package_of(path) for path in elf.shared_libraries(binary).values()} | {"ca-certificates"}
    return [_installed_package(name) for name in sorted(names)]


def _package_of(path: Path) -> str:
    """Returns the package of a file. On Debian, /lib is a link to /usr/lib, and packages name either of them."""
    real = str(path.resolve())
    for candidate in (str(path), real, real.removeprefix("/usr"), f"/usr{path}"):
        done = subprocess.run(["dpkg-query", "--search", candidate], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise PackagingError(f"{path} belongs to no Debian package: build the image on Debian 12")


def _installed_package(name: str) -> DebianPackage:
    done = subprocess.run(["dpkg-query", "--status", name], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("Version: "):
            return DebianPackage(name, line.removeprefix("Version: "), done.stdout)
    raise PackagingError(f"the package {name} is not installed: install it with apt-get")


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _json_blob(media_type: str, value: object) -> Blob:
    return Blob(media_type, _json(value))
