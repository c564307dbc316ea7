"""One child process with a log file: started, stopped, killed, paused and continued by its id.

Nothing here waits for time. The callers wait for conditions with `wait_for`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

#: Longest time that a condition is waited for by default, seconds.
PATIENCE = 60.0
#: Pause between two looks at a condition, seconds.
_PAUSE = 0.02


class NotReached(Exception):
    """A condition that was not reached in time."""


def wait_for(condition: str, is_reached: Callable[[], bool], patience: float = PATIENCE) -> float:
    """Waits until `is_reached` returns true and returns the seconds that it took."""
    began = time.monotonic()
    while not is_reached():
        if time.monotonic() - began > patience:
            raise NotReached(f"not reached within {patience:.0f} s: {condition}")
        time.sleep(_PAUSE)
    return time.monotonic() - began


def run(
    command: Sequence[object],
    patience: float = PATIENCE,
    text: str = "",
    environment: Mapping[str, str] | None = None,
) -> str:
    """Runs a command to its end and returns its standard output. Raises `RuntimeError` if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, input=text, env=environment, capture_output=True, text=True, timeout=patience, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode} of {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


class Process:
    """A command that runs in the background. Standard output and standard error go to the end of a log file."""

    def __init__(self, command: Sequence[object], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._command = [str(word) for word in command]
        self._environment = None if environment is None else dict(environment)
        self._running: subprocess.Popen[bytes] | None = None
        self.log = log

    def start(self) -> None:
        """Starts the command. It must not be running."""
        assert not self.is_running(), f"already running: {self._command}"
        with self.log.open("ab") as output:
            self._running = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def is_running(self) -> bool:
        """Returns whether the process has been started and has not ended."""
        return self._running is not None and self._running.poll() is None

    @property
    def pid(self) -> int:
        """Id of the process, which must have been started."""
        assert self._running is not None, f"not started: {self._command}"
        return self._running.pid

    def send(self, number: signal.Signals) -> None:
        """Sends a signal if the process is running."""
        if self.is_running():
            os.kill(self.pid, number)

    def pause(self) -> None:
        """Stops the process where it is, until `resume`."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Continues a paused process."""
        self.send(signal.SIGCONT)

    def kill(self) -> None:
        """Kills the process and waits until it has ended."""
        self.send(signal.SIGKILL)
        if self._running is not None:
            self._running.wait(PATIENCE)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Asks the process to end and returns its exit status. Kills it if it does not end in time."""
        if self._running is None:
            return 0
        self.send(number)
        try:
            return self._running.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def log_text(self) -> str:
        """Returns what the process has printed, also in earlier runs."""
        if not self.log.exists():
            return ""
        return self.log.read_text(errors="replace")


def children(pid: int) -> list[int]:
    """Returns the ids of the direct children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            # The process has ended in the meantime.
            continue
        if int(fields[1]) == pid:
            found.append(int(entry.name))
    return found


def kill_ids(ids: Sequence[int]) -> None:
    """Kills processes by their ids. Those that have ended are skipped."""
    for pid in ids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
