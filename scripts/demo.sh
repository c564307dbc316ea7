#!/bin/sh
# Installs what the build needs, builds Cuebase and runs the demo. Arguments are passed to `cuebase demo`.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
exec cargo run --release --locked -- demo "$@"
