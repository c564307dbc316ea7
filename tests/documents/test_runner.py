"""The runner itself: reading of blocks and comparison of outputs."""

from __future__ import annotations

import pytest
from blocks import DocumentError, parse
from compare import check_json, check_text
from run_shell import starts_server, steps


def test_a_marker_belongs_to_the_block_on_the_next_line() -> None:
    marked, plain = parse("d.md", "<!-- not run: needs a disk -->\n```sh\na\n```\n\n```json\n{}\n```\n")
    assert (marked.not_run, marked.line, marked.language, marked.text) == ("needs a disk", 2, "sh", "a\n")
    assert (plain.not_run, plain.line, plain.adjacent) == (None, 6, True)


def test_text_between_two_blocks_separates_them() -> None:
    _, second = parse("d.md", "```sh\na\n```\n\nAnd then:\n\n```json\n{}\n```\n")
    assert not second.adjacent


@pytest.mark.parametrize(
    "text",
    [
        "<!-- not run: far from its block -->\n\n```sh\na\n```\n",
        "<!-- not run: -->\n```sh\na\n```\n",
        "text <!-- not run: not alone -->\n```sh\na\n```\n",
        "<!-- not run: no block -->\n",
        "```sh\nno end\n",
    ],
)
def test_a_marker_without_reason_or_block_is_an_error(text: str) -> None:
    with pytest.raises(DocumentError, match=r"d\.md"):
        parse("d.md", text)


def test_a_console_command_may_span_several_lines() -> None:
    first, second = steps("$ curl -d '{\n  \"a\": 1}' url\n{}\n$ cuebase serve\nlistening\n…\n")
    assert (first.command, first.output) == ("curl -d '{\n  \"a\": 1}' url", "{}\n")
    assert (second.command, second.output) == ("cuebase serve", "listening\n…\n")


def test_only_a_serve_command_starts_a_server() -> None:
    assert starts_server("target/release/cuebase serve")
    assert starts_server("CUEBASE_GIT_ACCEPT_PUSH=true cuebase serve   # until Ctrl-C")
    assert not starts_server("cuebase keys create --name serve")
    assert not starts_server("  ]}'")


def test_empty_output_matches_only_empty_output() -> None:
    check_text("", "")
    with pytest.raises(AssertionError):
        check_text("", "a warning\n")


def test_ellipses_numbers_and_ids_are_wildcards() -> None:
    check_text("took 55ms\n…\nkey svc_live_0e79… (shown once)\nend …\n", "took 3.5ms\nx\ny\nkey svc_live_ffff_-x (shown once)\nend of all\n")
    check_json('{"id":"01KR…","n":0.5,"hits":[{"path":"a", …}, …], …}', '{"id":"01ZZ","n":0.1,"hits":[{"path":"a","b":1},{}],"c":[]}')
    check_json('{"id":"01M8155XQQCXY2N4ESR94RMNCK"}', '{"id":"01M9155XQQCXY2N4ESR94RMNC0"}')


@pytest.mark.parametrize(
    "shown, printed",
    [
        ('{"status":"accepted"}', '{"status":"refused"}'),
        ('{"status":"accepted"}', '{"status":"accepted","more":1}'),
        ('{"status":"accepted", …}', "{}"),
        ('{"hits":[{}]}', '{"hits":[]}'),
        ('{"hits":[{}]}', '{"hits":[{},{}]}'),
        ('{"score":0.5}', '{"score":"0.5"}'),
        ('{"cold":false}', '{"cold":true}'),
    ],
)
def test_json_with_another_structure_is_a_difference(shown: str, printed: str) -> None:
    with pytest.raises(AssertionError, match=r"\$"):
        check_json(shown, printed)


@pytest.mark.parametrize("printed", ["", "one\n", "one\ntwo\nthree\n", "one\ntoo\n"])
def test_other_lines_are_a_difference(printed: str) -> None:
    with pytest.raises(AssertionError):
        check_text("one\ntwo\n", printed)
