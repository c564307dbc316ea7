//! False premises: whether other speakers match a query better than the speaker that it names.
//!
//! "What did Ann say about her race?" has no answer if it was Ben who ran. Then Ben's memories match the query better
//! than Ann's. How much better is one number per query; it lowers the scores of all its hits equally.

use super::spread::spread;
use crate::hash::SessionHash;

/// A side with fewer candidates than this can stand out by chance.
const CANDIDATES_MIN: usize = 8;
/// How many of a side's best candidates represent it.
const BEST: usize = 3;

/// The soft match of a candidate whose speaker has a name, unlike the user and the assistant of a chat.
pub(super) struct SpeakerMatch {
    /// Whether the query names the speaker.
    pub(super) named: bool,
    /// The conversation of the candidate, if it belongs to one.
    pub(super) session: Option<SessionHash>,
    pub(super) soft_match: f32,
}

/// Returns how much further the best soft matches of other speakers exceed those speakers' mean than the best of the
/// named speakers exceed theirs; at least 0.
///
/// Other speakers count only in conversations in which a named speaker spoke. Returns 0 if either side has few
/// candidates.
pub(super) fn others_stand_out(candidates: &[SpeakerMatch]) -> f32 {
    let mut sessions: Vec<Option<SessionHash>> =
        candidates.iter().filter(|candidate| candidate.named).map(|candidate| candidate.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for candidate in candidates {
        if candidate.named {
            named.push(candidate.soft_match);
        } else if candidate.session.is_some() && sessions.binary_search(&candidate.session).is_ok() {
            others.push(candidate.soft_match);
        }
    }
    match (lead_of_best(named), lead_of_best(others)) {
        (Some(named), Some(others)) => (others - named).max(0.0),
        _ => 0.0,
    }
}

/// Returns the mean of the best matches minus the mean of all; `None` for too few.
fn lead_of_best(mut matches: Vec<f32>) -> Option<f32> {
    if matches.len() < CANDIDATES_MIN {
        return None;
    }
    // Also sorts.
    let (mean, _) = spread(&mut matches);
    let best: f32 = matches.iter().rev().take(BEST).sum();
    Some(best / BEST as f32 - mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(named: bool, session: u64, best: f32) -> Vec<SpeakerMatch> {
        let session = Some(SessionHash::of_number(session));
        (0..CANDIDATES_MIN as u16)
            .map(|n| SpeakerMatch { named, session, soft_match: if n < 3 { best } else { 0.2 } })
            .collect()
    }

    #[test]
    fn others_stand_out_if_their_best_exceed_their_mean_by_more() {
        let both = |named: f32, others: f32, session: u64| -> f32 {
            let mut all = candidates(true, 1, named);
            all.extend(candidates(false, session, others));
            others_stand_out(&all)
        };
        assert!((both(0.4, 0.9, 1) - 0.5 * 5.0 / 8.0).abs() < 1e-6);
        assert_eq!(both(0.9, 0.4, 1), 0.0, "the named stand out");
        assert_eq!(both(0.4, 0.9, 2), 0.0, "in other conversations");
        assert_eq!(others_stand_out(&candidates(false, 1, 0.9)), 0.0, "the query names nobody");
        let mut few = candidates(true, 1, 0.4);
        few.truncate(CANDIDATES_MIN - 1);
        few.extend(candidates(false, 1, 0.9));
        assert_eq!(others_stand_out(&few), 0.0, "the named said little");
    }
}
