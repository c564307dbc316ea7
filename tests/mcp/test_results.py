"""Results of the MCP tools: length, relevance, and empty results."""

import asyncio
import re

import pytest

from support import agent, bad, command, good

BUDGET = 8_000


def with_agent(service, tmp_path, use):
    async def run():
        async with agent("http", service, tmp_path) as client:
            return await use(client)

    return asyncio.run(run())


def scores(text):
    return [float(score) for score in re.findall(r"^\[(\d\.\d\d)\] ", text, flags=re.M)]


def namespace(service, name):
    command(service["data"], "namespaces", "create", name)
    return {"namespace": name}


@pytest.fixture(scope="module")
def ferries(service, tmp_path_factory):
    """Creates a namespace with forty short memories about ferries and two long ones."""
    own = namespace(service, "ferries")

    async def write(client):
        for number in range(40):
            content = f"# Ferry {number}\n\nFerry {number} leaves the harbour of Bergen at {number % 24}:15.\n"
            await good(client, "memory_write", path=f"facts/ferries/f{number}.md", content=content, **own)
        for name in ["history", "rules"]:
            sections = [f"## Part {part}\n\n" + f"Ferries of part {part} have a {name}. " * 60 for part in range(30)]
            content = f"# Ferry {name}\n\n" + "\n\n".join(sections)
            await good(client, "memory_write", path=f"facts/ferries/{name}.md", content=content, **own)

    with_agent(service, tmp_path_factory.mktemp("ferries"), write)
    return own


def test_recall_is_limited_to_8000_characters(service, ferries, tmp_path):
    async def use(client):
        query = "When does the ferry leave, and which history has it?"
        text = await good(client, "memory_recall", query=query, limit=30, min_score=0, **ferries)
        assert len(text) <= BUDGET
        closing = r"(at least )?\d+ more hits?: ask with a higher limit or max_characters\."
        assert re.fullmatch(closing, text.splitlines()[-1]), text
        longer = await good(
            client, "memory_recall", query=query, limit=30, min_score=0, max_characters=20_000, **ferries
        )
        assert BUDGET < len(longer) <= 20_000

    with_agent(service, tmp_path, use)


def test_a_long_memory_in_the_hits_is_shortened(service, ferries, tmp_path):
    async def use(client):
        text = await good(client, "memory_recall", query="What do the ferries of part 7 have?", min_score=0, **ferries)
        assert len(text) <= BUDGET
        path = re.search(r"^… [\d,]+ more characters: memory_read (facts/ferries/\w+\.md)$", text, flags=re.M).group(1)
        assert f"] {path}" in text

    with_agent(service, tmp_path, use)


def test_recall_omits_unlikely_hits(service, ferries, tmp_path):
    async def use(client):
        everything = {"query": "What do the ferries of part 7 have?", "limit": 200, "max_characters": 100_000, **ferries}
        all_hits = scores(await good(client, "memory_recall", min_score=0, **everything))
        likely = scores(await good(client, "memory_recall", **everything))
        assert min(all_hits) < 0.01 <= min(likely)
        assert likely == all_hits[: len(likely)]

    with_agent(service, tmp_path, use)


def test_recall_counts_the_hits_below_min_score(service, ferries, tmp_path):
    async def use(client):
        text = await good(client, "memory_recall", query="When does ferry 7 leave?", min_score=1, **ferries)
        assert re.match(r"No memory scores 1 or more for this; below that: (at least )?\d+ hits?\.", text), text

    with_agent(service, tmp_path, use)


def test_arguments_out_of_range_are_errors_with_the_range(service, tmp_path):
    async def use(client):
        for arguments, expected in [
            ({"limit": 0}, "invalid_limit: limit must be from 1 to 200, not 0"),
            ({"min_score": 2}, "invalid_score: min_score must be from 0 to 1, not 2"),
            ({"max_characters": 5}, "invalid_max_characters: max_characters must be from 1000 to 100000, not 5"),
        ]:
            assert await bad(client, "memory_recall", query="x", **arguments) == expected

    with_agent(service, tmp_path, use)


def test_no_answer_is_not_an_error(service, tmp_path):
    async def use(client):
        empty = namespace(service, "empty")
        text = await good(client, "memory_answer", question="zzz qqq xxx", **empty)
        assert text.startswith("The memories hold no answer to this.")
        assert await good(client, "memory_recall", query="zzz qqq xxx", **empty) == "No memory matches this."
        context = await good(client, "memory_context", query="zzz qqq xxx", **empty)
        assert context == "Nothing in memory is relevant to this."
        assert await good(client, "memory_profile", **empty) == "No claims about user."

    with_agent(service, tmp_path, use)


def test_a_missing_memory_is_a_result_with_advice(service, tmp_path):
    async def use(client):
        text = await good(client, "memory_read", path="facts/no/such.md")
        assert "no memory exists at facts/no/such.md" in text and "memory_recall and memory_topics" in text
        text = await good(client, "memory_topics", path="facts/no")
        assert "memory_topics without a path" in text
        text = await good(client, "memory_explain", query="such", path="facts/no/such.md")
        assert text.startswith("facts/no/such.md: no memory is stored there.")

    with_agent(service, tmp_path, use)


def test_a_memory_of_a_megabyte_is_read_in_parts(service, tmp_path):
    async def use(client):
        own = namespace(service, "long")
        content = "# Log\n\n" + "".join(f"Entry {number} of the log.\n" for number in range(36_000))
        assert 800_000 < len(content) < 1 << 20
        await good(client, "memory_write", path="facts/log.md", content=content, **own)
        text = await good(client, "memory_read", path="facts/log.md", **own)
        assert len(text) <= BUDGET
        read, offset = [], 0
        while True:
            text = await good(client, "memory_read", path="facts/log.md", offset=offset, max_characters=100_000, **own)
            assert len(text) <= 100_000
            read += re.findall(r"^Entry (\d+) of the log\.$", text, flags=re.M)
            mark = re.search(r"^… [\d,]+ more characters: memory_read with offset (\d+)", text, flags=re.M)
            if mark is None:
                break
            offset = int(mark.group(1))
        assert read == [str(number) for number in range(36_000)]

    with_agent(service, tmp_path, use)


def test_a_long_memory_is_returned_with_its_sections(service, ferries, tmp_path):
    async def use(client):
        text = await good(client, "memory_read", path="facts/ferries/history.md", **ferries)
        assert len(text) <= BUDGET and 'or with one of its sections: "' in text and '"Part 0"' in text
        section = await good(client, "memory_read", path="facts/ferries/history.md", section="Part 7", **ferries)
        assert "Ferries of part 7" in section and "part 8" not in section

    with_agent(service, tmp_path, use)


def test_a_long_list_of_topics_continues_at_an_offset(service, ferries, tmp_path):
    async def use(client):
        seen, offset = [], 0
        while True:
            text = await good(
                client, "memory_topics", path="facts/ferries", offset=offset, max_characters=1_000, **ferries
            )
            assert len(text) <= 1_000
            seen += re.findall(r"^facts/ferries/\w+\.md$", text, flags=re.M)
            mark = re.search(r"^… \d+ more entries: memory_topics with offset (\d+)$", text, flags=re.M)
            if mark is None:
                break
            offset = int(mark.group(1))
        assert len(seen) == len(set(seen)) == 42

    with_agent(service, tmp_path, use)


def test_several_namespaces_are_recalled_with_the_name_of_each(service, tmp_path):
    async def use(client):
        for name in ["crew-a", "crew-b"]:
            own = namespace(service, name)
            content = f"# Lantern\n\nThe lantern of {name} hangs in the wheelhouse.\n"
            await good(client, "memory_write", path="facts/lantern.md", content=content, **own)
        text = await good(client, "memory_recall", query="Where does the lantern hang?", namespace="crew-a,crew-b")
        for name in ["crew-a", "crew-b"]:
            assert re.search(rf"facts/lantern\.md.* in namespace {name}\n# Lantern\n\nThe lantern of {name} ", text), text
        answer = await good(client, "memory_answer", question="Where does the lantern hang?", namespace="crew-a,crew-b")
        assert re.search(r"^- facts/lantern\.md in namespace crew-[ab]: ", answer, flags=re.M), answer

    with_agent(service, tmp_path, use)


def test_an_unknown_argument_causes_a_warning(service, tmp_path):
    async def use(client):
        text = await good(client, "memory_recall", query="x", tag="a")
        assert text.splitlines()[-1].startswith('warning: unknown argument "tag" ignored; memory_recall takes ')
        text = await bad(client, "memory_recall", q="x")
        assert "query" in text and 'unknown argument "q"' in text

    with_agent(service, tmp_path, use)


def test_a_foreign_user_argument_is_an_error(service, tmp_path):
    async def use(client):
        path = "facts/isolation/secret.md"
        for name in ["user_id", "agent_id", "run_id", "app_id", "group_id", "container_tag", "container_tags"]:
            text = await bad(client, "memory_write", path=path, content="# Secret\n\nOnly Ann's.\n", **{name: "ann"})
            assert name in text and '"namespace"' in text
            message = {"role": "user", "content": "I keep a secret.", name: "ann"}
            assert '"namespace"' in await bad(client, "memory_remember", messages=[message])
        assert (await good(client, "memory_read", path=path)).startswith("not_found: ")

    with_agent(service, tmp_path, use)
