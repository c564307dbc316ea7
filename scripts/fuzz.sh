#!/bin/sh
# Looks for inputs that break what must hold of the entry points in fuzz/parsers: sh scripts/fuzz.sh TARGET [SECONDS].
# Without a target it lists them. Needs the nightly toolchain; installs cargo-fuzz where it is missing. The first run
# builds everything but RocksDB once more, with the sanitizer of addresses.
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
# The sanitizer does not see into RocksDB, so the one that was just linked serves here as well.
ROCKSDB_LIB_DIR="$(dirname "$(ls -t "$CARGO_TARGET_DIR"/release/build/librocksdb-sys-*/out/librocksdb.a | head -n 1)")"
export ROCKSDB_LIB_DIR ROCKSDB_STATIC=1
PATH="$cache/tools/bin:$PATH" CARGO_TARGET_DIR="$cache/fuzz/target" cargo +nightly fuzz run --release "$target" \
    "$corpus/$target" -- -max_total_time="${2:-60}" -timeout=20 -rss_limit_mb=4096
