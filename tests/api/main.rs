//! The API without a process and without sockets: each test sends requests as text, and a snapshot holds the requests
//! with their responses as text.
//!
//! A request is a line `METHOD TARGET`, then optional headers and a body. A caller in front of the method replaces the
//! account's key: `session`, `scoped`, `nobody` or `stranger`. Ids, keys and commits have names in the text, such as
//! `[id-1]`, which later requests can use. Times are those of a clock that only the test moves. Snapshots are in
//! `snapshots`, one per test; `INSTA_UPDATE=always` writes them.
//!
//! Start with [`support::Api`]. Processes, the command line, git, the dashboard and crashes are tested with the binary
//! in `tests/main.rs`.

#![allow(missing_docs, reason = "tests are read by their names")]

/// The API of a temporary data directory, and its transcript.
mod support;

/// Names for ids, keys and commits.
mod names;

/// A data directory with dashboard sessions.
mod template;

/// A small HTTP server with scripted responses.
#[allow(dead_code, reason = "the tests with the binary use the rest")]
#[path = "../support/fake.rs"]
mod fake;

/// An imitation of a model provider.
#[allow(dead_code, reason = "the tests with the binary use the rest")]
#[path = "../support/provider.rs"]
mod provider;

/// Answers without a chat model.
mod answers;
/// Usage, wallet, payments and notifications.
mod billing;
/// Conversations that the service keeps, with their branches.
mod conversations;
/// Files that become memories.
mod documents;
/// Requests to erase text for good.
mod erase;
/// Credentials, routes, unknown names and bodies, the same on every route.
mod every_route;
/// API keys and what each kind of credential may do.
mod keys;
/// Lists of memories and their counts.
mod listing;
/// Uploads and signed URLs.
mod media;
/// Memories by path, and their listings.
mod memories;
/// Namespaces.
mod namespaces;
/// The queue and its dead letters.
mod queue;
/// Conversations to remember.
mod remember;
/// Retrieval and answers.
mod retrieve;
/// Skills.
mod skills;
/// Kept conversations.
mod sources;
/// The statistics of an account.
mod statistics;
/// Unknown names in queries and bodies.
mod unknown_names;
/// The vocabulary.
mod vocabulary;
/// The state of accepted writes.
mod writes;
