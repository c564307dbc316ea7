#!/usr/bin/env python3
"""Trains a reader: one encoder with three heads, on hand-written situations.

    pip install torch safetensors tokenizers numpy
    python3 train.py --model FOLDER --out reader.pt                # FOLDER has all-MiniLM-L6-v2
    python3 train.py --model FOLDER --out reader.pt --resume       # continue from the last checkpoint
    python3 train.py --model FOLDER --out reader.pt --epochs 0     # only measures
    python3 train.py --model FOLDER --out second.pt --begin reader.pt --mined mined.jsonl --epochs 1 --rate 3e-5

The last one learns on from a checkpoint, now from memories as a server keeps and finds them (`mine.py`).

The heads read pairs of texts:

- relevance: does this memory answer this question?
- change: does this memory replace, correct, end or restate that one?
- keeping: which kind of memory is this turn, or none?

The seed is fixed, the word embeddings are not trained, and every fifth situation is held out (`situations.py`). A
checkpoint is written every ten minutes. On two processor cores an epoch over 200 situations takes about ten minutes.
"""

import argparse
import json
import pathlib
import random
import time

import measure
import situations
import torch
import torch.nn.functional as F
from encoder import Encoder

SEED = 3
BATCH = 32
# Batches are cut from portions of examples that are sorted by length.
PORTION = 1600
LEARNING_RATE = 6e-5
# The learning rate of the heads is this many times as high.
HEADS_FASTER = 16
WARMUP_STEPS = 20
# The share of the learning rate at the end.
LAST_SHARE = 0.05
WEIGHT_DECAY = 0.01
# Wrong memories of each question that are learned from: those nearest to it.
WRONG_PER_QUESTION = 3
# Unrelated pairs of each situation.
UNRELATED_PER_SITUATION = 5
CHECKPOINT_SECONDS = 600
# Tokens of the parts of a pair.
QUESTION_TOKENS, MEMORY_TOKENS = 40, 96
CHANGE_TOKENS = 60
BEFORE_CHARACTERS, BEFORE_TOKENS, TURN_TOKENS = 200, 48, 80


class Reader(torch.nn.Module):
    """The encoder with its heads."""

    def __init__(self, folder):
        super().__init__()
        self.encoder = Encoder(folder)
        self.relevance = torch.nn.Linear(self.encoder.width, 1)
        self.change = torch.nn.Linear(self.encoder.width, len(situations.RELATIONS))
        self.keeping = torch.nn.Linear(self.encoder.width, len(situations.KINDS_OF_TURN))

    def question(self, question, memory):
        """Returns the input of the head for relevance."""
        return self.encoder.pair(question, memory, QUESTION_TOKENS, MEMORY_TOKENS)

    def pair(self, earlier, later):
        """Returns the input of the head for changes."""
        return self.encoder.pair(earlier, later, CHANGE_TOKENS, CHANGE_TOKENS)

    def turn(self, before, turn):
        """Returns the input of the head for keeping: a turn with the end of the one before it."""
        return self.encoder.pair(before[-BEFORE_CHARACTERS:], turn, BEFORE_TOKENS, TURN_TOKENS)

    def loss(self, batch):
        """Returns the mean loss of examples of any heads."""
        vectors = self.encoder([example for _, example, _ in batch])
        total = torch.zeros(())
        for name, head in (("relevance", self.relevance), ("change", self.change), ("keeping", self.keeping)):
            rows = [row for row, (kind, _, _) in enumerate(batch) if kind == name]
            if not rows:
                continue
            scores = head(vectors[rows])
            labels = torch.tensor([batch[row][2] for row in rows])
            if name == "relevance":
                total = total + F.binary_cross_entropy_with_logits(scores[:, 0], labels.float(), reduction="sum")
            else:
                total = total + F.cross_entropy(scores, labels, reduction="sum")
        return total / len(batch)


def examples_of_relevance(reader, situation):
    """Returns the examples of relevance of a situation: the head, its input, and the label."""
    found = []
    texts = situations.texts(situation)
    order = measure.nearest(reader, situation)
    for question, nearest in zip(situation["questions"], order):
        wrong = 0
        for memory in nearest:
            is_right = memory in question["answers"]
            if is_right or wrong < WRONG_PER_QUESTION:
                found.append(("relevance", reader.question(question["q"], texts[memory]), int(is_right)))
            wrong += not is_right
    return found


def other_examples(reader, situation):
    """Returns the examples of the other heads."""
    found = []
    texts = situations.texts(situation)
    unrelated = []
    for earlier, later, relation in situations.pairs(situation):
        example = ("change", reader.pair(texts[earlier], texts[later]), situations.RELATIONS.index(relation))
        (unrelated if relation == "compatible" else found).append(example)
    random.shuffle(unrelated)
    found += unrelated[:UNRELATED_PER_SITUATION]
    before = ""
    for turn in situation["turns"]:
        label = situations.KINDS_OF_TURN.index(turn["keep"])
        found.append(("keeping", reader.turn(before, turn["text"]), label))
        before = turn["text"]
    return found


def mined(reader, path):
    """Returns the examples of a file of `mine.py`."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        found.append(("relevance", reader.question(pair["q"], pair["memory"]), int(pair["answers"])))
    return found


def all_examples(reader, training, path):
    """Returns the examples of situations. Those of relevance are of a file of `mine.py`, if there is one."""
    found = []
    for situation in training:
        if path is None:
            found += examples_of_relevance(reader, situation)
        found += other_examples(reader, situation)
    return found if path is None else found + mined(reader, path)


def batches(data):
    """Returns the batches of an epoch, in random order within each portion."""
    shuffled = random.sample(data, len(data))
    found = []
    for begin in range(0, len(shuffled), PORTION):
        portion = sorted(shuffled[begin : begin + PORTION], key=lambda example: len(example[1][0]))
        of_portion = [portion[at : at + BATCH] for at in range(0, len(portion), BATCH)]
        random.shuffle(of_portion)
        found += of_portion
    return found


def share_of_rate(step, steps):
    """Returns the share of the learning rate at a step: a warmup, then a line down to the last share."""
    return min(1.0, (step + 1) / WARMUP_STEPS) * max(LAST_SHARE, 1 - step / steps)


def train(reader, data, arguments, state):
    """Trains for some epochs, from the step of a checkpoint on. The batches depend on the seed alone."""
    epochs, rate, out = arguments.epochs, arguments.rate, arguments.out
    of_heads = [weight for name, weight in reader.named_parameters() if not name.startswith("encoder.")]
    groups = [
        {"params": list(reader.encoder.parameters()), "lr": rate, "base": rate},
        {"params": of_heads, "lr": rate * HEADS_FASTER, "base": rate * HEADS_FASTER},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY)
    if state is not None:
        optimizer.load_state_dict(state["optimizer"])
    all_batches = [batch for _ in range(epochs) for batch in batches(data)]
    began = saved = time.monotonic()
    for step in range(0 if state is None else state["step"], len(all_batches)):
        for group in optimizer.param_groups:
            group["lr"] = group["base"] * share_of_rate(step, len(all_batches))
        loss = reader.loss(all_batches[step])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            seconds = time.monotonic() - began
            print(f"step {step + 1} of {len(all_batches)}, loss {loss.item():.3f}, {seconds:.0f} s", flush=True)
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            save(reader, out, {"optimizer": optimizer.state_dict(), "step": step + 1})
            saved = time.monotonic()
    save(reader, out, {"optimizer": optimizer.state_dict(), "step": len(all_batches)})


def save(reader, out, state):
    """Writes a checkpoint, which replaces the former one as a whole."""
    fresh = out.with_suffix(".new")
    torch.save({"reader": reader.state_dict(), **state}, fresh)
    fresh.replace(out)


def main():
    """Trains and measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_folder = pathlib.Path(__file__).parent.parent / "data"
    parser.add_argument("--model", type=pathlib.Path, required=True, help="folder of the encoder to begin with")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file of the checkpoint")
    parser.add_argument("--data", type=pathlib.Path, default=data_folder, help="folder of the data")
    parser.add_argument("--share", type=float, default=1.0, help="share of the situations that are learned from")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=LEARNING_RATE, help="learning rate of the layers")
    parser.add_argument("--begin", type=pathlib.Path, help="checkpoint whose weights are the first ones")
    parser.add_argument("--mined", type=pathlib.Path, help="examples of relevance, written by mine.py")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    arguments = parser.parse_args()
    torch.manual_seed(SEED)
    random.seed(SEED)
    training, held_out = situations.read(arguments.data.glob("*/*.jsonl"))
    training = random.sample(training, round(len(training) * arguments.share))
    print(f"{len(training)} situations to learn from, {len(held_out)} held out", flush=True)
    reader = Reader(arguments.model)
    if arguments.begin is not None:
        reader.load_state_dict(torch.load(arguments.begin)["reader"])
    if arguments.epochs > 0:
        data = all_examples(reader, training, arguments.mined)
        print(f"{len(data)} examples, {sum(len(example[1][0]) for example in data)} tokens", flush=True)
        state = None
        if arguments.resume:
            state = torch.load(arguments.out)
            reader.load_state_dict(state["reader"])
        train(reader, data, arguments, state)
    elif arguments.out.exists():
        reader.load_state_dict(torch.load(arguments.out)["reader"])
    measure.report(reader, held_out)


if __name__ == "__main__":
    main()
