//! Operations of contexts, profiles and timelines, and the parameters that contexts share with retrievals.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

use crate::api::context::{ContextBody, TOKENS_DEFAULT, TOKENS_RANGE};
use crate::api::schema::errors::NOT_FOUND;
use crate::api::schema::operation::Operation;
use crate::api::schema::parameters::{self, Parameter};
use crate::api::schema::schemas::Schemas;
use crate::api::schema::values::{Folder, Path, QueryTag, QueryTime, QueryZone, Tier};
use crate::memory::values::{NAME_CHARS_MAX, PRINTABLE_PATTERN};
use crate::service::context::ContextResponse;
use crate::service::profile::ProfileResponse;
use crate::service::timeline::TimelineResponse;

/// Returns the operation of contexts.
pub(super) fn context(schemas: &mut Schemas) -> Operation {
    let context = Operation::new(
        "GET /v1/context",
        "context",
        "Return text for a prompt: what the memories hold about a query. Counts as a read.",
    );
    let (least, most) = TOKENS_RANGE.into_inner();
    with_retrieval_parameters(context, schemas)
        .parameter(parameters::admission("admit", "balanced"))
        .parameter(parameters::admission("precision", "balanced"))
        .parameter(
            Parameter::query(
                "max_tokens",
                json_schema!({"type": "integer", "minimum": least, "maximum": most, "default": TOKENS_DEFAULT}),
            )
            .about("Most tokens of the text, by the WordPiece tokenizer of BERT."),
        )
        .parameter(
            Parameter::query("marks", json_schema!({"type": "string", "enum": ["on", "off"], "default": "on"}))
                .about("Whether each entry ends with the number of its citation, as `[1]`."),
        )
        .parameter(
            Parameter::query(
                "standing",
                json_schema!({"type": "string", "enum": ["auto", "off", "all"], "default": "auto"}),
            )
            .about(
                "Which standing facts come first: `auto` those that a request touches, such as an allergy for a recipe, \
                 `all` all of them.",
            ),
        )
        .about(
            "The text begins with the standing facts and rules that a request touches, within a quarter of `max_tokens`. \
             Then come the claims that the query asks for, and the admitted memories, the most relevant first and \
             those of one conversation in the order of time. An entry is one line. Memories that no longer hold are \
             left out, or marked if the query asks about the past. `text` is empty if nothing is relevant. `detail` \
             and `explain` have no effect.",
        )
        .responds(200, "The context.", schemas.response::<ContextResponse>())
        .errors(&[NOT_FOUND])
}

/// Returns the operation of contexts for long queries.
pub(super) fn long_context(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/context",
        "contextWithBody",
        "Return text for a prompt by a long query. Counts as a read, like `GET /v1/context`.",
    )
    .about(
        "The body has the parameters of `GET /v1/context`, a list as an array. Of a long `q`, such as a prompt with a \
         question in it, the part that asks something is searched for; 64 KiB are read.",
    )
    .body(with_optional_query(schemas.body::<ContextBody>()))
    .responds(200, "The context.", schemas.response::<ContextResponse>())
    .errors(&[NOT_FOUND])
}

/// Returns the schema of a body in which `q` may be absent or blank if there is a filter, as in a query string.
pub(super) fn with_optional_query(mut schema: Schema) -> Schema {
    schema.remove("required");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("q".to_owned(), json!({"type": "string", "description": "Free text."}));
    }
    schema
}

/// Returns the operation of profiles.
pub(super) fn profile(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/profile", "profile", "Return what the memories claim about a subject. Counts as a read.")
        .parameter(parameters::namespace(schemas))
        .parameter(Parameter::query("subject", json_schema!({"type": "string", "examples": ["Ana"]})).about(
            "Name of a person or thing. By default `user`, or the only person who speaks in the namespace, or the \
             speaker with the most claims about themselves.",
        ))
        .parameter(
            Parameter::query("user", user_schema()).about("Name of the person who asks: the subject if none is named."),
        )
        .parameter(
            Parameter::query("as_of", schemas.reference::<QueryTime>())
                .about("Time of the profile: later claims are left out, and `current` is judged at that time."),
        )
        .parameter(Parameter::query("timezone", schemas.reference::<QueryZone>()))
        .responds(200, "The profile. A subject without claims has none.", schemas.response::<ProfileResponse>())
        .errors(&[NOT_FOUND])
}

/// Returns the schema of the name of the person who asks.
fn user_schema() -> Schema {
    json_schema!({
        "type": "string", "maxLength": NAME_CHARS_MAX, "pattern": PRINTABLE_PATTERN, "examples": ["Ana"],
    })
}

/// Returns the operation of timelines.
pub(super) fn timeline(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/timeline", "timeline", "Return the values over time of the facts that a memory claims.")
        .parameter(parameters::namespace(schemas))
        .parameter(
            Parameter::query("path", schemas.reference::<Path>())
                .about("Path of the memory whose facts are shown.")
                .required(),
        )
        .about("A fact is an attribute of a subject. Its values come from all memories of the namespace, oldest first.")
        .responds(200, "The timelines.", schemas.response::<TimelineResponse>())
        .errors(&[NOT_FOUND])
}

/// Adds the parameters of a retrieval but `admit`.
pub(super) fn with_retrieval_parameters(operation: Operation, schemas: &mut Schemas) -> Operation {
    let operation = operation
        .parameter(Parameter::query("q", json_schema!({"type": "string"})).about(
            "Free text. Memories of a time that it names in English (\"in May\", \"last week\", \"since 3 June \
             2025\") rank higher. Days begin and end in `timezone`.",
        ))
        .parameter(Parameter::query("user", user_schema()).about(
            "Name of the person who asks, for whom \"I\" and \"my\" stand. By default the only person who speaks in \
                 the namespace; if several do, such a query finds what any of them said, and `warnings` says so.",
        ))
        .parameter(parameters::namespaces(schemas));
    with_filter_parameters(operation, schemas)
        .parameter(
            Parameter::query("current", json_schema!({"enum": ["first", "only", "any"], "default": "first"})).about(
                "What becomes of memories that no longer hold: `first` ranks them behind their successors, `only` \
                 leaves them out, `any` ranks them like all others.",
            ),
        )
        .parameter(Parameter::query("min_score", json_schema!({"type": "number", "minimum": 0, "maximum": 1})))
        .parameter(Parameter::query(
            "limit",
            json_schema!({"type": "integer", "minimum": 1, "maximum": 200, "default": 24}),
        ))
        .parameter(parameters::detail())
        .parameter(parameters::explain())
        .parameter(parameters::read())
        .parameter(parameters::read_budget())
}

/// Adds the filters of a retrieval, and the time to answer as of.
pub(super) fn with_filter_parameters(operation: Operation, schemas: &mut Schemas) -> Operation {
    operation
        .parameter(Parameter::list("tiers", json_schema!({"type": "array", "items": schemas.reference::<Tier>()})))
        .parameter(
            Parameter::list("paths", json_schema!({"type": "array", "items": schemas.reference::<Folder>()}))
                .about("Directories. Only memories below one of them are returned."),
        )
        .parameter(parameters::tags(schemas))
        .parameter(Parameter::list(
            "tags_all",
            json_schema!({"type": "array", "maxItems": 32, "items": schemas.reference::<QueryTag>()}),
        ))
        .parameter(parameters::conditions(schemas))
        .parameter(Parameter::query("since", schemas.reference::<QueryTime>()))
        .parameter(
            Parameter::query("until", schemas.reference::<QueryTime>())
                .about("Latest time. A date includes its whole day."),
        )
        .parameter(Parameter::query(
            "time_field",
            json_schema!({"enum": ["occurred", "created", "updated"], "default": "updated"}),
        ))
        .parameter(Parameter::query("timezone", schemas.reference::<QueryZone>()))
        .parameter(
            Parameter::query("as_of", schemas.reference::<QueryTime>())
                .about("Time to answer as of: later memories are left out, and `current` is judged at that time."),
        )
}
