//! Operations of `/v1/sources`.

use schemars::json_schema;

use crate::api::schema::errors::{BUSY, NOT_FOUND};
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::{self, Parameter};
use crate::api::schema::schemas::Schemas;
use crate::api::schema::values::Id;
use crate::api::views::DeletedView;
use crate::api::views::sources::{SourceMessagesView, SourcesView};

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![list_sources(schemas), get_source(schemas), delete_source(schemas)]
}

fn list_sources(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "GET /v1/sources",
        "listSources",
        "List the conversations from which the memories of a namespace were extracted, newest first.",
    )
    .about(
        "An ingested conversation is kept as it was accepted, under the id that its `202` returned. No conversations \
         are kept while the setting `ingestion.keep_sources` is false.",
    )
    .parameter(parameters::namespace(schemas))
    .parameter(
        Parameter::query("session_id", json_schema!({"type": "string"}))
            .about("Session id. Only its conversations are returned."),
    )
    .parameter(
        Parameter::query("limit", json_schema!({"type": "integer", "minimum": 1, "default": 50}))
            .about("A limit above 200 is reduced to 200."),
    )
    .parameter(Parameter::query("before", schemas.reference::<Id>()).about("Id at which the previous page ended."))
    .responds(200, "The page, newest first.", schemas.response::<SourcesView>())
    .errors(&[NOT_FOUND, BUSY])
}

fn get_source(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "GET /v1/sources/{id}",
        "getSource",
        "Return a conversation as it was accepted, and the paths of memories extracted from it.",
    )
    .about(
        "Returns the fields of `POST /v1/memories`, with the text parts of each message joined. The id is \
         `sources[].write` of a memory.",
    )
    .parameter(parameters::id("id"))
    .parameter(parameters::namespace(schemas))
    .responds(200, "The conversation.", schemas.response::<SourceMessagesView>())
    .errors(&[NOT_FOUND, BUSY])
}

fn delete_source(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "DELETE /v1/sources/{id}",
        "deleteSource",
        "Delete a kept conversation. Memories extracted from it stay.",
    )
    .parameter(parameters::id("id"))
    .parameter(parameters::namespace(schemas))
    .responds(200, "The conversation is deleted.", schemas.response::<DeletedView>())
    .errors(&[NOT_FOUND, BUSY])
}
