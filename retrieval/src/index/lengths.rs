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
    of_all: f32,
    of_speakers: HashMap<Vec<u64>, f32, ahash::RandomState>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    steps: i64,
    count: i64,
}

impl Sum {
    fn add(&mut self, length: f32) {
        self.steps += (length * STEPS).round() as i64;
        self.count += 1;
    }

    /// The mean with so many more that are as long as something.
    fn mean(self, more: f32, length: f32) -> f32 {
        (self.steps as f32 / STEPS + more * length) / (self.count as f32 + more).max(1.0)
    }
}

impl Lengths {
    /// What is usual among some memories. A speaker of whom little is known is taken for one like all.
    pub(crate) fn of<'a>(sample: impl Iterator<Item = Document<'a>>) -> Self {
        let (mut all, mut speakers) = (Sum::default(), HashMap::<&[u64], Sum>::new());
        for document in sample {
            let length = logarithm(document);
            all.add(length);
            speakers.entry(document.speaker()).or_default().add(length);
        }
        let of_all = all.mean(0.0, 0.0);
        let of_speakers = speakers.into_iter().map(|(name, sum)| (name.to_vec(), sum.mean(SHARED, of_all))).collect();
        Self { of_all, of_speakers }
    }

    /// The logarithm of a memory's words, from about 0 to about 1, against what is usual for its speaker.
    pub(crate) fn relative(&self, document: Document<'_>) -> f32 {
        let usual = self.of_speakers.get(document.speaker()).copied().unwrap_or(self.of_all);
        USUAL + logarithm(document) - usual
    }
}

fn logarithm(document: Document<'_>) -> f32 {
    (1.0 + document.words() as f32).ln() / 5.0
}
