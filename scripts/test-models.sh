#!/bin/sh
# The black-box tests twice more: with an imitated hosted provider for embeddings and extraction, and with a local
# encoder. Left out are the tests in which no model takes part, or which name the model that they want: of crashes, disks,
# limits and pushes. Arguments go to cargo.
set -eu
cd "$(dirname "$0")/.."
CUEBASE_TEST_ENCODER="$(sh scripts/setup-tests.sh)"
export CUEBASE_TEST_ENCODER
skipped=""
for module in abuse campaign damage disk full_disk generations git_limits linear log_privacy machine migration order shares; do
    skipped="$skipped --skip $module::"
done
for model in hosted "$CUEBASE_TEST_ENCODER"; do
    echo "== with $model"
    # shellcheck disable=SC2086 # a list of options
    CUEBASE_TEST_MODEL="$model" cargo test --release --locked --test blackbox "$@" -- $skipped
done
