#!/usr/bin/env python3
"""Fits the coefficients of documents, of chats with an assistant, of other scripts than Latin, and of queries without a
vector.

    cuebase eval NAME.jsonl --features NAME.tsv            # once for each set
    pip install numpy
    fit_kinds.py NAME.tsv,KIND,QUESTIONS ... --out ../src/ranking/coefficients
    fit_kinds.py NAME.tsv,KIND,QUESTIONS ... --encoder --out ../src/ranking/coefficients

Each set has a kind ("code", "faq"), and counts as many questions as given, however many it has. The method is logistic
regression with a ridge on standardised features, solved by Newton's method. What people say is fitted by `fit.py`; the
coefficients of a chat with an assistant are penalised by their distance from those. The coefficients of other scripts
are fitted together with those of documents, and added to each kind of memory. Validity and named times, which the sets
say nothing about, and features that hardly vary in them keep the coefficients of people. Queries without a vector have one
set of coefficients for all memories: it is fitted on all sets, without the features that come from vectors of cues.

With --encoder, the files come from `cuebase eval` with an encoder (`CUEBASE_MODEL_BUILTIN=encoder` or
`CUEBASE_MODEL_LOCAL`). The coefficients of documents for other models than the built-in table are fitted, and those of
chats with an assistant for the built-in encoder, as the sets have them. For documents, features of the absolute cosine
are left out, since each model has cosines of another size.

For each set, the printed figures are those of a fit on all sets and of one without the sets of its kind, and of the
lexical arm and the cue arm alone.
"""
import argparse
import collections
import pathlib
import re

import numpy as np

# The first column of a feature.
FEATURES_FROM = 8
INHERITED = ["claim_holds", "claim_outdated", "superseded", "recency", "time_named"]
KINDS = ["is_document", "is_assistant_chat", "is_other_script", "is_without_vector", "is_other_model", "is_encoder"]
# The features whose size depends on the model.
ABSOLUTE = ["cosine", "query_best_cosine"]
# The features that come from vectors of cues.
OF_VECTORS = ["cosine", "cosine_standardised", "agreement", "previous_cosine", "next_cosine", "session_cosine", "cue_rank",
              "query_best_cosine"]
STEPS = 80
# A feature that deviates less from its mean is not fitted.
DEVIATION_MIN = 0.01
# The longest step of Newton's method, in standardised coefficients.
STEP_MAX = 1.5

Set = collections.namedtuple("Set", "name kind x y weight questions found words no_answer")
Fit = collections.namedtuple("Fit", "coefficients intercept")


def read(argument):
    """Reads a set: FILE,KIND,QUESTIONS. Returns the names of the features and the set."""
    path, kind, count = argument.split(",")
    with open(path, encoding="utf-8") as file:
        names = next(file).rstrip("\n").split("\t")[FEATURES_FROM:]
        rows = [line.rstrip("\n").split("\t") for line in file]
    ids = {}
    questions = np.array([ids.setdefault((row[0], row[2]), len(ids)) for row in rows])
    found = [row[4] for row in rows]
    return names, Set(
        name=pathlib.Path(path).stem,
        kind=kind,
        x=np.array([row[FEATURES_FROM:] for row in rows], dtype=np.float64),
        y=np.array(["1" in f for f in found], dtype=np.float64),
        weight=np.full(len(rows), float(count) / len(ids)),
        questions=questions,
        found=found,
        words=np.array([int(row[3]) for row in rows]),
        no_answer=np.array([f == "-" for f in found]),
    )


def read_model(path):
    """Returns the intercept and the coefficients by name of a file of coefficients."""
    text = path.read_text()
    numbers = {name: float(value) for name, value in re.findall(r"(\w+): (-?[\d.]+),", text)}
    return numbers.pop("intercept"), numbers


def write_model(path, names, fit):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"Model {{\n    intercept: {fit.intercept:.4f},\n    coefficients: Features {{\n")
        for name, value in zip(names, fit.coefficients):
            file.write(f"        {name}: {value:.4f},\n")
        file.write("    },\n}\n")


def regress(x, y, weight, ridge, offset=0.0):
    """Logistic regression. `offset` is added to the log-odds; the ridge pulls the coefficients to zero."""
    mean = np.average(x, axis=0, weights=weight)
    std = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight)) + 1e-6
    z = np.c_[(x - mean) / std, np.ones(len(x))]
    w = np.zeros(z.shape[1])
    penalty = np.append(np.full(x.shape[1], ridge), 0.0)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(z @ w + offset, -30, 30)))
        gradient = z.T @ (weight * (p - y)) + penalty * w
        hessian = (z * (weight * p * (1 - p))[:, None]).T @ z + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        longest = np.abs(step).max()
        w -= step * min(1.0, STEP_MAX / longest)
        if longest < 1e-6:
            break
    coefficients = w[:-1] / std
    return Fit(coefficients, w[-1] - coefficients @ mean)


class Ranker:
    """The coefficients of one fit, over all features."""

    def __init__(self, names, people, ridge, ridge_assistant, is_encoder):
        self.names, self.ridge, self.ridge_assistant = names, ridge, ridge_assistant
        self.left_out = ABSOLUTE if is_encoder else []
        intercept, numbers = people
        self.people = Fit(np.array([numbers.get(name, 0.0) for name in names]), intercept)
        self.document = self.assistant = self.without_vector = self.people
        self.other_script = Fit(np.zeros(len(names)), 0.0)

    def column(self, x, name):
        return x[:, self.names.index(name)]

    def fitted(self, x, left_out=()):
        """Returns the indexes of the features that are fitted."""
        varies = x.std(axis=0) >= DEVIATION_MIN
        return [i for i, name in enumerate(self.names) if varies[i] and name not in [*INHERITED, *KINDS, *left_out]]

    def train(self, sets):
        x = np.vstack([s.x for s in sets])
        y = np.concatenate([s.y for s in sets])
        weight = np.concatenate([s.weight for s in sets])
        is_document, is_assistant = self.column(x, "is_document") > 0, self.column(x, "is_assistant_chat") > 0
        self.train_documents(x[is_document], y[is_document], weight[is_document])
        self.train_assistant(x[is_assistant], y[is_assistant], weight[is_assistant])
        self.train_without_vector(x, y, weight)
        return self

    def train_documents(self, x, y, weight):
        if not len(x):
            return
        fitted = self.fitted(x, self.left_out)
        other, features, count = self.column(x, "is_other_script"), x[:, fitted], len(fitted)
        both = regress(np.c_[features, features * other[:, None], other], y, weight, self.ridge)
        document, other_script = self.people.coefficients.copy(), np.zeros(len(self.names))
        document[[self.names.index(name) for name in self.left_out]] = 0.0
        document[fitted], other_script[fitted] = both.coefficients[:count], both.coefficients[count:-1]
        self.document = Fit(document, both.intercept)
        self.other_script = Fit(other_script, both.coefficients[-1])

    def train_assistant(self, x, y, weight):
        if not len(x):
            return
        fitted = self.fitted(x)
        assistant = self.people.coefficients.copy()
        part = regress(x[:, fitted], y, weight, self.ridge_assistant, x @ assistant + self.people.intercept)
        assistant[fitted] += part.coefficients
        self.assistant = Fit(assistant, self.people.intercept + part.intercept)

    def train_without_vector(self, x, y, weight):
        kinds = [self.names.index(name) for name in KINDS if name in self.names and name != "is_without_vector"]
        of_vectors = [self.names.index(name) for name in OF_VECTORS]
        fitted = [i for i in self.fitted(x) + kinds if i not in of_vectors]
        fit = regress(x[:, fitted], y, weight, self.ridge)
        coefficients = self.people.coefficients.copy()
        coefficients[of_vectors] = 0.0
        coefficients[fitted] = fit.coefficients
        self.without_vector = Fit(coefficients, fit.intercept)

    def scores_without_vector(self, x):
        return 1 / (1 + np.exp(-(x @ self.without_vector.coefficients + self.without_vector.intercept)))

    def scores(self, x):
        log_odds = x @ self.people.coefficients + self.people.intercept
        for kind, fit in (("is_document", self.document), ("is_assistant_chat", self.assistant)):
            of_kind = self.column(x, kind) > 0
            log_odds[of_kind] = x[of_kind] @ fit.coefficients + fit.intercept
        other = self.column(x, "is_other_script") > 0
        log_odds[other] += x[other] @ self.other_script.coefficients + self.other_script.intercept
        return 1 / (1 + np.exp(-log_odds))


def figures(s, scores):
    """Returns figures of `cuebase eval`."""
    out = {key: [] for key in ("first", "recall@5", "recall@24", "mrr", "ndcg@10", "recall@2000w")}
    answered, unanswered, top = [], [], []
    for q in np.unique(s.questions):
        at = np.flatnonzero(s.questions == q)
        at = at[np.argsort(-scores[at], kind="stable")]
        if s.no_answer[at[0]]:
            unanswered.append(scores[at[0]])
            continue
        answered.append(scores[at[0]])
        top.extend(at[:24])
        pieces = len(s.found[at[0]])
        used, first, places = 0, 0, {}
        for rank, i in enumerate(at, 1):
            used += s.words[i]
            if s.y[i] and not first:
                first = rank
            for piece, hit in enumerate(s.found[i]):
                if hit == "1":
                    places.setdefault(piece, (rank, used))
        ideal = sum(1 / np.log2(n + 2) for n in range(min(pieces, 10)))
        out["first"].append(first == 1)
        out["mrr"].append(1 / first if 0 < first <= 24 else 0)
        out["ndcg@10"].append(sum(1 / np.log2(r + 1) for r, _ in places.values() if r <= 10) / ideal)
        for limit in (5, 24):
            out[f"recall@{limit}"].append(sum(r <= limit for r, _ in places.values()) / pieces)
        out["recall@2000w"].append(sum(w <= 2000 for _, w in places.values()) / pieces)
    result = {key: float(np.mean(values)) for key, values in out.items()}
    bins = np.minimum((scores[top] * 10).astype(int), 9)
    differences = [abs(scores[top][bins == b].mean() - s.y[top][bins == b].mean()) * (bins == b).mean() for b in set(bins)]
    result["ece"] = float(sum(differences))
    result["best, answered"] = float(np.mean(answered))
    result["best, unanswered"] = float(np.mean(unanswered)) if unanswered else float("nan")
    return result


def show(name, label, result):
    print(f"{name:22}{label:18}" + "  ".join(f"{key} {value:.3f}" for key, value in result.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="FILE,KIND,QUESTIONS")
    parser.add_argument("--out", type=pathlib.Path, help="folder of the coefficients; people.rs is read there, too")
    parser.add_argument("--people", type=pathlib.Path, help="the coefficients of people, if --out is not given")
    parser.add_argument("--ridge", type=float, default=300.0, help="of documents and other scripts")
    parser.add_argument("--ridge-assistant", type=float, default=30.0)
    parser.add_argument("--encoder", action="store_true", help="fit the coefficients of other models than the table")
    parser.add_argument("--fast", action="store_true", help="leave out the fits without a kind")
    a = parser.parse_args()
    people = read_model(a.people or a.out / "people.rs")
    read_sets = [read(argument) for argument in a.sets]
    names, sets = read_sets[0][0], [s for _, s in read_sets]

    settings = (names, people, a.ridge, a.ridge_assistant, a.encoder)
    ranker = Ranker(*settings).train(sets)
    without = {}
    for s in sets:
        show(s.name, "all sets", figures(s, ranker.scores(s.x)))
        if not a.fast:
            if s.kind not in without:
                others = [other for other in sets if other.kind != s.kind]
                without[s.kind] = Ranker(*settings).train(others)
            show(s.name, "without its kind", figures(s, without[s.kind].scores(s.x)))
        show(s.name, "without a vector", figures(s, ranker.scores_without_vector(s.x)))
        for arm, rank in (("words alone", "lexical_rank"), ("cues alone", "cue_rank")):
            show(s.name, arm, figures(s, ranker.column(s.x, rank)))
    if a.out and a.encoder:
        if ranker.document is not ranker.people:
            write_model(a.out / "encoder_document.rs", names, ranker.document)
        if ranker.assistant is not ranker.people:
            write_model(a.out / "encoder_assistant.rs", names, ranker.assistant)
    elif a.out:
        write_model(a.out / "document.rs", names, ranker.document)
        write_model(a.out / "assistant.rs", names, ranker.assistant)
        write_model(a.out / "other_script.rs", names, ranker.other_script)
        write_model(a.out / "without_vector.rs", names, ranker.without_vector)


if __name__ == "__main__":
    main()
