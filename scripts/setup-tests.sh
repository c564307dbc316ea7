#!/bin/sh
# Installs what the tests need beside the build's own needs: schemathesis, in a Python environment of its own under the
# user's cache. Does nothing where it is there.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
version=4.32.5
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cuebase/tools/python"
if "$tools/bin/schemathesis" --version 2>/dev/null | grep -q "$version"; then
    exit 0
fi
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    echo "setup: install Python 3.10 or later with venv first (Debian: python3-venv)" >&2
    exit 1
fi
echo "setup: installing schemathesis $version" >&2
rm -rf "$tools"
python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version" >&2
