//! Schemas of objects that no type describes, from lists of their properties.

use schemars::{Schema, json_schema};
use serde_json::Map;

/// A property of an object.
pub(super) struct Property {
    name: &'static str,
    is_required: bool,
    schema: Schema,
}

/// Returns a property that is always there.
pub(super) fn required(name: &'static str, schema: Schema) -> Property {
    Property { name, is_required: true, schema }
}

/// Returns a property that may be absent.
pub(super) fn optional(name: &'static str, schema: Schema) -> Property {
    Property { name, is_required: false, schema }
}

/// Returns the schema of an object.
pub(super) fn object<const COUNT: usize>(properties: [Property; COUNT]) -> Schema {
    let mut names: Vec<&str> = Vec::new();
    let mut schemas = Map::new();
    for property in properties {
        if property.is_required {
            names.push(property.name);
        }
        schemas.insert(property.name.to_owned(), property.schema.to_value());
    }
    let mut object = json_schema!({"type": "object", "properties": schemas});
    if !names.is_empty() {
        object.insert("required".to_owned(), names.into());
    }
    object
}
