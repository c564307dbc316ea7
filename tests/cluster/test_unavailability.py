"""The measure of unavailability, on answers at known times."""

from __future__ import annotations

import pytest
from history import FaultRecord, Kind, Operation, Outcome, Recorded
from unavailability import CALM, by_fault, by_kind, distribution, longest_gap


def answers(
    namespace: str, times: list[float], kind: Kind = Kind.READ, outcome: Outcome = Outcome.OK
) -> list[Operation]:
    return [Operation("c", kind, "first", namespace, "p", "", time - 0.1, time, outcome) for time in times]


def test_a_gap_that_touches_the_time_of_the_fault_counts_in_full() -> None:
    times = [1.0, 2.0, 6.0, 6.5, 12.0]
    assert longest_gap(times, 3.0, 6.2) == 4.0
    assert longest_gap(times, 6.0, 6.4) == 0.5
    assert longest_gap(times, 6.2, 7.0) == 5.5


def test_each_namespace_has_its_own_time() -> None:
    operations = answers("alpha", [1.0, 2.0, 3.0, 4.0, 5.0]) + answers("beta", [1.0, 5.0])
    operations += answers("beta", [2.0, 3.0], outcome=Outcome.UNKNOWN)
    fault = FaultRecord("kill", "n1", 1.5, 3.0, 4.5)
    assert by_fault(Recorded(operations), [fault]) == [{"first/alpha": 1.0, "first/beta": 4.0}]


def test_kinds_writes_and_calm_times_are_separate() -> None:
    operations = answers("alpha", [1.0, 2.0, 8.0, 9.0, 10.0, 10.5, 20.0])
    operations += answers("alpha", [0.5, 8.5], Kind.WRITE)
    faults = [FaultRecord("kill", "n1", 3.0, 7.0, 8.7), FaultRecord("stop", "n1", 11.0, 19.0, 20.0)]
    found = by_kind(Recorded(operations, faults))
    assert found["kill"]["answers"].longest == 6.0 and found["kill"]["writes"].longest == 8.0
    assert found["stop"]["answers"].longest == 9.5
    # Only answers between the two faults: 9, 10 and 10.5.
    assert found[CALM]["answers"].longest == 1.0


def test_percentiles_are_values_that_occurred() -> None:
    found = distribution([float(number) for number in range(1, 201)])
    assert (found.count, found.median, found.p99, found.longest) == (200, 100.0, 198.0, 200.0)
    assert distribution([4.0]).p99 == 4.0
    with pytest.raises(IndexError):
        distribution([])
