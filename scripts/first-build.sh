#!/bin/sh
# Runs before a build that compiles RocksDB: prints how long the build takes, and fails if the disk is too small.
# Does nothing once RocksDB is compiled. Called by scripts/setup.sh. Prints to standard error only.
set -eu
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-$PWD/target}"
for library in "$target"/release/build/librocksdb-sys-*/out/librocksdb.a; do
    [ ! -e "$library" ] || exit 0
done

# Measured: 28 minutes of processor time (docs/internals/build.md), and 2.3 GiB of disk with all tests. The rest is a
# margin.
cpu_minutes=30
disk_mib=4096

# The target directory may not exist yet.
existing="$target"
while [ ! -d "$existing" ]; do
    existing="$(dirname "$existing")"
done
free_mib="$(df -Pk "$existing" | awk 'NR == 2 { print int($4 / 1024) }')"
if [ "$free_mib" -lt "$disk_mib" ]; then
    echo "build: $free_mib MiB are free for $target; the build needs $disk_mib MiB." >&2
    echo "build: free some space, or set CARGO_TARGET_DIR to a directory on a larger disk." >&2
    exit 1
fi

cores="$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)"
minutes=$((cpu_minutes / cores + 2))
echo "Building Cuebase: the first build compiles RocksDB and takes about $cpu_minutes CPU-minutes, about $minutes minutes on" \
    "this machine (cores: $cores); later builds take seconds to minutes." >&2
echo "It needs $((disk_mib / 1024)) GiB of disk for $target ($((free_mib / 1024)) GiB are free)." >&2

# Measured: a compiler process takes up to 1.4 GiB for a group of RocksDB's files, and 1.6 GiB for Cuebase itself. Free
# memory can be read on Linux only.
memory_mib=$((1024 + 1400 * cores))
[ -r /proc/meminfo ] || exit 0
available_mib="$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)"
if [ "$available_mib" -lt "$memory_mib" ]; then
    echo "build: $available_mib MiB of memory are free, the build may take $memory_mib MiB; if it is killed, set" \
        "CARGO_BUILD_JOBS=1." >&2
fi
