"""Situations: hand-written memories with questions, changes and turns (`../data/README.md` has the form).

Run as a program, it checks the form of files: `python3 situations.py FILE.jsonl ...`
"""

import json
import pathlib
import sys

QUESTIONS = ("plain", "reworded", "near-miss", "rule")
RELATIONS = ("compatible", "replaces", "corrects", "ends", "restates")
KINDS_OF_TURN = ("drop", "fact", "incident", "rule", "skill", "task")
# Of each file, every fifth situation is held out of all training.
HELD_OUT_EVERY = 5


def read(paths):
    """Returns the situations of files for training, and those that are held out."""
    training, held_out = [], []
    for path in sorted(map(pathlib.Path, paths)):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(line for line in lines if line.strip()):
            is_held_out = number % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
            (held_out if is_held_out else training).append(json.loads(line))
    return training, held_out


def texts(situation):
    """Returns the texts of the memories by their ids, in order of time."""
    return {memory["id"]: memory["text"] for memory in situation["memories"]}


def pairs(situation):
    """Returns the pairs of memories in order of time, each with its relation."""
    relations = {(earlier, later): relation for earlier, later, relation in situation["changes"]}
    ids = list(texts(situation))
    found = []
    for index, earlier in enumerate(ids):
        for later in ids[index + 1 :]:
            found.append((earlier, later, relations.get((earlier, later), "compatible")))
    return found


def faults(situation):
    """Returns what is wrong with the form of a situation."""
    found = []
    ids = list(texts(situation))
    if len(set(ids)) != len(situation["memories"]) or not 5 <= len(ids) <= 9:
        found.append("5 to 9 memories with an id each")
    if len(situation["questions"]) < 8:
        found.append("at least 8 questions")
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
