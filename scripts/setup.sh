#!/bin/sh
# Installs what building from source needs beside Rust: a C++ compiler, libclang (RocksDB's bindings) and git (the tests).
# Does nothing where all of it is there. On other systems than Debian and Ubuntu it says what to install.
set -eu

missing=""
command -v c++ >/dev/null 2>&1 || missing="$missing g++"
command -v make >/dev/null 2>&1 || missing="$missing make"
command -v git >/dev/null 2>&1 || missing="$missing git"
ls /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*/libclang*.so* "${LIBCLANG_PATH:-/nowhere}"/libclang*.so* 2>/dev/null |
    grep -q 'libclang[-.0-9]*so' || missing="$missing libclang-dev"

if ! command -v cargo >/dev/null 2>&1; then
    echo "setup: Rust is missing: install it from https://rustup.rs" >&2
    exit 1
fi
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
