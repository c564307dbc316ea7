#!/bin/sh
# Runs the whole test suite, with the profile of the demo so that nothing is built twice. Arguments are passed to cargo.
set -eu
cd "$(dirname "$0")/.."
CUEBASE_TEST_ENCODER="$(sh scripts/setup-tests.sh)"
export CUEBASE_TEST_ENCODER
# Many tests wait for a server or a disk, so two run for each processor.
RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(getconf _NPROCESSORS_ONLN)))}"
export RUST_TEST_THREADS
exec cargo test --release --locked --workspace "$@"
