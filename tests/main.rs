//! Black-box tests: the real binary on a temporary directory and a free port, spoken to over HTTP.
//!
//! One binary, so that the dependencies are linked once; one module a subject.

#![allow(missing_docs, reason = "tests are read by their names")]

/// Starting, stopping and speaking to a server.
mod support;

/// Memory, places and time that a greedy client takes from the others.
mod abuse;
/// Answers without a chat model: procedures, tables and code as wholes, and what a chat model is shown.
mod answers;
/// Metering, plans, wallets, the payment provider.
mod billing;
/// Killing the server at named and at random moments, and cutting its power.
mod campaign;
/// The memory that many namespaces, connections and waiting messages take.
mod ceiling;
/// The command line beside a running server and on a stopped one's directory.
mod command_line;
/// Managed conversations.
mod conversations;
/// Killing the server under load and starting it again.
mod crash;
/// API keys, dashboard sessions, the gateway's refusals.
mod credentials;
/// Repositories, branches, pack indexes and records that are gone or damaged.
mod damage;
/// The dashboard's listener; what its page does is tried in a browser, in `tests/browser`.
mod dashboard;
/// Full, read-only, failing and damaged disks, clocks that jump, descriptors that run out.
mod disk;
/// Local encoders against the reference.
mod encoder;
/// A provider that is ill, under load.
mod faults;
/// First steps that go wrong: wrong folders, wrong names, permissions, help.
mod first_use;
/// Writes, reads and deletions on a full disk.
mod full_disk;
/// Namespaces deleted and made again under the same name.
mod generations;
/// Pushes and bundles that stand for more than they are.
mod git_limits;
/// git itself as a client.
mod git_transport;
/// Slow, silent and greedy clients.
mod hostile;
/// What other services export.
mod importing;
/// One namespace's data from another's key, on every route.
mod isolation;
/// Dashboard sessions of an external issuer.
mod issuer;
/// Backups, restoring them, and the doctor.
mod keeping;
/// More than can be done at once, and stops in the midst of it.
mod limits;
/// Steps of extraction in proportion to the text, and its interruption.
mod linear;
/// What clients wrote stays out of the log.
mod log_privacy;
/// Modes of files, limits of memory, months of the clock.
mod machine;
/// Uploaded files.
mod media;
/// Conversations in: what is rejected, deduplicated, and what becomes of the rest.
mod memories;
/// A data directory of the former format.
mod migration;
/// What happens while the chat model is down, and afterwards.
mod model_outage;
/// Hosted and local models: their habits, their failures, changing them.
mod models;
/// Namespaces: making, listing, deleting, isolation.
mod namespaces;
/// Metrics, request ids, the log.
mod observability;
/// The API's document.
mod openapi;
/// Writes and their order, bodies that come again, clocks that go back, and who waits for whom.
mod order;
/// Memories by path.
mod paths;
/// The animals API.
mod pets;
/// Memories extracted again from kept conversations.
mod reextraction;
/// Queries, filters and listings out.
mod retrieve;
/// Turns at the queue, listings of one's own, large directories: what one client has does not cost the others.
mod shares;
/// Skills.
mod skills;
/// Conversations as they were sent, kept after ingestion.
mod sources;
/// The specification's tables, row by row.
mod specification;
/// Statements of one sentence and small talk.
mod statements;
/// Rules about the repository itself.
mod tidy;
/// Namespaces out to files and in from files.
mod transfer;
/// Names that no route knows: what is refused, and what is answered with a warning.
mod unknown_names;
/// The vocabulary.
mod vocabulary;
