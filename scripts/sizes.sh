#!/bin/sh
# Measures the size of a binary, its start time, and its idle memory: sh scripts/sizes.sh BINARY
set -eu
binary="$1"
folder="$(mktemp -d)"
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
cp "$binary" "$folder/cuebase"
strip "$folder/cuebase"
echo "binary: $(($(stat -c %s "$binary") / 1048576)) MiB, without symbols $(($(stat -c %s "$folder/cuebase") / 1048576)) MiB"

# The first start creates the data directory, so the second start is the usual one.
for start in first second; do
    began="$(date +%s%N)"
    "$folder/cuebase" serve --listen 127.0.0.1:0 --dashboard-listen 127.0.0.1:0 --data "$folder/data" >"$folder/output" 2>/dev/null &
    server=$!
    until address="$(sed -n 's|^listening on ||p' "$folder/output")" && [ -n "$address" ]; do :; done
    until curl -sf "$address/health" >/dev/null; do :; done
    echo "$start start, until the first response of /health: $((($(date +%s%N) - began) / 1000000)) ms"
    [ "$start" = second ] && sed -n 's/^VmRSS:\s*\([0-9]*\) kB/\1/p' "/proc/$server/status" |
        while read -r kib; do echo "resident, idle: $((kib / 1024)) MiB"; done
    kill "$server"
    wait "$server" || true
done
