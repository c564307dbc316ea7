#!/bin/sh
# Runs the tests that need Python, Node.js or a browser: the setup script, the dashboard, MCP with its official client,
# the Python and TypeScript clients, the adapters for public benchmarks, the simulation and the benchmark of clusters, the
# packages, and every example of the documents.
# Usage: sh scripts/test-clients.sh [scripts|dashboard|mcp|python|typescript|public|simulation|packages|documents]…, all
# parts by default.
# Installs what is missing: Chromium and Node.js as Debian packages, everything else in separate folders.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/cuebase"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"

# Installs Debian packages.
install_debian() {
    sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo"
    $sudo apt-get update -qq >&2
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >&2
}

missing=""
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v node >/dev/null 2>&1 || missing="$missing nodejs"
command -v npm >/dev/null 2>&1 || missing="$missing npm"
command -v curl >/dev/null 2>&1 || missing="$missing curl"
command -v git >/dev/null 2>&1 || missing="$missing git"
# shellcheck disable=SC2086 # a list of packages
[ -z "$missing" ] || install_debian $missing
tools="$cache/tools/clients"
if ! cmp -s tests/requirements.txt "$tools/requirements.txt"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check -r tests/requirements.txt >&2
    cp tests/requirements.txt "$tools/requirements.txt"
fi

sh scripts/setup.sh
cargo build --release --locked --workspace
export CUEBASE_BINARY="$CARGO_TARGET_DIR/release/cuebase"
export PYTHONDONTWRITEBYTECODE=1
pytest() { "$tools/bin/python" -m pytest -q -p no:cacheprovider "$@"; }

for part in ${*:-scripts dashboard mcp python typescript public simulation packages documents}; do
    echo "== $part"
    case "$part" in
    dashboard)
        # The bundle in the binary must be that of the sources.
        npm --prefix dashboard ci --no-audit --no-fund --silent
        npm --prefix dashboard run check --silent
        (cd tests/browser && pytest)
        ;;
    scripts) (cd tests/scripts && pytest) ;;
    mcp) (cd tests/mcp && pytest) ;;
    python)
        cd clients/python
        "$tools/bin/python" generate_sync.py --check
        MYPYPATH=src "$tools/bin/mypy" --cache-dir "$cache/mypy"
        PYTHONPATH=src pytest
        cd "$root"
        ;;
    typescript)
        cd clients/typescript
        npm ci --no-audit --no-fund --silent
        npm test --silent
        cd "$root"
        ;;
    public)
        cd tests/public
        MYPYPATH=../../benches/public "$tools/bin/mypy" --strict --cache-dir "$cache/mypy" . ../../benches/public
        pytest
        cd "$root"
        ;;
    simulation)
        cd benches/cluster_simulation
        "$tools/bin/mypy" --strict --cache-dir "$cache/mypy" .
        pytest
        cd ../cluster
        MYPYPATH=../../tests/cluster "$tools/bin/mypy" --strict --cache-dir "$cache/mypy" .
        pytest
        cd "$root"
        ;;
    packages)
        for tool in debootstrap dpkg-shlibdeps lintian skopeo systemd-nspawn; do
            command -v "$tool" >/dev/null 2>&1 && continue
            install_debian debootstrap dpkg-dev lintian skopeo systemd-container
            break
        done
        if ! cmp -s tests/packages/requirements.txt "$tools/packages.txt"; then
            "$tools/bin/pip" install --quiet --disable-pip-version-check -r tests/packages/requirements.txt >&2
            cp tests/packages/requirements.txt "$tools/packages.txt"
        fi
        cd tests/packages
        MYPYPATH=../../packaging "$tools/bin/mypy" --strict --cache-dir "$cache/mypy" . ../../packaging/*.py
        pytest -rs --durations=5 -o tmp_path_retention_policy=failed
        cd "$root"
        ;;
    documents)
        [ -x clients/typescript/node_modules/.bin/tsc ] ||
            (cd clients/typescript && npm ci --no-audit --no-fund --silent)
        (cd tests/documents && MYPYPATH=. "$tools/bin/mypy" --strict --cache-dir "$cache/mypy" . && pytest -rs)
        ;;
    *) echo "unknown part: $part" >&2 && exit 1 ;;
    esac
done
