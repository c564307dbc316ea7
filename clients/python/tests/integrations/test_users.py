"""Namespaces of users: valid names, and no two users with the same one."""

from __future__ import annotations

import re
from itertools import product

import pytest

from cuebase.integrations._users import resolve_namespace, user_namespace

VALID = re.compile(r"[a-z0-9-]{1,64}")


def test_a_plain_id_stays_readable() -> None:
    assert user_namespace("mara-7") == "user-mara-7"


def test_every_id_has_a_valid_namespace_of_its_own() -> None:
    pieces = ["", "a", "A", "-", "_", "@", ".", "ä", "ß", "日本", "🙂", " ", "\n", "x" * 59, "x" * 60, "x" * 300]
    ids = {left + right for left, right in product(pieces, pieces)} - {""}
    # Names of other users are ids, too.
    ids |= {user_namespace(each) for each in ids}
    ids |= {user_namespace(each).removeprefix("user-") for each in ids}
    names = {user_namespace(each) for each in ids}
    assert all(VALID.fullmatch(name) for name in names)
    assert len(names) == len(ids)


def test_several_ids_are_not_joined() -> None:
    names = {user_namespace("a-b", "c"), user_namespace("a", "b-c"), user_namespace("a-b-c"), user_namespace("a", "b", "c")}
    assert len(names) == 4


@pytest.mark.parametrize("ids", [(), ("",), ("app", "")])
def test_a_missing_id_is_an_error(ids: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="invalid user id"):
        user_namespace(*ids)


def test_a_namespace_needs_a_user_or_a_name() -> None:
    assert resolve_namespace(None, "team") == "team"
    assert resolve_namespace("mara", str.upper) == "MARA"
    for missing in (None, ""):
        with pytest.raises(ValueError, match="no user"):
            resolve_namespace(missing, user_namespace)
