"""Checks `toml` and `json` blocks. A `json` block is the output of the `sh` block above it, or settings of an MCP host."""

from __future__ import annotations

import json
import shlex

from blocks import Block
from compare import check_json
from story import Story

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "documents", "version": "1"}},
}


def run_toml(story: Story, block: Block) -> None:
    file = story.checkout / f"settings_{block.line}.toml"
    file.write_text(block.text)
    done = story.attempt(f"cuebase config --config {file.name}")
    assert done.returncode == 0 and not done.stderr, done.stderr


def run_json(story: Story, block: Block) -> None:
    if block.adjacent:
        check_json(block.text, story.output)
        return
    for server in json.loads(block.text)["mcpServers"].values():
        command = shlex.join([server["command"], *server["args"]])
        # These variables would connect the tools to another server.
        command = f"env -u CUEBASE_URL -u CUEBASE_KEY {command}"
        done = story.attempt(command, standard_input=json.dumps(INITIALIZE) + "\n")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["result"]["serverInfo"], done.stdout
