"""The inputs of the simulation, each with its unit and where it comes from. `--set name=value` replaces a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Origin(Enum):
    """Where the value of an input comes from."""

    #: Measured in this repository, by the command in the source of the input.
    MEASURED = "measured"
    #: Measured once with programs that are not in this repository. Two shared cores, so ratios count.
    STUDY = "study"
    #: A constant of the program.
    CODE = "code"
    #: A choice of the author. Replace it by a value of your own service.
    ASSUMED = "assumed"


@dataclass(frozen=True)
class Input:
    """An input of the simulation."""

    name: str
    value: float
    unit: str
    origin: Origin
    source: str


_FORWARDED = "`benches/cluster/run.py`, on each of two nodes: 578 a second at the owner, 516 forwarded, two cores"
_LOAD = "`cargo bench --bench load -- --messages 58500`, two cores: 1,507 a second for twenty clients"
_OWNERSHIP = "`storage/src/records/ownership/mod.rs`"

INPUTS = (
    # The traffic, which grows with the number of nodes.
    Input("retrievals_per_node", 500, "1/s", Origin.ASSUMED, "a third of what two cores can do"),
    Input("writes_per_node", 5, "1/s", Origin.ASSUMED, "one write for 100 retrievals"),
    Input("zipf_exponent", 1.0, "", Origin.ASSUMED, "the namespace of rank r has a share in proportion to r^-exponent"),
    Input("response_bytes", 12_000, "B", Origin.ASSUMED, "24 hits with their text"),
    Input("message_bytes", 4_000, "B", Origin.ASSUMED, "the body of a write"),
    # A node.
    Input("node_cores", 2, "", Origin.ASSUMED, "as the machine of the measurements"),
    Input("utilization_max", 0.7, "", Origin.ASSUMED, "share of a node's processor time that is planned for"),
    Input("retrieval_cpu_ms", 1.33, "ms", Origin.MEASURED, _LOAD),
    Input("forward_cpu_ms", 0.21, "ms", Origin.MEASURED, _FORWARDED),
    Input("connections_per_node", 19, "", Origin.CODE, "`CONNECTIONS_MAX`, the connections of sessions and of syncs"),
    Input("session_ttl_s", 3, "s", Origin.CODE, f"`SESSION_TTL` in {_OWNERSHIP}"),
    Input("renewal_interval_s", 1, "s", Origin.CODE, f"{_OWNERSHIP}"),
    # PostgreSQL with a synchronous standby.
    Input("commits_max", 1_613, "1/s", Origin.STUDY, "fenced synchronous batches, 20 clients"),
    Input("synced_batch_ms", 7.5, "ms", Origin.STUDY, "p50 of a fenced synchronous batch; p99 is 14 ms"),
    Input("buffered_weight", 0.35, "", Origin.STUDY, "2.6 ms without waiting for the standby, divided by 7.5 ms"),
    Input("point_read_ms", 0.08, "ms", Origin.STUDY, "p50 at the client, above its processor time; p99 0.21 ms"),
    Input("scan_row_ms", 0.0032, "ms", Origin.STUDY, "a scan of 100 rows took 0.32 ms"),
    Input("database_cores", 8, "", Origin.ASSUMED, "processors for reads; commits have a limit of their own"),
    Input("database_connections", 300, "", Origin.ASSUMED, "`max_connections` in packaging/cluster/compose.yaml"),
    # What the nodes ask of it.
    Input("batches_per_write", 2, "", Origin.CODE, "acceptance; then head, pack and acknowledgement in one batch"),
    Input("reads_per_retrieval", 2, "", Origin.CODE, "wallet and record of the namespace"),
    Input("reads_per_lookup", 3, "", Origin.CODE, "record of the namespace, owner, node"),
    Input("lookup_cache_s", 1, "s", Origin.ASSUMED, "how long a node remembers an owner"),
    Input("meter_batches", 10, "1/s", Origin.CODE, "`SHARED_WRITE_INTERVAL` in src/billing/meters.rs, buffered"),
    Input("seconds_in_queue", 0.02, "s", Origin.STUDY, "18.5 to 19.4 ms until a write with an upload is retrievable"),
    Input("node_row_bytes", 120, "B", Origin.ASSUMED, "key and record of a node"),
    Input("pack_bytes", 12_288, "B", Origin.STUDY, "the pack of the study's commit"),
    # Recovery.
    Input("takeover_ms_per_1000", 13.7, "ms", Origin.STUDY, "one statement for 1,000 namespaces; not built"),
    Input("open_objects", 6, "", Origin.ASSUMED, "packs and files of the index of a namespace"),
    Input("open_bytes", 8_000_000, "B", Origin.ASSUMED, "their size"),
    Input("object_latency_ms", 20, "ms", Origin.ASSUMED, "until the first byte of an object"),
    Input("bucket_bytes_per_s", 100_000_000, "B/s", Origin.ASSUMED, "of one node"),
    Input("parallel_opens", 8, "", Origin.ASSUMED, "namespaces that a node opens at once"),
)


class Inputs:
    """The values of a run."""

    def __init__(self, replaced: dict[str, float] | None = None) -> None:
        self._values = {each.name: each.value for each in INPUTS}
        for name, value in (replaced or {}).items():
            if name not in self._values:
                raise ValueError(f"unknown input {name!r}: expected one of {', '.join(self._values)}")
            if not 0 <= value < float("inf"):
                raise ValueError(f"invalid value {value} of {name}: expected a number that is not negative")
            self._values[name] = value

    def __getitem__(self, name: str) -> float:
        return self._values[name]


def parse_replacement(text: str) -> tuple[str, float]:
    """Parses `name=value`."""
    name, separator, value = text.partition("=")
    if not separator:
        raise ValueError(f"invalid replacement {text!r}: expected name=value")
    return name, float(value)
