//! The smallest parts of a markdown text: headings, items, paragraphs, tables, code.
//!
//! It reads line by line and keeps to what people and programs write rather than to all of CommonMark: an unindented
//! code block between two steps, steps that begin with "Step 2:", and a list right below a line of text all count. The
//! time is linear in the text's length.

use std::ops::Range;

use super::markers::{Marker, heading_step, marker};

/// Columns from which an indented line is code, where no list is open.
const CODE_INDENT: usize = 4;
/// Columns of a tab.
const TAB_COLUMNS: usize = 4;

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A heading of level 1 to 6, and its number where it says "Step 2".
    Heading { level: usize, step: Option<u32> },
    /// One item with the lines that continue it without a blank line.
    Item(Marker),
    /// A paragraph.
    Text,
    /// A table with its header and its separator row.
    Table,
    /// A fenced or an indented code block, fences included.
    Code,
}

/// A part and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    /// Bytes of the text, without the marks of a heading or a block quote and without white space around.
    pub(super) range: Range<usize>,
    /// Where its first line begins.
    pub(super) line_start: usize,
    /// Columns before it.
    pub(super) indent: usize,
    /// Whether it is the first part of the text or follows a blank line.
    pub(super) after_blank: bool,
    /// Whether it is in a block quote.
    pub(super) quoted: bool,
}

/// Returns the parts of a text, in order.
pub(super) fn parts(content: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut lines = Lines::of(content, 0..content.len());
    let mut after_blank = true;
    let mut in_list = false;
    let mut previous_start = 0;
    while let Some(line) = lines.next_line() {
        if line.text.is_empty() {
            after_blank = true;
            continue;
        }
        let allows_code = after_blank && !in_list;
        let (kind, range) = read_part(&mut lines, line, allows_code);
        let before = parts.last_mut().filter(|part| !after_blank && part.quoted == line.quoted);
        match (kind, before) {
            // An underline makes a heading of a single line above.
            (PartKind::Text, Some(part)) if part.kind == PartKind::Text && part.range.start == previous_start => {
                match underline_level(line.text) {
                    Some(level) => part.kind = PartKind::Heading { level, step: None },
                    None => part.range.end = range.end,
                }
            }
            (PartKind::Text, Some(part)) if matches!(part.kind, PartKind::Text | PartKind::Item(_)) => {
                part.range.end = range.end;
            }
            _ => {
                let (indent, quoted, line_start) = (line.indent, line.quoted, line.line_start);
                in_list = match kind {
                    PartKind::Item(_) => true,
                    PartKind::Heading { .. } => false,
                    PartKind::Text if after_blank && indent < 2 => false,
                    _ => in_list,
                };
                parts.push(Part { kind, range, line_start, indent, after_blank, quoted });
            }
        }
        previous_start = line.start;
        after_blank = false;
    }
    parts
}

/// Reads what begins with a line; of a table and of code also the lines that follow.
fn read_part(lines: &mut Lines<'_>, line: Line<'_>, allows_code: bool) -> (PartKind, Range<usize>) {
    if let Some(fence) = Fence::opened_by(line.text) {
        return (PartKind::Code, line.start..fence.end(lines, line));
    }
    if let Some((level, text)) = heading(line.text) {
        let step = heading_step(text);
        return (PartKind::Heading { level, step }, line.end() - text.len()..line.end());
    }
    if let Some(end) = table_end(lines, line) {
        return (PartKind::Table, line.start..end);
    }
    if let Some(marker) = marker(line.text) {
        let body = line.text.trim_start_matches(|c: char| c.is_ascii_digit() || "-*+•.)( \t".contains(c));
        // The code of an item may begin on its first line.
        let end = Fence::opened_by(body).map_or(line.end(), |fence| fence.end(lines, line));
        return (PartKind::Item(marker), line.start..end);
    }
    if allows_code && line.indent >= CODE_INDENT {
        return (PartKind::Code, line.text_start..indented_code_end(lines, line));
    }
    (PartKind::Text, line.start..line.end())
}

/// The level and the words of a heading.
fn heading(text: &str) -> Option<(usize, &str)> {
    let words = text.trim_start_matches('#');
    let level = text.len() - words.len();
    let is_heading = (1..=6).contains(&level) && (words.is_empty() || words.starts_with([' ', '\t']));
    is_heading.then(|| (level, words.trim_start()))
}

/// The level of the heading that a line of `=` or `-` makes of the line above.
fn underline_level(text: &str) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.bytes().all(|byte| byte == b'=') {
        return Some(1);
    }
    text.bytes().all(|byte| byte == b'-').then_some(2)
}

/// Where a table ends that begins with a line, and passes its lines; none where no table begins.
///
/// Two lines that begin with `|` are a table also without a header.
fn table_end(lines: &mut Lines<'_>, first: Line<'_>) -> Option<usize> {
    if !first.text.contains('|') {
        return None;
    }
    let is_barred = first.text.starts_with('|') && first.text.len() > 1;
    let is_closed = is_barred && first.text.ends_with('|');
    let mut ahead = *lines;
    let second = ahead.next_line().filter(|second| second.quoted == first.quoted);
    let continues =
        second.is_some_and(|second| is_separator_row(second.text) || (is_barred && second.text.starts_with('|')));
    if !continues && !is_closed {
        return None;
    }
    let mut end = first.end();
    let mut ahead = *lines;
    while let Some(row) = ahead.next_line() {
        if row.quoted != first.quoted || !row.text.contains('|') || Fence::opened_by(row.text).is_some() {
            break;
        }
        end = row.end();
        *lines = ahead;
    }
    Some(end)
}

/// Whether a line separates the header of a table from its rows.
pub(in super::super) fn is_separator_row(text: &str) -> bool {
    let has_both = text.contains('-') && text.contains('|');
    has_both && text.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

fn indented_code_end(lines: &mut Lines<'_>, first: Line<'_>) -> usize {
    let mut end = first.end();
    let mut ahead = *lines;
    while let Some(line) = ahead.next_line() {
        if line.text.is_empty() {
            continue;
        }
        if line.indent < CODE_INDENT || line.quoted != first.quoted {
            break;
        }
        end = line.end();
        *lines = ahead;
    }
    end
}

/// What opens and closes a code block.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(text: &str) -> Option<Self> {
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        // "```x```" is code within a line.
        let is_inline = mark == '`' && info.contains('`');
        (length >= 3 && !is_inline).then_some(Self { mark, length })
    }

    /// Where the code ends, and passes its lines. A fence that nothing closes ends with the text or its block quote.
    fn end(self, lines: &mut Lines<'_>, opening: Line<'_>) -> usize {
        let mut end = opening.end();
        let mut ahead = *lines;
        while let Some(line) = ahead.next_line() {
            if opening.quoted && !line.quoted {
                break;
            }
            *lines = ahead;
            if !line.text.is_empty() {
                end = line.end();
            }
            let is_fence = line.text.len() >= self.length && line.text.chars().all(|c| c == self.mark);
            if is_fence && line.quoted == opening.quoted {
                break;
            }
        }
        end
    }
}

/// A line without the marks of a block quote.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Line<'a> {
    /// Where the line begins.
    line_start: usize,
    /// Where it begins behind the marks of a block quote.
    text_start: usize,
    /// Where its first character that is no white space is.
    pub(in super::super) start: usize,
    /// The line from there, without white space at its end.
    pub(in super::super) text: &'a str,
    indent: usize,
    quoted: bool,
}

impl<'a> Line<'a> {
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

    /// Where it ends, without its line break.
    pub(in super::super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The lines of a part of a text, one after the other. A copy looks ahead.
#[derive(Clone, Copy)]
pub(in super::super) struct Lines<'a> {
    content: &'a str,
    at: usize,
    end: usize,
}

impl<'a> Lines<'a> {
    /// The lines in a range of a text.
    pub(in super::super) fn of(content: &'a str, range: Range<usize>) -> Self {
        Self { content, at: range.start, end: range.end }
    }

    /// Returns the next line.
    pub(in super::super) fn next_line(&mut self) -> Option<Line<'a>> {
        let rest = self.content.get(self.at..self.end).filter(|rest| !rest.is_empty())?;
        let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let line = Line::read(self.at, &rest[..length]);
        self.at += length;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Vec<(PartKind, &str)> {
        parts(content).into_iter().map(|part| (part.kind, &content[part.range])).collect()
    }

    #[test]
    fn every_kind_of_part_is_found_where_it_stands() {
        let content = "# Title\r\n\r\nOne\r\ntwo.\r\n\r\n1. a\r\n   more\r\n\r\n> | x | y |\r\n> |---|---|\r\n> | 1 | 2 |\r\n\r\n~~~\r\n# no heading\r\n~~~\r\n";
        let expected = [
            (PartKind::Heading { level: 1, step: None }, "Title"),
            (PartKind::Text, "One\r\ntwo."),
            (PartKind::Item(Marker::Number(1)), "1. a\r\n   more"),
            (PartKind::Table, "| x | y |\r\n> |---|---|\r\n> | 1 | 2 |"),
            (PartKind::Code, "~~~\r\n# no heading\r\n~~~"),
        ];
        assert_eq!(read(content), expected);
    }

    #[test]
    fn underlined_lines_are_headings_and_indented_lines_are_code() {
        let content = "Rotate\n------\n\n    make rotate\n\n    make check\n\nDone.\n";
        let expected = [
            (PartKind::Heading { level: 2, step: None }, "Rotate"),
            (PartKind::Code, "    make rotate\n\n    make check"),
            (PartKind::Text, "Done."),
        ];
        assert_eq!(read(content), expected);
    }

    #[test]
    fn a_fence_that_nothing_closes_lasts_to_the_end() {
        let kinds: Vec<PartKind> =
            parts("- ```sh\n  make\n  ```\n- b\n```\nmake\n\n# x").iter().map(|p| p.kind).collect();
        let bullet = PartKind::Item(Marker::Bullet);
        assert_eq!(kinds, [bullet, bullet, PartKind::Code]);
    }
}
