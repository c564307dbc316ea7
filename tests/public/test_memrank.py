"""memrank.py, asked as memrank's client of its system contract asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Cuebase, exchange
from memrank import component
from server import Failure


class Translator:
    """A running translator."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}/memrank/v1"

    def send(self, operation: str, body: Any) -> tuple[int, Any]:
        return exchange("POST", f"{self.url}/{operation}", body)

    def prepare(self, unit: str) -> None:
        assert self.send("prepare", {"isolation_unit": unit}) == (200, {})

    def ingest(self, *documents: dict[str, Any]) -> None:
        status, body = self.send("ingest", {"documents": list(documents)})
        assert status == 200 and set(body) == {"engine_ms"}, body

    def retrieve(self, query: str, user: str | None = "u", k: int = 5) -> list[dict[str, Any]]:
        status, body = self.send("retrieve", {"query": query, "k": k, "user_id": user, "query_timestamp": None})
        assert status == 200 and isinstance(body["raw"], dict), body
        documents: list[dict[str, Any]] = body["documents"]
        return documents


def document(name: str, content: str, user: str | None = "u", **fields: Any) -> dict[str, Any]:
    return {"id": name, "content": content, "user_id": user, "timestamp": None, "context": None, "messages": None,
            "metadata": {"doc_id": name}, **fields}


KITE = document("kite", "Rosa flies a red stunt kite at the harbour.", timestamp="2026-03-11T09:15:00Z")
BREAD = document("bread", "Rosa bakes sourdough bread on Fridays.")


@pytest.fixture(scope="module")
def running(cuebase: Cuebase) -> Iterator[Translator]:
    with cuebase.service("memrank.py", "--port", "0") as url:
        yield Translator(url)


@pytest.fixture
def translator(running: Translator) -> Translator:
    running.prepare("a group")
    return running


def test_the_description_has_every_part_of_the_contract(translator: Translator) -> None:
    status, body = exchange("GET", f"{translator.url}/describe", None)
    assert status == 200
    assert body["contract_version"] == "v1"
    assert body["adapter"] == {"name": "cuebase-translator", "version": "1"}
    assert body["engine"]["name"] == "cuebase" and body["engine"]["version"]
    assert body["components"] == {
        "llm": None, "embedder": {"provider": "cuebase", "model": "built-in-table", "dims": 256}}
    assert body["capabilities"] == {"graph_snapshot": False, "context_budget": "matched"}


def test_documents_come_back_best_first(translator: Translator) -> None:
    translator.ingest(KITE, BREAD)
    found = translator.retrieve("what bread does Rosa bake")
    assert [each["id"] for each in found] == ["bread", "kite"]
    assert found[0]["content"] == BREAD["content"]
    assert found[0]["metadata"]["doc_id"] == "bread"
    assert found[0]["metadata"]["score"] > found[1]["metadata"]["score"]
    assert [each["id"] for each in translator.retrieve("what bread does Rosa bake", k=1)] == ["bread"]


def test_a_document_with_messages_is_one_result_with_what_its_hits_say(translator: Translator) -> None:
    messages = [{"role": "user", "content": "I moved to Lisbon in May."},
                {"role": "assistant", "content": "Lisbon has 290 days of sun a year and mild winters."},
                {"role": "Ana", "content": "My cat is called Biscuit."}]
    translator.ingest(document("talk", "not used", messages=messages, timestamp="2026-05-20T10:00:00Z"), BREAD)
    ferry = [{"role": "user", "content": "The ferry leaves at nine."}]
    translator.ingest(document("later", "not used", messages=ferry))
    assert len(translator.retrieve("ferry, bread, Lisbon", k=2)) == 2
    (first, *others) = translator.retrieve("Lisbon in May")
    assert first["id"] == "talk" and "talk" not in [each["id"] for each in others]
    assert "I moved to Lisbon in May." in first["content"]
    assert "Lisbon has 290 days of sun a year and mild winters." in first["content"]
    assert translator.retrieve("what is the cat called", k=1)[0]["id"] == "talk"
    assert translator.retrieve("when does the ferry leave", k=1)[0]["id"] == "later"


def test_a_new_group_sees_nothing_of_the_one_before(translator: Translator) -> None:
    translator.ingest(KITE)
    assert translator.send("cleanup", {}) == (200, {})
    assert translator.send("cleanup", {}) == (200, {})
    translator.prepare("a group")
    assert translator.retrieve("red stunt kite") == []


def test_users_see_their_own_documents_and_those_of_nobody(translator: Translator) -> None:
    translator.ingest(KITE, document("theirs", "Noor flies a red stunt kite.", user="v"),
                      document("shared", "The kite shop opens at ten.", user=None))
    assert {each["id"] for each in translator.retrieve("kite")} == {"kite", "shared"}
    assert {each["id"] for each in translator.retrieve("kite", user="w")} == {"shared"}
    assert {each["id"] for each in translator.retrieve("kite", user=None)} == {"kite", "theirs", "shared"}


def test_a_document_without_text_is_left_out(translator: Translator) -> None:
    translator.ingest(document("empty", " "), KITE)
    assert [each["id"] for each in translator.retrieve("kite")] == ["kite"]


def test_an_error_is_no_empty_result(translator: Translator) -> None:
    status, body = translator.send("ingest", {"documents": [document("kite", "A kite.", timestamp="soon")]})
    assert status == 502 and "invalid_time" in body["error"]
    assert translator.send("ingest", {"documents": 3}) == (400, {"error": 'field "documents" must be a list'})
    assert translator.send("cleanup", {})[0] == 200
    assert translator.send("retrieve", {"query": "kite", "k": 5, "user_id": "u"}) == (
        400, {"error": "retrieve before prepare: no group is open"})


def test_models_are_given_as_options() -> None:
    assert component("none", ("provider", "model")) is None
    assert component("openai/gpt-5/mini", ("provider", "model")) == {"provider": "openai", "model": "gpt-5/mini"}
    assert component("hf/org/name/384", ("provider", "model", "dims")) == {
        "provider": "hf", "model": "org/name", "dims": 384}
    with pytest.raises(Failure, match="expected provider/model/dims or none"):
        component("hf/name", ("provider", "model", "dims"))
