//! What is usual for a speaker.
//!
//! One speaker writes a line, another a page; one asks at every turn, another never. An assistant's answers are several
//! times as long as what it is asked, and who is asking hardly says anything without a question. What tells something
//! about a memory is its length, and whether it asks, against what is usual for whoever said it.

use std::collections::HashMap;

use super::Document;

/// The length of a memory that is as long as is usual.
const USUAL: f32 = 0.65;
/// What is usual for all counts for a speaker as so many memories would.
const SHARED: f32 = 3.0;
/// Logarithms are summed in such steps, so that their order does not matter.
const STEPS: f32 = 65536.0;

/// What is usual in a sample of memories.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits {
    of_all: Usual,
    of_speakers: HashMap<Vec<u64>, Usual, ahash::RandomState>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Usual {
    /// The mean of [`logarithm`].
    length: f32,
    /// The part that asks.
    asks: f32,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    length_steps: i64,
    asking: i64,
    count: i64,
}

impl Sum {
    fn add(&mut self, document: Document<'_>) {
        self.length_steps += (logarithm(document) * STEPS).round() as i64;
        self.asking += i64::from(document.asks());
        self.count += 1;
    }

    /// The means with so many more that are like the usual one.
    fn mean(self, more: f32, usual: Usual) -> Usual {
        let count = (self.count as f32 + more).max(1.0);
        Usual {
            length: (self.length_steps as f32 / STEPS + more * usual.length) / count,
            asks: (self.asking as f32 + more * usual.asks) / count,
        }
    }
}

impl Habits {
    /// What is usual among some memories. A speaker of whom little is known is taken for one like all.
    pub(crate) fn of<'a>(sample: impl Iterator<Item = Document<'a>>) -> Self {
        let (mut all, mut speakers) = (Sum::default(), HashMap::<&[u64], Sum>::new());
        for document in sample {
            all.add(document);
            speakers.entry(document.speaker()).or_default().add(document);
        }
        let of_all = all.mean(0.0, Usual::default());
        let of_speakers = speakers.into_iter().map(|(name, sum)| (name.to_vec(), sum.mean(SHARED, of_all))).collect();
        Self { of_all, of_speakers }
    }

    /// The logarithm of a memory's words, from about 0 to about 1, and whether it asks, from -1 to 1, both against what
    /// is usual for its speaker.
    pub(crate) fn relative(&self, document: Document<'_>) -> (f32, f32) {
        let usual = self.of_speakers.get(document.speaker()).unwrap_or(&self.of_all);
        (USUAL + logarithm(document) - usual.length, f32::from(u8::from(document.asks())) - usual.asks)
    }
}

fn logarithm(document: Document<'_>) -> f32 {
    (1.0 + document.words() as f32).ln() / 5.0
}
