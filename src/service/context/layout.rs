//! The layout of a context: which entries fit into the tokens, and in which order the text has them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::response::ContextCitation;
use crate::model::StaticTable;
use crate::text::sentences::bounds;
use crate::text::steps::Steps;

/// Bytes of a content per token of the room, beyond which a cut does not look. English has four.
const BYTES_PER_TOKEN_MAX: usize = 40;
/// The end of a content that was cut.
const CUT: &str = " …";

/// The group of an entry, in the order in which the text has them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// The claims that the query asks for.
    Claims,
    /// Memories without a time, by their folder.
    Topic(String),
    /// Memories of what happened on a day.
    Day(Date),
}

/// A claim or a memory, before it is laid out.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) group: Group,
    /// The lines of the entry.
    pub(super) content: String,
    /// What stands behind the first line: dates, and the path in brackets.
    pub(super) mark: String,
    pub(super) citation: ContextCitation,
}

/// A text, the number of its tokens, and the memories in it.
pub(super) struct LaidOut {
    pub(super) text: String,
    pub(super) tokens: usize,
    /// Best first.
    pub(super) citations: Vec<ContextCitation>,
}

/// The entries that fit so far.
struct Layout<'a> {
    table: &'a StaticTable,
    /// Tokens that are left.
    left: usize,
    /// The rendered entries of each group.
    groups: BTreeMap<Group, Vec<String>>,
    citations: Vec<ContextCitation>,
    /// Whether a memory was laid out or left out. Only the first one is cut.
    has_memory: bool,
}

/// Lays out the entries that fit into a number of tokens. Those that come first are preferred.
pub(super) fn lay_out(entries: Vec<Entry>, max_tokens: usize, table: &StaticTable) -> LaidOut {
    let mut layout =
        Layout { table, left: max_tokens, groups: BTreeMap::new(), citations: Vec::new(), has_memory: false };
    for entry in entries {
        layout.add(entry);
    }
    let mut text = String::new();
    for (group, entries) in &layout.groups {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&heading(group));
        for entry in entries {
            text.push('\n');
            text.push_str(entry);
        }
    }
    let mut citations = layout.citations;
    citations.sort_by(|a, b| b.score.total_cmp(&a.score));
    LaidOut { text, tokens: max_tokens - layout.left, citations }
}

impl Layout<'_> {
    /// Adds an entry if it fits.
    fn add(&mut self, entry: Entry) {
        let is_first_memory = entry.group != Group::Claims && !self.has_memory;
        self.has_memory |= entry.group != Group::Claims;
        let mut heading_tokens = 0;
        if !self.groups.contains_key(&entry.group) {
            heading_tokens = self.table.count_tokens(&heading(&entry.group));
        }
        let Some(room) = self.left.checked_sub(heading_tokens) else { return };
        let mut lines = rendered(&entry.content, &entry.mark);
        let mut tokens = self.tokens_within(&lines, room);
        if tokens.is_none() && is_first_memory {
            let Some(cut) = self.cut(&entry, room) else { return };
            lines = cut;
            tokens = self.tokens_within(&lines, room);
        }
        let Some(tokens) = tokens else { return };
        self.left = room - tokens;
        self.groups.entry(entry.group).or_default().push(lines);
        self.cite(entry.citation);
    }

    /// Adds a citation. That of a memory takes the place of that of its claim.
    fn cite(&mut self, citation: ContextCitation) {
        for known in &mut self.citations {
            if known.path == citation.path && known.namespace == citation.namespace {
                known.score = citation.score;
                known.section = citation.section;
                return;
            }
        }
        self.citations.push(citation);
    }

    /// Returns the number of tokens of a text, or `None` if they are more than the room. A word counts as one token at
    /// least, so that a long text is not split into tokens in vain.
    fn tokens_within(&self, text: &str, room: usize) -> Option<usize> {
        if text.split_whitespace().nth(room).is_some() {
            return None;
        }
        let tokens = self.table.count_tokens(text);
        if tokens <= room { Some(tokens) } else { None }
    }

    /// Renders the beginning of an entry that fits into the room: whole sentences, or words if the first sentence does
    /// not fit. `None` if nothing fits.
    fn cut(&self, entry: &Entry, room: usize) -> Option<String> {
        let frame = self.table.count_tokens(&rendered("", &entry.mark)) + self.table.count_tokens(CUT);
        let room = room.checked_sub(frame)?;
        let end = entry.content.floor_char_boundary(room.saturating_mul(BYTES_PER_TOKEN_MAX));
        let content = &entry.content[..end];
        let sentences = match bounds(content, &Steps::unlimited()) {
            Ok(sentences) => sentences,
            Err(_) => vec![content],
        };
        let mut bytes = self.fitting_bytes(sentences.into_iter(), room);
        if bytes == 0 {
            bytes = self.fitting_bytes(content.split_inclusive(char::is_whitespace), room);
        }
        let kept = content[..bytes].trim_end();
        if kept.is_empty() { None } else { Some(rendered(&format!("{kept}{CUT}"), &entry.mark)) }
    }

    /// Returns the length of the consecutive pieces that fit into the room.
    fn fitting_bytes<'t>(&self, pieces: impl Iterator<Item = &'t str>, mut room: usize) -> usize {
        let mut bytes = 0;
        for piece in pieces {
            let Some(tokens) = self.tokens_within(piece, room) else { break };
            room -= tokens;
            bytes += piece.len();
        }
        bytes
    }
}

/// Returns the heading of a group.
fn heading(group: &Group) -> String {
    match group {
        Group::Claims => "## Profile".to_owned(),
        Group::Topic(folder) => format!("## {folder}"),
        Group::Day(day) => format!("## {day}"),
    }
}

/// Renders a content as an item of a list, with the mark behind its first line. Blank lines and the sign of a title are
/// left out.
fn rendered(content: &str, mark: &str) -> String {
    let mut text = String::from("-");
    let mut lines = content.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or("").trim().trim_start_matches('#').trim_start();
    if !first.is_empty() {
        text.push(' ');
        text.push_str(first);
    }
    text.push_str(mark);
    for line in lines {
        text.push_str("\n  ");
        text.push_str(line.trim_end());
    }
    text
}

/// Returns the path of a memory as a mark: ` [facts/ana/ferry.md]`.
pub(super) fn path_mark(path: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!(" [{namespace}: {path}]"),
        None => format!(" [{path}]"),
    }
}

/// Returns the day of a time in a zone; in UTC without one.
pub(super) fn day_of(at_ms: i64, zone: Option<&TimeZone>) -> Option<Date> {
    let at = Timestamp::from_millisecond(at_ms).ok()?;
    let zone = zone.cloned().unwrap_or(TimeZone::UTC);
    Some(at.to_zoned(zone).date())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn entry(group: Group, content: &str, path: &str, score: f32) -> Entry {
        let citation = ContextCitation { path: path.to_owned(), score, ..ContextCitation::default() };
        Entry { group, content: content.to_owned(), mark: path_mark(path, None), citation }
    }

    fn laid_out(entries: Vec<Entry>, max_tokens: usize) -> LaidOut {
        lay_out(entries, max_tokens, StaticTable::built_in().expect("a valid table"))
    }

    fn tokens_of(text: &str) -> usize {
        StaticTable::built_in().expect("a valid table").count_tokens(text)
    }

    #[test]
    fn groups_stand_in_order_and_entries_by_their_rank() {
        let (monday, tuesday) = (Group::Day(date(2026, 3, 2)), Group::Day(date(2026, 3, 3)));
        let out = laid_out(
            vec![
                entry(Group::Claims, "ana, home: oslo", "facts/a.md", 1.0),
                entry(tuesday, "# Ana: I moved to Oslo.\n", "facts/a.md", 0.9),
                entry(
                    Group::Topic("facts/bees".into()),
                    "# Bees\n\nThree hives.\n\nAll are full.",
                    "facts/bees/b.md",
                    0.8,
                ),
                entry(monday.clone(), "# Ana: I like it.\n", "facts/c.md", 0.7),
                entry(monday, "# Bob: Me too.\n", "facts/d.md", 0.6),
            ],
            1000,
        );
        let expected = "## Profile\n- ana, home: oslo [facts/a.md]\n\n\
                        ## facts/bees\n- Bees [facts/bees/b.md]\n  Three hives.\n  All are full.\n\n\
                        ## 2026-03-02\n- Ana: I like it. [facts/c.md]\n- Bob: Me too. [facts/d.md]\n\n\
                        ## 2026-03-03\n- Ana: I moved to Oslo. [facts/a.md]";
        assert_eq!(out.text, expected);
        assert_eq!(out.tokens, tokens_of(&out.text));
        let cited: Vec<&str> = out.citations.iter().map(|citation| citation.path.as_str()).collect();
        assert_eq!(cited, ["facts/a.md", "facts/bees/b.md", "facts/c.md", "facts/d.md"]);
        assert_eq!(out.citations[0].score, 0.9, "the memory's own score");
    }

    #[test]
    fn nothing_is_laid_out_of_nothing() {
        let out = laid_out(Vec::new(), 1000);
        assert!(out.text.is_empty() && out.tokens == 0 && out.citations.is_empty());
    }

    #[test]
    fn a_memory_that_does_not_fit_is_left_out() {
        let day = Group::Day(date(2026, 3, 2));
        let long = "The ferry leaves at nine. ".repeat(40);
        let entries = vec![
            entry(day.clone(), "One short line.", "facts/a.md", 0.9),
            entry(day.clone(), &long, "facts/b.md", 0.8),
            entry(day, "Another short line.", "facts/c.md", 0.7),
        ];
        let out = laid_out(entries, 60);
        assert!(out.text.contains("facts/a.md") && out.text.contains("facts/c.md"), "{}", out.text);
        assert!(!out.text.contains("ferry") && out.tokens <= 60, "{}", out.text);
    }

    #[test]
    fn the_first_memory_is_cut_at_a_sentence() {
        let long = "The ferry leaves at nine. ".repeat(1000);
        let out = laid_out(vec![entry(Group::Day(date(2026, 3, 2)), &long, "facts/a.md", 0.9)], 60);
        assert!(out.text.contains("at nine. … [facts/a.md]"), "{}", out.text);
        assert!((40..=60).contains(&out.tokens), "{}", out.tokens);
    }

    proptest! {
        #[test]
        fn no_text_is_longer_than_its_tokens(
            contents in proptest::collection::vec("(\\PC{0,8}|\n|word |sentence\\. |# ){0,60}", 0..12),
            max_tokens in 1usize..200,
        ) {
            let mut entries = Vec::new();
            for (index, content) in contents.iter().enumerate() {
                let group = match index % 3 {
                    0 => Group::Claims,
                    1 => Group::Topic("facts/x".into()),
                    _ => Group::Day(date(2026, 3, 2)),
                };
                entries.push(entry(group, content, &format!("facts/{index}.md"), 0.5));
            }
            let out = laid_out(entries, max_tokens);
            prop_assert!(out.tokens <= max_tokens);
            prop_assert_eq!(out.tokens, tokens_of(&out.text));
        }
    }
}
