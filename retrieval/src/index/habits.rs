//! What is usual for a speaker: the length of a memory, and how often a memory contains a question.
//!
//! One speaker writes a line, another a page; one asks in every turn, another never. An assistant's answers are several
//! times as long as the questions, and the person who asks rarely writes a line that is not a question. So a memory's
//! length, and whether it asks, carry information only relative to what is usual for its speaker.

use std::collections::HashMap;

use super::layer::Document;
use crate::hash::{NameHash, chat_assistant, chat_user};
use crate::ids::DocumentId;

/// The relative length of a memory that is as long as its speaker's average.
const USUAL: f32 = 0.65;
/// The number of memories that the average of all speakers counts for in a speaker's average.
const SHARED: f32 = 3.0;
/// Logarithms are summed as integers, in steps of one divided by this, so that their order does not matter.
const STEPS: f32 = 65536.0;

/// The averages in a sample of memories.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits {
    of_all: Averages,
    of_speakers: HashMap<Vec<NameHash>, Averages, ahash::RandomState>,
    only_user: Option<OnlyUser>,
    has_several_named: bool,
}

/// The only speaker of a sample, not counting an assistant without a name.
#[derive(Clone, Debug)]
pub(crate) struct OnlyUser {
    /// The words of the name.
    pub(crate) name: Vec<NameHash>,
    /// One of the speaker's memories.
    pub(crate) memory: DocumentId,
}

#[derive(Clone, Copy, Debug, Default)]
struct Averages {
    /// The mean of [`log_length`].
    length: f32,
    /// The share of memories that ask.
    asks: f32,
}

#[derive(Clone, Copy, Default)]
struct Totals {
    length_steps: i64,
    asking: i64,
    count: i64,
}

impl Totals {
    fn add(&mut self, document: Document<'_>) {
        self.length_steps += (log_length(document) * STEPS).round() as i64;
        self.asking += i64::from(document.asks());
        self.count += 1;
    }

    /// Returns the averages, in which `prior` counts as `weight` memories.
    fn averages(self, weight: f32, prior: Averages) -> Averages {
        let count = (self.count as f32 + weight).max(1.0);
        Averages {
            length: (self.length_steps as f32 / STEPS + weight * prior.length) / count,
            asks: (self.asking as f32 + weight * prior.asks) / count,
        }
    }
}

impl Habits {
    /// Computes the averages of a sample. A speaker of few memories is assumed to be like all others.
    pub(crate) fn of<'a>(sample: impl Iterator<Item = (DocumentId, Document<'a>)>) -> Self {
        let (mut all, mut speakers) = (Totals::default(), HashMap::<&[NameHash], Totals>::new());
        let assistant = [chat_assistant()];
        let mut users: Vec<OnlyUser> = Vec::new();
        let (user, mut named) = ([chat_user()], Vec::<&[NameHash]>::new());
        for (memory, document) in sample {
            all.add(document);
            let name = document.speaker();
            speakers.entry(name).or_default().add(document);
            let is_user = !name.is_empty() && name != assistant;
            if is_user && users.len() < 2 && users.iter().all(|user| user.name != name) {
                users.push(OnlyUser { name: name.to_vec(), memory });
            }
            if is_user && name != user && named.len() < 2 && !named.contains(&name) {
                named.push(name);
            }
        }
        let only_user = match users.len() {
            1 => users.pop(),
            _ => None,
        };
        let of_all = all.averages(0.0, Averages::default());
        let mut of_speakers = HashMap::default();
        for (name, totals) in speakers {
            of_speakers.insert(name.to_vec(), totals.averages(SHARED, of_all));
        }
        Self { of_all, of_speakers, only_user, has_several_named: named.len() > 1 }
    }

    /// Whether several speakers with names are in the sample, so that it is not clear for whom "I" stands.
    pub(crate) fn has_several_named(&self) -> bool {
        self.has_several_named
    }

    /// Returns the only speaker in the sample, not counting an assistant. `None` if there are several or none.
    pub(crate) fn only_user(&self) -> Option<&OnlyUser> {
        self.only_user.as_ref()
    }

    /// Returns the memory's logarithmic length, from about 0 to about 1, and whether it asks, from -1 to 1, both
    /// relative to what is usual for its speaker.
    pub(crate) fn relative(&self, document: Document<'_>) -> (f32, f32) {
        let usual = self.of_speakers.get(document.speaker()).unwrap_or(&self.of_all);
        (USUAL + log_length(document) - usual.length, f32::from(u8::from(document.asks())) - usual.asks)
    }
}

fn log_length(document: Document<'_>) -> f32 {
    (1.0 + document.words() as f32).ln() / 5.0
}
