"""A generated namespace: memories as a folder of markdown, and conversations. The same seed generates the same texts.

The memories vary as those of real namespaces do. Directories have from one to 2,000 files, and texts from one line to
several pages. The times are spread over two years. One subject has most of the claims, and a few hundred have some.
"""

from __future__ import annotations

import datetime
import json
import random
from pathlib import Path
from typing import Any

SEED = 20_000
PEOPLE = (
    "amara bastian chiara dmitri elif farid greta hiro ines jonas katja liam mei nadia olek priya rosa samir tove umar"
)
PLACES = "Bergen Cork Ghent Hanoi Krakow Leeds Lima Lisbon Lyon Malmo Oslo Perth Porto Quito Tallinn Turin Zagreb"
SUBJECTS = [
    ("harbour", "mast tide anchor hull compass buoy rope keel galley lighthouse ferry regatta"),
    ("kitchen", "dough oven flour crust yeast loaf butter pastry cinnamon whisk recipe bakery"),
    ("garden", "tomato seedling greenhouse compost orchard shovel tulip hedge bean slug lawn weed"),
    ("servers", "deployment database outage latency backup release cluster log migration cache index bug"),
    ("travel", "passport visa hostel luggage itinerary train museum border ticket island hike embassy"),
    ("music", "violin bow rehearsal sonata quartet encore score conductor duet cello chord drummer"),
    ("health", "allergy clinic fever bandage appointment vaccine pharmacy wrist cough nurse surgeon sleep"),
    ("money", "mortgage budget invoice tax pension loan receipt salary deposit rent refund audit"),
]
ACTS = "checked repaired moved compared ordered painted measured returned borrowed labelled counted replaced"
ATTRIBUTES = "lives in|works as|likes|owns|plans|allergic to|born in|drives|studies|visits"
FEELINGS = "calm careful curious grateful hopeful proud relieved tired"
TAGS = 60
#: Things with claims, in addition to the people.
THINGS = 300
#: The subject with most of the claims.
CENTRAL_SUBJECT = "amara"
#: A directory with many files, the size of most imports.
LARGE_DIRECTORY = "facts/archive"
LARGE_DIRECTORY_FILES = 2000
DOCUMENTS = 80
PASSAGES = 20
END = datetime.datetime(2026, 6, 30, tzinfo=datetime.timezone.utc)
DAYS = 730


class Corpus:
    """A generator with random numbers of its own."""

    def __init__(self) -> None:
        self.random = random.Random(SEED)
        self.people = PEOPLE.split()
        self.places = PLACES.split()
        self.acts = ACTS.split()
        self.subjects = [(name, words.split()) for name, words in SUBJECTS]
        self.attributes = ATTRIBUTES.split("|")
        self.written: list[str] = []

    def write_folder(self, folder: Path, memories: int) -> None:
        """Writes files as `cuebase export` writes them."""
        for number in range(memories):
            path, topic = self.place(number)
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.memory(path, topic, number), encoding="utf-8")
            self.written.append(path)

    def place(self, number: int) -> tuple[str, int]:
        """Returns the path of a memory and the number of its topic."""
        topic = self.random.randrange(len(self.subjects))
        name = f"{self.subjects[topic][1][number % 12]}-{number}.md"
        if number < LARGE_DIRECTORY_FILES:
            return f"{LARGE_DIRECTORY}/{name}", topic
        if number < LARGE_DIRECTORY_FILES + DOCUMENTS * PASSAGES:
            return f"facts/documents/manual-{number % DOCUMENTS}/{name}", topic
        tier = self.random.choices(["facts", "incidents", "rules", "skills"], [70, 20, 7, 3])[0]
        if tier == "skills":
            return f"skills/{self.subjects[topic][0]}/{name}", topic
        # Few people have many memories, and most have few.
        person = self.people[min(int(self.random.expovariate(0.25)), len(self.people) - 1)]
        month = self.random.randrange(24)
        return f"{tier}/{person}/{2024 + (month + 6) // 12}-{(month + 6) % 12 + 1:02d}/{name}", topic

    def memory(self, path: str, topic: int, number: int) -> str:
        """Returns a file: front matter, whose values are JSON, and a text."""
        happened = self.time()
        updated = min(END, happened + datetime.timedelta(days=self.random.randrange(20), seconds=number))
        fields: dict[str, Any] = {
            "tags": self.tags(topic),
            "created_at": happened.isoformat().replace("+00:00", "Z"),
            "updated_at": updated.isoformat().replace("+00:00", "Z"),
            "occurred_at": happened.isoformat().replace("+00:00", "Z"),
            "occurred_precision": "instant",
            "occurred_source": "user",
        }
        if number % 3 == 0:
            fields["claims"] = [self.claim(topic, number)]
        if number % 4 == 0 and self.written:
            fields["relations"] = self.relations()
        if number % 15 == 0:
            ended = happened + datetime.timedelta(days=30)
            fields["valid_until"] = ended.isoformat().replace("+00:00", "Z")
        lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items() if value]
        front = "\n".join(lines)
        return f"---\n{front}\n---\n\n# {self.sentence(topic, number)}\n\n{self.body(topic, number)}\n"

    def time(self) -> datetime.datetime:
        """Returns a time of the two years, in the waking hours of a day."""
        start = END - datetime.timedelta(days=self.random.randrange(DAYS))
        return start.replace(hour=self.random.randrange(7, 23), minute=self.random.randrange(60))

    def tags(self, topic: int) -> list[str]:
        tags = [self.subjects[topic][0]]
        for _ in range(self.random.randrange(4)):
            tags.append(f"tag-{min(int(self.random.expovariate(0.08)), TAGS - 1)}")
        return sorted(set(tags))

    def claim(self, topic: int, number: int) -> dict[str, str]:
        chosen = self.random.random()
        if chosen < 0.25:
            subject = CENTRAL_SUBJECT
        elif chosen < 0.6:
            subject = self.random.choice(self.people)
        else:
            subject = f"{self.random.choice(self.subjects[topic][1])} {number % THINGS}"
        value = self.random.choice([*self.places, *(name.capitalize() for name in self.people)])
        return {"subject": subject, "attribute": self.random.choice(self.attributes), "value": value}

    def relations(self) -> list[dict[str, str]]:
        targets = self.random.sample(self.written[-500:], k=min(len(self.written), self.random.randrange(1, 4)))
        if self.random.random() < 0.2:
            # The first memory is one that many refer to.
            targets.append(self.written[0])
        return [{"path": path, "kind": "follows"} for path in dict.fromkeys(targets)]

    def sentence(self, topic: int, number: int) -> str:
        name, words = self.subjects[topic]
        person, place = self.random.choice(self.people).capitalize(), self.random.choice(self.places)
        act, thing, other = self.random.choice(self.acts), self.random.choice(words), self.random.choice(words)
        return f"{person} {act} the {thing} and the {other} of {name} {number} in {place}."

    def body(self, topic: int, number: int) -> str:
        """Returns from one sentence to several pages. One text in fifty is long."""
        sentences = 120 if number % 50 == 0 else 1 + self.random.randrange(8)
        lines: list[str] = []
        for index in range(sentences):
            feeling = self.random.choice(FEELINGS.split())
            lines.append(f"{self.sentence(topic, number + index)} They felt **{feeling}** about it.")
            if index % 6 == 5:
                lines.append("")
        return "\n".join(lines)

    def conversation(self, number: int, messages: int) -> dict[str, Any]:
        """Returns a body of `POST /v1/memories`."""
        at = self.time()
        topic = number % len(self.subjects)
        turns: list[dict[str, Any]] = []
        for index in range(messages):
            name = self.people[(number + index % 2) % len(self.people)].capitalize()
            at += datetime.timedelta(minutes=1)
            content = f"I {self.random.choice(self.acts)} it myself. {self.sentence(topic, number * messages + index)}"
            turns.append({"role": "user", "name": name, "content": content, "occurred_at": at.isoformat()})
        return {"session_id": f"session-{number // 3}", "messages": turns}
