#!/usr/bin/env python3
"""Compares the speed of the same encoder in ONNX Runtime and in `cuebase models`, alternately, each on one core.

    pip install onnxruntime onnx torch transformers tokenizers
    compare.py FOLDER_OF_A_MODEL PATH_OF_CUEBASE

Exports the folder's weights, then measures both on the same 128 texts, one at a time and in batches.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

ROUNDS = 5
BATCHES = (8, 32, 128)
# As in src/cli/models.rs.
SUBJECTS = ["the kitten from the shelter", "a marathon in the rain", "her sister's wedding", "the broken bicycle chain",
            "two weeks on the island", "the recipe for plum cake", "his first day at the new job", "the concert by the river"]
TEXTS = [f"Ann told us on day {n} about {SUBJECTS[n % 8]}, and Bo remembered {SUBJECTS[n // 8 % 8]} at once." for n in range(128)]


def export(folder, path):
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            return self.model(input_ids=ids, attention_mask=mask, token_type_ids=ids * 0).last_hidden_state

    example = torch.ones(2, 8, dtype=torch.long)
    axes = {name: {0: "texts", 1: "tokens"} for name in ("ids", "mask", "hidden")}
    torch.onnx.export(Hidden(), (example, example), path, input_names=["ids", "mask"], output_names=["hidden"],
                      dynamic_axes=axes, dynamo=False, opset_version=17)


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def embed(session, tokenizer, texts):
    encoded = [one.ids for one in tokenizer.encode_batch(texts)]
    ids = np.zeros((len(encoded), max(map(len, encoded))), np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(encoded):
        ids[row, :len(tokens)], mask[row, :len(tokens)] = tokens, 1
    hidden = session.run(None, {"ids": ids, "mask": mask})[0]
    mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def ours(folder, binary):
    environment = {"CUEBASE_MODEL_LOCAL": folder, "RAYON_NUM_THREADS": "1", "PATH": os.environ["PATH"]}
    printed = subprocess.run([binary, "models", "--data", "/nonexistent"], env=environment, capture_output=True, text=True, check=True).stdout
    one, unit, rate = re.search(r"one text ([0-9.]+)(µs|ms|s);.* ([0-9]+) a second", printed).groups()
    return float(one) * {"µs": 1e-3, "ms": 1, "s": 1e3}[unit], float(rate)


def main():
    folder, binary = sys.argv[1:3]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.onnx")
        export(folder, path)
        run = session(path)
        embed(run, tokenizer, TEXTS[:1])
        for _ in range(ROUNDS):
            alone = []
            for text in TEXTS[:15]:
                began = time.perf_counter()
                embed(run, tokenizer, [text])
                alone.append((time.perf_counter() - began) * 1e3)
            rates = []
            for size in BATCHES:
                began = time.perf_counter()
                for at in range(0, len(TEXTS), size):
                    embed(run, tokenizer, TEXTS[at:at + size])
                rates.append(len(TEXTS) / (time.perf_counter() - began))
            rows.append((statistics.median(alone), max(rates), *ours(folder, binary)))
    theirs_one, theirs_rate, our_one, our_rate = (statistics.median(column) for column in zip(*rows))
    speed_one, speed_many = theirs_one / our_one, our_rate / theirs_rate
    print(f"one text: ONNX Runtime {theirs_one:.1f} ms, Cuebase {our_one:.1f} ms, relative speed {speed_one:.2f}")
    print(f"many: ONNX Runtime {theirs_rate:.0f} per second, Cuebase {our_rate:.0f}, relative speed {speed_many:.2f}")


main()
