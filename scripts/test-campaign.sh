#!/bin/sh
# Runs a short fault campaign on three real nodes: six faults, one of them a fail-over of the database, with a fixed seed.
# It takes about two minutes. The long campaign is described in tests/cluster/README.md.
# Needs root, network namespaces, bridges and a packet filter. Without them the campaign is skipped, and a line says so.
# Arguments are passed to tests/cluster/campaign.py: sh scripts/test-campaign.sh --seed 2 --faults 12
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=scripts/services.sh
. scripts/services.sh
cache="${XDG_CACHE_HOME:-$HOME/.cache}/cuebase"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
# Number of the run, which names its network namespaces.
run=80

skip() {
    echo "test-campaign: SKIPPED, $1"
    exit 0
}
# Creates what the network of a campaign consists of, in a namespace that ends with the command.
try_network() {
    unshare --net sh -c "ip link add br0 type bridge && ip link add one type veth peer name two &&
        echo 'table bridge probe { chain forward { type filter hook forward priority 0; }; }' | nft -f -"
}

[ "$(id -u)" = 0 ] || skip "it needs root"
unshare --net true 2>/dev/null || skip "network namespaces cannot be created"
missing=""
command -v ip >/dev/null 2>&1 || missing="$missing iproute2"
command -v nft >/dev/null 2>&1 || missing="$missing nftables"
command -v git >/dev/null 2>&1 || missing="$missing git"
# shellcheck disable=SC2086 # a list of packages
if [ -n "$missing" ] && ! (install_debian $missing); then
    skip "these are missing:$missing"
fi
try_network || skip "the system has no bridges, links or packet filter for network namespaces"
install_services
sh scripts/setup.sh
cargo build --release --locked --workspace

# The harness looks for PostgreSQL's programs on PATH if they are not those of version 15.
PATH="$PATH:$(programs)"
export PATH PYTHONDONTWRITEBYTECODE=1
campaign() { "$tools/bin/python" tests/cluster/campaign.py --run "$run" "$@"; }

folder="$(mktemp -d)"
# Kept after a failure: it has the history, the logs and the report.
clean_up() {
    status=$?
    campaign --clean || true
    if [ "$status" = 0 ]; then
        rm -rf "$folder"
    else
        echo "test-campaign: history, logs and report are in $folder" >&2
    fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM
chmod 755 "$folder"
campaign --node-command "$CARGO_TARGET_DIR/release/cuebase serve" --nodes 3 --faults 6 --seed 182 \
    --kinds kill,restart,stop,cut-database,stalled-link,fail-over --folder "$folder/run" \
    --report "$folder/report.json" "$@"
