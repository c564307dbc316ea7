"""Defaults for `url` and `key`: the environment variables `CUEBASE_URL` and `CUEBASE_KEY`."""

from __future__ import annotations

import os
import re

from .errors import MissingKey

DEFAULT_URL = "http://127.0.0.1:8080"
#: An invalid URL may be a key passed by mistake, so an error shows only its first characters.
_SHOWN_CHARACTERS = 9


def server_url(given: str | None) -> str:
    """Returns the address of the server, without a trailing slash. Raises `ValueError` for anything but an HTTP URL."""
    url = given or os.environ.get("CUEBASE_URL") or DEFAULT_URL
    if not re.match(r"https?://[^/]", url):
        shown = url[:_SHOWN_CHARACTERS]
        raise ValueError(f'invalid url "{shown}…": expected http:// or https:// and a host, for example {DEFAULT_URL}')
    return url.rstrip("/")


def credential(given: str | None) -> str:
    """Returns the credential. Raises `MissingKey` when there is none."""
    key = given or os.environ.get("CUEBASE_KEY")
    if not key:
        raise MissingKey(
            "no API key: pass `key`, or set the environment variable CUEBASE_KEY."
            " The first start of the server prints a key; `cuebase keys create` makes another.",
            code="missing_key",
        )
    return key
