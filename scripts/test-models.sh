#!/bin/sh
# Runs the black-box tests with two other models: a simulated hosted provider for embeddings and extraction, and a local
# encoder. Skips tests that use no model or set their own, such as those of crashes, disks, limits and pushes. Arguments
# are passed to cargo.
set -eu
cd "$(dirname "$0")/.."
CUEBASE_TEST_ENCODER="$(sh scripts/setup-tests.sh)"
export CUEBASE_TEST_ENCODER
skipped=""
for module in abuse campaign damage disk document_limits full_disk generations git_limits kills linear log_privacy \
    long_histories machine migration order shares; do
    skipped="$skipped --skip $module::"
done
for model in hosted "$CUEBASE_TEST_ENCODER"; do
    echo "== with $model"
    # shellcheck disable=SC2086 # a list of options
    CUEBASE_TEST_MODEL="$model" cargo test --release --locked --workspace --test blackbox "$@" -- $skipped
done
