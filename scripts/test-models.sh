#!/bin/sh
# The black-box tests twice more: with an imitated hosted provider for embeddings and extraction, and with a local
# encoder; but for the tests of crashes and disks, which say themselves which models they want. Arguments go to cargo.
set -eu
cd "$(dirname "$0")/.."
CUEBASE_TEST_ENCODER="$(sh scripts/setup-tests.sh)"
export CUEBASE_TEST_ENCODER
for model in hosted "$CUEBASE_TEST_ENCODER"; do
    echo "== with $model"
    CUEBASE_TEST_MODEL="$model" cargo test --release --locked --test blackbox "$@" -- --skip campaign:: --skip disk::
done
