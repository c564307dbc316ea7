#!/bin/sh
# Builds the release binary reproducibly, prints its size and SHA-256, and builds the packages from it: docs/install.md
# Usage: sh scripts/release.sh FOLDER [--binary-only]
# The same source, toolchain and Debian release result in the same bytes on every machine. The binary contains no local
# paths, no build time and no symbols.
set -eu
began="$(date +%s)"
packages=yes
case "${2:-}" in
"") ;;
--binary-only) packages=no ;;
*) echo "release: unknown argument $2: expected FOLDER [--binary-only]" >&2 && exit 1 ;;
esac
mkdir -p "$1"
out="$(cd "$1" && pwd)"
cd "$(dirname "$0")/.."
home="${CARGO_HOME:-$HOME/.cargo}"
target="${CARGO_TARGET_DIR:-$PWD/target}"
# Python is checked before the build, which takes long.
[ "$packages" = no ] || python3 packaging/build.py --help >/dev/null
# The flags differ from those of the normal build, so a separate target directory is used.
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
export RUSTFLAGS CFLAGS CXXFLAGS="$CFLAGS"
SOURCE_DATE_EPOCH=0 cargo build --release --locked --bin cuebase \
    --config 'profile.release.debug=false' --config 'profile.release.strip="symbols"'
cp "$CARGO_TARGET_DIR/release/cuebase" "$out/cuebase"
echo "$(($(stat -c %s "$out/cuebase") / 1048576)) MiB, $(sha256sum "$out/cuebase")"
[ "$packages" = no ] || python3 packaging/build.py --binary "$out/cuebase" --out "$out"
echo "release: $(($(date +%s) - began)) s in total" >&2
