#!/bin/sh
# Runs the black-box tests with two other models: a simulated hosted provider for embeddings and extraction, and a local
# encoder, the latter only for tests that search. Skips tests that use no model or set their own, such as those of
# crashes, disks, limits and pushes. Arguments are passed to cargo.
set -eu
cd "$(dirname "$0")/.."
CUEBASE_TEST_ENCODER="$(sh scripts/setup-tests.sh)"
export CUEBASE_TEST_ENCODER
# Many tests wait for a server or a disk, so two run for each processor.
RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(getconf _NPROCESSORS_ONLN)))}"
export RUST_TEST_THREADS
skipped=""
for module in abuse campaign damage disk document_limits full_disk generations git_limits kills linear log_privacy \
    long_histories machine migration order sessions shares; do
    skipped="$skipped --skip $module::"
done
# The encoder takes several times as long as the built-in table, so only tests that search run with it.
searching="answers:: context:: conversations:: document_files:: encoder:: explain:: memories:: metadata:: models::
    profile:: reextraction:: retrieve:: several:: skills:: standing:: statements:: time_only:: validity:: vocabulary::"

echo "== with a hosted model"
# shellcheck disable=SC2086 # a list of options
CUEBASE_TEST_MODEL=hosted cargo test --release --locked --workspace --test blackbox "$@" -- $skipped
echo "== with $CUEBASE_TEST_ENCODER"
# shellcheck disable=SC2086 # a list of names
CUEBASE_TEST_MODEL="$CUEBASE_TEST_ENCODER" cargo test --release --locked --workspace --test blackbox "$@" -- $searching
