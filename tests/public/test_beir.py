"""beir.py on an invented data set of which every figure is known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Cuebase, row

DOCUMENTS = {
    "kites": ("Kites", "The red kite nests in tall oak trees near the river."),
    "bread": ("", "Sourdough bread needs a starter of flour and water."),
    "ferry": ("Ferry", "The ferry to the island leaves at nine from the northern pier."),
    "q-same": ("", "How long does a marathon take?"),
    "empty": ("", " "),
}
QUERIES = {
    "q1": "where does the red kite nest",
    "q2": "when does the ferry to the island leave",
    "q-same": "How long does a marathon take?",
    "q-unjudged": "what does bread need",
}
#: Every judged query finds its first document first. "q2" also wants a document that has none of its words, which has
#: half the gain, and the only answer of "q-same" is itself, which is left out.
JUDGEMENTS = [("q1", "kites", 1), ("q2", "ferry", 2), ("q2", "missing", 1), ("q-same", "q-same", 1)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = [{"_id": name, "title": title, "text": text} for name, (title, text) in DOCUMENTS.items()]
    queries = [{"_id": name, "text": text} for name, text in QUERIES.items()]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in corpus))
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in queries))
    (tmp_path / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, judged)) for judged in JUDGEMENTS)]
    (tmp_path / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_figures_are_those_calculated_by_hand(cuebase: Cuebase, folder: Path) -> None:
    done = cuebase.run("beir.py", str(folder), "--run-file", str(folder / "run.txt"))
    assert done.returncode == 0, done.stderr
    assert "4 documents, 3 queries" in done.stdout
    # nDCG: q1 is 1, q2 is 2 / (2 + 1 / log2(3)) = 0.7602, and q-same is 0. The mean is 0.5867.
    # Recall: 1, 1/2, 0. Reciprocal rank: 1, 1, 0.
    expected = ["0.5867", "0.5000", "0.5000", "0.6667"]
    assert row(done.stdout, "Cuebase") == expected
    assert row(done.stdout, "BM25") == expected
    run = (folder / "run.txt").read_text()
    assert re.search(r"^q1 Q0 kites 1 1\.0+ cuebase$", run, re.MULTILINE)


def test_written_documents_can_be_asked_again(cuebase: Cuebase, folder: Path) -> None:
    first = cuebase.run("beir.py", str(folder), "--namespace", "beir-again")
    (folder / "qrels" / "other.tsv").write_text("q1\tkites\t1\n")
    again = cuebase.run("beir.py", str(folder), "--namespace", "beir-again", "--written", "--split", "other")
    assert first.returncode == 0 and "written in" in first.stdout, first.stderr
    assert again.returncode == 0 and "written in" not in again.stdout, again.stderr
    assert row(again.stdout, "Cuebase") == ["1.0000"] * 4
    assert cuebase.get("/v1/tree?namespace=beir-again&path=facts/d0")["entries"][0]["path"] == "facts/d0/0.md"


def test_documents_that_say_the_same_are_all_found(cuebase: Cuebase, folder: Path) -> None:
    copies = [{"_id": name, "text": "The red kite nests in tall oak trees near the river."} for name in "abc"]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in copies))
    (folder / "qrels" / "test.tsv").write_text("q1\ta\t1\nq1\tb\t1\nq1\tc\t1\n")
    done = cuebase.run("beir.py", str(folder))
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "Cuebase") == ["1.0000"] * 4


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("corpus.jsonl", '{"id": 1}\n', 'corpus.jsonl:1: field "_id" is missing'),
        ("queries.jsonl", "{\n", "queries.jsonl:1: not JSON"),
        ("queries.jsonl", '{"_id": "q1", "text": "x"}\n', 'no query "q2", which qrels/test.tsv judges'),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1 kites 1\n", "test.tsv:2: expected query-id, corpus-id"),
        ("qrels/test.tsv", "q1\tkites\t0\n", "no relevant judgements"),
    ],
)
def test_a_wrong_file_is_explained(cuebase: Cuebase, folder: Path, file: str, text: str, message: str) -> None:
    (folder / file).write_text(text)
    done = cuebase.run("beir.py", str(folder))
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_a_missing_folder_key_or_server_is_one_line(cuebase: Cuebase, folder: Path) -> None:
    missing = cuebase.run("beir.py", str(folder / "nowhere"))
    assert "the folder needs corpus.jsonl" in missing.stderr
    assert "pass --key or set CUEBASE_KEY" in cuebase.run("beir.py", str(folder), CUEBASE_KEY="").stderr
    assert "check the key" in cuebase.run("beir.py", str(folder), CUEBASE_KEY="svc_live_x_y").stderr
    unreachable = cuebase.run("beir.py", str(folder), CUEBASE_URL="http://127.0.0.1:1")
    assert "cannot reach http://127.0.0.1:1" in unreachable.stderr and "Traceback" not in unreachable.stderr
