//! Memories as entries of a context.

use std::collections::HashSet;

use cuebase_language::tokenize::any_term;
use cuebase_retrieval::Memory;
use cuebase_storage::memory_file::OccurredPrecision;
use cuebase_storage::memory_file::markdown::{self, Section};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::layout::{Entry, EntryKind, namespace_note};
use super::response::ContextCitation;
use crate::memory::files::Details;
use crate::memory::time::day_of;
use crate::service::retrieval::FoundMemory;

/// How memories become entries.
pub(super) struct Passages<'a> {
    /// Content words of the query, sorted.
    pub(super) terms: &'a [String],
    /// Time zone of the days.
    pub(super) zone: Option<&'a TimeZone>,
    /// A memory of more words is represented by one of its sections.
    pub(super) words_max: usize,
}

impl Passages<'_> {
    /// Returns the entry of a hit.
    pub(super) fn entry(&self, hit: &FoundMemory) -> Entry {
        let content = hit.memory.content.trim();
        let section = self.section(content);
        let shown = match &section {
            Some(section) => content[section.range.clone()].trim(),
            None => content,
        };
        let namespace = hit.namespace_text();
        // The details were written by this program, so unreadable ones are taken as unknown.
        let details: Details = serde_json::from_str(&hit.memory.details).unwrap_or_default();
        let day = self.day_of_event(&hit.memory, &details);
        let mut note = self.dates(hit, day, &details);
        note.push_str(&namespace_note(namespace.as_deref()));
        let section = section.map(|section| section.name);
        let path = hit.memory.path.clone();
        let citation = ContextCitation { path, section, score: hit.score, standing: false, namespace };
        let topic = hit.memory.session.clone();
        let time = hit.memory.occurred.unwrap_or_default();
        Entry { kind: EntryKind::Memory, day, topic, time, content: shown.to_owned(), note, citation }
    }

    /// Returns the entry of a standing memory.
    pub(super) fn standing_entry(&self, hit: &FoundMemory) -> Entry {
        let entry = self.entry(hit);
        let citation = ContextCitation { standing: true, ..entry.citation };
        Entry { kind: EntryKind::Standing, citation, ..entry }
    }

    /// Returns the section that represents a long memory: the one with the most words of the query, and of several the
    /// shortest. `None` for a memory that is shown as a whole.
    fn section(&self, content: &str) -> Option<Section> {
        // A memory of fewer words is shown as a whole.
        content.split_whitespace().nth(self.words_max)?;
        let mut best: Option<(usize, Section)> = None;
        for section in markdown::sections(content) {
            let words = self.query_words_in(&content[section.range.clone()]);
            let is_better = match &best {
                Some((most, other)) => words > *most || (words == *most && section.range.len() < other.range.len()),
                None => words > 0,
            };
            if is_better {
                best = Some((words, section));
            }
        }
        let (_, section) = best?;
        if section.range.len() == content.len() { None } else { Some(section) }
    }

    /// Returns how many different words of the query a text contains.
    fn query_words_in(&self, text: &str) -> usize {
        let mut found = HashSet::new();
        any_term(text, |term| {
            if let Ok(index) = self.terms.binary_search_by(|other| other.as_str().cmp(term)) {
                found.insert(&self.terms[index]);
            }
            false
        });
        found.len()
    }

    /// Returns the day on which the content of a memory happened.
    fn day_of_event(&self, memory: &Memory, details: &Details) -> Option<Date> {
        // A calendar date is stored as noon UTC.
        let is_date = details.occurred_precision == Some(OccurredPrecision::Day);
        let zone = if is_date { None } else { self.zone };
        day_of(memory.occurred?, zone)
    }

    /// Returns the dates behind the content: the last day of a period, and the day on which the memory ended. A memory
    /// without a day of its own has the day on which it was written.
    fn dates(&self, hit: &FoundMemory, day: Option<Date>, details: &Details) -> String {
        let mut dates = String::new();
        if let Some(end) = details.occurred_until
            && let Some(last) = day_of(end.as_millisecond() - 1, None)
        {
            dates.push_str(&format!(" (on a day until {last})"));
        }
        dates.push_str(&hit.former_mark(self.zone));
        if day.is_none()
            && let Some(day) = self.day(hit.memory.updated)
        {
            dates.push_str(&format!(" (written {day})"));
        }
        dates
    }

    fn day(&self, at_ms: Option<i64>) -> Option<String> {
        let day = day_of(at_ms?, self.zone)?;
        Some(day.to_string())
    }
}

#[cfg(test)]
mod tests {
    use cuebase_retrieval::{Arms, ValidityState};

    use super::*;

    const PASSAGES: Passages<'_> = Passages { terms: &[], zone: None, words_max: 100 };

    fn hit(content: &str, occurred: Option<i64>, validity: ValidityState) -> FoundMemory {
        let memory = Memory {
            path: "facts/ana/a.md".into(),
            content: content.into(),
            occurred,
            updated: Some(0),
            ..Memory::default()
        };
        let (arms, also) = (Arms::default(), Vec::new());
        FoundMemory { memory, score: 0.5, arms, via: None, validity, also, explanation: None, namespace: None }
    }

    fn current() -> ValidityState {
        ValidityState { current: true, ..ValidityState::default() }
    }

    #[test]
    fn a_memory_with_a_time_has_its_day() {
        let entry = PASSAGES.entry(&hit("# Ana: Hello.\n", Some(1_000_000_000_000), current()));
        assert_eq!(entry.day, Some(jiff::civil::date(2001, 9, 9)));
        assert_eq!(entry.note, "");
        assert_eq!(entry.citation.section, None);
    }

    #[test]
    fn a_memory_of_a_month_has_the_last_day_of_the_month() {
        let mut april = hit("# Ana: I moved last month (April 2025).\n", Some(1_743_508_800_000), current());
        april.memory.details = r#"{"occurred_precision":"day","occurred_until":"2025-05-01T00:00:00Z"}"#.into();
        let entry = PASSAGES.entry(&april);
        assert_eq!(entry.day, Some(jiff::civil::date(2025, 4, 1)));
        assert_eq!(entry.note, " (on a day until 2025-04-30)");
    }

    #[test]
    fn a_memory_without_a_time_says_when_it_was_written() {
        let entry = PASSAGES.entry(&hit("# Bees\n", None, current()));
        assert_eq!(entry.day, None);
        assert_eq!(entry.note, " (written 1970-01-01)");
    }

    #[test]
    fn a_memory_that_no_longer_holds_is_marked() {
        let validity = ValidityState { until: Some(86_400_000), ..ValidityState::default() };
        let entry = PASSAGES.entry(&hit("# Ana: Hello.\n", Some(0), validity));
        assert_eq!(entry.note, " (former, until 1970-01-02)");
    }

    #[test]
    fn a_long_memory_is_represented_by_the_section_with_the_words_of_the_query() {
        let content =
            format!("# Log\n\n## One\n\n{}\n\n## Two\n\nThe zeppelin came.\n", "The lamp was lit. ".repeat(50));
        let terms = cuebase_language::tokenize::content_terms("zeppelin");
        let passages = Passages { terms: &terms, zone: None, words_max: 100 };
        let entry = passages.entry(&hit(&content, None, current()));
        assert_eq!(entry.content, "## Two\n\nThe zeppelin came.");
        assert_eq!(entry.citation.section.as_deref(), Some("Two"));
    }
}
