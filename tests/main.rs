//! Black-box tests: each test starts the real binary on a temporary directory and a free port, and sends it HTTP
//! requests. What a route accepts and returns is tested without a process, in `tests/api`.
//!
//! All tests are one binary, so that the dependencies are linked once. There is one module per subject.

#![allow(missing_docs, reason = "tests are read by their names")]
#![allow(clippy::disallowed_types, reason = "tests are HTTP clients")]

/// Starts and stops servers, sends requests, and imitates disks and providers.
mod long_queries;
mod support;

/// Clients that try to use up memory, request slots and connections of other accounts.
mod abuse;
/// Coding agents: installation and hooks.
mod agents;
/// Answers from large memories, and the context that a chat model receives.
mod answers;
/// Backups, restores and the doctor.
mod backup;
/// Metering, plans, wallets and the payment provider.
mod billing;
/// The crash campaign: kills at named and random moments, and power cuts.
mod campaign;
/// Memory use with many namespaces, connections and queued messages.
mod ceiling;
/// Facts that change, and look-alikes.
mod changed_facts;
/// The command line, with a running server and on the directory of a stopped one.
mod command_line;
/// Admission of hits, and contexts for prompts.
mod context;
/// The example of the page on contexts.
mod context_page;
/// Managed conversations before and after a kill.
mod conversations;
/// Kills under load and the restart after them.
mod crash;
/// Credentials from the command line, rejected credentials, and origins.
mod credentials;
/// Missing or damaged repositories, branches, pack indexes and records.
mod damage;
/// The dashboard's listener. Its page is tested in a browser, in `tests/browser`.
mod dashboard;
/// Full, read-only, failing and damaged disks, clock jumps, and too few file descriptors.
mod disk;
/// Files as documents: PDF, imports, kills.
mod document_files;
/// Hostile files as documents: time, memory, slots, stops.
mod document_limits;
/// Steps of reading documents in proportion to their size.
mod document_steps;
/// Local encoders compared with the reference implementation.
mod encoder;
/// Text that is erased for good: searched for in every file, and kills in between.
mod erase;
/// What a score was made from, and why a query returns a memory or does not.
mod explain;
/// A failing model provider under load.
mod faults;
/// Mistakes at first use: wrong folders, wrong names, missing permissions, help.
mod first_use;
/// Writes, reads and deletions on a full disk.
mod full_disk;
/// Namespaces that are deleted and created again under the same name.
mod generations;
/// Limits of pushes and bundles, also for packs that expand to far more than their size.
mod git_limits;
/// git as a client.
mod git_transport;
/// Slow, silent and greedy clients.
mod hostile;
/// Imports of exports from other services.
mod importing;
/// A namespace key cannot reach the data of another namespace, on any route.
mod isolation;
/// Dashboard sessions of an external issuer.
mod issuer;
/// Kills at every call that changes a file, for each kind of write.
mod kills;
/// The direction of imports inside the sources.
mod layers;
/// Overload, and stops while work is in progress.
mod limits;
/// Extraction time in proportion to the text, and its interruption.
mod linear;
/// Client data stays out of the log.
mod log_privacy;
/// Facts with thousands of values.
mod long_histories;
/// File modes, memory limits of the machine, and clock changes between months.
mod machine;
/// Uploaded files: large ones, and those on disk.
mod media;
/// Imports from a running mem0 server.
mod mem0_server;
/// Conversations to remember: their repository and order, large bodies, dead letters.
mod memories;
/// Metadata on writes, and filters by it.
mod metadata;
/// A data directory of the previous format.
mod migration;
/// Ingestion and retrieval during and after an outage of the chat model.
mod model_outage;
/// Hosted and local models: their differences, their failures, and changes of model.
mod models;
/// Namespaces: their files, and requests during deletions.
mod namespaces;
/// Metrics, request ids and the log.
mod observability;
/// The OpenAPI document.
mod openapi;
/// The order of writes, repeated bodies, clocks that go back, and lock contention.
mod order;
/// Memories by path in the repository.
mod paths;
/// The template animals API.
mod pets;
/// Profiles of the user, of speakers and of others.
mod profile;
/// The built-in reader on texts that it was not trained on.
mod reader;
/// Memories extracted again from stored conversations.
mod reextraction;
/// Retrieval: restarts, damaged indexes, large memories, concurrent queries, ranking.
mod retrieve;
/// Exchanges of a session that are written one by one.
mod sessions;
/// Queries and listings over several namespaces.
mod several;
/// Fairness between accounts: queue turns, listings and large directories of one account do not slow down the others.
mod shares;
/// Skills over HTTP.
mod skills;
/// Original conversations, which are stored after ingestion: restarts, records, export and import.
mod sources;
/// Rows of the specification's tables that need the binary.
mod specification;
/// Conversations that are divided into writes in other ways.
mod splits;
/// Standing facts in contexts.
mod standing;
/// Single statements and small talk.
mod statements;
/// Daily use of an assistant in seven languages.
mod talks;
/// Rules about the repository itself.
mod tidy;
/// Queries that name only a time.
mod time_only;
/// Export and import of namespaces.
mod transfer;
/// The person who asks.
mod users;
/// Memories that no longer hold: what replaces them, and what held at an earlier time.
mod validity;
/// The vocabulary.
mod vocabulary;
/// What users ask to forget or not to store.
mod wishes;
/// The state of accepted writes, and requests that wait for their write.
mod writes;
