//! The operations of the product, without HTTP. The API, the command line and the jobs call them.
//!
//! Each part has few methods and the components that it needs; `App` in `src/app` puts them together:
//!
//! - [`intake`] accepts writes into the queue, with [`dead_letters`] and [`erasure`]; [`writes`] has their state;
//! - [`direct_writes`] and [`push`] commit before they return;
//! - [`reads`], with [`retrieval`] and [`answer`], searches and reads memories; [`context`] makes text for a prompt of
//!   what was found, [`profile`] shows the claims about a subject, and [`timeline`] how a memory's facts changed;
//! - [`skills`] and [`vocabulary`] read and write by name;
//! - [`conversations`] are stored next to the memories, and [`sources`] are the conversations that memories were
//!   extracted from;
//! - [`documents`] are files that become memories, and [`media`] stores files as they are;
//! - [`namespaces`] creates, leases and deletes namespaces;
//! - [`peers`] asks the other nodes of a cluster for their part of a request;
//! - [`animals`] numbers the records of the pets API;
//! - [`inspector`] reads the data directory for maintenance.
//!
//! [`shared_parts`] opens what they have in common. The single writer of each namespace is in `src/namespace`.

pub mod animals;
pub mod answer;
pub mod context;
mod conversation_branches;
pub mod conversations;
pub(crate) mod data_directory;
pub mod dead_letters;
pub mod direct_writes;
pub mod documents;
pub mod erasure;
pub mod inspector;
pub mod intake;
pub mod media;
pub mod media_content;
mod media_files;
pub(crate) mod media_store;
mod media_sweep;
pub mod memories;
pub mod namespaces;
mod open_storage;
pub(crate) mod orphan_objects;
pub mod peers;
pub mod profile;
pub mod push;
pub mod reads;
pub mod retrieval;
pub mod running_time;
pub mod search_threads;
pub(crate) mod shared_parts;
pub mod skills;
mod smallest_keys;
pub mod sources;
pub mod timeline;
pub(crate) mod unrecorded_objects;
pub mod vocabulary;
pub mod write_vectors;
pub mod writes;
