#!/bin/sh
# The whole test suite, with the same profile as the demo so that nothing is built twice.
set -eu
cd "$(dirname "$0")/.."
CUEBASE_TEST_ENCODER="$(sh scripts/setup-tests.sh)"
export CUEBASE_TEST_ENCODER
exec cargo test --release --locked --workspace "$@"
