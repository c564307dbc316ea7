//! The description of a route in the document.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::errors::{BUSY, ErrorResponse, GUARDED, OPEN, RETRIEVE, TOO_LARGE};
use super::parameters::{self, Parameter};
use super::schemas::Schemas;
use crate::api::views::AcceptedView;
use crate::api::views::writes::WriteView;

/// The description of a route.
pub(super) struct Operation {
    /// Method and path as in the route table.
    pub(super) route: &'static str,
    parameters: Vec<Value>,
    /// Responses without an error, by status.
    responses: Map<String, Value>,
    /// Responses with an error. A later one takes the place of an earlier one with the same status.
    errors: Vec<ErrorResponse>,
    /// The other fields, as the document has them.
    fields: Map<String, Value>,
}

impl Operation {
    /// Makes the description of a route, `METHOD path`, that requires a credential.
    pub(super) fn new(route: &'static str, id: &str, summary: &str) -> Self {
        let mut fields = Map::new();
        fields.insert("operationId".to_owned(), id.into());
        fields.insert("summary".to_owned(), summary.into());
        Self { route, parameters: Vec::new(), responses: Map::new(), errors: GUARDED.to_vec(), fields }
    }

    /// Makes the description of a route that takes no credential.
    pub(super) fn open(route: &'static str, id: &str, summary: &str) -> Self {
        let mut operation = Self::new(route, id, summary);
        operation.fields.insert("security".to_owned(), json!([]));
        operation.errors = OPEN.to_vec();
        operation
    }

    /// Sets the description.
    pub(super) fn about(mut self, description: &str) -> Self {
        self.fields.insert("description".to_owned(), description.into());
        self
    }

    /// Adds a parameter.
    pub(super) fn parameter(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter.into_value());
        self
    }

    /// Sets the schema of the JSON body.
    pub(super) fn body(self, schema: Schema) -> Self {
        self.bytes_body("application/json", schema)
    }

    /// Sets the media type and the schema of the body, and adds the errors of every body.
    pub(super) fn bytes_body(mut self, media_type: &str, schema: Schema) -> Self {
        let body = json!({"required": true, "content": content(media_type, schema)});
        self.fields.insert("requestBody".to_owned(), body);
        self.errors(&[TOO_LARGE, BUSY])
    }

    /// Adds a response with a JSON body.
    pub(super) fn responds(self, status: u16, description: &str, schema: Schema) -> Self {
        self.responds_with(status, description, "application/json", schema)
    }

    /// Adds a response with a body of any media type.
    pub(super) fn responds_with(mut self, status: u16, description: &str, media_type: &str, schema: Schema) -> Self {
        let response = json!({"description": description, "content": content(media_type, schema)});
        self.responses.insert(status.to_string(), response);
        self
    }

    /// Adds the response to a write that is in the queue.
    pub(super) fn accepted(self, schemas: &mut Schemas) -> Self {
        let schema = schemas.response::<AcceptedView>();
        self.responds(202, "The write is durable and in the queue.", schema)
    }

    /// Adds the parameter `wait`, and the response when the write is finished in time.
    pub(super) fn waits(self, schemas: &mut Schemas) -> Self {
        let schema = schemas.shared_response::<WriteView<'_>>();
        self.parameter(parameters::wait()).parameter(parameters::wait_for()).responds(
            200,
            "With `wait`: the write has ended.",
            schema,
        )
    }

    /// Adds errors to those that every route has.
    pub(super) fn errors(mut self, errors: &[ErrorResponse]) -> Self {
        self.errors.extend_from_slice(errors);
        self
    }

    /// Sets the errors to those of `GET /v1/retrieve`, which have their own format.
    pub(super) fn retrieve_errors(mut self) -> Self {
        self.errors = RETRIEVE.to_vec();
        self
    }

    /// Returns the operation as the document has it.
    pub(super) fn into_fields(self, tag: &str) -> Map<String, Value> {
        let Self { route: _, parameters, mut responses, errors, mut fields } = self;
        for error in errors {
            let reference = format!("#/components/responses/{}", error.name);
            responses.insert(error.status.to_string(), json!({"$ref": reference}));
        }
        fields.insert("tags".to_owned(), json!([tag]));
        fields.insert("responses".to_owned(), responses.into());
        if !parameters.is_empty() {
            fields.insert("parameters".to_owned(), parameters.into());
        }
        fields
    }
}

fn content(media_type: &str, schema: Schema) -> Value {
    let mut media_types = Map::new();
    media_types.insert(media_type.to_owned(), json!({"schema": schema.to_value()}));
    media_types.into()
}
