"""Reversible names: any text as one segment of a memory's path.

A segment may hold ASCII letters, digits, `-`, `_` and `.`, and must not begin with a dot. All other characters are
written as the hexadecimal digits of their UTF-8 bytes between `_x` and `_`: `a b` is `a_x20_b`. The text `_x` itself is
`_x5f_x`. An empty text is `_x_`. In the name of a directory the dot of a last `.md` is encoded too, because only the last
segment of a path may end in `.md`.
"""

from __future__ import annotations

import re

#: Most bytes of a path, and most segments below its tier.
PATH_BYTES_MAX = 256
SEGMENTS_MAX = 8

_ESCAPE = re.compile(r"_x((?:[0-9a-f]{2})*)_")
_SPECIAL = re.compile(r"^\.|_(?=x)|[^A-Za-z0-9._-]+")
_EMPTY = "_x_"


def encode_segment(text: str) -> str:
    """Returns the segment that stands for a text. Raises `ValueError` if the text is not valid Unicode."""
    if not text:
        return _EMPTY
    return _SPECIAL.sub(_escaped, text)


def encode_directory(text: str) -> str:
    """Returns the name of a directory that stands for a text."""
    segment = encode_segment(text)
    return f"{segment.removesuffix('.md')}_x2e_md" if segment.endswith(".md") else segment


def decode_segment(segment: str) -> str | None:
    """Returns the text that a segment or directory stands for, or `None` if no text is encoded as this segment."""
    try:
        text = _ESCAPE.sub(_unescaped, segment)
    except UnicodeDecodeError:
        return None
    return text if segment in (encode_segment(text), encode_directory(text)) else None


def check_path(path: str, named: str) -> None:
    """Raises `ValueError` if a path has too many bytes or segments. `named` says what the path stands for."""
    segments = path.count("/")
    if segments > SEGMENTS_MAX:
        raise ValueError(
            f"{named} has too many levels: its path {path} has {segments} segments below the tier,"
            f" the maximum is {SEGMENTS_MAX}"
        )
    if len(path) > PATH_BYTES_MAX:
        raise ValueError(f"{named} is too long: its path {path} has {len(path)} bytes, the maximum is {PATH_BYTES_MAX}")


def _escaped(found: re.Match[str]) -> str:
    try:
        return f"_x{found.group().encode().hex()}_"
    except UnicodeEncodeError:
        raise ValueError(f"invalid name {found.string!r}: it has a surrogate, which is not a character") from None


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group(1)).decode()
