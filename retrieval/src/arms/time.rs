//! The time arm: memories of the times that a query names, such as "in May" or "last week".
//!
//! How much likelier a memory is to be meant because of when it happened is the ratio of two likelihoods: how near it is to
//! the times named, and how near a memory here is to them on the whole. Where every memory is of the month that was named,
//! naming it says nothing; where one in a hundred is, it says much.

use std::ops::Range;

use crate::filter::{Bitmap, TimeField};
use crate::index::entry::UNKNOWN;
use crate::index::{Document, Table};
use crate::memory::Millis;

/// At this distance a memory is half as near as within: what happened is often told, and dated, some days off.
const HALF: f32 = 86_400_000.0;
/// How likely it is that a memory is meant however far it is from the times named.
const REGARDLESS: f32 = 0.05;

/// The times that a query names, in one namespace.
pub(crate) struct NamedTimes<'a> {
    ranges: &'a [Range<Millis>],
    /// How near memories are to them on the whole.
    usual: f32,
}

impl<'a> NamedTimes<'a> {
    /// Times in ascending order, apart from each other.
    pub(crate) fn new(table: &Table, ranges: &'a [Range<Millis>]) -> Self {
        let mut named = Self { ranges, usual: 0.0 };
        if !ranges.is_empty() {
            let sample = table.sample().filter_map(|number| table.document(number));
            let mut near: Vec<f32> = sample.filter_map(|document| named.nearness(document)).collect();
            // The same sum in whatever order the memories lie.
            near.sort_unstable_by(f32::total_cmp);
            named.usual = near.iter().sum::<f32>() / near.len().max(1) as f32;
        }
        named
    }

    /// The logarithm of the ratio: above zero where a memory is nearer to the times named than is usual here, zero where
    /// none are named or nobody knows when it happened.
    pub(crate) fn likelihood(&self, document: Document<'_>) -> f32 {
        self.nearness(document).map_or(0.0, |near| ((near + REGARDLESS) / (self.usual + REGARDLESS)).ln())
    }

    /// 1 within the times named, less the further from them; none where none are named or nobody knows when it happened.
    fn nearness(&self, document: Document<'_>) -> Option<f32> {
        if self.ranges.is_empty() {
            return None;
        }
        let time = Some(document.time(TimeField::Occurred)).filter(|time| *time != UNKNOWN)?;
        self.distance(time).map(|distance| 1.0 / (1.0 + distance as f32 / HALF))
    }

    /// How far a time is from the nearest one named; zero within.
    fn distance(&self, time: Millis) -> Option<Millis> {
        let next = self.ranges.partition_point(|range| range.end <= time);
        let until = self.ranges.get(next).map(|range| range.start.saturating_sub(time).max(0));
        let since = next.checked_sub(1).map(|before| time.saturating_sub(self.ranges[before].end).saturating_add(1));
        until.into_iter().chain(since).min()
    }

    /// The documents within the times named that a filter lets through; nothing where no times are named.
    pub(crate) fn documents(&self, table: &Table, allowed: Option<&Bitmap>) -> Option<Bitmap> {
        let (begin, end) = (self.ranges.first()?.start, self.ranges.last()?.end);
        let mut bitmap = Bitmap::default();
        for layer in table.layers() {
            let times = layer.range().zip(layer.times(TimeField::Occurred));
            // Most are outside all of them, which is quickly told.
            let between = times.filter(|(_, time)| (begin..end).contains(time));
            let within = between.filter(|(_, time)| self.distance(**time) == Some(0));
            within.for_each(|(document, _)| bitmap.insert(document));
        }
        bitmap.intersect(allowed.unwrap_or(table.alive()));
        Some(bitmap)
    }
}
