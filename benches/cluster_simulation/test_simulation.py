"""Tests of the simulation: known cases by hand, properties, and the study's figures that it must agree with."""

from __future__ import annotations

import contextlib
import io
import unittest
from random import Random

import run
from database import causes, commits, read_cores
from inputs import INPUTS, Inputs, Origin, parse_replacement
from limits import NODES_MIN, USES, first_size
from ownership import after_rolling_restart, first_claims, loads, rebalanced, zipf_weights
from recovery import Reopening, detection_seconds, open_seconds, percentile, reopen, takeover_seconds, wait_of_traffic
from serving import busiest_cpu_ms, forwarded_share, imbalance, retrievals_max


class OwnershipTest(unittest.TestCase):
    def test_weights_follow_zipf_and_add_up_to_one(self) -> None:
        weights = zipf_weights(4, 1.0)
        self.assertAlmostEqual(sum(weights), 1.0)
        self.assertAlmostEqual(weights[0] / weights[3], 4.0)
        self.assertEqual(zipf_weights(2, 0.0), [0.5, 0.5])

    def test_the_last_restarted_node_owns_nothing(self) -> None:
        for nodes in (2, 3, 10):
            random = Random(nodes)
            owners = after_rolling_restart(first_claims(1000, nodes, random), nodes, random)
            self.assertNotIn(nodes - 1, owners)
            self.assertEqual(set(owners), set(range(nodes - 1)))

    def test_a_rolling_restart_moves_namespaces_to_other_nodes_only(self) -> None:
        self.assertEqual(after_rolling_restart([0, 1], 2, Random(1)), [0, 0])
        owners = first_claims(3000, 3, Random(1))
        moved = after_rolling_restart(owners, 3, Random(1))
        # Node 1 leaves a quarter of all to node 0. Node 2 has three quarters then, and leaves half of them to node 0.
        self.assertTrue(1800 < moved.count(0) < 1950, moved.count(0))

    def test_one_node_keeps_its_namespaces(self) -> None:
        self.assertEqual(after_rolling_restart([0, 0], 1, Random(1)), [0, 0])

    def test_rebalancing_is_even_until_one_namespace_is_larger_than_a_share(self) -> None:
        even = loads(rebalanced([0.25] * 4, 2), [0.25] * 4, 2)
        self.assertEqual(even, [0.5, 0.5])
        weights = zipf_weights(1000, 1.0)
        uneven = loads(rebalanced(weights, 100), weights, 100)
        self.assertEqual(max(uneven), weights[0])

    def test_rebalancing_is_never_worse_than_first_claims(self) -> None:
        weights = zipf_weights(500, 1.0)
        for nodes in (2, 5, 20):
            claimed = loads(first_claims(500, nodes, Random(nodes)), weights, nodes)
            balanced = loads(rebalanced(weights, nodes), weights, nodes)
            self.assertLessEqual(imbalance(balanced), imbalance(claimed))
            self.assertAlmostEqual(sum(balanced), 1.0)


class ServingTest(unittest.TestCase):
    def test_requests_are_forwarded_unless_they_reach_the_owner(self) -> None:
        self.assertEqual([forwarded_share(nodes) for nodes in (1, 2, 10)], [0.0, 0.5, 0.9])

    def test_a_single_node_is_limited_by_its_own_processors(self) -> None:
        inputs = Inputs({"node_cores": 2, "utilization_max": 0.5, "retrieval_cpu_ms": 2})
        self.assertEqual(busiest_cpu_ms(1.0, 1, inputs), 2.0)
        self.assertEqual(retrievals_max(1.0, 1, inputs), 500.0)

    def test_one_namespace_limits_every_number_of_nodes(self) -> None:
        inputs = Inputs()
        alone = retrievals_max(1.0, 1, inputs)
        for nodes in (10, 1000):
            self.assertLess(retrievals_max(1.0, nodes, inputs), alone)


class DatabaseTest(unittest.TestCase):
    def test_causes_by_hand(self) -> None:
        inputs = Inputs({"retrievals_per_node": 9, "writes_per_node": 1, "lookup_cache_s": 0, "seconds_in_queue": 1})
        found = {each.name: each for each in causes(2, [1.0], inputs)}
        self.assertEqual(found["writes"].commits, 4)
        self.assertEqual(found["renewals"].commits, 2)
        self.assertAlmostEqual(found["meters"].commits, 2 * 10 * 0.35)
        self.assertAlmostEqual(found["retrievals"].read_ms, 2 * 9 * 2 * 0.08)
        # Without a cache every request that does not reach the owner is a lookup of three reads.
        self.assertAlmostEqual(found["owner lookups"].read_ms, 20 * 0.5 * 3 * 0.08)
        self.assertAlmostEqual(found["observation"].read_ms, 2 * 0.08 + 4 * 0.0032)
        self.assertAlmostEqual(found["queue scans"].read_ms, 2 * (1 + 2) * 0.08)
        self.assertAlmostEqual(commits(list(found.values())), 13)

    def test_a_cache_bounds_the_lookups_of_a_hot_namespace(self) -> None:
        inputs = Inputs({"retrievals_per_node": 1_000_000, "lookup_cache_s": 1})
        found = {each.name: each for each in causes(2, [1.0], inputs)}
        self.assertAlmostEqual(found["owner lookups"].read_ms, 3 * 0.08, places=5)

    def test_observation_grows_with_the_square_of_the_nodes(self) -> None:
        sizes = [{each.name: each for each in causes(nodes, [1.0], Inputs())}["observation"] for nodes in (100, 200)]
        self.assertEqual(sizes[1].bytes, 4 * sizes[0].bytes)
        self.assertGreater(sizes[1].read_ms, 3 * sizes[0].read_ms)
        self.assertLess(read_cores(sizes[:1]), 0.1)


class RecoveryTest(unittest.TestCase):
    def test_detection_takes_what_the_study_saw(self) -> None:
        random = Random(1)
        times = sorted(detection_seconds(3, Inputs(), random) for _ in range(2000))
        # 2.6 to 3.5 s without answers after kill -9, opening included.
        self.assertTrue(2.4 < percentile(times, 0.5) < 3.0, percentile(times, 0.5))
        self.assertTrue(2.0 <= times[0] and times[-1] <= 4.0, (times[0], times[-1]))

    def test_takeover_in_one_statement_is_the_measured_time(self) -> None:
        self.assertAlmostEqual(takeover_seconds(1000, Inputs()), 0.0137)

    def test_opening_waits_for_a_free_place(self) -> None:
        inputs = Inputs({"parallel_opens": 1})
        found = reopen([1e9] * 3, 2, 3.0, inputs, Random(1))
        once = open_seconds(inputs)
        for (wait, _), expected in zip(found.waits, (once, 2 * once, 3 * once), strict=True):
            self.assertAlmostEqual(wait, expected)
        self.assertEqual(found.bytes, 3 * inputs["open_bytes"])

    def test_what_is_asked_for_first_is_opened_first(self) -> None:
        # All first requests are in the outage, those of the busy namespace first.
        found = reopen([10.0] * 20 + [1e9], 2, 1e6, Inputs({"parallel_opens": 1}), Random(1))
        self.assertEqual(found.waits[0][1], 1e9)

    def test_more_survivors_open_sooner(self) -> None:
        few = reopen([10.0] * 200, 3, 3.0, Inputs(), Random(1))
        many = reopen([10.0] * 200, 30, 3.0, Inputs(), Random(1))
        self.assertLess(many.waits[-1][0], few.waits[-1][0])

    def test_namespaces_that_nobody_asks_for_are_not_opened(self) -> None:
        self.assertEqual(reopen([1e-9] * 100, 3, 3.0, Inputs(), Random(1)).bytes, 0)

    def test_the_wait_counts_traffic_not_namespaces(self) -> None:
        found = Reopening(((1.0, 9.0), (2.0, 1.0)), 0)
        self.assertEqual(wait_of_traffic(found, 0.9), 1.0)
        self.assertEqual(wait_of_traffic(found, 0.95), 2.0)
        self.assertEqual(wait_of_traffic(Reopening((), 0), 0.9), 0.0)

    def test_percentiles_are_values_that_occurred(self) -> None:
        values = [float(number) for number in range(1, 101)]
        self.assertEqual([percentile(values, share) for share in (0.5, 0.99, 1.0)], [50.0, 99.0, 100.0])
        self.assertEqual(percentile([], 0.5), 0.0)


class LimitsTest(unittest.TestCase):
    def test_the_size_is_the_smallest_that_reaches_the_limit(self) -> None:
        inputs, weights = Inputs(), zipf_weights(100, 1.0)
        for name in USES:
            size = first_size(name, weights, inputs)
            assert size is not None, name
            self.assertGreaterEqual(USES[name](size, weights, inputs), 1)
            self.assertTrue(size == NODES_MIN or USES[name](size - 1, weights, inputs) < 1, (name, size))

    def test_the_limit_of_connections_by_hand(self) -> None:
        inputs = Inputs({"connections_per_node": 10, "database_connections": 95})
        self.assertEqual(first_size("connections of PostgreSQL", [1.0], inputs), 10)

    def test_a_limit_that_is_far_away_is_not_reached(self) -> None:
        inputs = Inputs({"commits_max": 1e9})
        self.assertIsNone(first_size("commits of PostgreSQL", [1.0], inputs))

    def test_even_traffic_does_not_overload_a_rebalanced_node(self) -> None:
        inputs = Inputs({"zipf_exponent": 0, "retrievals_per_node": 10})
        self.assertIsNone(first_size("busiest node, rebalanced", [0.001] * 1000, inputs))


class InputsTest(unittest.TestCase):
    def test_every_input_says_where_it_comes_from(self) -> None:
        self.assertEqual(len({each.name for each in INPUTS}), len(INPUTS))
        for each in INPUTS:
            self.assertTrue(each.source, each.name)
            if each.origin is Origin.MEASURED:
                self.assertRegex(each.source, "`cargo bench|`benches/")

    def test_unknown_and_impossible_values_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "unknown input 'nodes'"):
            Inputs({"nodes": 1})
        with self.assertRaisesRegex(ValueError, "not negative"):
            Inputs({"writes_per_node": -1})
        with self.assertRaisesRegex(ValueError, "expected name=value"):
            parse_replacement("writes_per_node")


class ReportTest(unittest.TestCase):
    def printed(self, *arguments: str) -> str:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(run.main(arguments), 0)
        return output.getvalue()

    def test_the_same_seed_prints_the_same_tables(self) -> None:
        arguments = ("--nodes", "3,5", "--namespaces", "50", "--set", "writes_per_node=8")
        first = self.printed(*arguments)
        self.assertEqual(first, self.printed(*arguments))
        self.assertNotEqual(first, self.printed(*arguments, "--seed", "2"))

    def test_every_row_has_a_cell_for_every_column(self) -> None:
        for table in self.printed("--nodes", "3", "--namespaces", "50").split("### ")[1:]:
            rows = [line for line in table.splitlines() if line.startswith("|")]
            self.assertGreaterEqual(len(rows), 3)
            self.assertEqual(len({row.count("|") for row in rows}), 1, table)

    def test_a_cluster_of_one_is_refused(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as error, self.assertRaises(SystemExit):
            run.main(["--nodes", "1"])
        self.assertIn("at least 2 nodes", error.getvalue())


if __name__ == "__main__":
    unittest.main()
