#!/bin/sh
# The main job in one command: sets up, builds and runs the demo. Arguments go to `cuebase demo`.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
exec cargo run --release --locked -- demo "$@"
