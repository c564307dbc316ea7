"""Retrieval measures, and tables of them.

Two families, because the benchmarks define nDCG differently. `gain_*` is trec_eval's definition, which BEIR uses.
`labelled` is that of LongMemEval's `eval_utils.py`, whose second rank has no discount.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence


def gain_ndcg(ranking: Sequence[str], judged: Mapping[str, int], k: int) -> float:
    """nDCG at k of trec_eval: the gain is the judgement, and rank i has the discount log2(i + 1)."""
    gains = [max(judged.get(document, 0), 0) for document in ranking[:k]]
    ideal = sorted((gain for gain in judged.values() if gain > 0), reverse=True)[:k]
    best = _gain_dcg(ideal)
    return _gain_dcg(gains) / best if best else 0.0


def _gain_dcg(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def recall(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The share of the relevant documents that are among the first k."""
    found = sum(1 for document in ranking[:k] if document in relevant)
    return found / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """One divided by the rank of the first relevant document, or 0 if none is among the first k."""
    for rank, document in enumerate(ranking[:k], 1):
        if document in relevant:
            return 1 / rank
    return 0.0


def labelled(ranking: Sequence[str], relevant: Collection[str], k: int) -> dict[str, float]:
    """`recall_any`, `recall_all` and `ndcg_any` at k as LongMemEval computes them. Each unit is in the ranking once."""
    first = set(ranking[:k])
    found = [unit in first for unit in relevant]
    best = _labelled_dcg([1] * min(len(relevant), k))
    dcg = _labelled_dcg([int(unit in relevant) for unit in ranking[:k]])
    return {
        "recall_any": float(any(found)),
        "recall_all": float(all(found)),
        "ndcg_any": dcg / best if best else 0.0,
    }


def _labelled_dcg(labels: Sequence[int]) -> float:
    later = math.fsum(label / math.log2(rank) for rank, label in enumerate(labels[1:], 2))
    return (labels[0] if labels else 0) + later


def mean(values: Sequence[float]) -> float:
    """The mean, or 0 of no values."""
    return math.fsum(values) / len(values) if values else 0.0


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A markdown table. Fractions have four digits."""
    lines = [list(head), ["---"] * len(head)]
    for row in rows:
        lines.append([f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
