"""longmemeval.py on invented haystacks of which every figure is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cuebase, row
from longmemeval import Question, Session, Turn, evidence_of, result_of, time_of
from server import Failure


def turn(role: str, content: str, *, has_answer: bool = False) -> dict[str, Any]:
    return {"role": role, "content": content, **({"has_answer": True} if has_answer else {})}


def question(name: str, kind: str, text: str, sessions: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    answers = [name for name, turns in sessions.items() if any(turn.get("has_answer") for turn in turns)]
    return {
        "question_id": name,
        "question_type": kind,
        "question": text,
        "answer": "not used",
        "question_date": "2023/06/30 (Fri) 10:00",
        "haystack_session_ids": list(sessions),
        # Out of order, as in longmemeval_oracle.json.
        "haystack_dates": [f"2023/05/{20 - number:02} (Sat) 02:21" for number in range(len(sessions))],
        "haystack_sessions": list(sessions.values()),
        "answer_session_ids": answers,
    }


KITE = turn("user", "I bought a red stunt kite at the harbour market.", has_answer=True)
KITE_REPLY = turn("assistant", "A stunt kite needs steady wind.")
BREAD = turn("user", "My sourdough starter is called Bubbles.")
PARROT = turn("user", "Please recommend a name for a parrot.")
PARROT_REPLY = turn("assistant", "Captain Feathers would be a good name for a parrot.", has_answer=True)

QUESTIONS = [
    question("one", "single-session-user", "What kind of kite did I buy at the harbour market?",
             {"filler": [BREAD, turn("assistant", "What a fine name.")], "answer_1": [KITE, KITE_REPLY]}),
    # The second session with evidence shares no word with the question and is said by nobody who is asked about.
    question("two", "multi-session", "What kind of kite did I buy at the harbour market?",
             {"answer_1": [KITE, KITE_REPLY], "answer_2": [turn("user", " ", has_answer=True)]}),
    question("three", "single-session-assistant", "Which name for a parrot did you recommend?",
             {"answer_1": [PARROT, PARROT_REPLY], "filler": [BREAD]}),
    question("four_abs", "single-session-user", "What is the name of my boat?", {"filler": [BREAD]}),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(QUESTIONS))
    return path


def test_figures_are_those_calculated_by_hand(cuebase: Cuebase, file: Path) -> None:
    done = cuebase.run("longmemeval.py", str(file), "--results", str(file.with_name("results.jsonl")))
    assert done.returncode == 0, done.stderr
    assert "2 of 2 questions that count; left out: 1 abstentions, 1 without evidence in a counted turn" in done.stdout
    tables = dict(zip(["session any", "session all", "session ndcg", "turn any", "turn all", "turn ndcg"],
                      done.stdout.split("\n\n")[1:], strict=True))
    for name, printed in tables.items():
        # Evidence of "one" is the first turn of the best session.
        assert row(printed, "single-session-user") == ["1", *["1.0000"] * 5], name
    # Of the two units of "two", the first is found at once and the second never. Its nDCG is 1 at 1, then 1 / 2.
    assert row(tables["turn any"], "multi-session") == ["1", *["1.0000"] * 5]
    assert row(tables["turn all"], "multi-session") == ["1", *["0.0000"] * 5]
    assert row(tables["session ndcg"], "multi-session") == ["1", "1.0000", *["0.5000"] * 4]
    assert row(tables["session all"], "all") == ["2", *["0.5000"] * 5]


def test_a_turn_that_repeats_another_one_is_found_with_it(cuebase: Cuebase, tmp_path: Path) -> None:
    said_twice = {"answer_1": [KITE, KITE_REPLY, KITE], "filler": [BREAD]}
    asked = question("twice", "multi-session", "What kind of kite did I buy at the harbour market?", said_twice)
    (tmp_path / "questions.json").write_text(json.dumps([asked]))
    done = cuebase.run("longmemeval.py", str(tmp_path / "questions.json"), "--results", str(tmp_path / "results.jsonl"))
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "results.jsonl").read_text().splitlines()[1])
    assert set(record["ranking"][:2]) == {"s1.0", "s1.2"}
    assert record["measures"]["turn recall_all@5"] == 1.0


def test_turns_of_the_assistant_count_if_asked_for(cuebase: Cuebase, file: Path) -> None:
    results = str(file.with_name("results.jsonl"))
    done = cuebase.run("longmemeval.py", str(file), "--results", results, "--evidence", "all")
    assert done.returncode == 0, done.stderr
    assert "3 of 3 questions" in done.stdout
    records = [json.loads(line) for line in Path(results).read_text().splitlines()]
    parrot = next(record for record in records[1:] if record["question_id"] == "three")
    # The filler is earlier, so the session with the evidence is the second one that was sent.
    assert "s1.1" in parrot["ranking"][:2]
    assert parrot["measures"]["turn recall_all@5"] == 1.0


def test_a_run_continues_where_it_was_interrupted(cuebase: Cuebase, file: Path) -> None:
    results = file.with_name("results.jsonl")
    first = cuebase.run("longmemeval.py", str(file), "--results", str(results), "--limit", "1")
    assert first.returncode == 0 and "1 of 2 questions" in first.stdout, first.stderr
    # The rest of a line that a killed run did not finish.
    with results.open("a") as appended:
        appended.write('{"question_id": "tw')
    before = results.read_text().splitlines()
    second = cuebase.run("longmemeval.py", str(file), "--results", str(results))
    assert second.returncode == 0 and "2 of 2 questions" in second.stdout, second.stderr
    assert "1 of 1 questions" in second.stderr
    lines = results.read_text().splitlines()
    assert lines[:2] == before[:2]
    assert [json.loads(line)["question_id"] for line in lines[1:]] == ["one", "two"]


def test_results_of_other_settings_are_not_mixed(cuebase: Cuebase, file: Path) -> None:
    results = str(file.with_name("results.jsonl"))
    assert cuebase.run("longmemeval.py", str(file), "--results", results, "--limit", "1").returncode == 0
    other = cuebase.run("longmemeval.py", str(file), "--results", results, "--send", "user")
    assert other.returncode == 1 and "choose another file with --results" in other.stderr


def test_ids_and_labels_of_the_evidence_are_not_sent(cuebase: Cuebase, file: Path) -> None:
    before = {each["name"] for each in cuebase.get("/v1/namespaces")["namespaces"]}
    done = cuebase.run("longmemeval.py", str(file), "--results", str(file.with_name("r.jsonl")), "--limit", "1")
    assert done.returncode == 0, done.stderr
    (made,) = {each["name"] for each in cuebase.get("/v1/namespaces")["namespaces"]} - before
    sent = cuebase.get(f"/v1/sources?namespace={made}")["sources"]
    assert {each["session_id"] for each in sent} == {"s0", "s1"}
    for each in sent:
        assert "answer" not in json.dumps(cuebase.get(f"/v1/sources/{each['id']}?namespace={made}"))


@pytest.mark.parametrize(
    "text, message",
    [
        ("[", "is not JSON"),
        ("{}", "expected a list of questions"),
        ('[{"question_id": "a"}]', 'field "question_type" is missing'),
        (json.dumps([{**QUESTIONS[0], "haystack_dates": []}]), "differ in length"),
        (json.dumps([{**QUESTIONS[0], "haystack_dates": ["soon", "later"]}]), 'invalid date "soon"'),
        (json.dumps([{**QUESTIONS[0], "haystack_sessions": [[1], []]}]), 'must have the texts "role" and "content"'),
    ],
)
def test_a_wrong_file_is_explained(cuebase: Cuebase, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "wrong.json").write_text(text)
    done = cuebase.run("longmemeval.py", str(tmp_path / "wrong.json"))
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_dates_are_read_as_utc() -> None:
    assert time_of("2023/05/20 (Sat) 02:21") == "2023-05-20T02:21:00Z"
    assert time_of("2023-5-2") == "2023-05-02T00:00:00Z"
    with pytest.raises(Failure, match="expected for example"):
        time_of("20 May 2023")


def test_a_session_ranks_once_and_only_counted_turns_rank() -> None:
    turns = [Turn("user", "a", True), Turn("assistant", "b", True), Turn("user", "c", False)]
    asked = Question("q", "kind", "?", [Session("2023", turns[2:], False), Session("2024", turns, True)])
    evidence = evidence_of(asked, False)
    assert (evidence.sessions, evidence.turns) == ({"s1"}, {"s1.0"})
    found = result_of(asked, evidence, ["s0.0", "s1.1", "s1.0"])["measures"]
    # Turns: s0.0, s1.0. Sessions: s0, s1.
    assert (found["turn recall_any@1"], found["turn ndcg_any@5"], found["session recall_all@5"]) == (0.0, 1.0, 1.0)
