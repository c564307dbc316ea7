//! The lines of a markdown text, without indentation and without the marks of block quotes, and the sentences of a line.

use std::ops::Range;

use cuebase_language::text::sentences::sentences;
use cuebase_language::text::steps::Steps;

/// Columns of a tab.
const TAB_COLUMNS: usize = 4;

/// A line without the marks of a block quote.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkdownLine<'a> {
    /// Offset of the line's first byte.
    pub(super) line_start: usize,
    /// Offset after the marks of a block quote.
    pub(super) text_start: usize,
    /// Offset of the first character that is not white space.
    pub(super) start: usize,
    /// The line from `start` on, without white space at its end.
    pub(super) text: &'a str,
    /// Columns of white space before `start`.
    pub(super) indent: usize,
    /// Whether the line is in a block quote.
    pub(super) quoted: bool,
}

impl<'a> MarkdownLine<'a> {
    fn read(line_start: usize, line: &'a str) -> Self {
        let mut text = line.trim_end();
        let end = line_start + text.len();
        let mut quoted = false;
        while let Some(inner) = text.trim_start_matches(' ').strip_prefix('>') {
            text = inner.strip_prefix(' ').unwrap_or(inner);
            quoted = true;
        }
        let text_start = end - text.len();
        let bare = text.trim_start_matches([' ', '\t']);
        let mut indent = 0;
        for byte in text[..text.len() - bare.len()].bytes() {
            indent += if byte == b'\t' { TAB_COLUMNS } else { 1 };
        }
        Self { line_start, text_start, start: end - bare.len(), text: bare, indent, quoted }
    }

    /// Returns the offset of the line's end, before the line break and the white space in front of it.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Returns whether the line separates the header of a table from its rows.
    pub(super) fn is_separator_row(&self) -> bool {
        let has_both = self.text.contains('-') && self.text.contains('|');
        has_both && self.text.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
    }
}

/// The lines in a range of a text. A copy can look ahead without moving the original.
#[derive(Clone, Copy)]
pub(super) struct MarkdownLines<'a> {
    content: &'a str,
    at: usize,
    end: usize,
}

impl<'a> MarkdownLines<'a> {
    pub(super) fn of(content: &'a str, range: Range<usize>) -> Self {
        Self { content, at: range.start, end: range.end }
    }

    /// Returns the next line.
    pub(super) fn next_line(&mut self) -> Option<MarkdownLine<'a>> {
        let rest = self.content.get(self.at..self.end)?;
        if rest.is_empty() {
            return None;
        }
        let length = match rest.find('\n') {
            Some(line_break) => line_break + 1,
            None => rest.len(),
        };
        let line = MarkdownLine::read(self.at, &rest[..length]);
        self.at += length;
        Some(line)
    }
}

/// Returns the bytes of each sentence of a line. Markdown's marks at the beginning of the line belong to no sentence.
pub(super) fn sentences_of(content: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let line = content.get(range.clone()).unwrap_or_default();
    let text = line.trim_start_matches(['#', '-', '*', '>', ' ', '\t']);
    // Unlimited steps are never interrupted.
    let sentences = sentences(text, &Steps::unlimited()).unwrap_or_default();
    let mut ranges = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        // The sentences are slices of the text, so their addresses give their offsets.
        let offset = sentence.as_ptr() as usize - text.as_ptr() as usize;
        let start = range.end - text.len() + offset;
        ranges.push(start..start + sentence.len());
    }
    ranges
}
