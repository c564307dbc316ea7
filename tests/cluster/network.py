"""A network of namespaces on one machine: hosts on a bridge, and cuts between any two of their addresses.

The bridge is in a namespace of its own, so rules and settings of the machine do not affect it. The harness is a host of
the network too: it has the address `.1`, and it may have more. A cut is an entry in a set of address pairs whose frames
the bridge drops in both directions. An established connection then stalls, as it does behind a broken switch. A
blackhole route or a rejecting rule would return errors at once, which is an easier fault.

All names begin with a prefix that contains the number of the run. `clean` removes everything with that prefix,
including the processes inside, and is called before and after each run.
"""

from __future__ import annotations

from collections.abc import Sequence

from process import kill_ids, run, wait_for

_RULES = """
table bridge cuts {
    set pairs { type ipv4_addr . ipv4_addr; }
    chain forward { type filter hook forward priority 0; ip saddr . ip daddr @pairs drop; }
}
"""
#: Number of the harness's own address.
HARNESS = 1


class Network:
    """The bridge, its hosts and the current cuts. Requires root, `ip` and `nft`."""

    def __init__(self, run_number: int = 0) -> None:
        assert 0 <= run_number < 100, "the number of a run is between 0 and 99"
        self.run_number = run_number
        self._prefix = f"cbt{run_number}-"
        self._subnet = f"10.77.{run_number}"
        self._hub = self._prefix + "hub"
        self._link = self._prefix + "root"

    def address(self, number: int) -> str:
        """Returns the address with a number between 1 and 254."""
        return f"{self._subnet}.{number}"

    def open(self, harness_numbers: Sequence[int] = ()) -> None:
        """Builds the bridge and connects the harness, with further addresses if given."""
        self.clean()
        run(["ip", "netns", "add", self._hub])
        run(["ip", "-n", self._hub, "link", "add", "br0", "type", "bridge"])
        run(["ip", "-n", self._hub, "link", "set", "br0", "up"])
        run(["ip", "netns", "exec", self._hub, "nft", "-f", "-"], text=_RULES)
        run(["ip", "link", "add", self._link, "type", "veth", "peer", "name", "root", "netns", self._hub])
        run(["ip", "-n", self._hub, "link", "set", "root", "master", "br0", "up"])
        for number in (HARNESS, *harness_numbers):
            run(["ip", "addr", "add", f"{self.address(number)}/24", "dev", self._link])
        run(["ip", "link", "set", self._link, "up"])

    def add_host(self, name: str, numbers: Sequence[int]) -> None:
        """Adds a namespace with some addresses to the bridge."""
        namespace = self._prefix + name
        run(["ip", "netns", "add", namespace])
        run(["ip", "-n", self._hub, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", namespace])
        run(["ip", "-n", self._hub, "link", "set", name, "master", "br0", "up"])
        for number in numbers:
            run(["ip", "-n", namespace, "addr", "add", f"{self.address(number)}/24", "dev", "eth0"])
        run(["ip", "-n", namespace, "link", "set", "lo", "up"])
        run(["ip", "-n", namespace, "link", "set", "eth0", "up"])

    def inside(self, name: str, command: Sequence[object]) -> list[str]:
        """Returns the command that runs `command` inside a host. It replaces itself, so the process id is the same."""
        return ["ip", "netns", "exec", self._prefix + name, *(str(word) for word in command)]

    def cut(self, one: int, other: int) -> None:
        """Drops all packets between two addresses."""
        self._change("add", one, other)

    def heal(self, one: int, other: int) -> None:
        """Undoes a cut."""
        self._change("delete", one, other)

    def heal_all(self) -> None:
        """Undoes all cuts."""
        run(["ip", "netns", "exec", self._hub, "nft", "flush", "set", "bridge", "cuts", "pairs"])

    def _change(self, action: str, one: int, other: int) -> None:
        first, second = self.address(one), self.address(other)
        pairs = f"{{ {first} . {second}, {second} . {first} }}"
        run(["ip", "netns", "exec", self._hub, "nft", action, "element", "bridge", "cuts", "pairs", pairs])

    def namespaces(self) -> list[str]:
        """Returns the names of the existing namespaces of this run."""
        found = []
        for line in run(["ip", "netns", "list"]).splitlines():
            words = line.split()
            if words and words[0].startswith(self._prefix):
                found.append(words[0])
        return found

    def clean(self) -> None:
        """Kills all processes in the namespaces of this run and removes the namespaces and the link."""
        for namespace in self.namespaces():
            _empty(namespace)
            run(["ip", "netns", "delete", namespace])
        if self._link in run(["ip", "-brief", "link"]):
            # The link also disappears with the namespace of its other end, possibly just now.
            wait_for("the link to be removed", self._is_link_removed)

    def _is_link_removed(self) -> bool:
        try:
            run(["ip", "link", "delete", self._link])
        except RuntimeError:
            return self._link not in run(["ip", "-brief", "link"])
        return True


def _empty(namespace: str) -> None:
    """Kills the processes in a namespace until it has none."""

    def is_empty() -> bool:
        pids = [int(word) for word in run(["ip", "netns", "pids", namespace]).split()]
        kill_ids(pids)
        return not pids

    wait_for(f"the processes in {namespace} to end", is_empty)
