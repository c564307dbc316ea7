#!/bin/sh
# How large a binary is, how long it takes to answer, and what it takes when nobody asks: sh scripts/sizes.sh BINARY
set -eu
binary="$1"
folder="$(mktemp -d)"
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
cp "$binary" "$folder/cuebase"
strip "$folder/cuebase"
echo "binary: $(($(stat -c %s "$binary") / 1048576)) MiB, without symbols $(($(stat -c %s "$folder/cuebase") / 1048576)) MiB"

# The second start is the usual one: the first makes the data directory.
for start in first second; do
    began="$(date +%s%N)"
    "$folder/cuebase" serve --listen 127.0.0.1:0 --dashboard-listen 127.0.0.1:0 --data "$folder/data" >"$folder/said" 2>/dev/null &
    server=$!
    until address="$(sed -n 's|^listening on ||p' "$folder/said")" && [ -n "$address" ]; do :; done
    until curl -sf "$address/health" >/dev/null; do :; done
    echo "$start start to the first answer of /health: $((($(date +%s%N) - began) / 1000000)) ms"
    [ "$start" = second ] && sed -n 's/^VmRSS:\s*\([0-9]*\) kB/\1/p' "/proc/$server/status" |
        while read -r kib; do echo "resident, idle: $((kib / 1024)) MiB"; done
    kill "$server"
    wait "$server" || true
done
