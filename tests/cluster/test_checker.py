"""The checker on synthetic histories: for each property, runs that keep it and runs that violate it."""

from __future__ import annotations

from pathlib import Path

import history
from checker import check, check_history
from final_state import Change, Commit, FinalState, Space, load_state
from history import History, Kind, Outcome
from story import ACCOUNT, PATH, SPACE, Story


def full_story() -> Story:
    """Returns a run with every kind of operation, a fault, a lost answer and a repeated body."""
    story = Story()
    story.write("tok1n1x")
    story.read("tok1n1x")
    story.see_head()
    story.accept("tok1n2x", "id1")
    story.fault()
    story.lost_answer("tok1n3x")
    story.write("tok1n3x")
    story.record(Kind.INGEST, "tok1n2x", outcome=Outcome.UNKNOWN)
    story.accept("tok1n2x", "id1")
    path = story.ingest("tok1n2x", "id1")
    story.report("tok1n2x", "id1")
    story.retrieve("tok1n2x", 1)
    story.read("tok1n2x", path)
    story.see_head()
    story.forget("tok1n4x", "id2")
    story.read(None)
    return story


def test_a_run_without_a_fault_in_the_server_has_no_violation() -> None:
    assert full_story().violations() == []


# Every acknowledged write is stored exactly once.


def test_a_lost_conversation_is_found() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.statuses["id1"] = "ingested"
    found = story.violations()
    assert {violation.rule for violation in found} == {"exactly_once"}
    assert found[0].operations == (story.recorded.operations[0],)


def test_a_conversation_under_another_id_is_found() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    assert story.rules() == []
    commit = story.space.commits[0]
    story.space.commits[0] = Commit(commit.id, commit.parents, "id9", commit.changes)
    assert story.rules() == ["exactly_once"]


def test_a_conversation_whose_memory_is_missing_is_found() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    commit = story.space.commits[0]
    story.space.commits[0] = Commit(commit.id, commit.parents, commit.message, ())
    assert story.rules() == ["exactly_once"]


def test_a_conversation_in_two_commits_is_found() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    story.commit(Change("facts/again.md", False, "tok1n1x"), message="id1")
    assert story.rules() == ["exactly_once"]
    assert len(story.violations()) == 2, "two commits, and two places"


def test_a_body_that_is_accepted_twice_is_found_within_the_window() -> None:
    for pause, expected in ((0, ["exactly_once"]), (400, [])):
        story = Story()
        story.accept("tok1n1x", "id1")
        story.ingest("tok1n1x", "id1")
        story.now += pause
        story.accept("tok1n1x", "id2")
        # The repetition says what is stored already, so its commit changes no memory.
        story.space.commits.append(Commit("commit1", ("commit0",), "id2", ()))
        story.space.head = "commit1"
        story.statuses["id2"] = "ingested"
        assert story.rules() == expected, pause


def test_a_dead_letter_is_found() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    story.statuses["id1"] = "dead"
    assert story.rules() == ["exactly_once"]


def test_an_unknown_conversation_may_be_stored_once_or_not_at_all() -> None:
    for times, expected in ((0, []), (1, []), (2, ["exactly_once"])):
        story = Story()
        story.record(Kind.INGEST, "tok1n1x", outcome=Outcome.UNKNOWN)
        for number in range(times):
            story.commit(Change(f"facts/{number}.md", False, "tok1n1x"), message=f"id{number}")
        assert story.rules() == expected, times


def test_a_refused_conversation_may_not_be_stored() -> None:
    story = Story()
    story.record(Kind.INGEST, "tok1n1x", outcome=Outcome.FAILED)
    assert story.rules() == []
    story.ingest("tok1n1x", "id1")
    assert story.rules() == ["exactly_once"]


def test_a_lost_direct_write_is_found() -> None:
    story = Story()
    story.write("tok1n1x", "facts/a.md")
    story.write("tok1n2x", "facts/b.md")
    lost = story.space.commits.pop()
    story.space.head = story.space.commits[-1].id
    del story.space.files["facts/b.md"], story.space.memories["facts/b.md"]
    found = story.violations()
    assert [violation.rule for violation in found] == ["exactly_once"]
    assert lost.id in found[0].message


def test_the_attempts_of_a_direct_write_bound_its_commits() -> None:
    story = Story()
    story.lost_answer("tok1n1x")
    story.write("tok1n1x")
    assert story.rules() == []
    story.commit(Change(PATH, False, "tok1n1x"))
    assert story.rules() == ["exactly_once"]


def test_a_refused_direct_write_may_not_be_stored() -> None:
    story = Story()
    story.record(Kind.WRITE, "tok1n1x", PATH, Outcome.FAILED)
    story.commit(Change(PATH, False, "tok1n1x"))
    assert story.rules() == ["exactly_once"]


def test_a_direct_write_with_the_commit_of_another_one_is_found() -> None:
    story = Story()
    first = story.write("tok1n1x", "facts/a.md")
    second = story.write("tok1n2x", "facts/b.md")
    story.replace(first, result=second.result)
    assert story.rules() == ["exactly_once"]


def test_an_unanswered_direct_write_at_another_path_is_found() -> None:
    story = Story()
    story.record(Kind.WRITE, "tok1n1x", PATH, Outcome.UNKNOWN)
    story.commit(Change("facts/elsewhere.md", False, "tok1n1x"))
    assert story.rules() == ["exactly_once"]


def test_a_direct_write_at_another_path_is_found() -> None:
    story = Story()
    operation = story.write("tok1n1x")
    story.replace(operation, target="facts/elsewhere.md")
    assert story.rules() == ["exactly_once"]


def test_a_removal_without_effect_is_found_unless_a_later_write_explains_it() -> None:
    story = Story()
    story.write("tok1n1x")
    story.record(Kind.FORGET, "tok1n2x", PATH, id="id1")
    story.statuses["id1"] = "ingested"
    assert story.rules() == ["exactly_once"]
    story.write("tok1n3x")
    assert story.rules() == []


def test_a_removal_that_ends_as_a_dead_letter_is_found() -> None:
    story = Story()
    story.write("tok1n1x")
    story.forget("tok1n2x", "id1")
    assert story.rules() == []
    story.statuses["id1"] = "dead"
    assert story.rules() == ["exactly_once"]


def test_a_removal_that_nobody_sent_is_found() -> None:
    story = Story()
    story.write("tok1n1x")
    story.commit(Change(PATH, True), message="id9")
    assert story.rules() == ["exactly_once"]
    story.record(Kind.FORGET, "tok1n2x", PATH, Outcome.UNKNOWN)
    assert story.rules() == []


def test_a_commit_that_nobody_sent_is_found() -> None:
    story = Story()
    story.commit(Change(PATH, False, "tok9n9x"))
    assert story.rules() == ["exactly_once"]
    story = Story()
    story.commit(Change(PATH, False, None))
    assert story.rules() == ["exactly_once"]


def test_a_memory_that_a_query_returns_twice_is_found() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    story.retrieve("tok1n1x", 2)
    assert story.rules() == ["exactly_once"]


def test_a_write_in_a_foreign_namespace_is_found() -> None:
    story = Story()
    story.write("tok1n1x")
    stray = Commit("other0", (), "", (Change(PATH, False, "tok1n1x"),))
    story.spaces["second/alpha"] = Space(
        [stray], {PATH: "# Note tok1n1x"}, {PATH: "# Note tok1n1x"}, "other0"
    )
    assert story.rules() == ["isolation"]


def test_a_query_that_returns_a_foreign_memory_is_found() -> None:
    story = Story()
    story.write("tok1n1x")
    hit = story.retrieve("tok1n1x", 1)
    story.replace(hit, result={"found": 1, "others": ["tok1n1x"]})
    assert story.rules() == []
    story.replace(story.recorded.operations[1], result={"found": 1, "others": ["tok8n1x"]})
    assert story.rules() == ["isolation"]


# Commits follow the order of acceptance.


def test_direct_writes_out_of_order_are_found_unless_they_overlapped() -> None:
    story = Story()
    first = story.write("tok1n1x", "facts/a.md")
    second = story.write("tok1n2x", "facts/b.md")
    story.swap_commits(0, 1)
    assert story.rules() == ["order"]
    assert story.violations()[0].operations == (first, second)
    story.replace(second, start=first.start)
    assert story.rules() == []


def test_conversations_out_of_order_are_found_unless_they_overlapped() -> None:
    story = Story()
    first = story.accept("tok1n1x", "id1")
    second = story.accept("tok1n2x", "id2")
    story.ingest("tok1n2x", "id2")
    story.ingest("tok1n1x", "id1")
    assert story.rules() == ["order"]
    story.replace(second, start=first.start)
    assert story.rules() == []


def test_an_accepted_write_may_come_before_its_acknowledgement() -> None:
    story = Story()
    unknown = story.record(Kind.INGEST, "tok1n1x", outcome=Outcome.UNKNOWN)
    story.accept("tok1n2x", "id2")
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    story.ingest("tok1n2x", "id2")
    assert story.rules() == [], "the first attempt was accepted"
    story.recorded.operations.remove(unknown)
    assert story.rules() == ["order"]


def test_a_conversation_after_a_later_direct_write_is_found_once_it_was_reported() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    story.write("tok1n2x")
    story.swap_commits(0, 1)
    assert story.rules() == [], "a direct write may overtake the queue"
    report = story.report("tok1n1x", "id1")
    story.replace(report, start=1.1, end=1.2)
    assert story.rules() == ["order"]


def test_a_direct_write_is_before_a_later_conversation() -> None:
    story = Story()
    story.write("tok1n1x")
    story.accept("tok1n2x", "id1")
    story.ingest("tok1n2x", "id1")
    assert story.rules() == []
    story.swap_commits(0, 1)
    assert story.rules() == ["order"]


# Reads.


def test_a_conversation_is_retrieved_once_it_is_reported_as_ingested() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.retrieve("tok1n1x", 0)
    path = story.ingest("tok1n1x", "id1")
    story.report("tok1n1x", "id1")
    assert story.rules() == []
    story.retrieve("tok1n1x", 0)
    assert story.rules() == ["read_your_writes"]
    story.recorded.operations.pop()
    story.used["reads"] -= 1
    story.read(None, path)
    assert story.rules() == ["read_your_writes"]


def test_a_query_that_misses_a_conversation_is_found_without_the_final_state() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    story.report("tok1n1x", "id1")
    assert check_history(story.recorded) == []
    story.retrieve("tok1n1x", 0)
    assert [violation.rule for violation in check_history(story.recorded)] == ["read_your_writes"]


def test_a_retrieved_conversation_stays_retrievable() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    story.retrieve("tok1n1x", 1)
    story.retrieve("tok1n1x", 0)
    assert story.rules() == ["monotonic_reads"]


def test_a_read_sees_acknowledged_writes_of_all_clients() -> None:
    story = Story()
    story.write("tok1n1x")
    last = story.write("tok1n2x")
    stale = story.read("tok1n1x", client="c2")
    assert story.rules() == ["read_your_writes"]
    assert story.violations()[0].operations == (last, stale)
    story.replace(stale, start=last.start)
    assert story.rules() == [], "the read overlapped the write"


def test_reads_of_a_client_do_not_go_back() -> None:
    story = Story()
    story.lost_answer("tok1n1x")
    story.lost_answer("tok1n2x")
    story.read("tok1n2x")
    story.read("tok1n1x", client="c2")
    assert story.rules() == [], "another client may see the older state, since no write is acknowledged"
    story.read("tok1n1x")
    assert story.rules() == ["monotonic_reads"]


def test_a_write_that_takes_effect_late_is_not_a_step_back() -> None:
    story = Story()
    story.write("tok1n1x")
    story.read("tok1n1x")
    story.write("tok1n2x")
    story.read("tok1n2x")
    # An attempt whose answer was lost reaches the server only now.
    story.record(Kind.WRITE, "tok1n1x", PATH, Outcome.UNKNOWN)
    story.commit(Change(PATH, False, "tok1n1x"))
    story.used["writes"] += 1
    story.read("tok1n1x")
    assert story.rules() == []


def test_a_read_of_a_content_that_is_in_no_commit_is_found() -> None:
    story = Story()
    story.write("tok1n1x")
    story.read("tok9n9x")
    assert story.rules() == ["reads_are_stored"]


def test_a_read_after_a_removal_is_found_once_a_client_saw_the_removal() -> None:
    story = Story()
    story.write("tok1n1x")
    story.forget("tok1n2x", "id1")
    story.read("tok1n1x")
    assert story.rules() == [], "a removal is processed in the background"
    story.read(None)
    assert story.rules() == []
    story.read("tok1n1x")
    assert story.rules() == ["monotonic_reads"]


def test_a_read_after_a_removal_was_reported_is_found() -> None:
    story = Story()
    story.write("tok1n1x")
    story.forget("tok1n2x", "id1")
    story.report("tok1n2x", "id1")
    story.read("tok1n1x", client="c2")
    assert story.rules() == ["read_your_writes"]


# Repositories.


def test_a_fork_is_found() -> None:
    story = Story()
    story.write("tok1n1x")
    story.write("tok1n2x")
    commit = story.space.commits[1]
    story.space.commits[1] = Commit(commit.id, ("commit0", "foreign"), commit.message, commit.changes)
    assert story.rules() == ["no_fork"]


def test_a_head_that_is_not_in_the_history_is_found() -> None:
    story = Story()
    story.write("tok1n1x")
    head = story.see_head()
    assert story.rules() == []
    story.replace(head, result={"head": "vanished"})
    assert story.rules() == ["no_fork"]


def test_a_head_that_goes_back_is_found() -> None:
    story = Story()
    before = story.see_head()
    story.write("tok1n1x")
    story.see_head()
    assert story.rules() == []
    story.record(Kind.HEAD, head=before.result["head"], client="c2")
    assert story.rules() == ["no_fork"]


def test_a_damaged_repository_is_found() -> None:
    story = Story()
    story.write("tok1n1x")
    story.space.damage = "missing blob 123"
    assert story.rules() == ["packs"]


def test_an_api_that_differs_from_git_is_found() -> None:
    story = full_story()
    story.space.memories["facts/ghost.md"] = "# A memory that git does not have"
    assert story.rules() == ["api_matches_git"]
    story = full_story()
    story.space.head = "commit0"
    assert story.rules() == ["api_matches_git"]


def test_an_unexpected_refusal_is_found() -> None:
    story = Story()
    refused = story.record(Kind.READ, "", PATH, Outcome.FAILED, code="namespace_not_found")
    story.replace(refused, status=404)
    assert story.rules() == ["refused"]
    story.replace(story.recorded.operations[0], status=429)
    assert story.rules() == []


# Usage.


def test_a_write_that_is_counted_twice_or_not_at_all_is_found() -> None:
    for units, expected in ((-1, ["usage"]), (0, []), (1, ["usage"])):
        story = full_story()
        story.used["writes"] += units
        # The lost answer and its repetition are two commits, of which one may be uncounted.
        operations = story.recorded.operations
        story.recorded.operations = [entry for entry in operations if entry.outcome is not Outcome.UNKNOWN]
        story.used["writes"] -= 1
        story.space.commits = [entry for entry in story.space.commits if entry.id != "commit1"]
        for number, commit in enumerate(story.space.commits):
            parents = (story.space.commits[number - 1].id,) if number else ()
            story.space.commits[number] = Commit(commit.id, parents, commit.message, commit.changes)
        assert story.rules() == expected, units


def test_a_write_of_unknown_outcome_may_be_counted() -> None:
    story = Story()
    story.record(Kind.WRITE, "tok1n1x", PATH, Outcome.UNKNOWN)
    story.record(Kind.INGEST, "tok1n2x", outcome=Outcome.UNKNOWN)
    story.record(Kind.INGEST, "tok1n2x", outcome=Outcome.UNKNOWN)
    for units, expected in ((0, []), (2, []), (3, ["usage"])):
        story.used["writes"] = units
        assert story.rules() == expected, units


def test_a_read_may_be_uncounted_only_near_a_fault() -> None:
    story = Story()
    story.accept("tok1n1x", "id1")
    story.ingest("tok1n1x", "id1")
    story.retrieve("tok1n1x", 1)
    story.now += 10
    story.used["reads"] = 0
    assert story.rules() == ["usage"]
    story.retrieve("tok1n1x", 1)
    story.fault()
    assert story.used["reads"] == 1
    assert story.rules() == [], "the second read ended just before a fault"
    story.used["reads"] = 3
    assert story.rules() == ["usage"]


def test_a_read_may_be_counted_twice_only_during_a_fault() -> None:
    story = Story()
    story.write("tok1n1x")
    read = story.retrieve("tok1n1x", 1)
    story.used["reads"] = 2
    assert story.rules() == ["usage"]
    story.fault()
    fault = story.recorded.faults[0]
    story.replace(read, start=fault.injected - 1, end=fault.injected + 1)
    assert story.rules() == []
    story.used["reads"] = 3
    assert story.rules() == ["usage"]


def test_usage_of_another_month_is_not_compared() -> None:
    story = Story()
    story.write("tok1n1x")
    state = FinalState(spaces=story.spaces, writes={ACCOUNT: story.statuses}, usage={})
    assert check(story.recorded, state) == []


# Files.


def test_history_and_state_are_read_as_they_were_written(tmp_path: Path) -> None:
    story = full_story()
    written = History(tmp_path / "history.jsonl")
    for operation in story.recorded.operations:
        written.add(operation)
    for fault in story.recorded.faults:
        written.add_fault(fault)
    written.close()
    assert history.load(tmp_path / "history.jsonl") == story.recorded
    state = FinalState(spaces=story.spaces, writes={ACCOUNT: story.statuses}, usage={ACCOUNT: story.used})
    state.save(tmp_path / "state.json")
    assert load_state(tmp_path / "state.json") == state
    assert SPACE in state.spaces
