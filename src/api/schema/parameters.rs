//! Parameters of routes.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

use super::schemas::Schemas;
use super::values::{Condition, Name, QueryTag};
use crate::api::conditions::CONDITIONS_MAX;
use crate::api::limits::NAMESPACES_MAX;

/// Times of up to 30 seconds.
const WAIT_PATTERN: &str = r"^((0*([0-9]|[12][0-9])(\.[0-9]+)?|0*30(\.0+)?)s?|0*([0-9]{1,4}|[12][0-9]{4}|30000)ms)$";

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

/// Returns the namespaces that a route searches.
pub(super) fn namespaces(schemas: &mut Schemas) -> Parameter {
    let about = "Namespaces to search; by default that of the key, otherwise `default`. Of several, the hits are \
                 merged, and each has `namespace`. If one does not exist or may not be read, nothing is returned.";
    let name = schemas.reference::<Name>();
    let schema = json_schema!({"type": "array", "minItems": 1, "maxItems": NAMESPACES_MAX, "items": name});
    Parameter::list("namespace", schema).about(about)
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

/// Returns whether hits come with an explanation.
pub(super) fn explain() -> Parameter {
    let about = "Whether the hits of `q` come with an `explanation` of their score.";
    Parameter::query("explain", json_schema!({"type": "boolean", "default": false})).about(about)
}

/// Returns how many candidates the reader reads.
pub(super) fn read() -> Parameter {
    let about = "How many of the best candidates the reader reads together with `q`: as many as fit `read_budget_ms`, as \
                 many as it ever reads, or none.";
    let schema = json_schema!({"enum": ["auto", "always", "off"], "default": "auto"});
    Parameter::query("read", schema).about(about)
}

/// Returns how long the reader may take.
pub(super) fn read_budget() -> Parameter {
    let about = "How long the reader may take with `read=auto`, in milliseconds. By default the setting \
                 `model.read_budget_ms`.";
    let schema = json_schema!({"type": "integer", "minimum": 0, "maximum": 10_000});
    Parameter::query("read_budget_ms", schema).about(about)
}

/// Returns which hits are admitted, under a name of the parameter.
pub(super) fn admission(name: &str, default: &str) -> Parameter {
    let about = "Which hits are admitted by their scores, possibly none: `recall` rather too many, `strict` rather too \
                 few, `balanced` between them, `all` every hit. If the query asks for several things, the hits of each \
                 are admitted by themselves.";
    let schema = json_schema!({"enum": ["all", "recall", "balanced", "strict"], "default": default});
    Parameter::query(name, schema).about(about)
}

/// Returns a filter by tags.
pub(super) fn tags(schemas: &mut Schemas) -> Parameter {
    let schema = json_schema!({"type": "array", "maxItems": 32, "items": schemas.reference::<QueryTag>()});
    Parameter::list("tags", schema).about("Tags. Only memories with at least one of them are returned.")
}

/// Returns the conditions on metadata. The parameter is repeated, because values can contain commas.
pub(super) fn conditions(schemas: &mut Schemas) -> Parameter {
    let condition = schemas.reference::<Condition>();
    let schema = json_schema!({"type": "array", "maxItems": CONDITIONS_MAX, "items": condition});
    Parameter::query("where", schema)
        .about("Conditions on the metadata, one per parameter. Only memories that meet all of them are returned.")
}

/// Returns the time that a request waits for its write.
pub(super) fn wait() -> Parameter {
    let about = "Longest time to wait for the end of the write: up to 30 seconds (`5`, `5s`, `0.5`, `500ms`). The \
                 response is `200` with the write once it is ingested or dead, or `202` with its present `status` when \
                 the time is up.";
    Parameter::query("wait", json_schema!({"type": "string", "pattern": WAIT_PATTERN, "examples": ["5s"]})).about(about)
}

/// Returns what a request that waits for its write waits for.
pub(super) fn wait_for() -> Parameter {
    let about = "What `wait` waits for: `words`, the end of the write, or `vectors`, also the vectors of its memories, if the \
                 embedding model computes them in the background.";
    Parameter::query("wait_for", json_schema!({"enum": ["words", "vectors"], "default": "words"})).about(about)
}

/// Returns the id of an object in the path.
pub(super) fn id(name: &str) -> Parameter {
    Parameter::path(name, json_schema!({"type": "string", "minLength": 1, "pattern": "^[0-9A-Za-z]+$"}))
}
