#!/usr/bin/env python3
"""Builds `reader.safetensors`, the built-in reader, from a checkpoint of `models/reader/train.py`.

    pip install numpy safetensors torch
    make_reader.py CHECKPOINT --out reader.safetensors

The file has the layers and the heads. The vectors of tokens, positions and types are those of `../encoder`, which the
training does not change. Each row of a layer's matrix becomes integers from -127 to 127 and a scale in the tensor
`NAME.scale`; biases, normalisations and heads are kept in single precision. The head of the file has the SHA-256 of all
that follows it.
"""
import argparse
import os
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "encoder"))
from make_encoder import quantised, write  # noqa: E402

LAYERS = "encoder.weights."


def tensors_of(checkpoint):
    """Returns the tensors of the file by name."""
    tensors = {}
    for name, value in torch.load(checkpoint, map_location="cpu")["reader"].items():
        value = value.numpy().astype(np.float32)
        is_of_layers = name.startswith(LAYERS)
        name = name.removeprefix(LAYERS).replace("/", ".")
        if is_of_layers and value.ndim == 2:
            tensors[name], tensors[f"{name}.scale"] = quantised(value)
        else:
            tensors[name] = value
    return tensors


def main():
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("--out", required=True, metavar="FILE")
    a = parser.parse_args()
    write(tensors_of(a.checkpoint), "models/reader", a.out)


if __name__ == "__main__":
    main()
