//! Operations of `/v1/documents`.

use schemars::json_schema;

use crate::api::documents::NAME_CHARS_MAX;
use crate::api::schema::errors::{BUSY, NOT_FOUND, PAYMENT_REQUIRED};
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::{self, Parameter};
use crate::api::schema::schemas::Schemas;
use crate::api::schema::values::DocumentId;
use crate::api::views::documents::{AcceptedDocumentView, DocumentPassagesView, DocumentsView};

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![upload(schemas), list(schemas), get(schemas), forget(schemas)]
}

fn upload(schemas: &mut Schemas) -> Operation {
    Operation::new("POST /v1/documents", "uploadDocument", "Store a file of up to 32 MiB as memories, one per passage.")
        .about(
            "PDF, DOCX, HTML, Markdown, plain text and source code, by `content-type` or the ending of `filename`. A \
         passage has the headings above it and its page or line. A file with the id of an earlier one replaces it: \
         only passages that differ change. `GET /v1/writes/{id}` shows how far a long file is.",
        )
        .parameter(parameters::namespace(schemas))
        .parameter(
            Parameter::query("filename", json_schema!({"type": "string", "maxLength": NAME_CHARS_MAX}))
                .about("Name of the file. Required without `document_id`."),
        )
        .parameter(
            Parameter::query("document_id", schemas.reference::<DocumentId>())
                .about("Id of the document; by default made of the name of the file."),
        )
        .parameter(parameters::tags(schemas).about("Tags of every passage."))
        .parameter(
            Parameter::query("metadata", json_schema!({"type": "string"}))
                .about("Metadata of every passage, as a JSON object."),
        )
        .parameter(
            Parameter::query("occurred_at", json_schema!({"type": "string", "examples": ["2026-05-04"]}))
                .about("Time that the document is about."),
        )
        .bytes_body("application/octet-stream", json_schema!({"type": "string", "format": "binary", "minLength": 1}))
        .responds(
            202,
            "The file is read, and its passages are durable in the queue.",
            schemas.response::<AcceptedDocumentView>(),
        )
        .waits(schemas)
        .errors(&[PAYMENT_REQUIRED, NOT_FOUND])
}

fn list(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/documents", "listDocuments", "List the documents of a namespace, by id.")
        .parameter(parameters::namespace(schemas))
        .parameter(
            Parameter::query("limit", json_schema!({"type": "integer", "minimum": 1, "default": 50}))
                .about("A limit above 200 is reduced to 200."),
        )
        .parameter(
            Parameter::query("after", schemas.reference::<DocumentId>()).about("Id at which the previous page ended."),
        )
        .responds(200, "The page.", schemas.response::<DocumentsView>())
        .errors(&[NOT_FOUND, BUSY])
}

fn get(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/documents/{id}", "getDocument", "Return a document with the memories of its passages.")
        .parameter(id(schemas))
        .parameter(parameters::namespace(schemas))
        .responds(200, "The document.", schemas.response::<DocumentPassagesView>())
        .errors(&[NOT_FOUND, BUSY])
}

fn forget(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "DELETE /v1/documents/{id}",
        "forgetDocument",
        "Remove a document with the memories of its passages.",
    )
    .about("Their text stays in the history. `POST /v1/erase` with their paths removes it from there too.")
    .parameter(id(schemas))
    .parameter(parameters::namespace(schemas))
    .accepted(schemas)
    .waits(schemas)
    .errors(&[NOT_FOUND])
}

fn id(schemas: &mut Schemas) -> Parameter {
    Parameter::path("id", schemas.reference::<DocumentId>())
}
