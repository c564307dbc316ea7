#!/bin/sh
# Builds the binary that is given out, and tells its size and SHA-256: sh scripts/release.sh FOLDER
# The same source, toolchain and Debian release give the same bytes wherever they are built: no path of the machine, no time
# and no symbols are in it.
set -eu
mkdir -p "$1"
out="$(cd "$1" && pwd)"
cd "$(dirname "$0")/.."
home="${CARGO_HOME:-$HOME/.cargo}"
target="${CARGO_TARGET_DIR:-$PWD/target}"
# The flags differ from those of the ordinary build, so the directory does too.
export CARGO_TARGET_DIR="$target/reproducible"
sh scripts/setup.sh
rust="$(rustc --print sysroot)"
prefixes="$PWD=/cuebase $CARGO_TARGET_DIR=/target $home=/cargo $rust=/rust"
RUSTFLAGS=""
CFLAGS=""
for prefix in $prefixes; do
    RUSTFLAGS="$RUSTFLAGS --remap-path-prefix=$prefix"
    CFLAGS="$CFLAGS -ffile-prefix-map=$prefix"
done
export RUSTFLAGS CFLAGS CXXFLAGS="$CFLAGS" SOURCE_DATE_EPOCH=0
cargo build --release --locked --bin cuebase --config 'profile.release.debug=false' --config 'profile.release.strip="symbols"'
cp "$CARGO_TARGET_DIR/release/cuebase" "$out/cuebase"
echo "$(($(stat -c %s "$out/cuebase") / 1048576)) MiB, $(sha256sum "$out/cuebase")"
