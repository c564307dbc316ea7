//! Recency: of several memories that answer a question about how something is, the latest is the best.

use cuebase_language::claims::{AskedKind, AskedPeriod};

use super::prepared::Search;
use super::ranking::Ranking;
use crate::index::entry::UNKNOWN;
use crate::index::ledger::begin_of;
use crate::memory::Millis;

/// Candidates that are compared.
const COMPARED_MAX: usize = 10;
/// The share of the best score that a candidate must have to be compared.
const OF_BEST_MIN: f32 = 0.15;

impl Search<'_> {
    /// Sets the feature `recency` of the best candidates, and ranks them again.
    pub(super) fn rank_by_recency(&self, ranking: &mut Ranking<'_>) {
        if self.query.asked.kind == AskedKind::Anything {
            return;
        }
        let end = match self.query.asked.period {
            AskedPeriod::Present => self.validity.at,
            AskedPeriod::Named(_, last) => last,
            AskedPeriod::Former => return,
        };
        let times = self.compared_times(ranking);
        for (index, time) in times.iter().enumerate() {
            if *time != UNKNOWN {
                ranking.set_recency(index, recency(*time, &times, end));
            }
        }
        ranking.sort();
    }

    /// Returns the times of the best candidates, best first.
    fn compared_times(&self, ranking: &Ranking<'_>) -> Vec<Millis> {
        let mut times = Vec::new();
        let best = match ranking.candidates.first() {
            Some(candidate) => candidate.score,
            None => return times,
        };
        for candidate in ranking.candidates.iter().take(COMPARED_MAX) {
            if candidate.score < best * OF_BEST_MIN {
                break;
            }
            let document = ranking.table.document(candidate.document);
            times.push(document.map_or(UNKNOWN, begin_of));
        }
        times
    }
}

/// Returns how recent a time is among others, from -1 to 1. A time after the end is not recent, but too late.
fn recency(time: Millis, times: &[Millis], end: Millis) -> f32 {
    if time > end {
        return -1.0;
    }
    let (mut older, mut newer) = (0_u8, 0_u8);
    for other in times {
        if *other != UNKNOWN && *other <= end {
            older += u8::from(*other < time);
            newer += u8::from(*other > time);
        }
    }
    let compared = f32::from(older + newer);
    if compared == 0.0 { 0.0 } else { (f32::from(older) - f32::from(newer)) / compared }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_time_up_to_the_end_is_the_most_recent() {
        let times = [10, 20, 30, UNKNOWN, 20];
        let of = |time: Millis, end: Millis| recency(time, &times, end);
        assert_eq!([of(10, 99), of(20, 99), of(30, 99)], [-1.0, 0.0, 1.0]);
        assert_eq!([of(10, 25), of(20, 25), of(30, 25)], [-1.0, 1.0, -1.0]);
        assert_eq!(recency(5, &[5, 5], 9), 0.0);
    }
}
