//! The HTTP API: one file per resource, and all routes in one table ([`routes`]).
//!
//! A handler takes an [`AuthenticatedRequest`] (caller, path parameters, query, body) and returns a [`Reply`] or an
//! error. Handlers are blocking functions; `server` runs them outside of the async threads. [`error`] alone maps errors
//! to HTTP, [`unknown`] turns names that a route does not know into warnings, [`views`] has the bodies of responses,
//! and [`schema`] generates the OpenAPI description. [`peers`] answers the questions of other nodes. Sockets, limits of
//! concurrency and the counting of units are in `server`. Start at [`routes`].

pub mod answer;
pub mod billing;
pub mod context;
pub mod conversations;
pub mod document;
pub mod documents;
pub mod erase;
pub mod error;
pub mod explain;
pub mod fields;
mod future_times;
pub mod identity;
pub mod intake;
pub mod keys;
pub mod limits;
pub mod listing;
pub mod media;
pub mod memories;
pub mod namespaces;
pub mod node_counters;
pub mod peers;
pub mod profile;
pub mod query;
pub mod queue;
pub mod reply;
pub mod request;
pub mod retrieve;
pub mod routes;
pub mod schema;
pub mod skills;
pub mod sources;
pub mod statistics;
pub mod unknown;
pub mod views;
pub mod vocabulary;
pub mod writes;

mod conditions;
mod named_namespaces;
mod names;
mod node_queue;
mod node_statistics;
mod values;

pub use limits::{
    BODY_BYTES_MAX, JSON_DEPTH_MAX, MEDIA_BYTES_MAX, OPEN_BODY_BYTES_MAX, PACK_BYTES_MAX, PARAMETERS_BYTES_MAX,
};
pub use reply::{AcceptedWrite, Reply, ReplyBody, StoredFile};
pub use request::{AuthenticatedRequest, RetrievalSlot, RouteRequest};
