//! Models: embedding models, which turn text into vectors, and chat models.
//!
//! [`Embedder`] is the interface of an embedding model, with three implementations: [`static_table`], the built-in
//! table compiled into the binary; [`encoder`], a BERT-family model from a folder, run in the server process; and
//! [`hosted`], an OpenAI-compatible endpoint, which also offers chat models. [`Vectors`] caches and stores the vectors
//! of one model for the rest of the server. [`QueryReader`] reads the candidates of a query. [`Models`] holds the configured models; start there.

pub mod choice;
pub mod configured;
mod deadline;
mod embedder;
mod embedding;
pub mod encoder;
mod error;
pub mod hosted;
mod index;
mod query_cache;
mod query_reader;
pub mod static_table;
pub mod vectors;
mod word_pieces;

pub use configured::Models;
pub use deadline::Deadline;
pub use embedder::Embedder;
pub use embedding::DIMENSIONS;
pub use error::ModelError;
pub use index::index_settings;
pub use query_reader::QueryReader;
pub use static_table::{StaticTable, TableError};
pub use vectors::Vectors;
