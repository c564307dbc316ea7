"""Tests of the statistics, the texts, the client and the report. No server of Cuebase is started."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
import unittest
from unittest.mock import MagicMock, patch

import outages
import reads
import stages
import writes
from client import Client, RequestFailed, run_in_parallel
from corpus import Corpus
from deployments import Deployment, Machine, _key
from figures import Latency, Metric, Place, Results, Unit, latency_of, median_latency, percentile, ratio
from report import as_json, markdown, number
from run import parse, sizes_of
from stages import Run, Sizes, metrics
from usage import Statements

_LATENCY = Metric("accept", "accepted", Unit.MILLISECONDS)
_FORWARDED = Metric("accept-forwarded", "forwarded", Unit.MILLISECONDS, (Place.THREE,), "accept")
_RATE = Metric("rate", "per second", Unit.PER_SECOND)


class FiguresTest(unittest.TestCase):
    def test_a_percentile_is_the_value_of_the_nearest_rank(self) -> None:
        values = [float(value) for value in range(100, 0, -1)]
        self.assertEqual(percentile(values, 0.5), 50)
        self.assertEqual(percentile(values, 0.99), 99)
        self.assertEqual(percentile(values, 1), 100)
        self.assertEqual(percentile([3.0, 1.0, 2.0], 0.5), 2)
        self.assertEqual(percentile([7.0], 0.01), 7)

    def test_the_99th_percentile_of_few_values_is_the_largest(self) -> None:
        self.assertEqual(latency_of([1.0, 9.0, 2.0]), Latency(2.0, 9.0, 3))

    def test_a_percentile_needs_values_and_a_share(self) -> None:
        for values, share in (([], 0.5), ([1.0], 0.0), ([1.0], 1.1)):
            with self.assertRaises(ValueError):
                percentile(values, share)

    def test_the_median_over_rounds_is_not_moved_by_one_slow_round(self) -> None:
        rounds = [Latency(2, 5, 10), Latency(90, 400, 10), Latency(3, 4, 10)]
        self.assertEqual(median_latency(rounds), Latency(3, 5, 30))

    def test_a_ratio_of_something_unknown_is_unknown(self) -> None:
        self.assertEqual(ratio(6, 3), 2)
        self.assertIsNone(ratio(None, 3))
        self.assertIsNone(ratio(6, None))
        self.assertIsNone(ratio(6, 0))

    def test_missing_figures_are_named(self) -> None:
        results = Results()
        results.add_latencies("accept", Place.SINGLE, [1.0])
        results.add_number("rate", Place.ONE, 5.0)
        missing = results.missing([_LATENCY, _RATE, _FORWARDED])
        self.assertEqual(missing, [
            "one node: accepted", "three nodes: accepted", "single box: per second", "three nodes: per second",
            "three nodes: forwarded",
        ])

    def test_nothing_is_made_up_for_a_metric_without_values(self) -> None:
        self.assertIsNone(Results().latency("accept", Place.ONE))
        self.assertIsNone(Results().number("rate", Place.ONE))


class ReportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.results = Results()
        for value in (2.0, 4.0, 3.0):
            self.results.add_latencies("accept", Place.SINGLE, [value])
            self.results.add_latencies("accept-forwarded", Place.THREE, [value * 3])
            self.results.add_number("rate", Place.SINGLE, 1000 * value)
        self.results.fail(Place.ONE, "round 1", "the node has ended")
        self.rows = [_LATENCY, _FORWARDED, _RATE]

    def test_the_table_has_medians_ratios_and_gaps(self) -> None:
        text = markdown(self.results, self.rows, {"machine": "two cores"})
        self.assertIn("- machine: two cores\n", text)
        self.assertIn("| accepted | 3 / 3 ms | not measured | not measured |  |  |", text)
        self.assertIn("| forwarded |  |  | 9 / 9 ms |  | 3.00 |", text)
        self.assertIn("| per second | 3,000 /s | not measured | not measured |  |  |", text)
        self.assertIn("- one node, round 1: the node has ended", text)

    def test_json_has_all_rounds_and_null_for_gaps(self) -> None:
        figures = as_json(self.results, self.rows, {})["figures"]
        by_name = {(figure["metric"], figure["place"]): figure for figure in figures}
        self.assertEqual(by_name["rate", "single box"]["rounds"], [2000.0, 4000.0, 3000.0])
        self.assertEqual(by_name["rate", "single box"]["median"], 3000.0)
        self.assertIsNone(by_name["rate", "one node"]["median"])
        self.assertEqual(by_name["accept-forwarded", "three nodes"]["ratio_to_single_box"], 3.0)
        self.assertEqual(len(by_name["accept", "single box"]["rounds"]), 3)

    def test_the_recoveries_have_their_maximum(self) -> None:
        for seconds in (3.0, 9.5, 4.0):
            self.results.add_number("recovery", Place.THREE, seconds)
        text = markdown(self.results, self.rows, {})
        self.assertIn("| three nodes, another node | 3 | 4.00 s | 9.50 s |", text)

    def test_numbers_have_three_digits(self) -> None:
        written = [number(value) for value in (0.01234, 1.234, 12.34, 1234.5)]
        self.assertEqual(written, ["0.0123", "1.23", "12.3", "1,234"])


class StagesTest(unittest.TestCase):
    """The order of the measurements, with measurements that return at once."""

    def setUp(self) -> None:
        self.deployments = {place: MagicMock(spec=Deployment) for place in Place}
        for place, deployment in self.deployments.items():
            deployment.place, deployment.nodes = place, [None] * (3 if place is Place.THREE else 1)
            deployment.owner.return_value, deployment.other.return_value = 0, 1
        machine = MagicMock(spec=Machine)
        machine.deployments, machine.database = self.deployments, None
        self.sizes = Sizes(rounds=2, seconds=0.001, cold=(10, 20), cold_rounds=1, recoveries=3)
        self.run_under_test = Run(machine, self.sizes)
        self.patched: dict[str, MagicMock] = {}
        for module, name, value in (
            (writes, "fill", None), (writes, "accept", [1.0, 2.0]), (writes, "accept_in_parallel", 50.0),
            (writes, "freshness", [3.0]), (writes, "waited", [4.0]), (writes, "direct", [5.0]),
            (writes, "ingestion", 60.0), (reads, "sequence", [6.0]), (reads, "parallel", 70.0),
            (outages, "cold_open", [8.0, 9.0]), (outages, "recovery", 2.5),
            (stages, "times_of", {"node 1": 1.0}), (stages, "statements_of", Statements(7, 2)),
        ):
            patcher = patch.object(module, name, return_value=value)
            self.patched[name] = patcher.start()
            self.addCleanup(patcher.stop)
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))

    def test_a_complete_run_measures_every_row(self) -> None:
        results = self.run_under_test.all()
        self.assertEqual(results.failures, [])
        self.assertEqual(results.missing(metrics(self.sizes)), [])
        self.assertEqual(len(results.latencies["accept", Place.ONE]), 2)
        self.assertEqual(results.numbers["recovery", Place.THREE], [2.5] * 3)
        self.assertEqual(results.numbers["cold-20", Place.SINGLE], [9.0])
        self.assertEqual({place for _, place in results.statements}, {Place.ONE, Place.THREE})

    def test_a_failure_leaves_out_what_it_concerns_and_nothing_else(self) -> None:
        self.patched["freshness"].side_effect = RequestFailed("status 503")
        results = self.run_under_test.all()
        self.assertEqual(len(results.failures), 6)
        self.assertIn("single box, round 1 of 2, writes: RequestFailed: status 503", results.failures)
        missing = results.missing(metrics(self.sizes))
        self.assertIn("single box: `202` to retrievable, polled", missing)
        self.assertNotIn("single box: `GET /v1/retrieve`, 2,000 memories", missing)


class CorpusTest(unittest.TestCase):
    def test_equal_seeds_return_equal_texts(self) -> None:
        one, other = Corpus(7), Corpus(7)
        self.assertEqual([one.sentence(), one.query()], [other.sentence(), other.query()])

    def test_sentences_and_words_are_unique(self) -> None:
        corpus = Corpus(1)
        self.assertEqual(len({corpus.sentence() for _ in range(2000)}), 2000)
        words = {corpus.unique_word() for _ in range(2000)} | {Corpus(2).unique_word()}
        self.assertEqual(len(words), 2001)


class OptionsTest(unittest.TestCase):
    def test_options_change_the_sizes(self) -> None:
        sizes = sizes_of(parse(["--binary", "b", "--recovery", "20", "--large"]))
        self.assertEqual((sizes.rounds, sizes.recoveries, sizes.cold), (Sizes.rounds, 20, (200, 2000, 20_000)))
        self.assertIn("cold-20000", [metric.key for metric in metrics(sizes)])

    def test_a_size_below_one_is_refused(self) -> None:
        with self.assertRaises(SystemExit):
            sizes_of(parse(["--binary", "b", "--rounds", "0"]))

    def test_the_keys_of_metrics_are_unique_and_known(self) -> None:
        rows = metrics(Sizes())
        keys = [row.key for row in rows]
        self.assertEqual(len(set(keys)), len(keys))
        for row in rows:
            self.assertTrue(row.compared_with in ("", *keys), row.compared_with)


class KeyTest(unittest.TestCase):
    def test_the_key_of_an_id_is_its_number(self) -> None:
        # The id of a namespace and its key in the database, as a server stored them.
        key = _key("01M8D7DT6251CV21BG77P8J1VS")
        self.assertEqual(key, "'\\x01a21a76e8c22859b1057039ec890779'::bytea")


class ClientTest(unittest.TestCase):
    def _serve(self, *responses: bytes) -> tuple[str, int]:
        """Starts a server that sends each response after one request, then closes the connection."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                for response in responses:
                    connection.recv(65536)
                    connection.sendall(response)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        address: tuple[str, int] = listener.getsockname()
        return address

    def test_responses_of_one_connection_are_separated(self) -> None:
        first = b"HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\n{\"a\": 1}"
        address = self._serve(first, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        with Client(address, "key") as client:
            self.assertEqual(client.expect(202, "POST", "/", {"a": 1}).json(), {"a": 1})
            self.assertEqual(client.expect(200, "GET", "/").content, b"{}")

    def test_another_status_and_a_closed_connection_are_failures(self) -> None:
        address = self._serve(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n")
        with Client(address, "key") as client:
            with self.assertRaisesRegex(RequestFailed, "status 503, expected 200"):
                client.expect(200, "GET", "/")
            with self.assertRaises(RequestFailed):
                client.send("GET", "/")

    def test_the_error_of_a_thread_is_raised(self) -> None:
        def work(number: int) -> None:
            if number == 2:
                raise RequestFailed("the third")

        with self.assertRaisesRegex(RequestFailed, "the third"):
            run_in_parallel(4, work)


if __name__ == "__main__":
    unittest.main()
