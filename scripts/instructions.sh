#!/bin/sh
# Regression test of instruction counts: fails if a path takes more instructions than its limit in
# benches/instructions.rs. Installs valgrind and the benchmark runner if they are missing.
set -eu
cd "$(dirname "$0")/.."

if ! command -v valgrind >/dev/null 2>&1; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo"
    $sudo apt-get update -qq >&2
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq valgrind >&2
fi

# The runner must have the version of the library.
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cuebase/tools"
version="$(sed -n '/^name = "gungraun"$/{n;s/version = "\(.*\)"/\1/p}' Cargo.lock)"
if ! "$tools/bin/gungraun-runner" --version 2>/dev/null | grep -q "$version"; then
    CARGO_TARGET_DIR="$tools/target" cargo install gungraun-runner --version "$version" --locked --root "$tools"
fi
GUNGRAUN_RUNNER="$tools/bin/gungraun-runner" exec cargo bench --locked --bench instructions "$@"
