//! The pace at which vectors are computed when the embedding model of a data directory is changed.

use std::time::Duration;

use cuebase_storage::records::EmbeddingRecord;

/// How much of a processor core a change of the model may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// In percent, from 1 to 100.
    pub share_percent: u8,
    /// Whether no vectors are computed at the moment.
    pub is_paused: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self { share_percent: 100, is_paused: false }
    }
}

impl From<&EmbeddingRecord> for Pace {
    fn from(record: &EmbeddingRecord) -> Self {
        Self { share_percent: record.share_percent.clamp(1, 100), is_paused: record.is_paused }
    }
}

impl Pace {
    /// Returns how long to rest after some work.
    pub fn rest_after(self, work: Duration) -> Duration {
        let share = u32::from(self.share_percent.clamp(1, 100));
        work * (100 - share) / share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_rest_have_the_share() {
        let rest = |share_percent| Pace { share_percent, is_paused: false }.rest_after(Duration::from_millis(300));
        assert_eq!(rest(100), Duration::ZERO);
        assert_eq!(rest(50), Duration::from_millis(300));
        assert_eq!(rest(25), Duration::from_millis(900));
        assert_eq!(rest(0), rest(1));
    }
}
