//! Parameters of routes.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

use super::schemas::Schemas;
use super::values::{Name, QueryTag};

/// A parameter of a route.
pub(super) struct Parameter {
    value: Value,
}

impl Parameter {
    /// Makes an optional parameter of the query.
    pub(super) fn query(name: &str, schema: Schema) -> Self {
        Self { value: json!({"name": name, "in": "query", "schema": schema.to_value()}) }
    }

    /// Makes an optional list in the query, whose entries are separated by commas.
    pub(super) fn list(name: &str, schema: Schema) -> Self {
        let mut list = Self::query(name, schema);
        list.value["style"] = "form".into();
        list.value["explode"] = false.into();
        list
    }

    /// Makes a part of the path.
    pub(super) fn path(name: &str, schema: Schema) -> Self {
        Self { value: json!({"name": name, "in": "path", "schema": schema.to_value(), "required": true}) }
    }

    /// Makes an optional header.
    pub(super) fn header(name: &str, schema: Schema) -> Self {
        Self { value: json!({"name": name, "in": "header", "schema": schema.to_value()}) }
    }

    /// Sets the description.
    pub(super) fn about(mut self, description: &str) -> Self {
        self.value["description"] = description.into();
        self
    }

    /// Makes the parameter required.
    pub(super) fn required(mut self) -> Self {
        self.value["required"] = true.into();
        self
    }

    /// Returns the parameter as the document has it.
    pub(super) fn into_value(self) -> Value {
        self.value
    }
}

/// Returns the namespace that a route reads or writes.
pub(super) fn namespace(schemas: &mut Schemas) -> Parameter {
    let about = "Namespace; by default that of the key, otherwise `default`.";
    Parameter::query("namespace", schemas.reference::<Name>()).about(about)
}

/// Returns the namespace of a write whose body can name one as well.
pub(super) fn write_namespace(schemas: &mut Schemas) -> Parameter {
    Parameter::query("namespace", schemas.reference::<Name>()).about("Namespace, if the body names none.")
}

/// Returns the namespace on routes of an object that has its own namespace.
pub(super) fn own_namespace(schemas: &mut Schemas) -> Parameter {
    let about = "Only checked against the key. The namespace is always that of the conversation or file.";
    Parameter::query("namespace", schemas.reference::<Name>()).about(about)
}

/// Returns the amount of detail in memories.
pub(super) fn detail() -> Parameter {
    let about = "`full` adds revisions, the last diff, relations, cues and sources.";
    Parameter::query("detail", json_schema!({"type": "string", "examples": ["full"]})).about(about)
}

/// Returns a filter by tags.
pub(super) fn tags(schemas: &mut Schemas) -> Parameter {
    let schema = json_schema!({"type": "array", "maxItems": 32, "items": schemas.reference::<QueryTag>()});
    Parameter::list("tags", schema).about("Tags. Only memories with at least one of them are returned.")
}

/// Returns the id of an object in the path.
pub(super) fn id(name: &str) -> Parameter {
    Parameter::path(name, json_schema!({"type": "string", "minLength": 1, "pattern": "^[0-9A-Za-z]+$"}))
}
