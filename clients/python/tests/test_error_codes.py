"""Error codes, tested with a fake server."""

from __future__ import annotations

import httpx
import pytest

from cuebase import Client, NotFound, error_codes


def test_the_code_of_an_error_equals_its_constant() -> None:
    body = {"error": {"code": "namespace_not_found", "message": "namespace \"tea\" does not exist"}}
    server = httpx.MockTransport(lambda _: httpx.Response(404, json=body))
    with pytest.raises(NotFound) as raised:
        Client(key="key", transport=server).retrieve("tea")
    assert raised.value.code == error_codes.NAMESPACE_NOT_FOUND
    assert raised.value.code != error_codes.NOT_FOUND
