"""Compares output in a document with the output of a program.

`…` is a wildcard. In a line it matches the rest of the word or line. Alone on a line it matches any number of lines. In
JSON it matches further fields or elements. A number matches any number of the same type, and an id matches any id.
Everything else matches itself.
"""

from __future__ import annotations

import json
import re

MORE = "…"
_KEY = r"svc_(?:live|test)_\w+"
_ULID = r"\b[0-9A-HJKMNP-TV-Z]{26}\b"
_NUMBER = r"\d+(?:\.\d+)?"
_VOLATILE = re.compile(rf"(?P<more>[\w-]*{MORE})|(?P<key>{_KEY})|(?P<ulid>{_ULID})|(?P<number>{_NUMBER})")


def check_text(shown: str, printed: str) -> None:
    """Fails if the printed lines differ from those in the document."""
    pattern = ""
    for line in shown.splitlines():
        pattern += r"(?:.*\n)*?" if line.strip() == MORE else _pattern(line.rstrip()) + r"[ ]*\n"
    if printed and not printed.endswith("\n"):
        printed += "\n"
    assert re.fullmatch(pattern, printed), f"the document shows:\n{shown}\nthe program printed:\n{printed}"


def check_json(shown: str, printed: str) -> None:
    """Fails if the printed JSON differs in structure from the JSON in the document."""
    actual = json.loads(printed)
    differences = _differences(parse_shown(shown), actual, "$")
    assert not differences, "\n".join([*differences, f"the program printed:\n{json.dumps(actual, ensure_ascii=False, indent=1)}"])


def parse_shown(shown: str) -> object:
    """Parses JSON in which `…` may replace further fields of an object or further elements of an array."""
    text, inside_string, open_brackets = "", False, ""
    for position, character in enumerate(shown):
        if character == '"' and shown[position - 1 : position] != "\\":
            inside_string = not inside_string
        if inside_string or character not in "{}[]" + MORE:
            text += character
        elif character == MORE:
            text += f'"{MORE}": 0' if open_brackets.endswith("{") else f'"{MORE}"'
        else:
            open_brackets = open_brackets + character if character in "{[" else open_brackets[:-1]
            text += character
    return json.loads(text)


def _pattern(text: str) -> str:
    """Returns a regular expression for a text in a document."""
    pattern, end = "", 0
    for volatile in _VOLATILE.finditer(text):
        pattern += re.escape(text[end : volatile.start()])
        pattern += {"more": ".*", "key": _KEY, "ulid": r"\w{26}", "number": _NUMBER}[volatile.lastgroup or "more"]
        end = volatile.end()
    return pattern + re.escape(text[end:])


def _differences(shown: object, actual: object, place: str) -> list[str]:
    if isinstance(shown, dict) and isinstance(actual, dict):
        return _differences_of_objects(shown, actual, place)
    if isinstance(shown, list) and isinstance(actual, list):
        return _differences_of_arrays(shown, actual, place)
    if isinstance(shown, str) and isinstance(actual, str):
        same = re.fullmatch(_pattern(shown), actual, re.DOTALL) is not None
    elif isinstance(shown, bool) or shown is None:
        same = shown is actual
    elif isinstance(shown, float):
        same = isinstance(actual, float)
    else:
        same = type(shown) is type(actual)
    return [] if same else [f"{place}: the document shows {shown!r}, the program printed {actual!r}"]


def _differences_of_objects(shown: dict[str, object], actual: dict[str, object], place: str) -> list[str]:
    found: list[str] = []
    for name, value in shown.items():
        if name == MORE:
            continue
        if name in actual:
            found += _differences(value, actual[name], f"{place}.{name}")
        else:
            found.append(f"{place}.{name}: the document shows it, the program did not print it")
    if MORE not in shown:
        for name in actual.keys() - shown.keys():
            found.append(f"{place}.{name}: the program printed it, the document does not show it")
    return found


def _differences_of_arrays(shown: list[object], actual: list[object], place: str) -> list[str]:
    elements = [element for element in shown if element != MORE]
    found: list[str] = []
    for index, (element, value) in enumerate(zip(elements, actual, strict=False)):
        found += _differences(element, value, f"{place}[{index}]")
    if len(actual) < len(elements) or (len(actual) > len(elements) and MORE not in shown):
        found.append(f"{place}: the document shows {len(elements)} elements, the program printed {len(actual)}")
    return found
