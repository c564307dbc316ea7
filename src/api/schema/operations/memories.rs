//! Operations of memories, queries and the queue.

use schemars::json_schema;

use crate::api::erase::EraseRequest;
use crate::api::explain::ExplainBody;
use crate::api::memories::DirectWriteRequest;
use crate::api::retrieve::RetrieveBody;
use crate::api::schema::errors::{BUSY, NOT_FOUND, PAYMENT_REQUIRED, TOO_LARGE};
use crate::api::schema::operation::Operation;
use crate::api::schema::operations::context::{
    context, long_context, profile, timeline, with_filter_parameters, with_optional_query, with_retrieval_parameters,
};
use crate::api::schema::parameters::{self, Parameter};
use crate::api::schema::schemas::Schemas;
use crate::api::schema::values::{Folder, Path};
use crate::api::views::memories::{TopicsView, TreeView, WrittenMemoryView};
use crate::memory::request::RememberRequest;
use crate::service::answer::Answer;
use crate::service::memories::GraphView;
use crate::service::retrieval::{ExplainResponse, Facets, HitView, MemoryList, RetrievalResponse};

/// Returns the operations.
pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        remember(schemas),
        list_memories(schemas),
        facets(schemas),
        get_memory(schemas),
        write_memory(schemas),
        forget_memory(schemas),
        erase(schemas),
        tree(schemas),
        topics(schemas),
        graph(schemas),
        timeline(schemas),
        retrieve(schemas),
        long_retrieve(schemas),
        context(schemas),
        long_context(schemas),
        profile(schemas),
        answer(schemas),
        explain(schemas),
    ]
}

fn remember(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/memories",
        "remember",
        "Accept a conversation, from which memories are extracted in the background.",
    )
    .about(
        "After `202` the write is durable. An identical body within five minutes is the same write, unless the first \
         one failed permanently or its memories were changed or forgotten in the meantime. `GET /v1/writes/{id}` \
         returns the state of the write, and `wait` makes this request wait for it. Counts as a write.",
    )
    .body(schemas.body::<RememberRequest>())
    .accepted(schemas)
    .waits(schemas)
    .errors(&[PAYMENT_REQUIRED, NOT_FOUND])
}

fn list_memories(schemas: &mut Schemas) -> Operation {
    let list = Operation::new("GET /v1/memories", "listMemories", "List the memories of a namespace in pages.")
        .parameter(parameters::namespace(schemas));
    with_listing_parameters(list, schemas)
        .about(
            "Writes between two requests move the later pages. Every score is 1. For memories that answer a question, \
             use `GET /v1/retrieve`.",
        )
        .parameter(
            Parameter::query("order", json_schema!({"enum": ["newest", "oldest", "title"], "default": "newest"}))
                .about("`newest` and `oldest` are by `time_field`; memories without that time come last."),
        )
        .parameter(
            Parameter::query("offset", json_schema!({"type": "integer", "minimum": 0, "default": 0}))
                .about("Number of memories before the page."),
        )
        .parameter(
            Parameter::query("limit", json_schema!({"type": "integer", "minimum": 1, "default": 50}))
                .about("A limit above 200 is reduced to 200."),
        )
        .parameter(parameters::detail())
        .responds(200, "The page.", schemas.response::<MemoryList>())
        .errors(&[NOT_FOUND, BUSY])
}

fn facets(schemas: &mut Schemas) -> Operation {
    let facets = Operation::new("GET /v1/facets", "facets", "Count the memories of a namespace by day, tag and topic.")
        .parameter(parameters::namespace(schemas));
    with_listing_parameters(facets, schemas)
        .about("The filters are those of `GET /v1/memories`. Days begin and end in `timezone`.")
        .responds(200, "The counts.", schemas.response::<Facets>())
        .errors(&[NOT_FOUND, BUSY])
}

/// Adds the filters of a listing.
fn with_listing_parameters(operation: Operation, schemas: &mut Schemas) -> Operation {
    with_filter_parameters(operation, schemas).parameter(
        Parameter::query("current", json_schema!({"enum": ["first", "only", "any"], "default": "any"}))
            .about("`only` leaves out memories that no longer hold. `first` means the same as `any`."),
    )
}

fn get_memory(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/memories/{*path}", "getMemory", "Read one memory.")
        .parameter(memory_path(schemas))
        .parameter(parameters::namespace(schemas))
        .parameter(
            Parameter::query("section", json_schema!({"type": "string"}))
                .about("Heading of a section. Only that section is returned."),
        )
        .parameter(
            Parameter::query("revision", json_schema!({"type": "string"}))
                .about("Commit id. The memory is returned as it was in that commit."),
        )
        .parameter(parameters::detail())
        .responds(200, "The memory. `sections` lists its headings.", schemas.shared_response::<HitView>())
        .errors(&[NOT_FOUND])
}

fn write_memory(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/memories/{*path}",
        "writeMemory",
        "Write one memory in one commit. The next read returns it. Counts as a write.",
    )
    .parameter(memory_path(schemas))
    .parameter(parameters::write_namespace(schemas))
    .body(schemas.body::<DirectWriteRequest>())
    .responds(201, "The memory was created.", schemas.shared_response::<WrittenMemoryView>())
    .responds(200, "The memory was replaced.", schemas.shared_response::<WrittenMemoryView>())
    .errors(&[PAYMENT_REQUIRED, NOT_FOUND])
}

fn forget_memory(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "DELETE /v1/memories/{*path}",
        "forgetMemory",
        "Forget one memory, in the background. Its history stays in git.",
    )
    .parameter(memory_path(schemas))
    .parameter(parameters::namespace(schemas))
    .accepted(schemas)
    .waits(schemas)
    .errors(&[NOT_FOUND])
}

fn erase(schemas: &mut Schemas) -> Operation {
    Operation::new("POST /v1/erase", "erase", "Erase text for good, in the background. Needs a dashboard session.")
        .about(
            "Erases memories with their history, and the conversations that they were extracted from. Exactly one of \
             `paths`, `session_id` and `subject` selects them; text that does not exist is not an error. Writes that \
             were accepted before are ingested first. Once the write is completed, the text is in no file of the data \
             directory. Commits get new ids, so clones must be made again. Backups, clones and exports that were made \
             before still have the text.",
        )
        .body(schemas.body::<EraseRequest>())
        .accepted(schemas)
        .errors(&[NOT_FOUND])
}

fn tree(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/tree", "tree", "List the entries of a directory.")
        .parameter(parameters::namespace(schemas))
        .parameter(
            Parameter::query("path", json_schema!({"anyOf": [schemas.reference::<Folder>(), {"const": ""}]}))
                .about("Path of the directory; the root by default."),
        )
        .responds(200, "The entries, sorted by path.", schemas.response::<TreeView>())
        .errors(&[NOT_FOUND])
}

fn topics(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/topics", "topics", "List the topics, which are the directories in the tiers.")
        .parameter(parameters::namespace(schemas))
        .responds(200, "The topics, sorted by tier and name.", schemas.response::<TopicsView>())
        .errors(&[NOT_FOUND])
}

fn graph(schemas: &mut Schemas) -> Operation {
    Operation::new("GET /v1/graph", "graph", "Return memories and the relations between them.")
        .parameter(parameters::namespace(schemas))
        .parameter(
            Parameter::query("path", json_schema!({"anyOf": [schemas.reference::<Path>(), {"const": ""}]}))
                .about("Memory at which the graph starts."),
        )
        .parameter(Parameter::query(
            "depth",
            json_schema!({"type": "integer", "minimum": 1, "maximum": 3, "default": 1}),
        ))
        .parameter(Parameter::query(
            "limit",
            json_schema!({"type": "integer", "minimum": 1, "maximum": 10000, "default": 500}),
        ))
        .responds(
            200,
            "The memories around `path`, or without it the first memories of the namespace by path.",
            schemas.response::<GraphView>(),
        )
        .errors(&[NOT_FOUND])
}

fn retrieve(schemas: &mut Schemas) -> Operation {
    let retrieve =
        Operation::new("GET /v1/retrieve", "retrieve", "Find memories by query and filter, or list them by filter.");
    with_retrieval_parameters(retrieve, schemas)
        .parameter(parameters::admission("admit", "all"))
        .about(
            "With `q`, hits are sorted by `score`, the probability that the memory answers the query. Without `q`, a \
             filter is required, hits are sorted by `time_field`, newest first, and every score is 1. `limit` counts \
             the hits of all namespaces together. Counts as a read.",
        )
        .responds(200, "The hits. `hits` and `defined` are absent when empty.", schemas.response::<RetrievalResponse>())
        .retrieve_errors()
}

fn long_retrieve(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/retrieve",
        "retrieveWithBody",
        "Find memories by a long query. Counts as a read, like `GET /v1/retrieve`.",
    )
    .about(
        "The body has the parameters of `GET /v1/retrieve`, a list as an array. Of a long `q`, such as a mail with a \
         question in it, the part that asks something is searched for; 64 KiB are read.",
    )
    .body(with_optional_query(schemas.body::<RetrieveBody>()))
    .responds(200, "The hits. `hits` and `defined` are absent when empty.", schemas.response::<RetrievalResponse>())
    .retrieve_errors()
    .errors(&[TOO_LARGE])
}

fn answer(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/answer",
        "answer",
        "Answer a question from the memories, with citations. Counts as a chat.",
    )
    .about(
        "The body takes the filters of `GET /v1/retrieve`. `admit` is `balanced` by default, and `current` is `only`, or `any` \
         for a question about the past. With several namespaces, hits and citations have \
         `namespace`. Without a chat model, or while it fails, the answer consists of quotes and `model` is \
         `extractive`. A list of steps, a table or a code block is then quoted as a whole; a long one is cut with a \
         mark such as `… (7 more steps in skills/deploy/rotate.md)`. Every `quote` is an exact part of the memory.",
    )
    .body(schemas.body::<RetrieveBody>())
    .responds(200, "The answer and the memories that support it.", schemas.response::<Answer>())
    .errors(&[NOT_FOUND])
}

fn explain(schemas: &mut Schemas) -> Operation {
    Operation::new(
        "POST /v1/explain",
        "explain",
        "Explain why a query returns a memory, or why it does not. Counts as a read.",
    )
    .about(
        "The body takes the query and the filters of `GET /v1/retrieve`, and the `path` of a memory. A path that holds no \
         memory is not an error: `excluded_by` is then `unknown_path`.",
    )
    .body(schemas.body::<ExplainBody>())
    .responds(200, "The place of the memory in the result.", schemas.response::<ExplainResponse>())
    .errors(&[NOT_FOUND])
}

/// Returns the path of a memory.
fn memory_path(schemas: &mut Schemas) -> Parameter {
    let about = "Path of the memory: `facts/`, `incidents/`, `rules/` or `skills/`, then up to eight segments, of \
                 which the last ends in `.md`. To read one section, append `%23` and its heading.";
    Parameter::path("path", schemas.reference::<Path>()).about(about)
}
