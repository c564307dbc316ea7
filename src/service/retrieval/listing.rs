//! Listings of a namespace in pages, and what its memories can be filtered by: days, tags and topics with their counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cuebase_retrieval::{
    Currency, Error as IndexError, Filter, ListedPage, Listing, ListingOrder, Memory, Snapshot, TimeField,
};
use cuebase_storage::memory_file::markdown;
use cuebase_storage::{AccountId, NamespaceName};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

use super::hit::HitView;
use super::search_result::{FoundMemory, SearchResult, SearchTimes, SearchedNamespace};
use crate::error::Result;
use crate::service::memories::tier_and_topic;
use crate::service::reads::Reads;
use crate::service::smallest_keys::SmallestKeys;

/// Tags in a response, the most frequent ones.
const TAGS_MAX: usize = 500;

/// The memories to list.
#[derive(Clone, Debug)]
pub struct ListingSelection {
    /// Restricts the memories.
    pub filter: Filter,
    /// If given, later memories are left out, and validity is judged at this time, milliseconds since the epoch.
    pub as_of: Option<i64>,
    /// What becomes of memories that do not hold.
    pub currency: Currency,
}

/// The order of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryOrder {
    /// By the filter's time field, latest first.
    #[default]
    Newest,
    /// By the filter's time field, earliest first.
    Oldest,
    /// By title, then by path. Case does not matter, and numbers are compared by their value.
    Title,
}

/// The part of a listing to return.
#[derive(Clone, Copy, Debug)]
pub struct ListingPage {
    /// The order of the memories.
    pub order: MemoryOrder,
    /// Memories that are left out at the beginning.
    pub offset: usize,
    /// Maximum number of memories.
    pub limit: usize,
    /// Whether history, last diff, relations and cues are added.
    pub full: bool,
}

/// A page of a listing.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryList")]
pub struct MemoryList {
    /// Number of memories that meet the filters.
    pub total: usize,
    /// The memories of the page. Every score is 1.
    pub memories: Vec<HitView>,
}

/// What the memories of a listing can be filtered by.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Facets")]
pub struct Facets {
    /// Number of memories that meet the filters.
    pub total: usize,
    /// Memories by the day of `time_field`, latest first. Days without a memory are left out.
    pub days: Vec<DayFacet>,
    /// Memories by tag, most frequent first; up to 500 tags.
    pub tags: Vec<TagFacet>,
    /// Memories by tier and topic, sorted by both.
    pub topics: Vec<TopicFacet>,
}

/// The memories of a day.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct DayFacet {
    /// The day in `timezone`.
    #[schemars(extend("format" = "date"))]
    pub day: String,
    /// Number of memories.
    pub memories: u64,
}

/// The memories with a tag.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct TagFacet {
    /// The tag.
    pub tag: String,
    /// Number of memories.
    pub memories: u64,
}

/// The memories of a topic.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct TopicFacet {
    /// Name of the tier.
    #[schemars(extend("enum" = ["facts", "incidents", "rules", "skills"]))]
    pub tier: String,
    /// Name of the directory; empty for memories directly in the tier.
    pub topic: String,
    /// Number of memories.
    pub memories: u64,
}

impl Reads {
    /// Lists memories of a namespace.
    pub fn list(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        selection: &ListingSelection,
        page: ListingPage,
    ) -> Result<MemoryList> {
        let lease = self.namespaces.lease(account, namespace)?;
        let now = self.clock.now();
        let (head, listed) =
            lease.read(|snapshot| Ok((snapshot.head(), read_page(snapshot, selection, page, now)?)))?;
        let ListedPage { memories, total } = listed;
        let found = SearchResult {
            namespaces: vec![SearchedNamespace::here(lease, head, SearchTimes::default())],
            hits: memories.into_iter().map(FoundMemory::listed).collect(),
            ..SearchResult::default()
        };
        Ok(MemoryList { total, memories: found.into_views(page.full)? })
    }

    /// Counts the memories of a namespace by day, tag and topic. Days begin in `zone`.
    pub fn facets(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        selection: &ListingSelection,
        zone: &TimeZone,
    ) -> Result<Facets> {
        let lease = self.namespaces.lease(account, namespace)?;
        let listing = selection.listing(self.clock.now());
        let counts = lease.read(|snapshot| FacetCounts::of(snapshot, &listing, zone))?;
        Ok(counts.into_facets())
    }
}

impl ListingSelection {
    /// Returns the listing of all memories, newest first.
    fn listing(&self, now: Timestamp) -> Listing<'_> {
        Listing {
            filter: &self.filter,
            order: ListingOrder::NewestFirst,
            offset: 0,
            limit: usize::MAX,
            now: now.as_millisecond(),
            as_of: self.as_of,
            currency: self.currency,
        }
    }
}

fn read_page(
    snapshot: &Snapshot,
    selection: &ListingSelection,
    page: ListingPage,
    now: Timestamp,
) -> Result<ListedPage, IndexError> {
    let ListingPage { offset, limit, .. } = page;
    let all = selection.listing(now);
    match page.order {
        MemoryOrder::Newest => snapshot.list(&Listing { offset, limit, ..all }),
        MemoryOrder::Oldest => snapshot.list(&Listing { order: ListingOrder::OldestFirst, offset, limit, ..all }),
        MemoryOrder::Title => read_page_by_title(snapshot, &Listing { offset, limit, ..all }),
    }
}

/// Reads every memory for its title, one at a time, and those of the page again with their content.
fn read_page_by_title(snapshot: &Snapshot, page: &Listing<'_>) -> Result<ListedPage, IndexError> {
    let accepted = snapshot.accepted(page);
    let mut first = SmallestKeys::new(page.offset.saturating_add(page.limit));
    for stored in &accepted {
        let memory = stored.read()?;
        let title = title_key(&markdown::title(&memory.content));
        first.insert((title, memory.path), stored);
    }
    let mut memories = Vec::new();
    for stored in first.into_values().into_iter().skip(page.offset) {
        memories.push(stored.read_listed(page)?);
    }
    Ok(ListedPage { memories, total: accepted.len() })
}

/// Returns what titles are sorted by. Each number is preceded by the count of its digits, so that 9 comes before 10.
fn title_key(title: &str) -> String {
    let mut key = String::with_capacity(title.len());
    let lowercase = title.to_lowercase();
    let mut rest = lowercase.as_str();
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|character: char| !character.is_ascii_digit()).unwrap_or(number.len());
        let (digits, after) = number.split_at(end);
        let digits = digits.trim_start_matches('0');
        key.push_str(before);
        // A length as a character: numbers of more than 50 digits are sorted as if they had 50.
        key.push(char::from(b'0' + digits.len().min(50) as u8));
        key.push_str(digits);
        rest = after;
    }
    key.push_str(rest);
    key
}

/// Numbers of memories by what they can be filtered by.
#[derive(Default)]
struct FacetCounts {
    total: usize,
    days: BTreeMap<String, u64>,
    tags: BTreeMap<String, u64>,
    topics: BTreeMap<(String, String), u64>,
}

impl FacetCounts {
    /// Counts the memories that a listing accepts. Reads them one at a time.
    fn of(snapshot: &Snapshot, listing: &Listing<'_>, zone: &TimeZone) -> Result<Self, IndexError> {
        let mut counts = Self::default();
        for stored in snapshot.accepted(listing) {
            counts.add(&stored.read()?, listing.filter.time_field, zone);
        }
        Ok(counts)
    }

    fn add(&mut self, memory: &Memory, field: TimeField, zone: &TimeZone) {
        self.total += 1;
        if let Some(Ok(time)) = field.of(memory).map(Timestamp::from_millisecond) {
            count(&mut self.days, time.to_zoned(zone.clone()).date().to_string());
        }
        for tag in memory.user_tags.iter().chain(&memory.inferred_tags) {
            count(&mut self.tags, tag.clone());
        }
        let (tier, topic) = tier_and_topic(&memory.path);
        count(&mut self.topics, (tier.to_owned(), topic.to_owned()));
    }

    fn into_facets(self) -> Facets {
        let mut facets = Facets { total: self.total, ..Facets::default() };
        for (day, memories) in self.days.into_iter().rev() {
            facets.days.push(DayFacet { day, memories });
        }
        for (tag, memories) in self.tags {
            facets.tags.push(TagFacet { tag, memories });
        }
        // Stable, so tags with the same count stay in their order.
        facets.tags.sort_by_key(|facet| Reverse(facet.memories));
        facets.tags.truncate(TAGS_MAX);
        for ((tier, topic), memories) in self.topics {
            facets.topics.push(TopicFacet { tier, topic, memories });
        }
        facets
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    *counts.entry(key).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_sorted_without_case_and_by_the_value_of_numbers() {
        let sorted =
            ["", "ash", "Cedar", "cedar 2", "Cedar 09", "cedar 10", "Cedar 10b", "cedar 123", "Larch 0", "Ulme"];
        let mut titles = sorted;
        titles.reverse();
        titles.sort_by_key(|title| title_key(title));
        assert_eq!(titles, sorted);
    }
}
