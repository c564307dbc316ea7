//! Relevance: which things a query asks for, and which hits are good enough to show.
//!
//! [`asking_part`] finds the question in a long query. [`parts`] splits a query that asks for several things into its
//! parts, without a model. [`time_only`] recognizes one that asks for a time and nothing else. [`admission`] decides on
//! the scores of hits which ones are admitted. Searches, contexts and measurements use all of them; nothing here searches.
//! Start with [`parts`] and [`admission::Admission`].

pub mod admission;
mod asking;
mod event_words;
mod part;
pub mod parts;
mod sentence;
mod time_only;
mod words;

pub use admission::{Admission, Searched};
pub use asking::asking_part;
pub use part::Part;
pub use parts::parts;
pub use time_only::{Direction, SpeakerForm, TimeOnly, time_only};
