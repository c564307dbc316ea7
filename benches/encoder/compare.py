#!/usr/bin/env python3
"""Compares the speed of the built-in encoder with ONNX Runtime's int8 form of the same model, in turns, on one core.

    pip install onnxruntime onnx torch transformers
    cargo bench --bench encoder --no-run           # prints the path of the program
    compare.py FOLDER_OF_ALL_MINILM PROGRAM

Both embed texts of equal length, given as tokens to ONNX Runtime, and as text to Cuebase, whose tokenizer counts. ONNX
Runtime's weights are quantized dynamically, for each output, which is its fastest form of this model on such processors.
Printed is the median of five turns for each size, in milliseconds a call, and the relative speed.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import AutoModel

TURNS = 5
TOKENS = (8, 16, 32, 64, 128)
TEXTS = (1, 8, 32)
SECONDS = 0.4
CALLS_MIN = 7


def export(folder, path):
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    class Mean(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            hidden = self.model(input_ids=ids, attention_mask=mask, token_type_ids=ids * 0).last_hidden_state
            return torch.nn.functional.normalize(hidden.mean(1), dim=1)

    example = torch.ones(2, 8, dtype=torch.long)
    axes = {name: {0: "texts", 1: "tokens"} for name in ("ids", "mask")}
    torch.onnx.export(Mean(), (example, example), path, input_names=["ids", "mask"], output_names=["vectors"],
                      dynamic_axes=axes, dynamo=False, opset_version=17)


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def theirs(run, tokens, texts):
    """Returns the median time of a call in milliseconds."""
    random = np.random.default_rng(tokens)
    ids = random.integers(2000, 20000, (texts, tokens))
    mask = np.ones_like(ids)
    began, times = time.perf_counter(), []
    while time.perf_counter() - began < SECONDS or len(times) < CALLS_MIN:
        call = time.perf_counter()
        run.run(None, {"ids": ids, "mask": mask})
        times.append((time.perf_counter() - call) * 1e3)
    return statistics.median(times)


def ours(program, tokens, texts):
    """Returns the median time of a call in milliseconds."""
    printed = subprocess.run([program, str(tokens), str(texts)], capture_output=True, text=True, check=True).stdout
    return float(printed.split()[2])


def main():
    folder, program = sys.argv[1:3]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as scratch:
        plain, quantized = (os.path.join(scratch, name) for name in ("plain.onnx", "int8.onnx"))
        export(folder, plain)
        quantize_dynamic(plain, quantized, per_channel=True, weight_type=QuantType.QInt8)
        run = session(quantized)
        print("tokens texts   ONNX Runtime   Cuebase   relative speed")
        for tokens in TOKENS:
            for texts in TEXTS:
                turns = [(theirs(run, tokens, texts), ours(program, tokens, texts)) for _ in range(TURNS)]
                their_time, our_time = (statistics.median(column) for column in zip(*turns))
                print(f"{tokens:6} {texts:5} {their_time:11.2f} ms {our_time:6.2f} ms {their_time / our_time:11.2f}", flush=True)


main()
