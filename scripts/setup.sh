#!/bin/sh
# Checks for cargo and disk space, and installs a C++ compiler, libclang (for RocksDB's bindings) and git (for the
# tests). On systems other than Debian and Ubuntu, prints what to install. Prints to standard error only.
set -eu
cd "$(dirname "$0")/.."

needed="$(sed -n 's/^rust-version = "\([0-9.]*\)"$/\1/p' Cargo.toml)"
if ! command -v cargo >/dev/null 2>&1; then
    echo "setup: cargo is missing: install Rust $needed or later from https://rustup.rs" >&2
    exit 1
fi
version="$(cargo --version | sed 's/^cargo \([0-9]*\.[0-9]*\).*/\1/')"
if [ "$(printf '%s\n' "$needed" "$version" | sort -t. -k1,1n -k2,2n | head -n 1)" != "$needed" ]; then
    echo "setup: cargo $version is too old: Cuebase needs Rust $needed or later; run: rustup update stable" >&2
    exit 1
fi
sh scripts/first-build.sh

missing=""
command -v c++ >/dev/null 2>&1 || missing="$missing g++"
command -v make >/dev/null 2>&1 || missing="$missing make"
command -v git >/dev/null 2>&1 || missing="$missing git"
libclang=""
for folder in /usr/lib/llvm-*/lib /usr/lib/* "${LIBCLANG_PATH:-/nowhere}"; do
    for library in "$folder"/libclang.so* "$folder"/libclang-[0-9]*.so*; do
        [ ! -e "$library" ] || libclang="$library"
    done
done
[ -n "$libclang" ] || missing="$missing libclang-dev"
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: install these first (Debian's names):$missing" >&2
    exit 1
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
echo "setup: installing$missing" >&2
$sudo apt-get update -qq >&2
# shellcheck disable=SC2086 # a list of packages
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >&2
