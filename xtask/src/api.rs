//! `docs/reference/openapi.json`: the OpenAPI document. `docs/reference/api.md`: the routes, their parameters, bodies
//! and responses, from that document.

use anyhow::Context;
use serde_json::{Map, Value};

use super::{cell, prose};

/// Most values of an enumeration that the page lists.
const ENUM_VALUES_MAX: usize = 20;

/// Returns the page.
///
/// # Errors
///
/// When the OpenAPI document lacks a part that the page shows.
pub fn page() -> anyhow::Result<String> {
    let document = cuebase::api::document::document()?;
    let reference = Reference { document: &document };
    reference.page()
}

/// Returns the OpenAPI document as `GET /v1/openapi.json` returns it, with an indentation.
///
/// # Errors
///
/// When the document cannot be generated.
pub fn document() -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(&cuebase::api::document::document()?)?;
    text.push('\n');
    Ok(text)
}

struct Reference<'a> {
    document: &'a Value,
}

impl Reference<'_> {
    fn page(&self) -> anyhow::Result<String> {
        let about = "Every route of the API, as the OpenAPI document describes it (`cuebase openapi` prints it).";
        let mut page = super::heading("API", about);
        let description = self.document["info"]["description"].as_str().context("the document has no description")?;
        page.push_str(&format!("{}\n\n", description.trim()));
        for tag in self.document["tags"].as_array().context("the document has no tags")? {
            let tag = tag["name"].as_str().context("a tag has no name")?;
            page.push_str(&format!("## {}\n\n", capitalized(tag)));
            for (path, methods) in object(&self.document["paths"])? {
                self.add_path(path, methods, tag, &mut page)?;
            }
        }
        self.add_refusals(&mut page)?;
        self.add_schemas(&mut page)?;
        Ok(page)
    }

    fn add_path(&self, path: &str, methods: &Value, tag: &str, page: &mut String) -> anyhow::Result<()> {
        for (method, operation) in object(methods)? {
            let has_tag = list(&operation["tags"]).iter().any(|name| name == tag);
            if !has_tag {
                continue;
            }
            page.push_str(&format!("### `{} {path}`\n\n", method.to_uppercase()));
            page.push_str(&format!("{}\n\n", prose(text(&operation["summary"]))));
            if let Some(description) = operation["description"].as_str() {
                page.push_str(&format!("{}\n\n", prose(description)));
            }
            add_parameters(list(&operation["parameters"]), page);
            self.add_schema_table(content_schema(&operation["requestBody"]), "Body:", "required", page)?;
            self.add_responses(&operation["responses"], page)?;
        }
        Ok(())
    }

    fn add_responses(&self, responses: &Value, page: &mut String) -> anyhow::Result<()> {
        let mut refusals = Vec::new();
        for (status, response) in object(responses)? {
            if !status.starts_with('2') {
                refusals.push(format!("`{status}`"));
                continue;
            }
            let response = self.resolve(response)?;
            page.push_str(&format!("`{status}`: {}\n\n", prose(text(&response["description"]))));
            self.add_schema_table(content_schema(response), "Response:", "always", page)?;
        }
        if !refusals.is_empty() {
            page.push_str(&format!("Also: {} ([error responses](#error-responses)).\n\n", refusals.join(", ")));
        }
        Ok(())
    }

    /// Adds a schema's fields as a table, or a link to the schema when it has a name and no fields.
    fn add_schema_table(&self, schema: &Value, title: &str, there: &str, page: &mut String) -> anyhow::Result<()> {
        let mut rows = Vec::new();
        self.collect_fields(schema, "", &mut rows)?;
        if !rows.is_empty() {
            page.push_str(&format!("{title}\n\n| field | type | {there} | |\n| --- | --- | --- | --- |\n"));
            page.push_str(&format!("{}\n\n", rows.join("\n")));
        } else if let Some(name) = schema_name(schema) {
            page.push_str(&format!("{title} [{name}](#{})\n\n", name.to_lowercase()));
        }
        Ok(())
    }

    /// Collects an object's fields as rows, and below each the fields of an object in it that has no name of its own.
    fn collect_fields(&self, schema: &Value, prefix: &str, rows: &mut Vec<String>) -> anyhow::Result<()> {
        let schema = self.resolve(schema)?;
        for part in list(&schema["allOf"]) {
            self.collect_fields(part, prefix, rows)?;
        }
        let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
        for (name, value) in properties {
            let is_required = list(&schema["required"]).iter().any(|required| required == name);
            let required = if is_required { "yes" } else { "" };
            let kind = cell(&type_name(value));
            rows.push(format!("| `{prefix}{name}` | {kind} | {required} | {} |", notes(value, "")));
            if value["items"]["properties"].is_object() {
                self.collect_fields(&value["items"], &format!("{prefix}{name}[]."), rows)?;
            } else if value["properties"].is_object() {
                self.collect_fields(value, &format!("{prefix}{name}."), rows)?;
            }
        }
        Ok(())
    }

    fn add_refusals(&self, page: &mut String) -> anyhow::Result<()> {
        page.push_str("## Error responses\n\n| name | meaning |\n| --- | --- |\n");
        for (name, response) in object(&self.document["components"]["responses"])? {
            page.push_str(&format!("| {name} | {} |\n", cell(text(&response["description"]))));
        }
        page.push('\n');
        Ok(())
    }

    fn add_schemas(&self, page: &mut String) -> anyhow::Result<()> {
        page.push_str("## Schemas\n\n");
        for (name, schema) in object(&self.document["components"]["schemas"])? {
            page.push_str(&format!("### {name}\n\n"));
            let about = notes(schema, "");
            if !about.is_empty() {
                page.push_str(&format!("{about}\n\n"));
            }
            let mut rows = Vec::new();
            self.collect_fields(schema, "", &mut rows)?;
            if rows.is_empty() {
                let pattern = match schema["pattern"].as_str() {
                    Some(pattern) => format!(" `{pattern}`"),
                    None => String::new(),
                };
                page.push_str(&format!("{}{pattern}\n\n", cell(&type_name(schema))));
            } else {
                page.push_str("| field | type | always | |\n| --- | --- | --- | --- |\n");
                page.push_str(&format!("{}\n\n", rows.join("\n")));
            }
        }
        page.truncate(page.trim_end().len());
        page.push('\n');
        Ok(())
    }

    /// Returns what a reference refers to, over any number of steps.
    fn resolve<'v>(&'v self, mut node: &'v Value) -> anyhow::Result<&'v Value> {
        while let Some(reference) = node["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#');
            node = self.document.pointer(pointer).with_context(|| format!("{reference} refers to nothing"))?;
        }
        Ok(node)
    }
}

fn add_parameters(parameters: &[Value], page: &mut String) {
    if parameters.is_empty() {
        return;
    }
    page.push_str("| parameter | in | type | required | |\n| --- | --- | --- | --- | --- |\n");
    for parameter in parameters {
        let required = if parameter["required"] == true { "yes" } else { "" };
        let schema = &parameter["schema"];
        let about = notes(schema, text(&parameter["description"]));
        let (name, place) = (text(&parameter["name"]), text(&parameter["in"]));
        page.push_str(&format!("| `{name}` | {place} | {} | {required} | {about} |\n", cell(&type_name(schema))));
    }
    page.push('\n');
}

fn object(node: &Value) -> anyhow::Result<&Map<String, Value>> {
    node.as_object().context("the document has no object where one is expected")
}

fn list(node: &Value) -> &[Value] {
    match node.as_array() {
        Some(list) => list,
        None => &[],
    }
}

fn text(node: &Value) -> &str {
    node.as_str().unwrap_or_default()
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    match characters.next() {
        Some(first) => format!("{}{}", first.to_uppercase(), characters.as_str()),
        None => String::new(),
    }
}

/// Returns the name of a shared schema; `None` for a schema that is written in place.
fn schema_name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

/// Returns the schema of the first media type of a body or response.
fn content_schema(node: &Value) -> &Value {
    if let Some(media_types) = node["content"].as_object()
        && let Some(media_type) = media_types.values().next()
    {
        return &media_type["schema"];
    }
    &Value::Null
}

/// Returns a type in a few words.
fn type_name(schema: &Value) -> String {
    if let Some(name) = schema_name(schema) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for joint in ["oneOf", "anyOf"] {
        if schema[joint].is_array() {
            return alternatives(list(&schema[joint]));
        }
    }
    if let Some(first) = list(&schema["allOf"]).first() {
        return type_name(first);
    }
    if !schema["const"].is_null() {
        return format!("`{}`", schema["const"]);
    }
    if schema["enum"].is_array() {
        let count = list(&schema["enum"]).len();
        if count > ENUM_VALUES_MAX {
            return format!("one of {count} values");
        }
        let mut values = Vec::new();
        for value in list(&schema["enum"]) {
            values.push(match value {
                Value::Null => "null".to_owned(),
                Value::String(text) if text.is_empty() => "empty".to_owned(),
                Value::String(text) => format!("`{text}`"),
                other => format!("`{other}`"),
            });
        }
        return values.join(", ");
    }
    simple_type_name(schema)
}

fn alternatives(schemas: &[Value]) -> String {
    let mut names: Vec<String> = Vec::new();
    for schema in schemas {
        let name = type_name(schema);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(" or ")
}

fn simple_type_name(schema: &Value) -> String {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().map(text).collect(),
        _ => vec!["any"],
    };
    if types.contains(&"array") {
        let null = if types.contains(&"null") { " or null" } else { "" };
        return format!("list of {}{null}", type_name(&schema["items"]));
    }
    let named = types.join(" or ");
    // The format of a number is its size in this program, which readers need not know.
    match schema["format"].as_str() {
        Some(format) if types.contains(&"string") => format!("{named}, {format}"),
        _ => named,
    }
}

/// Returns what is said about a value, its bounds and its default, for a cell of a table.
fn notes(schema: &Value, description: &str) -> String {
    let mut notes = Vec::new();
    let description = if description.is_empty() { text(&schema["description"]) } else { description };
    notes.push(prose(description));
    for (bound, before, after) in [
        ("minimum", "at least ", ""),
        ("maximum", "at most ", ""),
        ("maxLength", "at most ", " characters"),
        ("minItems", "at least ", " entries"),
        ("maxItems", "at most ", " entries"),
    ] {
        if !schema[bound].is_null() {
            notes.push(format!("{before}{}{after}", schema[bound]));
        }
    }
    match &schema["default"] {
        Value::Null => {}
        Value::String(default) => notes.push(format!("default `{default}`")),
        default => notes.push(format!("default `{default}`")),
    }
    if schema["deprecated"] == true {
        notes.push("deprecated".to_owned());
    }
    let mut parts = Vec::new();
    for note in &notes {
        let note = note.trim_end_matches('.');
        if !note.is_empty() {
            parts.push(note);
        }
    }
    cell(&parts.join("; "))
}
