//! Models: what turns text into vectors, and conversations into memories.
//!
//! [`Embedder`] is what an embedding model has to do. Three kinds do it: [`static_table`], the built-in one, compiled
//! into the binary; [`encoder`], a BERT-family model from a folder, run in process; [`hosted`], any endpoint that speaks
//! OpenAI's dialect, which also brings chat models. [`vectors`] is what the rest of the server asks for vectors: it
//! remembers what was made before. [`configured`] is which models there are.

pub mod configured;
pub mod encoder;
pub mod hosted;
pub mod static_table;
pub mod vectors;

use std::time::{Duration, Instant};

use cuebase_retrieval::IndexSettings;

use crate::text::steps::Interrupted;

pub use configured::Models;
pub use static_table::{StaticTable, TableError};
pub use vectors::Vectors;

/// The dimensions of an embedding as the service speaks of it. A model may fill only a prefix; the rest is zero.
pub const DIMENSIONS: usize = 1024;

/// Turns texts into unit vectors, the same way for cues and for queries.
pub trait Embedder: Send + Sync {
    /// Which model this is; kept with every index, since vectors of two models cannot be compared.
    fn identity(&self) -> &str;

    /// How many leading dimensions of [`DIMENSIONS`] it fills; the others are always zero and are not stored.
    fn filled_dimensions(&self) -> usize;

    /// Whether a vector takes microseconds: then none is remembered, and none is ever waited for.
    fn is_immediate(&self) -> bool {
        false
    }

    /// Whether it asks somebody over the network, so that whoever calls it waits without working.
    fn is_remote(&self) -> bool {
        false
    }

    /// The filled dimensions of each text's vector, in order, of unit length; all zero for a text that holds nothing
    /// it knows.
    fn embed(&self, texts: &[&str], deadline: Deadline) -> Result<Vec<Vec<f32>>, ModelError>;
}

/// How long somebody is willing to wait for a model, and who that is.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// Given up then.
    pub until: Instant,
    /// Whether a person waits: such calls do not queue behind the others.
    pub urgent: bool,
}

impl Deadline {
    /// Of somebody who waits for an answer.
    pub fn urgent(time: Duration) -> Self {
        Self { until: Instant::now() + time, urgent: true }
    }

    /// Of work that nobody waits for.
    pub fn of_work(time: Duration) -> Self {
        Self { until: Instant::now() + time, urgent: false }
    }

    /// The same, given up at a moment at the latest.
    pub fn at_most(self, until: Instant) -> Self {
        Self { until: self.until.min(until), ..self }
    }

    /// What is left of it.
    pub fn left(self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

/// Why a model gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// It cannot be reached, has no time, or was given up; later it may answer.
    #[error("the model does not answer: {told}")]
    Unavailable {
        /// What happened.
        told: String,
        /// The HTTP status; none where no answer came.
        status: Option<u16>,
        /// How long the endpoint asked to be left alone.
        retry_after: Option<Duration>,
    },
    /// The endpoint refuses the key, the address or the model's name; it may answer once the operator has corrected that.
    #[error("the model's endpoint refuses the configuration: {told}")]
    Misconfigured {
        /// The HTTP status.
        status: u16,
        /// What the endpoint said.
        told: String,
    },
    /// The time for the whole work ended, although the model answers.
    #[error("{0}")]
    OutOfTime(String),
    /// It refused what it was asked.
    #[error("the model refused: {0}")]
    Refused(String),
    /// It answered something that cannot be used.
    #[error("the model's answer cannot be used: {0}")]
    Unusable(String),
    /// Its vectors are longer than is taken.
    #[error(
        "its vectors have {found} dimensions, at most {DIMENSIONS} are taken: choose a model that has fewer, or one that \
         can shorten its vectors"
    )]
    TooLong {
        /// Dimensions.
        found: usize,
    },
    /// It could not be loaded or is not of a kind that is known.
    #[error("{0}")]
    Unknown(String),
}

impl ModelError {
    /// The model gave no answer.
    pub fn unavailable(told: impl Into<String>) -> Self {
        Self::Unavailable { told: told.into(), status: None, retry_after: None }
    }

    /// Whether the reason lies with the endpoint or its configuration, and not with what was asked or answered.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Misconfigured { .. })
    }

    /// A word for the kind of error; for the log, since the error itself may repeat what a client sent.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "unavailable",
            Self::Misconfigured { .. } => "misconfigured",
            Self::OutOfTime(_) => "out_of_time",
            Self::Refused(_) => "refused",
            Self::Unusable(_) => "unusable",
            Self::TooLong { .. } => "too_long",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// What a namespace's index is made for: a model's vectors, and the built-in table to compare words by.
pub fn index_settings(model: &dyn Embedder) -> Result<IndexSettings, TableError> {
    let tokens = StaticTable::built_in()?;
    Ok(IndexSettings { dimensions: model.filled_dimensions(), model: model.identity().to_owned(), tokens })
}

impl<T: Embedder + ?Sized> Embedder for &T {
    fn identity(&self) -> &str {
        (**self).identity()
    }

    fn filled_dimensions(&self) -> usize {
        (**self).filled_dimensions()
    }

    fn is_immediate(&self) -> bool {
        (**self).is_immediate()
    }

    fn is_remote(&self) -> bool {
        (**self).is_remote()
    }

    fn embed(&self, texts: &[&str], deadline: Deadline) -> Result<Vec<Vec<f32>>, ModelError> {
        (**self).embed(texts, deadline)
    }
}

/// Scales a vector to unit length; one without length stays as it is. False when a value is not finite.
pub(crate) fn normalise(vector: &mut [f32]) -> bool {
    if !vector.iter().all(|value| value.is_finite()) {
        return false;
    }
    // In double precision: squares of large values must not overflow.
    let norm = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|value| *value = (f64::from(*value) / norm) as f32);
    }
    true
}

impl From<Interrupted> for ModelError {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::TimedOut => Self::OutOfTime(interrupted.to_string()),
            Interrupted::Stopped => Self::unavailable(interrupted.to_string()),
        }
    }
}
