//! Whether what a query asks of somebody was told by somebody else.
//!
//! "What did Ann say of her race?" has no answer where it was Ben who ran: then what Ben told meets the query better than
//! what Ann told does. How much better is one number for the whole query; it lowers the scores of all its hits alike.

use super::signals::spread;

/// Whoever has fewer candidates stands out by chance.
const CANDIDATES_MIN: usize = 8;
/// How many of the best speak for a person.
const BEST: usize = 3;

/// A candidate that a person told: somebody with a name of their own, not the user or the assistant of a chat.
pub(super) struct Told {
    /// Whether the query names that person.
    pub(super) named: bool,
    /// The conversation it was told in.
    pub(super) session: u64,
    pub(super) soft_match: f32,
}

/// How much more others' best soft matches stand out from the rest of theirs than those of whom the query names, at
/// least 0. Others are those who spoke in the same conversations; 0 where either side has few candidates.
pub(super) fn others_stand_out(told: &[Told]) -> f32 {
    let mut sessions: Vec<u64> = told.iter().filter(|told| told.named).map(|told| told.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let with_named = |told: &&Told| told.session != 0 && sessions.binary_search(&told.session).is_ok();
    let matches = |named: bool| {
        let side = told.iter().filter(|told| told.named == named);
        side.filter(|told| named || with_named(told)).map(|told| told.soft_match).collect::<Vec<f32>>()
    };
    match (stands_out(matches(true)), stands_out(matches(false))) {
        (Some(named), Some(others)) => (others - named).max(0.0),
        _ => 0.0,
    }
}

/// The mean of the best less the mean of all, if there are enough.
fn stands_out(mut matches: Vec<f32>) -> Option<f32> {
    if matches.len() < CANDIDATES_MIN {
        return None;
    }
    let (mean, _) = spread(&mut matches);
    // In order now.
    let best: f32 = matches.iter().rev().take(BEST).sum();
    Some(best / BEST as f32 - mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(named: bool, session: u64, best: f32) -> Vec<Told> {
        (0..CANDIDATES_MIN as u16)
            .map(|n| Told { named, session, soft_match: if n < 3 { best } else { 0.2 } })
            .collect()
    }

    #[test]
    fn others_stand_out_where_their_best_do_more_than_those_of_the_named() {
        let both = |named: f32, others: f32, session: u64| -> f32 {
            others_stand_out(&told(true, 1, named).into_iter().chain(told(false, session, others)).collect::<Vec<_>>())
        };
        assert!((both(0.4, 0.9, 1) - 0.5 * 5.0 / 8.0).abs() < 1e-6);
        assert_eq!(both(0.9, 0.4, 1), 0.0, "the named stand out");
        assert_eq!(both(0.4, 0.9, 2), 0.0, "in other conversations");
        assert_eq!(others_stand_out(&told(false, 1, 0.9)), 0.0, "nobody is named");
        let mut few = told(true, 1, 0.4);
        few.truncate(CANDIDATES_MIN - 1);
        few.extend(told(false, 1, 0.9));
        assert_eq!(others_stand_out(&few), 0.0, "the named said little");
    }
}
