#!/usr/bin/env python3
"""Measures retrieval on LongMemEval, against a running Cuebase server. No language model is used.

    python3 longmemeval.py longmemeval_s_cleaned.json

Each question has a haystack of dated chat sessions. The haystack is sent to a namespace of its own, session by session
in order of time, then the question is asked. The figures say whether the hits come from the sessions, and from the
turns, that hold the evidence.

The definitions are those of LongMemEval's retrieval evaluation (src/retrieval): recall_any@k is 1 if any evidence is
within the first k, recall_all@k if all of it is, and ndcg_any@k is their nDCG. Units are user turns and their sessions.
Abstention questions (id with `_abs`) and questions without evidence in a user turn are left out. With `--evidence all`,
turns of the assistant are units as well.

A result is written to --results as soon as its question is answered. The same command continues an interrupted run.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measures
from progress import Progress
from server import LIMIT_MAX, Failure, Server, add_server_options, run, run_name, server_of

KS = (1, 5, 10, 24, 30)
MEASURES = ("recall_any", "recall_all", "ndcg_any")
LEVELS = ("session", "turn")

_FIELDS = ("question_id", "question_type", "question", "haystack_session_ids", "haystack_dates", "haystack_sessions",
           "answer_session_ids")
_DATE = re.compile(r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?:\s*\([A-Za-z]+\))?(?:[ T]+(\d{1,2}):(\d{2}))?")


@dataclass(frozen=True)
class Turn:
    """A turn of a session."""

    role: str
    content: str
    has_answer: bool


@dataclass(frozen=True)
class Session:
    """A session of a haystack."""

    occurred_at: str
    turns: list[Turn]
    is_answer: bool


@dataclass(frozen=True)
class Question:
    """A question with its haystack."""

    id: str
    kind: str
    text: str
    sessions: list[Session]


@dataclass(frozen=True)
class Evidence:
    """Which units count: the evidence of a question, and the turns that a ranking may have."""

    sessions: set[str]
    turns: set[str]
    units: set[str]


# Reading.


def read_questions(path: Path) -> list[Question]:
    """Reads a file of LongMemEval."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}; benches/public/README.md says where to get it") from error
    except ValueError as error:
        raise Failure(f"{path} is not JSON: {error}") from error
    if not isinstance(entries, list):
        raise Failure(f"{path}: expected a list of questions")
    return [_question(path, number, entry) for number, entry in enumerate(entries)]


def _question(path: Path, number: int, entry: Any) -> Question:
    missing = [field for field in _FIELDS if not isinstance(entry, dict) or field not in entry]
    if missing:
        raise Failure(f'{path}: question {number}: field "{missing[0]}" is missing; is this a file of LongMemEval?')
    parts = (entry["haystack_session_ids"], entry["haystack_dates"], entry["haystack_sessions"])
    if len({len(part) for part in parts}) != 1:
        raise Failure(f"{path}: question {entry['question_id']}: the lists of ids, dates and sessions differ in length")
    sessions = []
    for name, date, turns in zip(*parts, strict=True):
        read = [_turn(path, str(entry["question_id"]), turn) for turn in turns]
        sessions.append(Session(time_of(str(date)), read, name in entry["answer_session_ids"]))
    sessions.sort(key=lambda session: session.occurred_at)
    return Question(str(entry["question_id"]), str(entry["question_type"]), str(entry["question"]), sessions)


def _turn(path: Path, question: str, turn: Any) -> Turn:
    if not isinstance(turn, dict) or not isinstance(turn.get("role"), str) or not isinstance(turn.get("content"), str):
        raise Failure(f'{path}: question {question}: a turn must have the texts "role" and "content"')
    return Turn(turn["role"], turn["content"], bool(turn.get("has_answer")))


def time_of(date: str) -> str:
    """Returns a date of LongMemEval, such as `2023/05/20 (Sat) 02:21`, in RFC 3339. It has no zone; UTC is assumed."""
    found = _DATE.fullmatch(date.strip())
    if not found:
        raise Failure(f'invalid date "{date}": expected for example 2023/05/20 (Sat) 02:21')
    year, month, day, hour, minute = (int(part or 0) for part in found.groups())
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00Z"


def is_abstention(question: Question) -> bool:
    """Whether nothing in the haystack answers the question, by its id."""
    return "_abs" in question.id


def evidence_of(question: Question, counts_assistant: bool) -> Evidence:
    """Returns what counts as evidence. A session counts if one of the counted turns in it has the answer."""
    sessions, turns, units = set(), set(), set()
    for at, session in enumerate(question.sessions):
        for position, turn in enumerate(session.turns):
            if turn.role != "user" and not counts_assistant:
                continue
            units.add(turn_name(at, position))
            if turn.has_answer and session.is_answer:
                sessions.add(session_name(at))
                turns.add(turn_name(at, position))
    return Evidence(sessions, turns, units)


def session_name(at: int) -> str:
    """The name of a session in the namespace. Ids of the data set are not sent: some of them say what is evidence."""
    return f"s{at}"


def turn_name(at: int, position: int) -> str:
    """The name of a turn in the results."""
    return f"s{at}.{position}"


# Asking.


class Haystack:
    """The haystack of one question in a namespace of its own."""

    def __init__(self, server: Server, namespace: str, question: Question, only_user: bool) -> None:
        self._server = server
        self._namespace = namespace
        self._question = question
        self._only_user = only_user
        #: Of each session and message that was sent, the name of the turn.
        self._turn_of: dict[tuple[str, int], str] = {}
        self._said_elsewhere: dict[str, list[str]] = {}

    def send(self) -> None:
        """Sends all sessions in order of time and waits until they are ingested."""
        self._server.create_namespace(self._namespace)
        writes = []
        for at, session in enumerate(self._question.sessions):
            messages = self._messages(at, session)
            if not messages:
                continue
            fields = {"session_id": session_name(at), "occurred_at": session.occurred_at, "messages": messages}
            writes.append(self._server.send_conversation(self._namespace, fields))
        # Writes of a namespace are ingested in order. The last one is waited for first, because then all have ended.
        for write in reversed(writes):
            self._server.wait_until_ingested(write)

    def _messages(self, at: int, session: Session) -> list[dict[str, str]]:
        messages: list[dict[str, str]] = []
        for position, turn in enumerate(session.turns):
            if not turn.content.strip() or (self._only_user and turn.role != "user"):
                continue
            self._turn_of[session_name(at), len(messages)] = turn_name(at, position)
            messages.append({"role": turn.role, "content": turn.content})
        return messages

    def ask(self) -> list[str]:
        """Asks the question and returns the turns that the hits come from, best first, each once."""
        hits = self._server.retrieve([self._namespace], self._question.text, LIMIT_MAX, detail="full")
        ranking: dict[str, None] = {}
        for hit in hits:
            turns = self._turns(hit)
            for path in hit["also"]:
                turns += self._turns_at(path)
            ranking.update(dict.fromkeys(turns))
        return list(ranking)

    def _turns(self, memory: dict[str, Any]) -> list[str]:
        sources = [(source.get("session_id", ""), source["message"]) for source in memory.get("sources", [])]
        return [self._turn_of[source] for source in sources if source in self._turn_of]

    def _turns_at(self, path: str) -> list[str]:
        if path not in self._said_elsewhere:
            self._said_elsewhere[path] = self._turns(self._server.memory(self._namespace, path))
        return self._said_elsewhere[path]


def result_of(question: Question, evidence: Evidence, ranking: Sequence[str]) -> dict[str, Any]:
    """Returns the record of a question: its measures, and the ranking that they are made from."""
    turns = [turn for turn in ranking if turn in evidence.units]
    sessions = list(dict.fromkeys(turn.split(".")[0] for turn in ranking))
    values = {}
    for k in KS:
        for level, units, relevant in (("session", sessions, evidence.sessions), ("turn", turns, evidence.turns)):
            for measure, value in measures.labelled(units, relevant, k).items():
                values[f"{level} {measure}@{k}"] = value
    return {"question_id": question.id, "question_type": question.kind, "measures": values, "ranking": list(ranking)}


# Results.


class Results:
    """A file of results, one JSON object per line. The first line has the settings of the run."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self._path = path
        self.records: dict[str, dict[str, Any]] = {}
        if not path.exists():
            self._append({"settings": settings})
            return
        lines = list(_records(path))
        if not lines or lines[0].get("settings") != settings:
            before = lines[0].get("settings") if lines else None
            differ = f"{path} has results of another run: {before}, not {settings}"
            raise Failure(f"{differ}; choose another file with --results")
        for record in lines[1:]:
            self.records[record["question_id"]] = record

    def add(self, record: dict[str, Any]) -> None:
        """Keeps a result. It is in the file when this returns."""
        self.records[record["question_id"]] = record
        self._append(record)

    def _append(self, record: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _records(path: Path) -> Iterator[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    # A run that was killed may have left a part of a line, which has no end. Its question is asked again.
    complete = text[: text.rfind("\n") + 1]
    if complete != text:
        path.write_text(complete, encoding="utf-8")
    for line in complete.splitlines():
        try:
            yield json.loads(line)
        except ValueError as error:
            raise Failure(f"{path} is not a file of results: {error}") from error


def report(records: Sequence[dict[str, Any]]) -> str:
    """Returns one table per level and measure, with a row per type of question."""
    kinds = sorted({record["question_type"] for record in records})
    tables = []
    for level in LEVELS:
        for measure in MEASURES:
            rows: list[list[object]] = []
            for kind in [*kinds, "all"]:
                chosen = [record for record in records if kind in ("all", record["question_type"])]
                row: list[object] = [kind, len(chosen)]
                for k in KS:
                    row.append(measures.mean([record["measures"][f"{level} {measure}@{k}"] for record in chosen]))
                rows.append(row)
            tables.append(measures.table([f"{level}, {measure}", "questions", *(f"@{k}" for k in KS)], rows))
    return "\n\n".join(tables)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE",
                        help="longmemeval_oracle.json, longmemeval_s_cleaned.json or longmemeval_m_cleaned.json")
    parser.add_argument("--limit", type=int, metavar="N", help="ask the first N questions that count")
    parser.add_argument("--results", type=Path, default=Path("longmemeval-results.jsonl"), metavar="FILE",
                        help="file of results; default: longmemeval-results.jsonl")
    parser.add_argument("--evidence", choices=("user", "all"), default="user",
                        help="whose turns are units: the user's, as LongMemEval defines it, or all; default: user")
    parser.add_argument("--send", choices=("all", "user"), default="all",
                        help="which turns are sent to the server; `user` sends what LongMemEval's own baselines index; "
                        "default: all")
    add_server_options(parser)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    counts_assistant = chosen.evidence == "all"
    if counts_assistant and chosen.send == "user":
        raise Failure("--evidence all needs --send all: turns that are not sent cannot be found")
    questions = read_questions(chosen.file)
    asked = [question for question in questions if not is_abstention(question)]
    evidence = {question.id: evidence_of(question, counts_assistant) for question in asked}
    counted = [question for question in asked if evidence[question.id].turns]
    selected = counted[: chosen.limit]
    server = server_of(chosen)
    settings = {"file": chosen.file.name, "evidence": chosen.evidence, "send": chosen.send, "version": server.version()}
    results = Results(chosen.results, settings)
    left = [question for question in selected if question.id not in results.records]
    name = run_name()
    with Progress(len(left), "questions") as progress:
        for number, question in enumerate(left):
            haystack = Haystack(server, f"longmemeval-{name}-{number}", question, chosen.send == "user")
            haystack.send()
            results.add(result_of(question, evidence[question.id], haystack.ask()))
            progress.step()
    print(f"{chosen.file.name}: {len(selected)} of {len(counted)} questions that count; left out: "
          f"{len(questions) - len(asked)} abstentions, {len(asked) - len(counted)} without evidence in a counted turn; "
          f"Cuebase {settings['version']}, evidence {chosen.evidence}, sent {chosen.send}\n")
    print(report([results.records[question.id] for question in selected]))


if __name__ == "__main__":
    run(main)
