"""Adapters for agent frameworks, one module for each framework.

Each module imports its framework, so import only the module that you use. An extra of the package installs the
framework: `pip install "cuebase[langgraph]"`.

A module is named after its framework, for example `cuebase.integrations.langgraph`. This package itself imports nothing.
"""
