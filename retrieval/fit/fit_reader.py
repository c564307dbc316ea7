#!/usr/bin/env python3
"""Fits the score of a memory that the reader has read: logistic regressions on the log-odds before and those of the reader.

    CUEBASE_MODEL_BUILTIN=reader cuebase eval NAME.jsonl --features NAME.tsv      # once for each set
    pip install numpy
    fit_reader.py NAME.tsv,WEIGHT ... --out ../src/ranking/coefficients/reader.rs

What people said, what a user and an assistant said, and documents have a regression each, and memories of a chat with an
assistant of which only parts were read have another one. A set counts as much as its weight, however many questions it has;
with the weight 0 it is only measured.

For each set are printed how often the first hit is right and its mean reciprocal rank, before, with the reader alone, with the
fit on all sets, and with a fit on the others, and the probability that the best hit of a question with an answer has a higher
score than that of one without.
"""
import argparse
import collections
import pathlib

import numpy as np

RIDGE = 1e-3
STEPS = 50
# The regressions.
MODELS = ["people", "assistant", "assistant_in_parts", "document"]

Set = collections.namedtuple("Set", "name weight questions")
# `model` is the number of each candidate's regression.
Question = collections.namedtuple("Question", "is_answerable right before reader model")


def model_of(cells, names):
    """Returns the name of a candidate's regression."""
    if float(cells[names["is_document"]]) > 0:
        return "document"
    if float(cells[names["is_assistant_chat"]]) == 0:
        return "people"
    return "assistant_in_parts" if cells[names["parts"]] == "1" else "assistant"


def read(argument):
    """Reads a set: FILE,WEIGHT. Candidates that were not read are left out."""
    path, weight = argument.split(",")
    questions = {}
    with open(path, encoding="utf-8") as file:
        names = {name: column for column, name in enumerate(next(file).rstrip("\n").split("\t"))}
        for line in file:
            cells = line.rstrip("\n").split("\t")
            before, reader, found = (cells[names[name]] for name in ("before", "reader", "found"))
            if reader:
                rows = questions.setdefault((cells[names["sample"]], cells[names["question"]]), [])
                model = MODELS.index(model_of(cells, names))
                rows.append(("1" in found, float(before), float(reader), model, found != "-"))
    found = []
    for rows in questions.values():
        right, before, reader, model, answerable = map(np.array, zip(*rows))
        found.append(Question(bool(answerable[0]), right, before, reader, model))
    return Set(pathlib.Path(path).stem, float(weight), found)


def columns(question):
    """Returns what the regression reads of a question's candidates."""
    return np.stack([np.ones(len(question.right)), question.before, question.reader], axis=1)


def fit(sets, model):
    """Returns the intercept and both coefficients of a regression."""
    x, y, w = [], [], []
    for each in sets:
        rows = sum(len(question.right) for question in each.questions)
        for question in each.questions:
            mask = question.model == model
            if each.weight > 0 and mask.any():
                x.append(columns(question)[mask])
                y.append(question.right[mask].astype(float))
                w.append(np.full(mask.sum(), each.weight / rows))
    fitted = np.array([0.0, 1.0, 0.0])
    if not x:
        return fitted
    x, y, w = np.concatenate(x), np.concatenate(y), np.concatenate(w)
    w /= w.sum()
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ fitted, -50, 50)))
        gradient = x.T @ (w * (p - y)) + RIDGE * fitted
        hessian = (x * (w * p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(3)
        fitted = fitted - np.linalg.solve(hessian, gradient)
    return fitted


def fit_all(sets):
    """Returns all regressions, a row each."""
    return np.stack([fit(sets, model) for model in range(len(MODELS))])


def scores(each, models):
    """Returns the log-odds of each question's candidates of a set."""
    return [(columns(question) * models[question.model]).sum(1) for question in each.questions]


def line(questions, scored):
    """Returns the figures of a set, given the scores of each question's candidates."""
    first, reciprocal, best, best_of_none = [], [], [], []
    for question, of_candidates in zip(questions, scored):
        (best if question.is_answerable else best_of_none).append(of_candidates.max())
        if not question.is_answerable:
            continue
        right = question.right[np.argsort(-of_candidates, kind="stable")]
        first.append(right[0])
        reciprocal.append(1 / (1 + right.argmax()) if right.any() else 0)
    text = f"first {np.mean(first):.3f}, MRR {np.mean(reciprocal):.3f}"
    if best_of_none:
        area = (np.array(best)[:, None] > np.array(best_of_none)[None]).mean()
        text += f", answerable {area:.3f}"
    return text


def main():
    """Fits, prints the figures and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--out", type=pathlib.Path)
    a = parser.parse_args()
    sets = [read(argument) for argument in a.sets]
    models = fit_all(sets)
    for each in sets:
        others = fit_all([other for other in sets if other is not each])
        print(f"{each.name}: {len(each.questions)} questions")
        for name, scored in [
            ("before", [question.before for question in each.questions]),
            ("reader", [question.reader for question in each.questions]),
            ("all", scores(each, models)),
            ("others", scores(each, others)),
        ]:
            print(f"  {name:8}{line(each.questions, scored)}")
    text = "ReaderModels {\n"
    for name, (intercept, before, reader) in zip(MODELS, models):
        text += f"    {name}: ReaderModel {{ intercept: {intercept:.4f}, before: {before:.4f}, reader: {reader:.4f} }},\n"
    text += "}\n"
    print(text, end="")
    if a.out is not None:
        a.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
