"""A BERT-family encoder in PyTorch, read from the files of a published model.

The folder has `config.json`, `tokenizer.json` and `model.safetensors`, as of all-MiniLM-L6-v2. Texts become hidden
states; a vector is the mean of the last layer's over the tokens.
"""

import json
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

CLS, SEP = 101, 102


class Encoder(torch.nn.Module):
    """The layers of an encoder. The word embeddings stay as they are; the layers are trained."""

    def __init__(self, folder):
        super().__init__()
        folder = pathlib.Path(folder)
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.heads = config["num_attention_heads"]
        self.layers = config["num_hidden_layers"]
        self.width = config["hidden_size"]
        self.epsilon = config["layer_norm_eps"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.fixed = {}
        weights = {}
        for name, value in load_file(folder / "model.safetensors").items():
            name = name.removeprefix("bert.")
            if name.startswith("encoder."):
                weights[name.replace(".", "/")] = torch.nn.Parameter(value)
            elif value.dtype.is_floating_point:
                self.fixed[name] = value
        self.weights = torch.nn.ParameterDict(weights)

    def linear(self, name, states):
        """Applies a linear layer."""
        return F.linear(states, self.weights[f"{name}/weight"], self.weights[f"{name}/bias"])

    def norm(self, name, states):
        """Normalises the states of a layer."""
        weight, bias = self.weights[f"{name}/weight"], self.weights[f"{name}/bias"]
        return F.layer_norm(states, (self.width,), weight, bias, self.epsilon)

    def embeddings(self, ids, segments):
        """Returns the states below the first layer."""
        fixed = self.fixed
        states = fixed["embeddings.word_embeddings.weight"][ids]
        states = states + fixed["embeddings.position_embeddings.weight"][: ids.shape[1]]
        states = states + fixed["embeddings.token_type_embeddings.weight"][segments]
        weight, bias = fixed["embeddings.LayerNorm.weight"], fixed["embeddings.LayerNorm.bias"]
        return F.layer_norm(states, (self.width,), weight, bias, self.epsilon)

    def layer(self, index, states, mask):
        """Applies a layer: attention, then the two linear layers."""
        prefix = f"encoder/layer/{index}"
        texts, length, width = states.shape
        shape = (texts, length, self.heads, width // self.heads)
        query, key, value = (
            self.linear(f"{prefix}/attention/self/{name}", states).view(shape).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = attended.transpose(1, 2).reshape(texts, length, width)
        attended = self.linear(f"{prefix}/attention/output/dense", attended)
        states = self.norm(f"{prefix}/attention/output/LayerNorm", states + attended)
        inner = F.gelu(self.linear(f"{prefix}/intermediate/dense", states))
        return self.norm(f"{prefix}/output/LayerNorm", states + self.linear(f"{prefix}/output/dense", inner))

    def forward(self, inputs):
        """Returns a vector for each input: the mean of the last layer's states over its tokens."""
        length = max(len(ids) for ids, _ in inputs)
        ids = torch.zeros(len(inputs), length, dtype=torch.long)
        segments = torch.zeros(len(inputs), length, dtype=torch.long)
        present = torch.zeros(len(inputs), length)
        for row, (tokens, segment) in enumerate(inputs):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            segments[row, : len(tokens)] = torch.tensor(segment)
            present[row, : len(tokens)] = 1
        states = self.embeddings(ids, segments)
        mask = present[:, None, None, :].bool()
        for index in range(self.layers):
            states = self.layer(index, states, mask)
        return (states * present[:, :, None]).sum(1) / present.sum(1, keepdim=True)

    def tokens(self, text, most):
        """Returns the tokens of a text, at most some."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids[:most]

    def single(self, text, most):
        """Returns the input of one text."""
        ids = [CLS, *self.tokens(text, most), SEP]
        return ids, [0] * len(ids)

    def pair(self, first, second, most_first, most_second):
        """Returns the input of two texts, the second in a segment of its own."""
        begin = [CLS, *self.tokens(first, most_first), SEP]
        end = [*self.tokens(second, most_second), SEP]
        return begin + end, [0] * len(begin) + [1] * len(end)
