//! Times that a query names, such as "in May" or "last week".
//!
//! The time of a memory changes its rank by a ratio of two likelihoods: how near the memory is to the named times, and
//! how near the namespace's memories are to them on average. Where every memory is of the named month, the name carries
//! no information; where one in a hundred is, it carries much. A time that no memory is near is treated as ordinary
//! words.

use std::ops::Range;

use crate::bitmap::Bitmap;
use crate::filter::TimeField;
use crate::index::entry::UNKNOWN;
use crate::index::{Document, Table};
use crate::memory::Millis;

/// The distance at which the nearness is half of that within a named time. Events are often mentioned, and dated, some
/// days off.
const HALF: f32 = 86_400_000.0;
/// The likelihood that a memory answers the query at any distance from the named times.
const REGARDLESS: f32 = 0.05;
/// If no memory is within this distance of the named times, they are ignored: they were misread, or nothing of them is
/// stored.
const FAR: Millis = 7 * 86_400_000;

/// The times that a query names, in one namespace.
#[derive(Default)]
pub(crate) struct NamedTimes<'a> {
    ranges: &'a [Range<Millis>],
    /// The mean nearness of the sampled memories.
    mean_nearness: f32,
    /// The allowed documents within the named times.
    pub(crate) within: Bitmap,
}

impl<'a> NamedTimes<'a> {
    /// Takes the named times, ascending and disjoint. Returns `None` if no allowed memory is near any of them.
    pub(crate) fn new(table: &Table, ranges: &'a [Range<Millis>], allowed: Option<&Bitmap>) -> Option<Self> {
        let mut named = Self { ranges, ..Self::default() };
        named.within = named.documents(table, allowed.unwrap_or(table.alive()))?;
        let mut nearness = Vec::new();
        for id in table.sample() {
            if let Some(document) = table.document(id)
                && let Some(near) = named.nearness(document)
            {
                nearness.push(near);
            }
        }
        // Sorted, so that the sum does not depend on the order in which memories were written.
        nearness.sort_unstable_by(f32::total_cmp);
        named.mean_nearness = nearness.iter().sum::<f32>() / nearness.len().max(1) as f32;
        Some(named)
    }

    /// Returns the logarithm of the likelihood ratio: above zero if the memory is nearer to the named times than the
    /// average memory, zero if its time is unknown.
    pub(crate) fn log_likelihood_ratio(&self, document: Document<'_>) -> f32 {
        match self.nearness(document) {
            Some(near) => ((near + REGARDLESS) / (self.mean_nearness + REGARDLESS)).ln(),
            None => 0.0,
        }
    }

    /// Returns 1 within the named times and less with the distance from them; `None` if the memory's time is unknown.
    fn nearness(&self, document: Document<'_>) -> Option<f32> {
        let time = document.time(TimeField::Occurred);
        if time == UNKNOWN {
            return None;
        }
        let distance = distance(self.ranges, time)?;
        Some(1.0 / (1.0 + distance as f32 / HALF))
    }

    /// Returns the allowed documents within the named times; `None` if no allowed document is even near.
    fn documents(&self, table: &Table, allowed: &Bitmap) -> Option<Bitmap> {
        let (mut within, mut near) = (Bitmap::default(), false);
        for layer in table.layers() {
            let (first, last) = layer.occurred_between();
            // "In May" is a range per year; for most of them the layer holds nothing.
            let from = self.ranges.partition_point(|range| range.end.saturating_add(FAR) < first);
            let to = self.ranges.partition_point(|range| range.start.saturating_sub(FAR) <= last);
            let ranges = self.ranges.get(from..to).unwrap_or_default();
            let (Some(earliest), Some(latest)) = (ranges.first(), ranges.last()) else { continue };
            // One comparison rules out most documents, which are near no range.
            let begin = earliest.start.saturating_sub(FAR);
            let length = latest.end.saturating_add(FAR).wrapping_sub(begin) as u64;
            let times = layer.ids().zip(layer.times(TimeField::Occurred));
            for (document, time) in times.filter(|(_, time)| time.wrapping_sub(begin) as u64 <= length) {
                let Some(distance) = distance(ranges, *time) else { continue };
                if distance > FAR || *time == UNKNOWN || !allowed.contains(document) {
                    continue;
                }
                near = true;
                if distance == 0 {
                    within.insert(document);
                }
            }
        }
        if near { Some(within) } else { None }
    }
}

/// Returns the distance of a time from the nearest of some ascending ranges; zero within a range, `None` without
/// ranges.
fn distance(ranges: &[Range<Millis>], time: Millis) -> Option<Millis> {
    let next = ranges.partition_point(|range| range.end <= time);
    let until_next = ranges.get(next).map(|range| range.start.saturating_sub(time).max(0));
    let since_last = next.checked_sub(1).map(|last| time.saturating_sub(ranges[last].end).saturating_add(1));
    until_next.into_iter().chain(since_last).min()
}
