//! Operations of `/v1/writes`, `/v1/queue`, `/v1/dead-letters` and `/v1/statistics`: what the server does for an account.

use schemars::json_schema;

use crate::api::schema::errors::{BUSY, NOT_FOUND};
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::{self, Parameter};
use crate::api::schema::schemas::Schemas;
use crate::api::schema::values::{Id, Name};
use crate::api::views::queue::{DroppedLetterView, QueueView, RetriedLetterView};
use crate::api::views::statistics::StatisticsView;
use crate::api::views::writes::{WriteView, WritesView};
use crate::service::writes::WriteStatus;

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        list_writes(schemas),
        get_write(schemas),
        queue(schemas),
        drop_dead_letter(schemas),
        retry_dead_letter(schemas),
        statistics(schemas),
    ]
}

fn list_writes(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/writes", "listWrites", "List accepted writes with their states, newest first.")
        .about(
            "Writes are kept for 14 days after their acceptance. A key that is limited to a namespace sees only the \
             writes of its namespace. A page may have fewer writes than `limit` although `next` is set, because a \
             filter reads a limited number of writes.",
        )
        .parameter(
            Parameter::query("namespace", schemas.reference::<Name>())
                .about("Only writes to this namespace are returned. Default: all that the credential opens."),
        )
        .parameter(
            Parameter::list("status", json_schema!({"type": "array", "items": {"enum": WriteStatus::NAMES}}))
                .about("Only writes with one of these statuses are returned."),
        )
        .parameter(
            Parameter::query("limit", json_schema!({"type": "integer", "minimum": 1, "default": 50}))
                .about("A limit above 200 is reduced to 200."),
        )
        .parameter(Parameter::query("before", schemas.reference::<Id>()).about("`next` of the previous page."))
        .responds(200, "The page.", schemas.response::<WritesView<'_>>())
        .errors(&[NOT_FOUND, BUSY])
}

fn get_write(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/writes/{id}", "getWrite", "Return the state of an accepted write, and what it changed.")
        .about(
            "The id is that of a `202`. Writes are kept for 14 days after their acceptance. A key that is limited to a \
             namespace sees only the writes of its namespace.",
        )
        .parameter(parameters::id("id"))
        .responds(200, "The write.", schemas.shared_response::<WriteView<'_>>())
        .errors(&[NOT_FOUND])
}

fn queue(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "GET /v1/queue",
        "queue",
        "Return the number of queued writes, and the writes that failed permanently.",
    )
    .parameter(
        Parameter::query("limit", json_schema!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 200}))
            .about("Most dead letters in a page."),
    )
    .parameter(Parameter::query("after", schemas.reference::<Id>()).about("`next` of the previous page."))
    .responds(
        200,
        "The queue of the account. Dead letters are sorted oldest first and omit their bodies.",
        schemas.response::<QueueView>(),
    )
    .errors(&[BUSY])
}

fn drop_dead_letter(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "DELETE /v1/dead-letters/{id}",
        "dropDeadLetter",
        "Drop a write that failed permanently. Requires a dashboard session.",
    )
    .parameter(Parameter::path("id", schemas.reference::<Id>()))
    .responds(200, "The write is deleted permanently.", schemas.response::<DroppedLetterView>())
    .errors(&[NOT_FOUND])
}

fn retry_dead_letter(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/dead-letters/{id}/retry",
        "retryDeadLetter",
        "Put a write that failed permanently back into the queue. Requires a dashboard session.",
    )
    .parameter(Parameter::path("id", schemas.reference::<Id>()))
    .responds(200, "The write is in the queue again, with three retries.", schemas.response::<RetriedLetterView>())
    .errors(&[NOT_FOUND])
}

fn statistics(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "GET /v1/statistics",
        "statistics",
        "Return the requests of the account over the last day, how well its retrievals found something, and the state \
         of storage and models.",
    )
    .about(
        "The day is kept in memory: it begins with the start of the server. A server with more than 32 active accounts \
         keeps the days of those that sent requests last. Times are within 5 % of the measured ones. Requests \
         that a dashboard repeats (`/v1/queue`, `/v1/statistics`, `/v1/usage`, `/v1/writes`) are not counted. Not for keys with \
         a namespace.",
    )
    .responds(200, "The statistics.", schemas.response::<StatisticsView>())
}
