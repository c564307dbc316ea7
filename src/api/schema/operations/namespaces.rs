//! Operations of `/v1/namespaces`.

use schemars::json_schema;

use crate::api::namespaces::NewNamespaceRequest;
use crate::api::schema::errors::NOT_FOUND;
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::Parameter;
use crate::api::schema::schemas::Schemas;
use crate::api::schema::values::Name;
use crate::api::views::namespaces::{CreatedNamespaceView, DeletedNamespaceView, NamespacesView};

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![create_namespace(schemas), list_namespaces(schemas), delete_namespace(schemas)]
}

fn create_namespace(schemas: &mut Schemas) -> Operation {
    Operation::new("POST /v1/namespaces", "createNamespace", "Create a namespace.")
        .body(schemas.body::<NewNamespaceRequest>())
        .responds(201, "The namespace was created.", schemas.shared_response::<CreatedNamespaceView>())
        .responds(200, "The namespace already existed.", schemas.shared_response::<CreatedNamespaceView>())
}

fn list_namespaces(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/namespaces", "listNamespaces", "List up to 200 namespaces, sorted by name.")
        .parameter(
            Parameter::query("after", json_schema!({"type": "string"})).about("Name at which the previous page ended."),
        )
        .responds(
            200,
            "The namespaces. A key with a namespace gets only that one.",
            schemas.response::<NamespacesView>(),
        )
}

fn delete_namespace(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "DELETE /v1/namespaces/{name}",
        "deleteNamespace",
        "Delete a namespace and everything in it, permanently. Requires a dashboard session.",
    )
    .parameter(Parameter::path("name", schemas.reference::<Name>()))
    .responds(200, "The namespace is deleted.", schemas.response::<DeletedNamespaceView>())
    .errors(&[NOT_FOUND])
}
