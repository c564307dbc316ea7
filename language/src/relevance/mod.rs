//! Relevance: which things a query asks for, and which hits are good enough to show.
//!
//! [`asking_part`] finds the question in a long query. [`parts`] splits a query that asks for several things into its
//! parts, without a model. [`admission`] decides on the
//! scores of hits which ones are admitted. Searches, contexts and measurements use both; nothing here searches. Start
//! with [`parts`] and [`admission::Admission`].

pub mod admission;
mod asking;
mod part;
pub mod parts;
mod sentence;
mod words;

pub use admission::{Admission, Searched};
pub use asking::asking_part;
pub use part::Part;
pub use parts::parts;
