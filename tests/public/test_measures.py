"""The measures and the BM25 baseline, with figures calculated by hand."""

from __future__ import annotations

import math

import pytest
from bm25 import Bm25, tokens
from measures import gain_ndcg, labelled, recall, reciprocal_rank, table


def test_ndcg_has_the_judgement_as_gain() -> None:
    judged = {"a": 2, "b": 1, "c": 0}
    # DCG: 1 / log2(2) + 0 + 2 / log2(4) = 2. Ideal: 2 / log2(2) + 1 / log2(3).
    assert gain_ndcg(["b", "c", "a"], judged, 10) == pytest.approx(2 / (2 + 1 / math.log2(3)))
    assert gain_ndcg(["a", "b"], judged, 10) == 1.0
    assert gain_ndcg(["c", "d"], judged, 10) == 0.0


def test_ndcg_is_cut_at_k_in_both_rankings() -> None:
    assert gain_ndcg(["a", "b", "c"], {"a": 1, "b": 1, "c": 1}, 2) == 1.0
    assert gain_ndcg(["x", "y", "a"], {"a": 1}, 2) == 0.0


def test_recall_and_reciprocal_rank() -> None:
    assert recall(["x", "a", "y", "b"], {"a", "b", "c"}, 3) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x", "a", "b"], {"a", "b"}, 10) == 0.5
    assert reciprocal_rank(["x", "a"], {"a"}, 1) == 0.0


def test_labelled_measures_do_not_discount_the_second_rank() -> None:
    # As in eval_utils.py of LongMemEval: the gain of the second rank is divided by log2(2).
    assert labelled(["x", "a"], {"a"}, 5) == {"recall_any": 1.0, "recall_all": 1.0, "ndcg_any": 1.0}
    third = labelled(["x", "y", "a"], {"a", "b"}, 5)
    # DCG: 1 / log2(3). Ideal: 1 + 1 / log2(2) = 2.
    assert third == {"recall_any": 1.0, "recall_all": 0.0, "ndcg_any": pytest.approx(1 / math.log2(3) / 2)}


def test_labelled_ideal_has_at_most_k_units() -> None:
    assert labelled(["a", "b"], {"a", "b"}, 1)["ndcg_any"] == 1.0
    assert labelled(["a", "b"], {"a", "b"}, 1)["recall_all"] == 0.0


def test_bm25_scores_as_defined() -> None:
    index = Bm25({"one": "red kite", "two": "red red barn door", "three": "blue boat"})
    # "kite" is in one of three documents: ln(1 + 2.5 / 1.5). The length is 2, the mean 8 / 3.
    weight = math.log(1 + 2.5 / 1.5)
    expected = weight * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / (8 / 3)))
    assert dict(index.search("Kite!", 10)) == pytest.approx({"one": expected})
    assert [name for name, _ in index.search("red", 10)] == ["two", "one"]
    assert index.search("green", 10) == []


def test_a_token_is_a_run_of_letters_and_digits() -> None:
    assert tokens("Zürich's 2nd Plan_B") == ["zürich", "s", "2nd", "plan", "b"]


def test_a_table_has_four_digits() -> None:
    assert table(["a", "n"], [["x", 0.5], ["y", 2]]) == "| a | n |\n| --- | --- |\n| x | 0.5000 |\n| y | 2 |"
