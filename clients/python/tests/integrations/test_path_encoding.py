"""Names as segments of paths: reversible, valid, and different for different texts."""

from __future__ import annotations

import itertools
import re

import pytest

from cuebase.integrations._path_encoding import check_path, decode_segment, encode_directory, encode_segment

VALID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


def test_every_text_comes_back_from_a_valid_segment() -> None:
    texts = {"".join(letters) for count in range(6) for letters in itertools.product("_x5f.é ", repeat=count)}
    texts |= {"../../etc", ".git", "a/b", "\0", "日本.md", "naïve café", "user_preferences", "v1.2", "🐝" * 20}
    segments = {encode_segment(text): text for text in texts}
    assert len(segments) == len(texts)
    for segment, text in segments.items():
        assert VALID.fullmatch(segment), segment
        assert decode_segment(segment) == text


def test_no_directory_ends_in_md() -> None:
    for text, directory in [("notes.md", "notes_x2e_md"), (".md", "_x2e_md"), ("v1.2", "v1.2"), ("a b.md", "a_x20_b_x2e_md")]:
        assert encode_directory(text) == directory
        assert decode_segment(directory) == text
    assert encode_directory("notes_x2e_md") != encode_directory("notes.md")


def test_ordinary_names_stay_readable() -> None:
    for name in ("user_preferences", "v1.2", "3f2b-77", "Notes.md"):
        assert encode_segment(name) == name
    assert encode_segment("a b") == "a_x20_b"
    assert encode_segment("") == "_x_"
    assert encode_segment("_x") == "_x5f_x"


@pytest.mark.parametrize("segment", ["_x61_", "_xff_", "_x5f_", "a b", ".a", ""])
def test_a_segment_that_no_text_is_written_as_has_no_text(segment: str) -> None:
    assert decode_segment(segment) is None


def test_a_surrogate_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="surrogate"):
        encode_segment("a\ud800")


def test_long_and_deep_paths_are_refused_with_the_limit() -> None:
    check_path("facts/" + "/".join("12345678"), "it")
    with pytest.raises(ValueError, match="it has too many levels.*9 segments.*maximum is 8"):
        check_path("facts/" + "/".join("123456789"), "it")
    check_path("x" * 256, "it")
    with pytest.raises(ValueError, match="it is too long.*257 bytes.*maximum is 256"):
        check_path("x" * 257, "it")
