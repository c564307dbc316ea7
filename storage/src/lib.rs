//! What must survive.
//!
//! Three things live here. [`key_value`] holds what is not a memory (keys, namespaces, the queue) in RocksDB column
//! families; [`records`] are the typed records in them, one file a resource. [`git`] keeps one bare repository per
//! namespace, the truth for memories. [`memory_file`] is the format of one memory: front matter and markdown.
//!
//! What does not live here: anything about finding a memory (that is `cuebase-retrieval`), about HTTP or about models.
//! No type of RocksDB or gix appears in this crate's public face.
//!
//! Begin with [`Store`] for records and [`git::Repository`] for memories.

pub mod error;
pub mod git;
pub mod key_value;
pub mod memory_file;
pub mod records;

pub use error::{DiskTrouble, Error, Result};
pub use records::Store;
