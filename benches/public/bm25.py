"""A plain BM25 baseline: the ranking that the server is compared with, on the same texts.

k1 is 1.2 and b is 0.75. A token is a run of letters and digits in lower case. Words are neither stemmed nor
removed, and a text without spaces, such as Chinese, is one token per run: the baseline is weak there.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping

K1 = 1.2
B = 0.75

_WORD = re.compile(r"[^\W_]+")


def tokens(text: str) -> list[str]:
    """Returns the tokens of a text."""
    return _WORD.findall(text.lower())


class Bm25:
    """An index of documents in memory."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._names = list(documents)
        self._lengths: list[int] = []
        #: Of each token, the documents that have it, with its number of occurrences.
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, text in enumerate(documents.values()):
            counted = Counter(tokens(text))
            self._lengths.append(counted.total())
            for token, count in counted.items():
                self._postings[token].append((number, count))
        self._mean_length = sum(self._lengths) / len(self._lengths) if self._lengths else 0.0

    def search(self, question: str, limit: int) -> list[tuple[str, float]]:
        """Returns the best documents with their scores, best first. Equal scores keep the order of the documents."""
        scores: dict[int, float] = defaultdict(float)
        for token in tokens(question):
            found = self._postings.get(token, [])
            weight = math.log(1 + (len(self._names) - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                length = self._lengths[number] / self._mean_length
                scores[number] += weight * count * (K1 + 1) / (count + K1 * (1 - B + B * length))
        best = heapq.nsmallest(limit, scores.items(), key=lambda each: (-each[1], each[0]))
        return [(self._names[number], score) for number, score in best]
