#!/usr/bin/env python3
"""Generates the encoders of the tests: two models with a few thousand random weights, and their expected vectors.

    pip install torch transformers tokenizers safetensors
    make.py [FOLDER OF all-MiniLM-L6-v2]

With the folder, the script also writes `minilm.json`: vectors that transformers computes with that model.
"""
import json
import os
import sys

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel, BertConfig, BertModel, RobertaConfig, RobertaModel

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = "the a dog cat runs sleeps in on boat harbour green old ##s ##ing . , ? what where when who ann bo".split()
TEXTS = ["The dog runs.", "a cat sleeps in the old boat", "where runs Ann?", "harbours", "the the the the, the!", "什么"]
SENTENCES = [
    "The kitten fell asleep on the radiator.",
    "Where does the young cat nap?",
    "Interest rates were raised by the central bank on 3 May 2026, which surprised nobody at all.",
    "naïve Café RÉSUMÉ — déjà vu",
    "",
    "ok",
]


def tokenizer(first, last, pad):
    vocab = {token: number for number, token in enumerate([first, pad, last, "[UNK]", *WORDS])}
    made = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, vocab[first]), (last, vocab[last])]
    )
    return made


def pooled(model, tokens, mode):
    with torch.no_grad():
        hidden = model(input_ids=torch.tensor([tokens])).last_hidden_state[0]
    vector = {"cls": hidden[0], "mean": hidden.mean(0), "max": hidden.max(0).values}[mode]
    return (vector / vector.norm()).tolist()


def small(name, config, kind, made, mode, rename):
    torch.manual_seed(7)
    model = kind(config, add_pooling_layer=False).eval()
    for parameter in model.parameters():
        parameter.data = torch.randn_like(parameter) * 0.5
    folder = os.path.join(HERE, name)
    os.makedirs(os.path.join(folder, "1_Pooling"), exist_ok=True)
    made.save(os.path.join(folder, "tokenizer.json"))
    tensors = {rename(key): value.contiguous() for key, value in model.state_dict().items() if "position_ids" not in key}
    save_file(tensors, os.path.join(folder, "model.safetensors"))

    def write(file, value):
        with open(os.path.join(folder, file), "w") as out:
            json.dump(value, out, ensure_ascii=False)
            out.write("\n")

    keys = ["model_type", "num_hidden_layers", "num_attention_heads", "hidden_size", "layer_norm_eps", "hidden_act",
            "max_position_embeddings", "pad_token_id"]
    write("config.json", {key: getattr(config, key) for key in keys})
    write("1_Pooling/config.json", {f"pooling_mode_{m}": m.startswith(mode) for m in ["cls_token", "mean_tokens", "max_tokens"]})
    write("expected.json", [{"text": text, "vector": pooled(model, made.encode(text).ids, mode)} for text in TEXTS])


SIZES = dict(vocab_size=4 + len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
             intermediate_size=32, max_position_embeddings=24, type_vocab_size=1)
small("bert", BertConfig(**SIZES, hidden_act="gelu", attn_implementation="eager"), BertModel,
      tokenizer("[CLS]", "[SEP]", "[PAD]"), "cls",
      lambda key: "bert." + key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"))
small("roberta", RobertaConfig(**SIZES, hidden_act="gelu_new", pad_token_id=1, attn_implementation="eager"), RobertaModel,
      tokenizer("<s>", "</s>", "<pad>"), "max", lambda key: "roberta." + key)

if len(sys.argv) > 1:
    model = AutoModel.from_pretrained(sys.argv[1], attn_implementation="eager").eval()
    made = Tokenizer.from_file(os.path.join(sys.argv[1], "tokenizer.json"))
    made.no_padding()
    expected = [{"text": text, "vector": [round(v, 5) for v in pooled(model, made.encode(text).ids, "mean")]} for text in SENTENCES]
    with open(os.path.join(HERE, "minilm.json"), "w") as out:
        json.dump(expected, out, ensure_ascii=False)
        out.write("\n")
