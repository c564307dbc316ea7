#!/usr/bin/env python3
"""Writes what a server finds for the questions of the situations that are learned from, with labels.

    cuebase keys create --name mine --init --data DIR             # prints KEY
    CUEBASE_MODEL_BUILTIN=encoder cuebase serve --data DIR
    mine.py --url http://127.0.0.1:8080 --key KEY --out mined.jsonl

Each memory of a situation is written as a message, and each turn of a dialogue with the reply to it. Then every question is
asked, and each hit becomes a line: the question, what a reader reads of the memory, and whether it answers. A hit answers if it
has most words of a sentence of a right memory. `train.py --mined` learns from the lines.
"""

import argparse
import http.client
import json
import pathlib
import re
import time
import unicodedata
import urllib.parse

import situations

# Hits of a question.
HITS = 12
# Wrong hits of a question that are learned from: the best ones.
WRONG_PER_QUESTION = 3
# The share of the words of a sentence that a hit has.
SHARE_OF_WORDS = 0.8
SPEAKER = re.compile(r"^([A-Z][\w .'’-]{0,24}): ")


class Server:
    """A connection to a server."""

    def __init__(self, url, key):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=120)
        self.headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}

    def call(self, method, path, body=None, **query):
        """Returns the reply to a request, after some waits if the server is busy."""
        if query:
            path += "?" + urllib.parse.urlencode(query)
        while True:
            self.connection.request(method, path, None if body is None else json.dumps(body), self.headers)
            reply = self.connection.getresponse()
            data = reply.read()
            if reply.status not in (429, 503):
                return json.loads(data) if data else {}
            time.sleep(0.3)

    def write(self, namespace, at, messages):
        """Writes messages of a day. Returns the id of the write."""
        body = {
            "namespace": namespace,
            "session_id": f"s-{at}",
            "occurred_at": f"{at[:10]}T12:00:00Z",
            "messages": messages,
        }
        return self.call("POST", "/v1/memories", body)["id"]

    def wait(self, write):
        """Waits until a write can be retrieved with its vectors."""
        while True:
            state = self.call("GET", f"/v1/writes/{write}", wait="5s")
            if state["status"] == "dead" or (state["status"] == "ingested" and state.get("vectors") != "pending"):
                return


def message(speaker, text):
    """Returns the message of a speaker."""
    if speaker.lower() in ("user", "assistant"):
        return {"role": speaker.lower(), "content": text}
    return {"role": "user", "name": speaker, "content": text}


def exchanges(unit):
    """Returns the messages of a situation or a dialogue in groups, each with its day."""
    if "said" not in unit:
        for memory in unit["memories"]:
            found = SPEAKER.match(memory["text"])
            speaker, text = (found[1], memory["text"][found.end() :]) if found else ("User", memory["text"])
            yield memory["at"], [message(speaker, text)]
        return
    group = []
    for turn in unit["said"]:
        if group and turn["role"] != "assistant":
            yield group[0]["at"], [message(one["role"], one["text"]) for one in group]
            group = []
        group.append(turn)
    yield group[0]["at"], [message(one["role"], one["text"]) for one in group]


def words(text):
    """Returns the words of a text that tell it from others."""
    text = "".join(char for char in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(char))
    return {word for word in re.findall(r"\w+", text) if len(word) > 3 or not word.isascii() or word.isdigit()}


def holds(content, text):
    """Whether a memory has a sentence of a text."""
    own = words(content)
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", SPEAKER.sub("", text)):
        of_sentence = words(sentence)
        if len(of_sentence) > 1 and len(of_sentence & own) >= SHARE_OF_WORDS * len(of_sentence):
            return True
    return False


def read_text(content):
    """Returns what a reader reads of a memory: first what it quotes, then its text, without the marks of headings."""
    quoted, own = [], []
    for line in content.splitlines():
        line = line.strip()
        if line.startswith(">"):
            quoted.append(line.lstrip("> "))
        elif line.lstrip("# "):
            own.append(line.lstrip("# "))
    return "\n".join(quoted + own)


def mined(server, unit, texts):
    """Yields the lines of a situation. `texts` are its memories by their ids."""
    namespace = "mine-" + re.sub(r"[^a-z0-9-]", "-", unit["id"].lower())
    server.call("POST", "/v1/namespaces", {"name": namespace})
    for at, messages in exchanges(unit):
        last = server.write(namespace, at, messages)
    server.wait(last)
    for question in unit["questions"]:
        reply = server.call("GET", "/v1/retrieve", namespace=namespace, q=question["q"], limit=HITS, read="off")
        wrong = 0
        for hit in reply.get("hits", []):
            is_right = any(holds(hit["content"], texts[answer]) for answer in question["answers"])
            wrong += not is_right
            if is_right or wrong <= WRONG_PER_QUESTION:
                yield {"q": question["q"], "memory": read_text(hit["content"]), "answers": is_right}


def main():
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_folder = pathlib.Path(__file__).parent.parent / "data"
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, default=data_folder)
    a = parser.parse_args()
    server = Server(a.url, a.key)
    training, _ = situations.read(a.data.glob("*/*.jsonl"))
    lines = 0
    with a.out.open("w", encoding="utf-8") as file:
        for unit in training:
            for line in mined(server, unit, situations.texts(unit)):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                lines += 1
    print(f"{lines} lines of {len(training)} situations")


if __name__ == "__main__":
    main()
