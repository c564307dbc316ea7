#!/bin/sh
# Runs the whole test suite, with the profile of the demo so that nothing is built twice. Arguments are passed to cargo.
set -eu
cd "$(dirname "$0")/.."
CUEBASE_TEST_ENCODER="$(sh scripts/setup-tests.sh)"
export CUEBASE_TEST_ENCODER
exec cargo test --release --locked --workspace "$@"
