//! How a query finds a memory.
//!
//! An [`Index`] holds one namespace's memories: an inverted index of their words, their cues' vectors in rows of 8-bit
//! integers with a sketch of one bit a dimension, their relations as a graph. [`Index::apply`] takes changes in and
//! publishes an immutable [`Snapshot`]; [`Snapshot::search`] answers a [`Query`] from it: the arms ([`arms`]) side by
//! side, fusion, one hop through the graph, and a calibrated probability ([`ranking`]) for every hit. The innermost loops
//! stand in [`kernels`].
//!
//! What does not live here: HTTP, git, RocksDB, models. A memory comes in with its vectors made, words are compared by
//! [`TokenVectors`] that come in too; the head that an index stands for is a string. No type of tantivy or simsimd
//! appears in this crate's public face.

mod arms;
mod error;
mod filter;
mod hash;
mod index;
pub mod kernels;
mod memory;
mod ranking;
mod search;
mod text;
mod threads;
mod tokens;
mod vocabulary;

pub use error::{Error, Result};
pub use filter::{Bitmap, Filter, TimeField};
pub use index::{Change, Index, IndexSettings, Snapshot};
pub use memory::{Cue, Memory, Millis, Relation};
pub use ranking::features::{FEATURE_NAMES, Features};
pub use search::{Arms, Hit, Listing, Outcome, Query};
pub use text::{QUESTION_MARKS, any_term, content_terms, fold, is_stop_word, writes_no_spaces};
pub use tokens::TokenVectors;
pub use vocabulary::{Mention, Synonyms, Term, Vocabulary, surface_key};
