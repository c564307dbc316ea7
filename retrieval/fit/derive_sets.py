#!/usr/bin/env python3
"""Derives labelled sets from others: long documents, mixed namespaces and single words for `fit_kinds.py`, misspelt
questions, and documents without distractors.

    derive_sets.py long DOCUMENTS.jsonl ... > long.jsonl                 # documents joined with others
    derive_sets.py mixed CONVERSATIONS.jsonl DOCUMENTS.jsonl ... > mixed.jsonl    # pairs of namespaces as one
    derive_sets.py keywords ANY.jsonl ... > keywords.jsonl               # words that one text has, as queries
    derive_sets.py typos ANY.jsonl ... > typos.jsonl                     # a wrong letter in the rarest word of a question
    derive_sets.py answers DOCUMENTS.jsonl ... > answers.jsonl           # only the documents that answer a question

The files are those of `cuebase eval`: one namespace per line. The choices are the same in every run.
"""
import argparse
import collections
import json
import random
import re

# Documents that are joined to one; most stay alone.
JOINED = [1, 1, 1, 1, 4, 12, 40]
QUESTIONS_MAX = 120
# Letters of a word that is asked for by itself, and queries of one and of two words in a namespace.
LETTERS_MIN = 6
ONE_WORD, TWO_WORDS = 14, 6


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def long_documents(spaces, rng):
    for space in spaces:
        documents, joined, home = space["documents"][:], [], {}
        rng.shuffle(documents)
        while documents:
            count = rng.choice(JOINED)
            group, documents = documents[:count], documents[count:]
            joined.append({"id": group[0]["id"], "text": "\n\n".join(one["text"] for one in group)})
            home.update({one["id"]: group[0]["id"] for one in group})
        questions = space["questions"][:]
        rng.shuffle(questions)
        for question in questions:
            question["evidence"] = sorted({home[one] for one in question["evidence"]})
        yield {"id": "long-" + space["id"], "documents": joined, "questions": questions[:QUESTIONS_MAX]}


def mixed_namespaces(conversations, documents):
    for pair in zip(conversations, documents):
        mixed = {"id": "+".join(space["id"] for space in pair), "sessions": [], "documents": [], "questions": []}
        for prefix, space in zip("ab", pair):
            for session in space.get("sessions", []):
                for message in session["messages"]:
                    message["id"] = prefix + message["id"]
                mixed["sessions"].append(session)
            for document in space.get("documents", []):
                mixed["documents"].append({**document, "id": prefix + document["id"]})
            for question in space["questions"]:
                mixed["questions"].append({**question, "evidence": [prefix + one for one in question["evidence"]]})
        yield mixed


def keywords(spaces, rng):
    for space in spaces:
        texts = {document["id"]: document["text"] for document in space.get("documents", [])}
        for session in space.get("sessions", []):
            texts.update({message["id"]: message["text"] for message in session["messages"]})
        holders = collections.defaultdict(list)
        for key, text in texts.items():
            for word in sorted(set(re.findall(rf"[^\W\d_]{{{LETTERS_MIN},}}", text.lower()))):
                holders[word].append(key)
        own = collections.defaultdict(list)
        for word in rng.sample(sorted(holders), len(holders)):
            if len(holders[word]) == 1:
                own[holders[word][0]].append(word)
        chosen = rng.sample(sorted(own), min(len(own), ONE_WORD + TWO_WORDS))
        questions = []
        for index, key in enumerate(chosen):
            words = own[key][: 1 if index < ONE_WORD else 2]
            questions.append({"q": " ".join(words), "evidence": [key]})
        yield {**space, "id": "keywords-" + space["id"], "questions": questions}


def misspelt(word, rng):
    """Returns a word with one letter replaced, missing, added, or swapped with the next, but not the first letter."""
    at = rng.randrange(1, len(word) - 1)
    letter = rng.choice("abcdefghijklmnopqrstuvwxyz")
    return rng.choice([
        word[:at] + letter + word[at + 1:],
        word[:at] + word[at + 1:],
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2:],
    ])


def typos(spaces, rng):
    for space in spaces:
        texts = [document["text"] for document in space.get("documents", [])]
        for session in space.get("sessions", []):
            texts.extend(message["text"] for message in session["messages"])
        count = collections.Counter(word for text in texts for word in set(re.findall(r"[a-z]+", text.lower())))
        questions = []
        for question in space["questions"]:
            words = [w for w in re.findall(r"[A-Za-z]+", question["q"]) if len(w) >= LETTERS_MIN and count[w.lower()]]
            if words:
                rarest = min(words, key=lambda word: (count[word.lower()], word))
                questions.append({**question, "q": question["q"].replace(rarest, misspelt(rarest, rng), 1)})
        yield {**space, "id": "typos-" + space["id"], "questions": questions}


def answers_only(spaces):
    for space in spaces:
        answers = {one for question in space["questions"] for one in question["evidence"]}
        documents = [document for document in space["documents"] if document["id"] in answers]
        yield {**space, "id": "answers-" + space["id"], "documents": documents}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=["long", "mixed", "keywords", "typos", "answers"])
    parser.add_argument("files", nargs="+")
    a = parser.parse_args()
    rng, files = random.Random(1), [read(path) for path in a.files]
    spaces = [space for file in files for space in file]
    if a.set == "long":
        derived = long_documents(spaces, rng)
    elif a.set == "keywords":
        derived = keywords(spaces, rng)
    elif a.set == "answers":
        derived = answers_only(spaces)
    elif a.set == "typos":
        derived = typos(spaces, rng)
    else:
        derived = [one for pair in zip(files[::2], files[1::2]) for one in mixed_namespaces(*pair)]
    for space in derived:
        print(json.dumps(space, ensure_ascii=False))


if __name__ == "__main__":
    main()
