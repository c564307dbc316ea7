#!/bin/sh
# The whole test suite, with the same profile as the demo so that nothing is built twice.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup-tests.sh
exec cargo test --release --locked --workspace "$@"
