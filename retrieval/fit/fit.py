#!/usr/bin/env python3
"""Fits the map from features to a probability for what people say to each other, and writes
`retrieval/src/ranking/coefficients/people.rs`. `fit_kinds.py` fits the others.

    cuebase eval CONVERSATIONS.json --features features.tsv
    pip install numpy
    fit.py features.tsv --out ../src/ranking/coefficients/people.rs

The method is logistic regression with a ridge on standardised features, solved by Newton's method. The printed figures
are cross-validated: each conversation is ranked by a fit on the others. The written coefficients are fitted on all of
them. In addition to whole conversations, the file holds parts of them as small namespaces. These parts are fitted
together with the whole conversations and evaluated separately.
Questions without an answer (found is "-") have a weight of their own and are evaluated by their best score.
One feature of the query changes the scores of all its hits equally and does not affect their order. Its coefficient is
fitted after the others, with another weight for questions without an answer, because these are the feature's purpose.
"""
import argparse
import sys

import numpy as np

# The first column of a feature.
FEATURES_FROM = 8
LIMIT = 24
# The mean recall over these limits varies less by chance than the recall within the first 24 alone.
LIMITS = range(12, 41, 4)
BUDGETS = (1000, 2000, 4000)
LAST = "query_others_stand_out"


def read(path):
    with open(path) as f:
        names = f.readline().rstrip("\n").split("\t")[FEATURES_FROM:]
        rows = [line.rstrip("\n").split("\t") for line in f]
    samples = np.array([r[0] for r in rows])
    sessions = np.array([int(r[1]) for r in rows])
    questions = np.array([int(r[2]) for r in rows])
    words = np.array([int(r[3]) for r in rows])
    found = [r[4] for r in rows]
    x = np.array([r[FEATURES_FROM:] for r in rows], dtype=np.float64)
    y = np.array(["1" in f for f in found], dtype=np.float64)
    return names, samples, sessions, questions, words, found, x, y


def fit(x, y, ridge, weight=None):
    mean, std = x.mean(0), x.std(0) + 1e-9
    z = np.c_[(x - mean) / std, np.ones(len(x))]
    w = np.zeros(z.shape[1])
    weight = np.ones(len(y)) if weight is None else weight
    penalty = np.full(z.shape[1], ridge)
    penalty[-1] = 0
    for _ in range(30):
        p = 1 / (1 + np.exp(-z @ w))
        gradient = z.T @ (weight * (p - y)) + penalty * w
        hessian = (z * (weight * p * (1 - p))[:, None]).T @ z + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        w -= step
        if np.abs(step).max() < 1e-8:
            break
    coefficients = w[:-1] / std
    return coefficients, w[-1] - coefficients @ mean


def fit_last(x, y, before, weight):
    """Returns the coefficient of one feature, added to a fit without it whose logits are `before`."""
    k, coefficient = x != 0, 0.0
    for _ in range(50):
        p = 1 / (1 + np.exp(-(before[k] + coefficient * x[k])))
        step = (weight[k] * (p - y[k]) * x[k]).sum() / ((weight[k] * p * (1 - p) * x[k] ** 2).sum() + 1e-9)
        coefficient -= step
        if abs(step) < 1e-8:
            break
    return coefficient


def fit_both(x, y, names, ridge, weight, weight_of_last):
    """Returns coefficients and intercept: fits the other features first, then adds the coefficient of LAST."""
    if LAST not in names:
        return fit(x, y, ridge, weight)
    last = names.index(LAST)
    first = np.arange(len(names)) != last
    coefficients = np.zeros(len(names))
    coefficients[first], intercept = fit(x[:, first], y, ridge, weight)
    coefficients[last] = fit_last(x[:, last], y, x @ coefficients + intercept, weight_of_last)
    return coefficients, intercept


def auc(scores, y):
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    positives = y.sum()
    return (ranks[y > 0].sum() - positives * (positives + 1) / 2) / (positives * (len(y) - positives))


def calibration_error(scores, y):
    bins = np.minimum((scores * 10).astype(int), 9)
    return sum(abs(scores[bins == b].mean() - y[bins == b].mean()) * (bins == b).mean() for b in set(bins))


def evaluate(scores, kept, questions, words, found, y):
    """Returns the figures of `cuebase eval` over the kept candidates in the file."""
    no_answer = np.array([f == "-" for f in found])
    unanswered = best_scores(scores, questions, kept & no_answer)
    kept = kept & ~no_answer
    answered = best_scores(scores, questions, kept)
    scores, questions, words, y = scores[kept], questions[kept], words[kept], y[kept]
    found = [found[i] for i in np.flatnonzero(kept)]
    out = {"recall@24": [], "recall@12-40": [], "mrr": [], **{f"recall@{b}w": [] for b in BUDGETS}}
    top = []
    for q in np.unique(questions):
        at = np.flatnonzero(questions == q)
        at = at[np.argsort(-scores[at], kind="stable")]
        pieces = len(found[at[0]])
        place, used, first = [None] * pieces, 0, 0.0
        for rank, i in enumerate(at, 1):
            used += words[i]
            for n, hit in enumerate(found[i]):
                if hit == "1" and place[n] is None:
                    place[n] = (used, rank)
            if y[i] and not first and rank <= LIMIT:
                first = 1 / rank
        top.extend(at[:LIMIT])
        out["mrr"].append(first)
        out["recall@24"].append(np.mean([p is not None and p[1] <= LIMIT for p in place]))
        within = [np.mean([p is not None and p[1] <= limit for p in place]) for limit in LIMITS]
        out["recall@12-40"].append(np.mean(within))
        for b in BUDGETS:
            out[f"recall@{b}w"].append(np.mean([p is not None and p[0] <= b for p in place]))
    top = np.array(top)
    figures = {k: float(np.mean(v)) for k, v in out.items()}
    figures["auc"] = auc(scores[top], y[top])
    figures["ece"] = calibration_error(scores[top], y[top])
    figures["best, answered"], figures["best, unanswered"] = answered, unanswered
    return figures


def best_scores(scores, questions, kept):
    """Returns the mean of the questions' best scores."""
    best = np.zeros(questions.max() + 1)
    np.maximum.at(best, questions[kept], scores[kept])
    return float(best[np.unique(questions[kept])].mean()) if kept.any() else float("nan")


def cross_validated(x, y, names, samples, *settings):
    scores = np.zeros(len(y))
    for sample in np.unique(samples):
        held = samples == sample
        c, b = fit_both(x[~held], y[~held], names, *(of[~held] if np.ndim(of) else of for of in settings))
        scores[held] = 1 / (1 + np.exp(-(x[held] @ c + b)))
    return scores


def show(label, figures):
    print(f"{label:42}" + "  ".join(f"{k} {v:.4f}" for k, v in figures.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features")
    parser.add_argument("--out")
    parser.add_argument("--ridge", type=float, default=100.0)
    parser.add_argument("--unanswered", type=float, default=0.2, help="weight of a question without an answer")
    parser.add_argument("--unanswered-last", type=float, default=0.75,
                        help=f"weight of a question without an answer for the coefficient of {LAST}")
    parser.add_argument("--whole", type=float, default=2.0, help="weight of a whole conversation, relative to a part")
    parser.add_argument("--ablate", action="store_true", help="also print the figures without each feature")
    a = parser.parse_args()
    names, samples, sessions, questions, words, found, x, y = read(a.features)
    print(f"{len(y)} candidates of {len(np.unique(questions))} questions, {int(y.sum())} relevant", file=sys.stderr)

    def weigh(unanswered):
        return np.where([f == "-" for f in found], unanswered, 1.0) * np.where(sessions > 4, a.whole, 1.0)

    weight, weight_of_last = weigh(a.unanswered), weigh(a.unanswered_last)
    sizes = {"one session": sessions == 1, "up to four": (sessions > 1) & (sessions <= 4), "whole": sessions > 4}

    def report(label, scores):
        for size, kept in sizes.items():
            if kept.any():
                show(f"{label}, {size}", evaluate(scores, kept, questions, words, found, y))

    report("cross-validated", cross_validated(x, y, names, samples, a.ridge, weight, weight_of_last))
    if a.ablate:
        for n, name in enumerate(names):
            kept = [i for i in range(len(names)) if i != n]
            kept_names = [names[i] for i in kept]
            scores = cross_validated(x[:, kept], y, kept_names, samples, a.ridge, weight, weight_of_last)
            report("without " + name, scores)
    c, b = fit_both(x, y, names, a.ridge, weight, weight_of_last)
    report("fitted on all", 1 / (1 + np.exp(-(x @ c + b))))
    if a.out:
        with open(a.out, "w") as f:
            f.write(f"Model {{\n    intercept: {b:.4f},\n    coefficients: Features {{\n")
            for name, value in zip(names, c):
                f.write(f"        {name}: {value:.4f},\n")
            f.write("    },\n}\n")


if __name__ == "__main__":
    main()
