"""The Debian package: its contents, lintian, and its life in a clean Debian: install, run, remove, purge, again."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import chroot
import pytest
from conftest import newest_symbol, only
from support import run

SERVE = ["serve", "--listen", "127.0.0.1:0", "--dashboard-listen", "off"]
DATA = "/var/lib/cuebase"


@pytest.fixture(scope="session")
def package(packages: Path) -> Path:
    return only(packages, "*.deb")


@pytest.fixture(scope="session")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deb")
    run(["dpkg-deb", "--raw-extract", package, folder])
    return folder


@pytest.fixture
def root(tmp_path: Path) -> chroot.Root:
    if reason := chroot.missing():
        pytest.skip(reason)
    return chroot.Root(tmp_path / "root")


def test_the_fields_are_complete(package: Path, binary: Path) -> None:
    fields = run(["dpkg-deb", "--field", package])
    version = re.search(r"^Version: (\S+)$", fields, re.MULTILINE)
    assert version and package.name == f"cuebase_{version.group(1)}_amd64.deb"
    assert re.search(r"^Installed-Size: \d{4,}$", fields, re.MULTILINE)
    major, minor = newest_symbol(binary, "GLIBC")
    assert f"libc6 (>= {major}.{minor})" in fields


def test_the_dependencies_are_those_of_dpkg(package: Path, unpacked: Path, tmp_path: Path) -> None:
    if shutil.which("dpkg-shlibdeps") is None:
        pytest.skip("dpkg-shlibdeps is not installed (package dpkg-dev)")
    (tmp_path / "debian").mkdir()
    (tmp_path / "debian/control").write_text("Source: cuebase\n\nPackage: cuebase\nArchitecture: amd64\n")
    printed = run(["dpkg-shlibdeps", "-O", "-e", unpacked / "usr/bin/cuebase"], cwd=tmp_path)
    line = next(line for line in printed.splitlines() if line.startswith("shlibs:Depends="))
    theirs = dict(parse_dependency(each) for each in line.removeprefix("shlibs:Depends=").split(", "))
    ours = dict(parse_dependency(each) for each in run(["dpkg-deb", "--field", package, "Depends"]).strip().split(", "))
    assert ours.pop("adduser") == "0"
    assert ours.keys() == theirs.keys()
    for name, version in theirs.items():
        # dpkg asks for the release that a symbol file of Debian names; ours must not be older.
        run(["dpkg", "--compare-versions", ours[name], "ge", version])


def parse_dependency(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(\S+)(?: \(>= (\S+)\))?", text)
    assert found, text
    return found.group(1), found.group(2) or "0"


def test_files_belong_to_root_and_have_fixed_modes(package: Path) -> None:
    for line in run(["dpkg-deb", "--contents", package]).splitlines():
        mode, owner, _, day, _, path = line.split(maxsplit=5)
        assert owner == "0/0", line
        if path == f".{DATA}/":
            assert mode == "drwx------", line
        elif path.endswith("/"):
            assert mode == "drwxr-xr-x", line
        else:
            assert mode == ("-rwxr-xr-x" if path == "./usr/bin/cuebase" else "-rw-r--r--"), line


def test_the_checksums_inside_are_right(unpacked: Path) -> None:
    checked = run(["md5sum", "--check", "--strict", "DEBIAN/md5sums"], cwd=unpacked)
    assert "usr/bin/cuebase: OK" in checked


def test_every_command_has_a_manual_page(unpacked: Path) -> None:
    pages = {path.name for path in (unpacked / "usr/share/man/man1").iterdir()}
    assert {"cuebase.1.gz", "cuebase-serve.1.gz", "cuebase-keys-create.1.gz"} <= pages
    shown = run(["sh", "-c", 'gzip -dc "$0" | man -l -', unpacked / "usr/share/man/man1/cuebase-serve.1.gz"])
    assert "--listen" in shown


def test_bash_completes_commands(unpacked: Path) -> None:
    script = unpacked / "usr/share/bash-completion/completions/cuebase"
    words = "COMP_WORDS=(cuebase dea); COMP_CWORD=1"
    program = f'source "{script}"; {words}; _cuebase cuebase dea cuebase; echo "${{COMPREPLY[@]}}"'
    assert run(["bash", "-c", program]).strip() == "dead-letters"


@pytest.mark.parametrize(
    "shell, path",
    [("zsh", "zsh/vendor-completions/_cuebase"), ("fish", "fish/vendor_completions.d/cuebase.fish")],
)
def test_other_shells_accept_their_completions(unpacked: Path, shell: str, path: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    run([shell, "-n", unpacked / "usr/share" / path])


def test_the_unit_is_valid_and_runs_the_installed_binary(unpacked: Path) -> None:
    unit = (unpacked / "usr/lib/systemd/system/cuebase.service").read_text()
    assert "\nExecStart=/usr/bin/cuebase serve\n" in unit and "\nUser=cuebase\n" in unit
    assert "/usr/local" not in unit and "DynamicUser" not in unit
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    printed = run(
        ["systemd-analyze", "security", "--offline=true", unpacked / "usr/lib/systemd/system/cuebase.service"]
    )
    level = re.search(r"Overall exposure level for cuebase.service: ([\d.]+)", printed)
    assert level and float(level.group(1)) < 2, printed


def test_lintian_finds_no_error(package: Path) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed")
    printed = run(["lintian", "--allow-root", "--fail-on", "error", "--tag-display-limit", "0", package])
    print(printed)
    assert "E: " not in printed


def test_the_package_lives_through_install_remove_purge_and_install(root: chroot.Root, package: Path) -> None:
    shutil.copy(package, root.path("/tmp/cuebase.deb"))
    install(root)
    assert root.owner(DATA) == "cuebase:cuebase 700"
    assert "Remembered" in as_service(root, "demo", "--once")
    key = write_and_retrieve(root)

    # Settings of the administrator are read in the working directory of the service, and survive a removal.
    with root.path("/etc/cuebase/cuebase.toml").open("a") as settings:
        settings.write('log = "warn"\n')
    printed = root.run("runuser", "-u", "cuebase", "--", "sh", "-c", "cd /etc/cuebase && cuebase config")
    assert 'log = "warn"' in printed

    root.run("apt-get", "remove", "--yes", "--quiet", "cuebase")
    assert not root.path("/usr/bin/cuebase").exists()
    assert root.owner(DATA) == "cuebase:cuebase 700"
    assert 'log = "warn"' in root.path("/etc/cuebase/cuebase.toml").read_text()

    root.path("/etc/cuebase/environment").write_text("CUEBASE_MODEL_API_KEY=secret\n")
    printed = root.run("apt-get", "purge", "--yes", "--quiet", "cuebase")
    assert "the data is kept in /var/lib/cuebase, owned by root; delete it with: rm -r /var/lib/cuebase" in printed
    assert not root.path("/etc/cuebase").exists()
    assert "cuebase" not in root.path("/etc/passwd").read_text()
    assert root.owner(DATA) == "root:root 700"
    assert set(root.run("find", DATA, "-printf", "%U\n").split()) == {"0"}

    install(root)
    assert root.owner(DATA) == "cuebase:cuebase 700"
    write_and_retrieve(root, key)


def test_a_purge_without_data_leaves_nothing(root: chroot.Root, package: Path) -> None:
    before = listing(root)
    shutil.copy(package, root.path("/tmp/cuebase.deb"))
    install(root)
    printed = root.run("apt-get", "purge", "--yes", "--quiet", "cuebase")
    assert "the data is kept" not in printed
    root.path("/tmp/cuebase.deb").unlink()
    assert listing(root) - before == set()


def install(root: chroot.Root) -> None:
    root.run("apt-get", "update", "--quiet")
    root.run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "/tmp/cuebase.deb")
    assert root.run("dpkg-query", "--show", "--showformat", "${Status}", "cuebase") == "install ok installed"


def as_service(root: chroot.Root, *arguments: str) -> str:
    return root.run("runuser", "-u", "cuebase", "--", "/usr/bin/cuebase", *arguments)


def write_and_retrieve(root: chroot.Root, key: str = "") -> str:
    """Serves as the user of the service, writes (unless a key of an earlier start is given) and retrieves."""
    user = root.run("id", "-u", "cuebase").strip()
    with root.serve(["runuser", "-u", "cuebase", "--", "/usr/bin/cuebase", *SERVE, "--data", DATA]) as server:
        assert int(user) in chroot.process_owner(server)
        assert ("First start" in server.printed) == (key == "")
        server.key = key or server.key
        if not key:
            server.remember()
        server.check_retrieval()
        # The command in this namespace ends with all processes in it, so the server itself gets the signal.
        root_pid = subprocess.run(
            ["pgrep", "--newest", "--uid", user, "--exact", "cuebase"], capture_output=True, text=True, check=True
        )
        run(["kill", "-TERM", root_pid.stdout.strip()])
        assert server.process.wait(60) == 0
        return server.key


def listing(root: chroot.Root) -> set[str]:
    """Returns all paths but those that apt and dpkg write for themselves."""
    kept = re.compile(
        r"^(var/lib/(apt|dpkg)|var/cache|var/log|tmp|run|etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|etc/\.pwd\.lock)"
    )
    paths = {str(path.relative_to(root.folder)) for path in root.folder.rglob("*")}
    return {path for path in paths if not kept.match(path)}
