//! Reading: the built-in reader reads the best candidates of a query together with it, if the request wants it.

use std::time::Duration;

use cuebase_retrieval::{Judgement, Memory, Reranker};
use serde::{Deserialize, Serialize};

use crate::model::QueryReader;
use crate::service::search_threads::pause;

/// Which candidates of a query are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// How many.
    pub mode: ReadMode,
    /// With [`ReadMode::Auto`], how long the reading of all may take. `None` for the time of the settings.
    pub budget: Option<Duration>,
}

/// How many candidates are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadMode {
    /// As many as can be read in a time.
    Auto,
    /// As many as are ever read.
    Always,
    /// None.
    #[default]
    Off,
}

impl ReadMode {
    /// Returns the mode with a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "always" => Some(Self::Always),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// The reader of a search, which pauses the thread of the search before each memory.
#[derive(Debug)]
pub(super) struct PausingReader(pub(super) QueryReader);

impl Reranker for PausingReader {
    fn read(&self, memory: &Memory) -> Option<Judgement> {
        // The search ends at its next pause if the client has left.
        pause().ok()?;
        self.0.read(memory)
    }
}
