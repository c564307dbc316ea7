"""Situations and dialogues: hand-written texts with questions and changes (`../data/README.md` has the form).

A dialogue is read as a situation: every turn that is worth keeping, or that a question or a change names, is a memory.

Run as a program, it checks the form of files: `python3 situations.py FILE.jsonl ...`
"""

import json
import pathlib
import random
import sys

QUESTIONS = ("plain", "reworded", "near-miss", "rule")
RELATIONS = ("compatible", "replaces", "corrects", "ends", "restates")
KINDS_OF_TURN = ("drop", "fact", "incident", "rule", "skill", "task")
# Turns of a dialogue.
TURNS = 20
# Compatible pairs of one situation that are learned from: a dialogue has 190 pairs, of which few are changes.
COMPATIBLE_MAX = 40
# Of each file, every fifth situation is held out of all training.
HELD_OUT_EVERY = 5


def read(paths):
    """Returns the situations of files for training, and those that are held out."""
    training, held_out = [], []
    for path in sorted(map(pathlib.Path, paths)):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(line for line in lines if line.strip()):
            is_held_out = number % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
            situation = json.loads(line)
            if "memories" not in situation:
                situation = of_dialogue(situation)
            (held_out if is_held_out else training).append(situation)
    return training, held_out


def of_dialogue(dialogue):
    """Returns the situation of a dialogue."""
    turns = dialogue["turns"]
    named = {number for earlier, later, _ in dialogue["changes"] for number in (earlier, later)}
    for question in dialogue["questions"]:
        named.update(question["answers"], question.get("stale", []))
    memories, kinds = [], []
    for number, turn in enumerate(turns, 1):
        if turn["keep"] != "drop" or number in named:
            text = f"{turn['role'].capitalize()}: {turn['text']}"
            memories.append({"id": f"m{number}", "at": turn["at"], "text": text})
        role = "assistant" if turn["role"] == "assistant" else "user"
        kinds.append({"role": role, "text": turn["text"], "keep": turn["keep"]})
    questions = []
    for question in dialogue["questions"]:
        numbers = {key: [f"m{number}" for number in question.get(key, [])] for key in ("answers", "stale")}
        questions.append({**question, **numbers})
    changes = [[f"m{earlier}", f"m{later}", relation] for earlier, later, relation in dialogue["changes"]]
    return {
        **dialogue,
        "memories": memories,
        "questions": questions,
        "changes": changes,
        "turns": kinds,
        # As they were said, with the names of their speakers.
        "said": turns,
    }


def texts(situation):
    """Returns the texts of the memories by their ids, in order of time."""
    return {memory["id"]: memory["text"] for memory in situation["memories"]}


def pairs(situation):
    """Returns pairs of memories in order of time, each with its relation: all changes, and a part of the others if they are
    many. The choice is the same in every run."""
    relations = {(earlier, later): relation for earlier, later, relation in situation["changes"]}
    ids = list(texts(situation))
    found = []
    for index, earlier in enumerate(ids):
        for later in ids[index + 1 :]:
            found.append((earlier, later, relations.get((earlier, later), "compatible")))
    compatible = [pair for pair in found if pair[2] == "compatible"]
    if len(compatible) > COMPATIBLE_MAX:
        chosen = random.Random(situation["id"]).sample(compatible, COMPATIBLE_MAX)
        found = [pair for pair in found if pair[2] != "compatible" or pair in chosen]
    return found


def faults(situation):
    """Returns what is wrong with the form of a situation."""
    found = []
    ids = list(texts(situation))
    is_dialogue = len(situation["turns"]) == TURNS
    memories, questions = ((3, TURNS), 6) if is_dialogue else ((5, 9), 8)
    if len(set(ids)) != len(situation["memories"]) or not memories[0] <= len(ids) <= memories[1]:
        found.append(f"{memories[0]} to {memories[1]} memories with an id each")
    if len(situation["questions"]) < questions:
        found.append(f"at least {questions} questions")
    for question in situation["questions"]:
        if question["kind"] not in QUESTIONS or not set(question["answers"]) <= set(ids):
            found.append(f"kind and answers of {question['q']!r}")
        elif (question["kind"] == "near-miss") != (not question["answers"]):
            found.append(f"only a near-miss has no answer: {question['q']!r}")
    for earlier, later, relation in situation["changes"]:
        if earlier not in ids or later not in ids or ids.index(earlier) >= ids.index(later):
            found.append(f"memories of the change {earlier}, {later}")
        if relation not in RELATIONS[1:]:
            found.append(f"relation {relation!r}")
    for turn in situation["turns"]:
        if turn["keep"] not in KINDS_OF_TURN or turn["role"] not in ("user", "assistant"):
            found.append(f"role and kind of the turn {turn['text']!r}")
    return found


def main():
    """Checks files."""
    failed = False
    for path in sys.argv[1:]:
        training, held_out = read([path])
        for situation in training + held_out:
            for fault in faults(situation):
                failed = True
                print(f"{path}: {situation['id']}: {fault}")
        print(f"{path}: {len(training) + len(held_out)} situations, {len(held_out)} of them held out")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
