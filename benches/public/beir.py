#!/usr/bin/env python3
"""Measures retrieval on a data set in the BEIR format, against a running Cuebase server and against BM25.

    python3 beir.py FOLDER

FOLDER holds corpus.jsonl ({"_id", "title", "text"}), queries.jsonl ({"_id", "text"}) and qrels/test.tsv (query-id,
corpus-id, score, with a header line), as the archives of BEIR do. Every document is written as one memory into a new
namespace, every judged query is asked, and the documents are compared with the judgements.

The figures are nDCG@10, recall@10, recall@100 and MRR@10, as BEIR computes them: the mean over all queries with a
relevant document. A document with the id of its query is left out. The row BM25 is measured in the same run on the
same texts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measures
from bm25 import Bm25
from progress import each
from server import Failure, Server, add_server_options, document_path, run, run_name, server_of

#: Documents that a measure looks at, and one more because the query itself may be a document.
DEPTH = 100
MEASURES = ("nDCG@10", "recall@10", "recall@100", "MRR@10")

#: Documents with scores, best first.
Ranking = list[tuple[str, float]]


@dataclass(frozen=True)
class Dataset:
    """A data set: texts by document id, questions by query id, and judgements by query id and document id."""

    documents: dict[str, str]
    questions: dict[str, str]
    judgements: dict[str, dict[str, int]]


# Reading.


def read_dataset(folder: Path, split: str) -> Dataset:
    """Reads a data set. Keeps the queries with a relevant document, and the documents with a text."""
    documents = {}
    for line in _json_lines(folder / "corpus.jsonl", ("_id", "text")):
        text = document_text(str(line.get("title") or ""), str(line["text"]))
        if text:
            documents[str(line["_id"])] = text
    questions = {str(line["_id"]): str(line["text"]) for line in _json_lines(folder / "queries.jsonl", ("_id", "text"))}
    judgements = _judgements(folder / "qrels" / f"{split}.tsv")
    missing = [query for query in judgements if query not in questions]
    if missing:
        raise Failure(f'{folder}/queries.jsonl has no query "{missing[0]}", which qrels/{split}.tsv judges')
    if not documents or not judgements:
        raise Failure(f"{folder} has no documents or no relevant judgements in qrels/{split}.tsv")
    return Dataset(documents, {query: questions[query] for query in judgements}, judgements)


def document_text(title: str, text: str) -> str:
    """The text of a document: a heading if it has a title, and the text."""
    heading = " ".join(title.split())
    parts = [f"# {heading}" if heading else "", text.strip()]
    return "\n\n".join(part for part in parts if part)


def _json_lines(path: Path, fields: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise Failure(f"{path}:{number}: not JSON: {error}") from error
        missing = [field for field in fields if not isinstance(value, dict) or field not in value]
        if missing:
            raise Failure(f'{path}:{number}: field "{missing[0]}" is missing; is this a file in the BEIR format?')
        yield value


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    judgements: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_lines(path), 1):
        fields = line.rstrip("\n").split("\t")
        is_header = number == 1 and not fields[-1].strip().lstrip("-").isdigit()
        if is_header or not line.strip():
            continue
        if len(fields) != 3 or not fields[2].strip().lstrip("-").isdigit():
            raise Failure(f"{path}:{number}: expected query-id, corpus-id and score, separated by tabs")
        judgements.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    return {query: judged for query, judged in judgements.items() if any(score > 0 for score in judged.values())}


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from file
    except OSError as error:
        needed = "the folder needs corpus.jsonl, queries.jsonl and qrels"
        raise Failure(f"cannot read {path}: {error.strerror}; {needed}") from error


# Measuring.


class Corpus:
    """The documents of a data set in a namespace."""

    def __init__(self, server: Server, namespace: str, documents: dict[str, str]) -> None:
        self._server = server
        self._namespace = namespace
        self._documents = documents
        self._document_at = {document_path(number): name for number, name in enumerate(documents)}

    def write(self, writers: int) -> None:
        """Writes all documents, several at a time."""
        self._server.create_namespace(self._namespace)
        items = list(zip(self._document_at, self._documents.values(), strict=True))
        each(self._write, items, writers, "documents written")

    def _write(self, item: tuple[str, str]) -> None:
        path, text = item
        self._server.write_memory(self._namespace, path, {"content": text})

    def ask(self, question: str) -> Ranking:
        """Returns the documents of the hits of a question, best first, with the scores of the hits."""
        hits = self._server.retrieve([self._namespace], question, DEPTH + 1)
        # A namespace that the caller named may hold other memories.
        return [(self._document_at[hit["path"]], hit["score"]) for hit in hits if hit["path"] in self._document_at]


def evaluate(rankings: dict[str, Ranking], judgements: dict[str, dict[str, int]]) -> dict[str, float]:
    """Returns the mean of every measure. A query without a ranking counts as one that found nothing."""
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for query, judged in judgements.items():
        ranking = [document for document, _ in rankings.get(query, []) if document != query]
        relevant = {document for document, score in judged.items() if score > 0}
        values["nDCG@10"].append(measures.gain_ndcg(ranking, judged, 10))
        values["recall@10"].append(measures.recall(ranking, relevant, 10))
        values["recall@100"].append(measures.recall(ranking, relevant, 100))
        values["MRR@10"].append(measures.reciprocal_rank(ranking, relevant, 10))
    return {name: measures.mean(of_queries) for name, of_queries in values.items()}


def write_run(path: Path, rankings: dict[str, Ranking]) -> None:
    """Writes rankings in the format of TREC, which trec_eval and pytrec_eval read."""
    with path.open("w", encoding="utf-8") as file:
        for query, ranking in rankings.items():
            for rank, (document, _) in enumerate(ranking[: DEPTH + 1], 1):
                # trec_eval sorts by score and breaks ties by id, so the score written here is that of the rank.
                file.write(f"{query} Q0 {document} {rank} {1 / rank:.8f} cuebase\n")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the data set")
    parser.add_argument("--split", default="test", help="which judgements: the file qrels/SPLIT.tsv; default: test")
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N queries")
    parser.add_argument("--namespace", metavar="NAME", help="namespace to write to; default: a new one")
    parser.add_argument("--written", action="store_true",
                        help="the documents are in --namespace since an earlier run of this command: only ask")
    parser.add_argument("--workers", type=int, default=4, metavar="N", help="requests at a time; default: 4")
    parser.add_argument("--run-file", type=Path, metavar="FILE", help="also write the rankings in TREC's format")
    add_server_options(parser)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    if chosen.written and not chosen.namespace:
        raise Failure("--written needs --namespace, the namespace of the earlier run")
    dataset = read_dataset(chosen.folder, chosen.split)
    asked = dict(list(dataset.questions.items())[: chosen.limit])
    judgements = {query: dataset.judgements[query] for query in asked}
    server = server_of(chosen)
    namespace = chosen.namespace or f"beir-{run_name()}"
    corpus = Corpus(server, namespace, dataset.documents)
    started = time.monotonic()
    if not chosen.written:
        corpus.write(chosen.workers)
    written = time.monotonic()
    answers = each(corpus.ask, list(asked.values()), chosen.workers, "queries asked")
    finished = time.monotonic()
    rankings = dict(zip(asked, answers, strict=True))
    index = Bm25(dataset.documents)
    baseline = {query: index.search(question, DEPTH + 1) for query, question in asked.items()}
    if chosen.run_file:
        write_run(chosen.run_file, rankings)

    print(f"{chosen.folder.name}, {chosen.split}: {len(dataset.documents)} documents, {len(asked)} queries; "
          f"Cuebase {server.version()}, namespace {namespace}")
    if not chosen.written:
        print(f"written in {written - started:.1f} s, asked in {finished - written:.1f} s, {chosen.workers} at a time")
    rows = []
    for name, ranked in (("Cuebase", rankings), ("BM25", baseline)):
        rows.append([name, *evaluate(ranked, judgements).values()])
    print(measures.table(["ranking", *MEASURES], rows))


if __name__ == "__main__":
    run(main)
