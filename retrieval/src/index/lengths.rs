//! How long a memory is for its speaker.
//!
//! One speaker writes a line, another a page: an assistant's answers are several times as long as what it is asked. What
//! tells whether a memory says much is its length against what is usual for whoever said it.

use std::collections::HashMap;

use super::Document;

/// The length of a memory that is as long as is usual.
const USUAL: f32 = 0.65;
/// What is usual for all counts for a speaker as so many memories would.
const SHARED: f32 = 3.0;
/// Logarithms are summed in such steps, so that their order does not matter.
const STEPS: f32 = 65536.0;

/// The usual lengths in a sample of memories.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lengths {
    all: Mean,
    speakers: HashMap<Vec<u64>, Mean, ahash::RandomState>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    steps: i64,
    count: i64,
}

impl Mean {
    fn add(&mut self, length: f32) {
        self.steps += (length * STEPS).round() as i64;
        self.count += 1;
    }

    fn sum(self) -> f32 {
        self.steps as f32 / STEPS
    }
}

impl Lengths {
    /// What is usual among some memories.
    pub(crate) fn of<'a>(sample: impl Iterator<Item = Document<'a>>) -> Self {
        let mut lengths = Self::default();
        for document in sample {
            let length = logarithm(document);
            lengths.all.add(length);
            match lengths.speakers.get_mut(document.speaker()) {
                Some(mean) => mean.add(length),
                None => lengths.speakers.entry(document.speaker().to_vec()).or_default().add(length),
            }
        }
        lengths
    }

    /// The logarithm of a memory's words, from about 0 to about 1, against what is usual for its speaker. A speaker of
    /// whom little is known is taken for one like all.
    pub(crate) fn relative(&self, document: Document<'_>) -> f32 {
        let usual = self.all.sum() / self.all.count.max(1) as f32;
        let own = self.speakers.get(document.speaker()).copied().unwrap_or_default();
        USUAL + logarithm(document) - (own.sum() + SHARED * usual) / (own.count as f32 + SHARED)
    }
}

fn logarithm(document: Document<'_>) -> f32 {
    (1.0 + document.words() as f32).ln() / 5.0
}
