"""The Debian package under systemd: a Debian boots in a container, installs the package, uses and removes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import chroot
import pytest
from conftest import only
from support import run

#: Runs inside. Each line that it prints is `name: value`. Bash has the only HTTP client of a minimal Debian.
CHECK = r"""
request() {
    exec 3<>/dev/tcp/127.0.0.1/8080
    printf '%s HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer %s\r\n' "$1" "$key" >&3
    printf 'content-length: %s\r\n\r\n%s' "${#2}" "$2" >&3
    cat <&3 | tail -n 1
}
# Waits for at most ten minutes, so that a failure ends the test.
repeat_until() { for _ in $(seq 6000); do "$@" && return; sleep 0.1; done; echo "end: $* did not happen"; }
main_process() { systemctl show --property MainPID --value cuebase; }
is_listening() { journalctl --unit cuebase --boot | grep "cuebase\[$(main_process)\]: listening on"; }
is_another_process() { [ "$(main_process)" != "$before" ] && [ "$(main_process)" != 0 ]; }

exec >/root/result 2>&1
dpkg --install /root/cuebase.deb
echo "active: $(systemctl is-active cuebase), $(systemctl is-enabled cuebase)"
repeat_until is_listening
key="$(cat /var/lib/cuebase/first-key)"
echo "keys in the journal: $(journalctl --unit cuebase --output cat | grep -c svc_live_)"
echo "key file: $(stat -c '%U %a' /var/lib/cuebase/first-key)"
memory='{"messages":[{"role":"user","content":"I keep three hives of bees."}]}'
echo "write: $(request 'POST /v1/memories?wait=30' "$memory")"
echo "user: $(stat -c %U "/proc/$(main_process)"), $(stat -c '%U %a' /var/lib/cuebase)"
before="$(main_process)"
kill -KILL "$before"
repeat_until is_another_process
repeat_until is_listening
echo "restarted: $(request 'GET /v1/retrieve?q=hives+of+bees' '')"
echo "token: $(runuser -u cuebase -- cuebase token --link --data /var/lib/cuebase)"
dpkg --remove cuebase
echo "removed: $(systemctl is-active cuebase), $(stat -c '%U %a' /var/lib/cuebase)"
echo "end: reached"
"""
UNIT = """
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /root/check.sh
ExecStopPost=/bin/systemctl poweroff --no-block
[Install]
WantedBy=default.target
"""


@pytest.fixture
def root(tmp_path: Path) -> chroot.Root:
    if reason := chroot.missing():
        pytest.skip(reason)
    if shutil.which("systemd-nspawn") is None:
        pytest.skip("systemd-nspawn is not installed (package systemd-container)")
    return chroot.Root(tmp_path / "root")


def test_systemd_starts_restarts_and_stops_the_service(root: chroot.Root, packages: Path) -> None:
    root.run("apt-get", "update", "--quiet")
    root.run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "systemd-sysv", "adduser")
    root.path("/usr/sbin/policy-rc.d").unlink()
    shutil.copy(only(packages, "*.deb"), root.path("/root/cuebase.deb"))
    root.path("/root/check.sh").write_text(CHECK)
    root.path("/etc/systemd/system/check.service").write_text(UNIT)
    root.run("systemctl", "enable", "check.service")
    # Without a network of this machine, port 8080 is free.
    boot = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--boot", "--directory"]
    run([*boot, root.folder], timeout=900)
    result = root.path("/root/result").read_text()
    print(result)
    found = dict(line.split(": ", 1) for line in result.splitlines() if ": " in line)
    assert found["active"] == "active, enabled", result
    assert '"status":"ingested"' in found["write"], result
    assert found["keys in the journal"] == "0", result
    assert found["key file"] == "cuebase 600", result
    assert found["user"] == "cuebase, cuebase 700", result
    assert "hives of bees" in found["restarted"], result
    assert found["token"].startswith("http://127.0.0.1:8081/"), result
    assert found["removed"].endswith(", cuebase 700") and not found["removed"].startswith("active"), result
    assert found["end"] == "reached", result
