"""Measures a reader on situations that it was not trained on, by language and in all.

- `first`: of the questions of a kind, the share whose best memory is a right one; in brackets the same of the cosine
- `near-miss`: the probability that a question with an answer has a higher best score than one without
- `change`: the probability that a pair of which the later memory replaces, corrects or ends the earlier has a higher
  score than another pair, and the share of such pairs found where one in a hundred of the others is
- `kept`: the share of turns whose kind is right, and whether a turn is dropped
"""

import collections

import situations
import torch
import torch.nn.functional as F

BATCH = 48
# Tokens of a text that is embedded by itself.
SINGLE_TOKENS = 126
ENDING = ("replaces", "corrects", "ends")


def vectors(reader, inputs):
    """Returns the vectors of inputs, in their order."""
    found = [None] * len(inputs)
    order = sorted(range(len(inputs)), key=lambda index: len(inputs[index][0]))
    with torch.no_grad():
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            for index, vector in zip(batch, reader.encoder([inputs[index] for index in batch])):
                found[index] = vector
    return torch.stack(found)


def cosines(reader, situation):
    """Returns the cosines of the questions of a situation to its memories."""
    memories = embedded(reader, situations.texts(situation).values())
    questions = embedded(reader, [question["q"] for question in situation["questions"]])
    return questions @ memories.T


def embedded(reader, texts):
    """Returns the vectors of texts, each by itself, of length 1."""
    return F.normalize(vectors(reader, [reader.encoder.single(text, SINGLE_TOKENS) for text in texts]), dim=1)


def nearest(reader, situation):
    """Returns, for each question, the ids of the memories, the nearest first."""
    ids = list(situations.texts(situation))
    return [[ids[index] for index in row.argsort(descending=True)] for row in cosines(reader, situation)]


def area(higher, lower):
    """Returns the probability that one of `higher` is greater than one of `lower`; ties count half."""
    if not higher or not lower:
        return float("nan")
    first, second = torch.tensor(higher)[:, None], torch.tensor(lower)[None]
    return ((first > second).float() + 0.5 * (first == second).float()).mean().item()


def mean(values):
    """Returns the mean of values; 0 of none."""
    return sum(values) / max(1, len(values))


class Tally:
    """The results of some situations."""

    def __init__(self):
        self.first = collections.defaultdict(list)
        self.nearest = collections.defaultdict(list)
        self.answerable, self.near_miss = [], []
        self.changed, self.unchanged = [], []
        self.kept, self.dropped = [], []

    def line(self):
        """Returns the figures in one line."""
        kinds = []
        for kind in sorted(self.first):
            kinds.append(f"{kind} {mean(self.first[kind]):.3f} (cosine {mean(self.nearest[kind]):.3f})")
        threshold = sorted(self.unchanged)[int(0.99 * len(self.unchanged))] if self.unchanged else 0
        found = mean([score > threshold for score in self.changed])
        return (
            f"first: {', '.join(kinds)}; near-miss {area(self.answerable, self.near_miss):.3f}; "
            f"change {area(self.changed, self.unchanged):.3f}, {found:.3f} at 1 %; "
            f"kept {mean(self.kept):.3f}, dropped {mean(self.dropped):.3f}"
        )


def add(reader, situation, tallies):
    """Adds the results of a situation to some tallies."""
    texts = situations.texts(situation)
    ids = list(texts)
    inputs = [reader.question(question["q"], text) for question in situation["questions"] for text in texts.values()]
    with torch.no_grad():
        scores = reader.relevance(vectors(reader, inputs))[:, 0].view(len(situation["questions"]), len(ids))
        earlier_later = situations.pairs(situation)
        changes = reader.change(vectors(reader, [reader.pair(texts[a], texts[b]) for a, b, _ in earlier_later]))
        before = [""] + [turn["text"] for turn in situation["turns"][:-1]]
        turns = [reader.turn(previous, turn["text"]) for previous, turn in zip(before, situation["turns"])]
        # A document has none.
        kinds = reader.keeping(vectors(reader, turns)).argmax(1) if turns else []
    near = nearest(reader, situation)
    ending = [situations.RELATIONS.index(relation) for relation in ENDING]
    endings = changes.softmax(1)[:, ending].sum(1).tolist()
    for tally in tallies:
        for question, row, order in zip(situation["questions"], scores, near):
            best = row.max().item()
            if not question["answers"]:
                tally.near_miss.append(best)
                continue
            tally.answerable.append(best)
            tally.first[question["kind"]].append(ids[row.argmax()] in question["answers"])
            tally.nearest[question["kind"]].append(order[0] in question["answers"])
        for (_, _, relation), score in zip(earlier_later, endings):
            (tally.changed if relation in ENDING else tally.unchanged).append(score)
        for turn, kind in zip(situation["turns"], kinds):
            name = situations.KINDS_OF_TURN[kind]
            tally.kept.append(name == turn["keep"])
            tally.dropped.append((name == "drop") == (turn["keep"] == "drop"))


def report(reader, held_out):
    """Prints the figures of the situations that were held out, by language and in all."""
    tallies = collections.defaultdict(Tally)
    for situation in held_out:
        add(reader, situation, [tallies[situation["lang"]], tallies["all"]])
    for name, tally in sorted(tallies.items()):
        print(f"{name}: {tally.line()}", flush=True)
