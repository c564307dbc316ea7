#!/bin/sh
# Fuzzes an entry point of fuzz/parsers: sh scripts/fuzz.sh TARGET [SECONDS]
# Without a target, lists the targets. Needs the nightly toolchain, and installs cargo-fuzz if it is missing. The first
# run builds everything except RocksDB again, with AddressSanitizer.
set -eu
cd "$(dirname "$0")/.."
cache="${XDG_CACHE_HOME:-$HOME/.cache}/cuebase"
if [ $# -eq 0 ]; then
    echo "targets:" && ls fuzz/fuzz_targets | sed 's/\.rs$//'
    exit 0
fi
version=0.13.2
if ! "$cache/tools/bin/cargo-fuzz" --version 2>/dev/null | grep -q "$version"; then
    CARGO_TARGET_DIR="$cache/tools/target" cargo install cargo-fuzz --version "$version" --locked --root "$cache/tools"
fi
target="$1"
corpus="$cache/fuzz/corpus"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
CUEBASE_FUZZ_CORPUS="$corpus" cargo test --release --locked --test parsers seeds_are_handed_to_the_fuzzer >/dev/null
# RocksDB is not instrumented, so the library of the normal build is used.
ROCKSDB_LIB_DIR="$(dirname "$(ls -t "$CARGO_TARGET_DIR"/release/build/librocksdb-sys-*/out/librocksdb.a | head -n 1)")"
export ROCKSDB_LIB_DIR ROCKSDB_STATIC=1
PATH="$cache/tools/bin:$PATH" CARGO_TARGET_DIR="$cache/fuzz/target" cargo +nightly fuzz run --release "$target" \
    "$corpus/$target" -- -max_total_time="${2:-60}" -timeout=20 -rss_limit_mb=4096
