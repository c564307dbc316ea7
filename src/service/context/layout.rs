//! The layout of a context: which entries fit into the tokens, and in which order the text has them.
//!
//! An entry is one line: its day, who said what, and the mark of its citation. Standing facts come first, in a part of their
//! own, then claims. Then come the memories, the most relevant first; those of one conversation stand together in the order
//! of time.

use std::collections::HashMap;

use cuebase_language::text::sentences::bounds;
use cuebase_language::text::steps::Steps;
use jiff::civil::Date;

use super::response::{ContextCitation, Marks};
use crate::model::StaticTable;

/// Bytes of a content per token of the room, beyond which a cut does not look. English has four.
const BYTES_PER_TOKEN_MAX: usize = 40;
/// One of how many tokens may be of standing entries.
const STANDING_SHARE: usize = 4;
/// The end of a content that was cut.
const CUT: &str = " …";

/// A claim or a memory, before it is laid out.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) kind: EntryKind,
    /// The day on which a memory happened, if it has one.
    pub(super) day: Option<Date>,
    /// Entries with the same topic stand together, in the order of their times. `None` stands alone.
    pub(super) topic: Option<String>,
    /// The time by which entries of one topic are ordered, milliseconds.
    pub(super) time: i64,
    /// The content in markdown.
    pub(super) content: String,
    /// What stands behind the first line: dates, and the namespace if there are several.
    pub(super) note: String,
    pub(super) citation: ContextCitation,
}

/// What an entry is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EntryKind {
    Standing,
    Claim,
    #[default]
    Memory,
}

/// A text, the number of its tokens, and the memories in it.
pub(super) struct LaidOut {
    pub(super) text: String,
    pub(super) tokens: usize,
    /// Best first.
    pub(super) citations: Vec<ContextCitation>,
}

/// An entry that fits.
struct FittingEntry {
    kind: EntryKind,
    topic: Option<String>,
    time: i64,
    /// The rendered lines, without the mark.
    lines: Lines,
    /// The place of its citation in the order in which they were added.
    citation: usize,
}

/// The lines of an entry: the first, to which the mark is added, and those below it.
struct Lines {
    first: String,
    rest: String,
}

/// The entries that fit so far.
struct Layout<'a> {
    table: &'a StaticTable,
    /// Tokens that are left.
    left: usize,
    /// Tokens of a mark.
    mark_tokens: usize,
    entries: Vec<FittingEntry>,
    citations: Vec<ContextCitation>,
    /// Whether a memory that was found was laid out or left out. Only the first one is cut.
    has_memory: bool,
}

/// Lays out the entries that fit into a number of tokens. Those that come first are preferred. Standing ones have a
/// quarter of the tokens.
pub(super) fn lay_out(
    standing: Vec<Entry>,
    entries: Vec<Entry>,
    max_tokens: usize,
    marks: Marks,
    table: &StaticTable,
) -> LaidOut {
    let mark_tokens = match marks {
        Marks::On => table.count_tokens(&mark(0)),
        Marks::Off => 0,
    };
    let room = max_tokens / STANDING_SHARE;
    let mut layout =
        Layout { table, left: room, mark_tokens, entries: Vec::new(), citations: Vec::new(), has_memory: false };
    for entry in standing {
        layout.add(entry);
    }
    layout.left += max_tokens - room;
    for entry in entries {
        layout.add(entry);
    }
    let tokens = max_tokens - layout.left;
    let (citations, numbers) = numbered(&layout.citations);
    let mut text = String::new();
    let mut last = EntryKind::Memory;
    for entry in in_order(layout.entries) {
        if !text.is_empty() {
            text.push('\n');
            if last == EntryKind::Standing && entry.kind != EntryKind::Standing {
                text.push('\n');
            }
        }
        last = entry.kind;
        text.push_str(&entry.lines.first);
        if marks == Marks::On {
            text.push_str(&mark(numbers[entry.citation]));
        }
        text.push_str(&entry.lines.rest);
    }
    LaidOut { text, tokens, citations }
}

impl Layout<'_> {
    /// Adds an entry if it fits.
    fn add(&mut self, entry: Entry) {
        let is_first_memory = entry.kind == EntryKind::Memory && !self.has_memory;
        self.has_memory |= entry.kind == EntryKind::Memory;
        let Some(room) = self.left.checked_sub(self.mark_tokens) else { return };
        let mut lines = rendered(&entry, &entry.content);
        let mut tokens = self.tokens_of(&lines, room);
        if tokens.is_none() && is_first_memory {
            let Some(cut) = self.cut(&entry, room) else { return };
            lines = cut;
            tokens = self.tokens_of(&lines, room);
        }
        let Some(tokens) = tokens else { return };
        self.left = room - tokens;
        let citation = self.cite(entry.citation);
        self.entries.push(FittingEntry { kind: entry.kind, topic: entry.topic, time: entry.time, lines, citation });
    }

    /// Adds a citation, and returns its place. That of a memory takes the place of that of its claim.
    fn cite(&mut self, citation: ContextCitation) -> usize {
        for (place, known) in self.citations.iter_mut().enumerate() {
            if known.path == citation.path && known.namespace == citation.namespace {
                known.score = citation.score;
                known.section = citation.section;
                return place;
            }
        }
        self.citations.push(citation);
        self.citations.len() - 1
    }

    /// Returns the number of tokens of lines, or `None` if they are more than the room.
    fn tokens_of(&self, lines: &Lines, room: usize) -> Option<usize> {
        let first = self.tokens_within(&lines.first, room)?;
        Some(first + self.tokens_within(&lines.rest, room - first)?)
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
    fn cut(&self, entry: &Entry, room: usize) -> Option<Lines> {
        let frame = self.tokens_of(&rendered(entry, ""), room)? + self.table.count_tokens(CUT);
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
        if kept.is_empty() { None } else { Some(rendered(entry, &format!("{kept}{CUT}"))) }
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

/// Sorts citations, best first. Returns with them the number of each in its former place, from 1.
fn numbered(citations: &[ContextCitation]) -> (Vec<ContextCitation>, Vec<usize>) {
    let mut places: Vec<usize> = (0..citations.len()).collect();
    places.sort_by(|a, b| citations[*b].score.total_cmp(&citations[*a].score));
    let mut numbers = vec![0; citations.len()];
    let mut sorted = Vec::with_capacity(citations.len());
    for (number, place) in places.into_iter().enumerate() {
        numbers[place] = number + 1;
        sorted.push(citations[place].clone());
    }
    (sorted, numbers)
}

/// Orders entries: standing ones, claims, then topics by their first entry, each topic in the order of time.
fn in_order(entries: Vec<FittingEntry>) -> Vec<FittingEntry> {
    let mut topics: HashMap<String, usize> = HashMap::new();
    let mut placed = Vec::with_capacity(entries.len());
    for (rank, entry) in entries.into_iter().enumerate() {
        let topic = match (&entry.topic, entry.kind) {
            (Some(topic), EntryKind::Memory) => *topics.entry(topic.clone()).or_insert(rank),
            _ => rank,
        };
        let time = if entry.kind == EntryKind::Standing { 0 } else { entry.time };
        placed.push((entry.kind, topic, time, rank, entry));
    }
    placed.sort_by_key(|(kind, topic, time, rank, _)| (*kind, *topic, *time, *rank));
    placed.into_iter().map(|(.., entry)| entry).collect()
}

/// Renders a content as an item of a list. Blank lines and the signs of titles are left out. Prose is one line; the
/// lines of lists, tables and code keep their places below it.
fn rendered(entry: &Entry, content: &str) -> Lines {
    let mut first = String::from("-");
    if let Some(day) = entry.day {
        first.push_str(&format!(" {}", day.strftime("%-d %b %Y")));
    }
    let mut rest = String::new();
    let (mut in_code, mut has_text) = (false, false);
    for line in content.lines() {
        let text = line.trim();
        let is_fence = text.starts_with("```");
        in_code ^= is_fence;
        if text.is_empty() {
            continue;
        }
        if in_code || is_fence || is_structured(text) || !rest.is_empty() {
            rest.push_str("\n  ");
            rest.push_str(line.trim_end());
        } else if let Some(quoted) = text.strip_prefix('>') {
            first.push_str(&format!(" ({})", quoted.trim()));
        } else {
            // A title without a full stop would run into the text below it.
            if has_text && first.ends_with(char::is_alphanumeric) {
                first.push_str(" –");
            }
            first.push(' ');
            first.push_str(text.trim_start_matches('#').trim_start());
            has_text = true;
        }
    }
    first.push_str(&entry.note);
    Lines { first, rest }
}

/// Whether a line is an item of a list or a row of a table.
fn is_structured(line: &str) -> bool {
    let is_item = line.starts_with("- ") || line.starts_with("* ") || line.starts_with('|');
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    is_item || (digits > 0 && (line[digits..].starts_with(". ") || line[digits..].starts_with(") ")))
}

/// Returns the mark of a citation: ` [1]`.
fn mark(number: usize) -> String {
    format!(" [{number}]")
}

/// Returns the name of a namespace as a note: ` (team)`.
pub(super) fn namespace_note(namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!(" ({namespace})"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn entry(content: &str, path: &str, score: f32) -> Entry {
        let citation = ContextCitation { path: path.to_owned(), score, ..ContextCitation::default() };
        Entry { content: content.to_owned(), citation, ..Entry::default() }
    }

    fn laid_out(entries: Vec<Entry>, max_tokens: usize) -> LaidOut {
        lay_out(Vec::new(), entries, max_tokens, Marks::On, StaticTable::built_in().expect("a valid table"))
    }

    fn tokens_of(text: &str) -> usize {
        StaticTable::built_in().expect("a valid table").count_tokens(text)
    }

    #[test]
    fn entries_stand_by_their_rank_and_those_of_a_topic_by_their_time() {
        let said = |day, time, content: &str, path: &str, score| Entry {
            day: Some(date(2026, 3, day)),
            topic: Some("s1".to_owned()),
            time,
            ..entry(content, path, score)
        };
        let claim = Entry {
            kind: EntryKind::Claim,
            note: " (since 2026-03-03)".into(),
            ..entry("ana, home: oslo", "facts/a.md", 1.0)
        };
        let out = laid_out(
            vec![
                said(3, 30, "# Ana: I moved to Oslo.\n\nOn a whim.\n\n> Bob: Any news?\n", "facts/a.md", 0.9),
                claim,
                entry("# Bees\n\nThree hives:\n\n- white\n- green", "facts/bees/b.md", 0.8),
                said(2, 20, "# Ana: I like it.\n", "facts/c.md", 0.7),
            ],
            1000,
        );
        let expected = "- ana, home: oslo (since 2026-03-03) [1]\n\
                        - 2 Mar 2026 Ana: I like it. [3]\n\
                        - 3 Mar 2026 Ana: I moved to Oslo. On a whim. (Bob: Any news?) [1]\n\
                        - Bees – Three hives: [2]\n  - white\n  - green";
        assert_eq!(out.text, expected);
        assert_eq!(out.tokens, tokens_of(&out.text));
        let cited: Vec<&str> = out.citations.iter().map(|citation| citation.path.as_str()).collect();
        assert_eq!(cited, ["facts/a.md", "facts/bees/b.md", "facts/c.md"]);
    }

    #[test]
    fn without_marks_there_are_none() {
        let table = StaticTable::built_in().expect("a valid table");
        let out = lay_out(Vec::new(), vec![entry("# A", "facts/a.md", 0.5)], 1000, Marks::Off, table);
        assert_eq!((out.text.as_str(), out.citations.len()), ("- A", 1));
    }

    #[test]
    fn standing_entries_come_first_and_have_a_quarter_of_the_tokens() {
        let table = StaticTable::built_in().expect("a valid table");
        let standing = |name: &str| Entry { kind: EntryKind::Standing, ..entry(&"rule ".repeat(20), name, 1.0) };
        let memory = entry("# Found", "facts/found.md", 0.5);
        let rules = || vec![standing("rules/a.md"), standing("rules/b.md")];
        let out = lay_out(rules(), vec![memory.clone()], 1000, Marks::Off, table);
        assert!(out.text.ends_with("rule\n\n- Found"), "{}", out.text);
        assert_eq!(out.text.lines().count(), 4, "{}", out.text);
        let out = lay_out(rules(), vec![memory], 120, Marks::Off, table);
        assert_eq!(out.text.lines().count(), 3, "{}", out.text);
        assert!(out.tokens <= 120);
    }

    #[test]
    fn nothing_is_laid_out_of_nothing() {
        let out = laid_out(Vec::new(), 1000);
        assert!(out.text.is_empty() && out.tokens == 0 && out.citations.is_empty());
    }

    #[test]
    fn a_memory_that_does_not_fit_is_left_out() {
        let long = "The ferry leaves at nine. ".repeat(40);
        let entries = vec![
            entry("One short line.", "facts/a.md", 0.9),
            entry(&long, "facts/b.md", 0.8),
            entry("Another short line.", "facts/c.md", 0.7),
        ];
        let out = laid_out(entries, 60);
        assert!(out.text.contains("One short") && out.text.contains("Another short"), "{}", out.text);
        assert!(!out.text.contains("ferry") && out.tokens <= 60, "{}", out.text);
    }

    #[test]
    fn the_first_memory_is_cut_at_a_sentence() {
        let long = "The ferry leaves at nine. ".repeat(1000);
        let out = laid_out(vec![entry(&long, "facts/a.md", 0.9)], 60);
        assert!(out.text.contains("at nine. … [1]"), "{}", out.text);
        assert!((40..=60).contains(&out.tokens), "{}", out.tokens);
    }

    proptest! {
        #[test]
        fn no_text_is_longer_than_its_tokens(
            contents in proptest::collection::vec("(\\PC{0,8}|\n|word |sentence\\. |# |> |- |```){0,60}", 0..12),
            max_tokens in 1usize..200,
        ) {
            let mut entries = Vec::new();
            for (index, content) in contents.iter().enumerate() {
                let kind = if index % 3 == 0 { EntryKind::Claim } else { EntryKind::Memory };
                let topic = if index % 2 == 0 { Some("s".to_owned()) } else { None };
                entries.push(Entry { kind, topic, ..entry(content, &format!("facts/{index}.md"), 0.5) });
            }
            let out = laid_out(entries, max_tokens);
            prop_assert!(out.tokens <= max_tokens);
            prop_assert_eq!(out.tokens, tokens_of(&out.text));
        }
    }
}
