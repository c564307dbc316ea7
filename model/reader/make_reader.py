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
import hashlib
import os
import sys

import numpy as np
import torch
from safetensors.numpy import save

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "encoder"))
from make_encoder import quantised  # noqa: E402

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
    tensors = tensors_of(a.checkpoint)
    plain = save(tensors)
    data = plain[8 + int.from_bytes(plain[:8], "little"):]
    values = {"source": "models/reader", "sha256": hashlib.sha256(data).hexdigest()}
    with open(a.out, "wb") as file:
        file.write(save(tensors, metadata=values))
    print(f"{a.out}: {os.path.getsize(a.out) / 2**20:.1f} MiB, {len(tensors)} tensors, sha256 {values['sha256']}")


if __name__ == "__main__":
    main()
