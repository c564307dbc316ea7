//! Generates the schemas of types, and collects those that have a name.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::values::Warnings;
use crate::error::{Error, Result};

/// Where the document has the schemas with a name.
const NAMED_SCHEMAS: &str = "/components/schemas";

/// The schemas of a document.
///
/// Requests and responses have a generator each: a field of a request may be absent where it has a default, a field of
/// a response where it is skipped.
pub(super) struct Schemas {
    requests: SchemaGenerator,
    responses: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = NAMED_SCHEMAS.into();
        Self {
            requests: settings.clone().for_deserialize().into_generator(),
            responses: settings.for_serialize().with_transform(RecursiveTransform(remove_default)).into_generator(),
        }
    }

    /// Returns a reference to the schema of a value in a request.
    pub(super) fn reference<T: JsonSchema>(&mut self) -> Schema {
        self.requests.subschema_for::<T>()
    }

    /// Returns the schema of the body of a request, written in place. The operation describes it as a whole.
    pub(super) fn body<T: JsonSchema>(&mut self) -> Schema {
        let mut schema = T::json_schema(&mut self.requests);
        schema.remove("description");
        RecursiveTransform(remove_null_default).transform(&mut schema);
        schema
    }

    /// Returns a reference to the schema of a value in a response.
    pub(super) fn response_reference<T: JsonSchema>(&mut self) -> Schema {
        self.responses.subschema_for::<T>()
    }

    /// Returns the schema of the body of a response, written in place. It includes the warnings that the server adds.
    pub(super) fn response<T: JsonSchema>(&mut self) -> Schema {
        let mut schema = T::json_schema(&mut self.responses);
        RecursiveTransform(remove_default).transform(&mut schema);
        self.with_warnings(schema)
    }

    /// Returns the schema of the body of a response as a reference, for a type that several responses have.
    pub(super) fn shared_response<T: JsonSchema>(&mut self) -> Schema {
        let schema = self.response_reference::<T>();
        self.with_warnings(schema)
    }

    fn with_warnings(&mut self, mut schema: Schema) -> Schema {
        let warnings = self.response_reference::<Warnings>().to_value();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.insert("warnings".to_owned(), warnings);
            return schema;
        }
        json_schema!({"allOf": [schema, {"type": "object", "properties": {"warnings": warnings}}]})
    }

    /// Returns the schemas with a name.
    ///
    /// # Errors
    ///
    /// When a request and a response give one name to two schemas.
    pub(super) fn into_named(mut self) -> Result<Map<String, Value>> {
        let mut named = self.responses.take_definitions(true);
        for (name, schema) in self.requests.take_definitions(false) {
            match named.get(&name) {
                Some(other) if *other != schema => {
                    return Err(Error::internal(format!("two schemas have the name {name}")));
                }
                _ => {
                    named.insert(name, schema);
                }
            }
        }
        Ok(named)
    }
}

/// Removes the default of a field of a response: clients read it, and this server always writes the field.
fn remove_default(schema: &mut Schema) {
    schema.remove("default");
}

/// Removes a default of null: it only says that a field of a request may be absent.
fn remove_null_default(schema: &mut Schema) {
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
}
