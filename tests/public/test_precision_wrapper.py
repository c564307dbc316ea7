"""precision_wrapper.py, asked as the runner of PrecisionMemBench asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Cuebase, exchange
from precision_wrapper import cues_of, path_of, tags_of


class Wrapper:
    """A running wrapper."""

    def __init__(self, url: str) -> None:
        self.url = url

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return exchange(method, self.url + path, body)

    def add(self, belief: str, text: str, user: str = "test-user", **fields: Any) -> None:
        metadata = {"beliefId": belief, **fields.pop("metadata", {})}
        status, body = self.send("POST", "/add", {"text": text, "user_id": user, "metadata": metadata, **fields})
        assert (status, body) == (200, {"ok": True})

    def search(self, query: str, user: str = "test-user", **fields: Any) -> list[str]:
        status, body = self.send("POST", "/search", {"query": query, "user_id": user, "limit": 20, **fields})
        assert status == 200, body
        return [result["id"] for result in body["results"]]


@pytest.fixture(scope="module")
def running(cuebase: Cuebase) -> Iterator[Wrapper]:
    with cuebase.service("precision_wrapper.py", "--listen", "127.0.0.1:0", "--admit", "all") as url:
        yield Wrapper(url)


@pytest.fixture
def wrapper(running: Wrapper) -> Wrapper:
    assert running.send("DELETE", "/reset") == (200, {"ok": True})
    return running


def test_results_have_the_id_of_the_belief(wrapper: Wrapper) -> None:
    wrapper.add("b-kite", "kite stunt kite Flies a red stunt kite at the harbour.", aliases=["stunt kite"])
    request = {"query": "which kite is flown", "user_id": "test-user", "limit": 20}
    status, body = wrapper.send("POST", "/search", request)
    assert status == 200
    (result,) = body["results"]
    assert result["id"] == result["metadata"]["beliefId"] == "b-kite"
    assert result["memory"].startswith("kite stunt kite Flies") and 0 < result["score"] < 1


def test_a_scope_is_a_filter(wrapper: Wrapper) -> None:
    wrapper.add("b-code", "Redis keeps the sessions of the service.", metadata={"scope": "domain:code"})
    wrapper.add("b-novel", "Redis is the ship in the novel.", metadata={"scope": ["domain:writing", "user:universal"]})
    assert wrapper.search("what is Redis", scope="domain:code") == ["b-code"]
    assert wrapper.search("what is Redis", scope="domain:writing") == ["b-novel"]
    assert set(wrapper.search("what is Redis", scope=["domain:code", "user:universal"])) == {"b-code", "b-novel"}
    assert set(wrapper.search("what is Redis")) == {"b-code", "b-novel"}


def test_users_do_not_see_each_other(wrapper: Wrapper) -> None:
    wrapper.add("b-mine", "Flies a red stunt kite.")
    wrapper.add("b-theirs", "Flies a red stunt kite.", user="other")
    assert wrapper.search("stunt kite") == ["b-mine"]
    assert wrapper.search("stunt kite", user="other") == ["b-theirs"]
    assert wrapper.search("stunt kite", user="nobody") == []


def test_a_reset_leaves_nothing(wrapper: Wrapper) -> None:
    wrapper.add("b-kite", "Flies a red stunt kite.")
    assert wrapper.send("DELETE", "/reset") == (200, {"ok": True})
    assert wrapper.search("stunt kite") == []
    wrapper.add("b-other", "Sold a red stunt kite.")
    assert wrapper.search("stunt kite") == ["b-other"]


def test_an_update_replaces_the_belief(wrapper: Wrapper) -> None:
    wrapper.add("b-tea", "Drinks green tea.")
    body = {"beliefId": "b-tea", "text": "Drinks black coffee.", "user_id": "test-user"}
    assert wrapper.send("PUT", "/update", body) == (200, {"ok": True})
    status, found = wrapper.send("POST", "/search", {"query": "who drinks what", "user_id": "test-user"})
    assert status == 200
    (result,) = found["results"]
    assert (result["id"], result["memory"].strip()) == ("b-tea", "Drinks black coffee.")


def test_a_superseded_belief_is_no_result(wrapper: Wrapper) -> None:
    wrapper.add("b-old", "The database is Postgres.", metadata={"superseded_by": "b-new"})
    wrapper.add("b-new", "The database is MongoDB.", metadata={"superseded_by": None})
    assert wrapper.search("which database") == ["b-new"]


def test_an_empty_query_and_a_limit_of_zero_have_no_result(wrapper: Wrapper) -> None:
    wrapper.add("b-kite", "Flies a red stunt kite.")
    assert wrapper.search(" ") == []
    assert wrapper.search("stunt kite", limit=0) == []


def test_only_admitted_hits_are_results_by_default(cuebase: Cuebase, wrapper: Wrapper) -> None:
    with cuebase.service("precision_wrapper.py", "--listen", "127.0.0.1:0") as url:
        default = Wrapper(url)
        for each in (default, wrapper):
            each.add("b-kite", "Flies a red stunt kite at the harbour.")
            each.add("b-bread", "Bakes bread at the harbour every morning.")
        assert wrapper.search("stunt kite at the harbour") == ["b-kite", "b-bread"]
        assert default.search("stunt kite at the harbour") == ["b-kite"]
        assert default.search("how does a submarine dive") == []


def test_a_wrong_request_is_an_error_and_no_empty_result(wrapper: Wrapper) -> None:
    assert wrapper.send("POST", "/search", {"query": "x"})[0] == 400
    assert wrapper.send("POST", "/add", {"text": "x", "user_id": "u"}) == (
        400, {"error": 'field "metadata" must be an object with "beliefId"'})
    assert wrapper.send("POST", "/add", {"text": " ", "user_id": "u", "metadata": {"beliefId": "b"}})[0] == 502
    status, body = wrapper.send("POST", "/remember", {})
    assert status == 404 and "POST /add" in body["error"]


def test_nothing_of_the_id_is_in_the_path() -> None:
    assert path_of("b-redis-code") == "facts/beliefs/" + path_of("b-redis-code")[14:38] + ".md"
    assert "redis" not in path_of("b-redis-code")
    assert path_of("b-1") != path_of("b-2")


def test_scopes_become_tags_and_aliases_cues() -> None:
    assert tags_of("Project: My API") == ["project:-my-api"]
    assert tags_of(["domain:code", "", None]) == ["domain:code"]
    assert tags_of(None) == []
    assert cues_of(["Two\nlines", "TS", "TS", 3, " "]) == ["Two lines", "TS"]
