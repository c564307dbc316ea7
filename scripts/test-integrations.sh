#!/bin/sh
# Runs the tests of the adapters for agent frameworks, each with the real framework and a real server.
# Usage: sh scripts/test-integrations.sh [sdks|frameworks|typescript]…, all parts by default.
#   sdks         Python: LangGraph, OpenAI Agents, Pydantic AI, Anthropic's memory tool
#   frameworks   Python: LlamaIndex, Microsoft Agent Framework, Google ADK, CrewAI, the filter for Open WebUI
#   typescript   AI SDK and Mastra
# Each part has an environment of its own under the user's cache, which is kept until its list of versions changes: the
# frameworks are large, and their versions exclude each other.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/cuebase"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
cargo build --release --locked --workspace
export CUEBASE_BINARY="$CARGO_TARGET_DIR/release/cuebase"
export PYTHONDONTWRITEBYTECODE=1 CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true

# Runs mypy and pytest on the modules of a part. Usage: python_part NAME "SOURCES" "TESTS"
python_part() {
    versions="clients/python/tests/integrations/requirements-$1.txt"
    tools="$cache/tools/integrations-$1"
    if ! cmp -s "$versions" "$tools/requirements.txt"; then
        echo "installing the frameworks of $versions" >&2
        rm -rf "$tools"
        python3 -m venv "$tools"
        "$tools/bin/pip" install --quiet --disable-pip-version-check -r "$versions" >&2
        cp "$versions" "$tools/requirements.txt"
    fi
    cd clients/python
    # shellcheck disable=SC2086 # lists of files
    MYPYPATH=src:tests/integrations "$tools/bin/mypy" --config-file= --strict --cache-dir "$cache/mypy-$1" $2 $3
    # shellcheck disable=SC2086 # a list of files
    PYTHONPATH=src "$tools/bin/python" -m pytest -q -p no:cacheprovider $3
    cd "$root"
}

# Prints files of a folder by the names of modules. Usage: files FOLDER PREFIX NAME…
files() {
    folder="$1" prefix="$2"
    shift 2
    for name in "$@"; do printf '%s/%s%s.py ' "$folder" "$prefix" "$name"; done
}

for part in ${*:-sdks frameworks typescript}; do
    echo "== $part"
    case "$part" in
    sdks)
        python_part sdks \
            "$(files src/cuebase/integrations '' langgraph openai_agents pydantic_ai anthropic_memory)" \
            "$(files tests/integrations test_ langgraph_store openai_agents_session pydantic_ai_toolset \
                anthropic_memory_tool path_encoding pages)"
        ;;
    frameworks)
        python_part frameworks \
            "$(files src/cuebase/integrations '' llama_index agent_framework google_adk crewai)" \
            "$(files tests/integrations test_ users llama_index agent_framework google_adk crewai open_webui_filter)"
        ;;
    typescript)
        npm --prefix clients/typescript/integrations ci --no-audit --no-fund --silent
        npm --prefix clients/typescript/integrations test --silent
        ;;
    *) echo "unknown part: $part" >&2 && exit 1 ;;
    esac
done
