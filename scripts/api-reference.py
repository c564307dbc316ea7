#!/usr/bin/env python3
"""The API's reference as markdown, from its OpenAPI document.

    cuebase openapi | python3 scripts/api-reference.py > docs/api.md
"""

import json
import sys

DOCUMENT = json.load(sys.stdin)


def resolved(node):
    """What a reference stands for, one step or many."""
    while "$ref" in node:
        found = DOCUMENT
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def name_of(node):
    """The name of a shared schema; none for one that stands in its place."""
    return node["$ref"].rsplit("/", 1)[1] if node.get("$ref", "").startswith("#/components/schemas/") else None


def prose(text):
    return " ".join((text or "").split())


def cell(text):
    return prose(text).replace("|", "\\|")


def kind(schema):
    """A type in a few words."""
    if name := name_of(schema):
        return f"[{name}](#{name.lower()})"
    for joint in ("oneOf", "anyOf"):
        if joint in schema:
            return " or ".join(dict.fromkeys(kind(each) for each in schema[joint]))
    if "allOf" in schema:
        return kind(schema["allOf"][0])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join({None: "null", "": "empty"}.get(value, f"`{value}`") for value in schema["enum"])
    types = schema.get("type", "any")
    types = types if isinstance(types, list) else [types]
    if "array" in types:
        return f"list of {kind(schema.get('items', {}))}" + (" or null" if "null" in types else "")
    named = " or ".join(types)
    return f"{named}, {schema['format']}" if "format" in schema else named


BOUNDS = [("minimum", "at least {}"), ("maximum", "at most {}"), ("maxLength", "at most {} characters")]
BOUNDS += [("minItems", "at least {} entries"), ("maxItems", "at most {} entries"), ("default", "default `{}`")]


def notes(schema, more=""):
    """What is said about a value, its bounds and its default."""
    held = [prose(more or schema.get("description"))]
    held += [text.format(schema[bound]) for bound, text in BOUNDS if bound in schema]
    if schema.get("deprecated"):
        held.append("deprecated")
    return cell("; ".join(text.rstrip(".") for text in held if text))


def fields(schema, above=""):
    """An object's fields as rows, those of objects in it that have no name of their own below them."""
    schema = resolved(schema)
    for part in schema.get("allOf", []):
        yield from fields(part, above)
    required = schema.get("required", [])
    for name, value in schema.get("properties", {}).items():
        yield f"| `{above}{name}` | {cell(kind(value))} | {'yes' if name in required else ''} | {notes(value)} |"
        entries = value.get("items", {})
        if "properties" in entries:
            yield from fields(entries, f"{above}{name}[].")
        elif "properties" in value:
            yield from fields(value, f"{above}{name}.")


def table(schema, title, there):
    rows = list(fields(schema))
    if rows:
        print(f"{title}\n\n| field | type | {there} | |\n| --- | --- | --- | --- |")
        print("\n".join(rows) + "\n")
    elif name := name_of(schema):
        print(f"{title} [{name}](#{name.lower()})\n")


def schema_of(content):
    for media in content.get("content", {}).values():
        return media.get("schema", {})
    return {}


def operation(method, path, said):
    print(f"### `{method.upper()} {path}`\n\n{prose(said.get('summary'))}\n")
    if "description" in said:
        print(prose(said["description"]) + "\n")
    parameters = [resolved(each) for each in said.get("parameters", [])]
    if parameters:
        print("| parameter | in | type | required | |\n| --- | --- | --- | --- | --- |")
        for each in parameters:
            required = "yes" if each.get("required") else ""
            about = notes(each["schema"], each.get("description"))
            print(f"| `{each['name']}` | {each['in']} | {cell(kind(each['schema']))} | {required} | {about} |")
        print()
    if "requestBody" in said:
        table(schema_of(resolved(said["requestBody"])), "Body:", "required")
    others = []
    for status, answer in said["responses"].items():
        answer = resolved(answer)
        if status.startswith("2"):
            print(f"`{status}`: {prose(answer.get('description'))}\n")
            table(schema_of(answer), "Answer:", "always")
        else:
            others.append(f"`{status}`")
    if others:
        print(f"Also: {', '.join(others)} ([answers that refuse](#answers-that-refuse)).\n")


def main():
    print("# The API\n")
    print("Made from the OpenAPI document that `cuebase openapi` prints, by `scripts/api-reference.py`.\n")
    print(DOCUMENT["info"]["description"].strip() + "\n")
    for tag in DOCUMENT["tags"]:
        print(f"## {tag['name'].capitalize()}\n")
        for path, methods in DOCUMENT["paths"].items():
            shared = methods.get("parameters", [])
            for method, said in methods.items():
                if method == "parameters":
                    continue
                if tag["name"] in said.get("tags", []):
                    operation(method, path, {**said, "parameters": shared + said.get("parameters", [])})
    print("## Answers that refuse\n\n| name | means |\n| --- | --- |")
    for name, answer in DOCUMENT["components"]["responses"].items():
        print(f"| {name} | {cell(answer.get('description'))} |")
    print("\n## Shapes\n")
    for name, schema in DOCUMENT["components"]["schemas"].items():
        print(f"### {name}\n")
        if about := notes(schema):
            print(about + "\n")
        if rows := list(fields(schema)):
            print("| field | type | always | |\n| --- | --- | --- | --- |")
            print("\n".join(rows) + "\n")
        else:
            shape = f"`{schema['pattern']}`" if "pattern" in schema else ""
            print(f"{cell(kind(schema))} {shape}".strip() + "\n")


main()
