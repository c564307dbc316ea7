#!/bin/sh
# Installs what the build needs, builds Cuebase and runs the demo. Arguments are passed to `cuebase demo`.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
# The whole workspace, as for the tests: the features of shared dependencies are the same then, and nothing is built twice.
cargo build --release --locked --workspace
exec "${CARGO_TARGET_DIR:-target}/release/cuebase" demo "$@"
