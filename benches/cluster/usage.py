"""Processor time of processes, and statements that PostgreSQL ran."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from database import Database
from deployments import Deployment, Machine

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    """Returns the processor time that a process has used. Raises `OSError` if it does not exist."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # Fields 14 and 15 of proc(5): user and system time. The first of `fields` is number 3.
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def times_of(machine: Machine, deployment: Deployment) -> dict[str, float]:
    """Returns the processor seconds of the nodes, the services and the clients."""
    times = {}
    for number, node in enumerate(deployment.nodes, 1):
        times[f"node {number}"] = processor_seconds(node.process.pid)
    times["PostgreSQL, both servers"] = _sum_of_living(machine.database.process_ids())
    times["bucket"] = processor_seconds(machine.bucket.pid)
    times["clients"] = time.process_time()
    return times


def _sum_of_living(pids: list[int]) -> float:
    total = 0.0
    for pid in pids:
        try:
            total += processor_seconds(pid)
        except OSError:
            # A process of PostgreSQL that ended in the meantime.
            continue
    return total


@dataclass(frozen=True)
class Statements:
    """Statements that PostgreSQL has run in one database since its start, and the commits among them."""

    all: int
    commits: int


def statements_of(services: Database, name: str) -> Statements:
    """Returns the counts of a database, from pg_stat_statements."""
    query = (
        "SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(calls) FILTER (WHERE query ILIKE 'commit%'), 0)::bigint "
        "FROM pg_stat_statements AS each JOIN pg_database ON pg_database.oid = each.dbid "
        f"WHERE pg_database.datname = '{name}'"
    )
    total, commits = services.sql(query, "postgres").split("|")
    return Statements(int(total), int(commits))
