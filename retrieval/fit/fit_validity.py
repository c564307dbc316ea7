#!/usr/bin/env python3
"""Fits the coefficients of the features of validity: claim_holds, claim_outdated, superseded and recency.

    cuebase eval tests/data/quality/changes.jsonl --features FILE.tsv
    python3 retrieval/fit/fit_validity.py FILE.tsv ...

All other coefficients stay as they are in retrieval/src/ranking/coefficients/people.rs: the dialogues of the suite are too
short to fit them. Logistic regression with a ridge of 1, by Newton's method, without libraries.
"""

import math
import pathlib
import re
import sys

# The first column of a feature.
FEATURES_FROM = 8
FITTED = ["claim_holds", "claim_outdated", "superseded", "recency"]
RIDGE = 1.0
STEPS = 40
COEFFICIENTS = pathlib.Path(__file__).parent.parent / "src/ranking/coefficients/people.rs"


def read_coefficients():
    """Returns the intercept and the coefficients by name."""
    text = COEFFICIENTS.read_text()
    intercept = float(re.search(r"intercept: (-?[\d.]+)", text).group(1))
    return intercept, {name: float(value) for name, value in re.findall(r"        (\w+): (-?[\d.]+),", text)}


def read_rows(paths):
    """Returns, for each candidate: the log-odds without the fitted features, their values, and whether it is right."""
    intercept, coefficients = read_coefficients()
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            names = next(file).rstrip("\n").split("\t")[FEATURES_FROM:]
            for line in file:
                cells = line.rstrip("\n").split("\t")
                values = dict(zip(names, map(float, cells[FEATURES_FROM:])))
                fixed = sum(coefficients[name] * value for name, value in values.items() if name not in FITTED)
                rows.append((intercept + fixed, [values[name] for name in FITTED], int("1" in cells[4])))
    return rows


def solve(matrix, vector):
    """Solves a small system of linear equations by elimination with pivots."""
    size = len(vector)
    rows = [row[:] + [value] for row, value in zip(matrix, vector)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(size):
            if row != column:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column])]
    return [rows[index][size] / rows[index][index] for index in range(size)]


def fit(rows):
    """Returns the coefficients of the fitted features."""
    size = len(FITTED)
    weights = [0.0] * size
    for _ in range(STEPS):
        gradient = [-RIDGE * weight for weight in weights]
        curvature = [[RIDGE if i == j else 0.0 for j in range(size)] for i in range(size)]
        for fixed, values, right in rows:
            if not any(values):
                continue
            odds = fixed + sum(weight * value for weight, value in zip(weights, values))
            probability = 1 / (1 + math.exp(-odds))
            for i in range(size):
                gradient[i] += values[i] * (right - probability)
                for j in range(size):
                    curvature[i][j] += values[i] * values[j] * probability * (1 - probability)
        step = solve(curvature, gradient)
        weights = [weight + change for weight, change in zip(weights, step)]
        if max(map(abs, step)) < 1e-6:
            break
    return weights


def main():
    rows = read_rows(sys.argv[1:])
    print(f"{len(rows)} candidates, {sum(row[2] for row in rows)} right")
    for name, weight in zip(FITTED, fit(rows)):
        print(f"{name}: {weight:.4f}")


if __name__ == "__main__":
    main()
