//! The time arm: memories of the times that a query names, such as "in May" or "last week".
//!
//! How much likelier a memory is to be meant because of when it happened is the ratio of two likelihoods: how near it is to
//! the times named, and how near a memory here is to them on the whole. Where every memory is of the month that was named,
//! naming it says nothing; where one in a hundred is, it says much. A time of which nothing is known is taken as words.

use std::ops::Range;

use crate::filter::{Bitmap, TimeField};
use crate::index::entry::UNKNOWN;
use crate::index::{Document, Table};
use crate::memory::Millis;

/// At this distance a memory is half as near as within: what happened is often told, and dated, some days off.
const HALF: f32 = 86_400_000.0;
/// How likely it is that a memory is meant however far it is from the times named.
const REGARDLESS: f32 = 0.05;
/// A time further than this from every memory is not understood, or nothing is known of it.
const FAR: Millis = 7 * 86_400_000;

/// The times that a query names, in one namespace.
#[derive(Default)]
pub(crate) struct NamedTimes<'a> {
    ranges: &'a [Range<Millis>],
    /// How near memories are to them on the whole.
    usual: f32,
    /// The documents within them that the filter lets through.
    pub(crate) within: Bitmap,
}

impl<'a> NamedTimes<'a> {
    /// Times in ascending order, apart from each other; nothing where none are named, or nothing that the filter lets
    /// through is of about then.
    pub(crate) fn new(table: &Table, ranges: &'a [Range<Millis>], allowed: Option<&Bitmap>) -> Option<Self> {
        let mut named = Self { ranges, ..Self::default() };
        named.within = named.documents(table, allowed.unwrap_or(table.alive()))?;
        let sample = table.sample().filter_map(|number| table.document(number));
        let mut near: Vec<f32> = sample.filter_map(|document| named.nearness(document)).collect();
        // The same sum in whatever order the memories lie.
        near.sort_unstable_by(f32::total_cmp);
        named.usual = near.iter().sum::<f32>() / near.len().max(1) as f32;
        Some(named)
    }

    /// The logarithm of the ratio: above zero where a memory is nearer to the times named than is usual here, zero where
    /// nobody knows when it happened.
    pub(crate) fn likelihood(&self, document: Document<'_>) -> f32 {
        self.nearness(document).map_or(0.0, |near| ((near + REGARDLESS) / (self.usual + REGARDLESS)).ln())
    }

    /// 1 within the times named, less the further from them; none where nobody knows when it happened.
    fn nearness(&self, document: Document<'_>) -> Option<f32> {
        let time = Some(document.time(TimeField::Occurred)).filter(|time| *time != UNKNOWN)?;
        distance(self.ranges, time).map(|distance| 1.0 / (1.0 + distance as f32 / HALF))
    }

    /// The documents within the times named; nothing where none is even near.
    fn documents(&self, table: &Table, allowed: &Bitmap) -> Option<Bitmap> {
        let (mut within, mut near) = (Bitmap::default(), false);
        for layer in table.layers() {
            let (first, last) = layer.occurred_between();
            // "In May" is a range for every year, and of most of them there is nothing.
            let from = self.ranges.partition_point(|range| range.end.saturating_add(FAR) < first);
            let to = self.ranges.partition_point(|range| range.start.saturating_sub(FAR) <= last);
            let ranges = self.ranges.get(from..to).unwrap_or_default();
            let (Some(earliest), Some(latest)) = (ranges.first(), ranges.last()) else { continue };
            // Most are near none of them, which one comparison tells.
            let begin = earliest.start.saturating_sub(FAR);
            let length = latest.end.saturating_add(FAR).wrapping_sub(begin) as u64;
            let times = layer.range().zip(layer.times(TimeField::Occurred));
            for (document, time) in times.filter(|(_, time)| time.wrapping_sub(begin) as u64 <= length) {
                let distance = distance(ranges, *time).filter(|distance| *distance <= FAR && *time != UNKNOWN);
                if let Some(distance) = distance.filter(|_| allowed.contains(document)) {
                    near = true;
                    if distance == 0 {
                        within.insert(document);
                    }
                }
            }
        }
        near.then_some(within)
    }
}

/// How far a time is from the nearest range; zero within.
fn distance(ranges: &[Range<Millis>], time: Millis) -> Option<Millis> {
    let next = ranges.partition_point(|range| range.end <= time);
    let until = ranges.get(next).map(|range| range.start.saturating_sub(time).max(0));
    let since = next.checked_sub(1).map(|before| time.saturating_sub(ranges[before].end).saturating_add(1));
    until.into_iter().chain(since).min()
}
