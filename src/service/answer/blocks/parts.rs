//! The parts that a markdown text consists of: headings, items, paragraphs, tables, code.
//!
//! The text is read line by line. The rules follow what people and programs write rather than all of CommonMark: an
//! unindented code block between two steps, steps that begin with "Step 2:", and a list directly below a line of text
//! are recognized. The time is linear in the text's length.

use std::ops::Range;

use super::super::lines::{MarkdownLine, MarkdownLines};
use super::markers::{Marker, heading_step, marker};

/// Columns of indentation from which a line is code, outside of lists.
const CODE_INDENT: usize = 4;

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A heading of level 1 to 6, with the number of a heading such as "Step 2".
    Heading { level: usize, step: Option<u32> },
    /// One item, up to the next blank line.
    Item(Marker),
    /// A paragraph.
    Text,
    /// A table with its header and its separator row.
    Table,
    /// A fenced or an indented code block, fences included.
    Code,
}

/// A part of a text and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkdownPart {
    pub(super) kind: PartKind,
    /// Bytes of the text, without the marks of a heading or a block quote and without surrounding white space.
    pub(super) range: Range<usize>,
    /// Offset at which the part's first line begins.
    pub(super) line_start: usize,
    /// Columns of white space before the part.
    pub(super) indent: usize,
    /// Whether the part is the first of the text or follows a blank line.
    pub(super) after_blank: bool,
    /// Whether the part is in a block quote.
    pub(super) quoted: bool,
}

/// Returns the parts of a text, in order.
pub(super) fn parts(content: &str) -> Vec<MarkdownPart> {
    let mut parts: Vec<MarkdownPart> = Vec::new();
    let mut lines = MarkdownLines::of(content, 0..content.len());
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
        let continues =
            kind == PartKind::Text && !after_blank && extend_last(&mut parts, line, range.end, previous_start);
        if !continues {
            let (indent, quoted, line_start) = (line.indent, line.quoted, line.line_start);
            in_list = match kind {
                PartKind::Item(_) => true,
                PartKind::Heading { .. } => false,
                PartKind::Text if after_blank && indent < 2 => false,
                _ => in_list,
            };
            parts.push(MarkdownPart { kind, range, line_start, indent, after_blank, quoted });
        }
        previous_start = line.start;
        after_blank = false;
    }
    parts
}

/// Adds a line of text to the part directly above if it continues that part; returns whether it does. An underline
/// makes the single line above a heading.
fn extend_last(parts: &mut [MarkdownPart], line: MarkdownLine<'_>, end: usize, previous_start: usize) -> bool {
    let Some(part) = parts.last_mut() else { return false };
    if part.quoted != line.quoted || !matches!(part.kind, PartKind::Text | PartKind::Item(_)) {
        return false;
    }
    let is_single_line = part.kind == PartKind::Text && part.range.start == previous_start;
    match underline_level(line.text) {
        Some(level) if is_single_line => part.kind = PartKind::Heading { level, step: None },
        _ => part.range.end = end,
    }
    true
}

/// Reads the part that begins with a line. Of a table and of code, it also reads the lines that follow.
fn read_part(lines: &mut MarkdownLines<'_>, line: MarkdownLine<'_>, allows_code: bool) -> (PartKind, Range<usize>) {
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
        // The code of an item may begin on the item's first line.
        let end = match Fence::opened_by(body) {
            Some(fence) => fence.end(lines, line),
            None => line.end(),
        };
        return (PartKind::Item(marker), line.start..end);
    }
    if allows_code && line.indent >= CODE_INDENT {
        return (PartKind::Code, line.text_start..indented_code_end(lines, line));
    }
    (PartKind::Text, line.start..line.end())
}

/// Returns the level and the words of a heading.
fn heading(text: &str) -> Option<(usize, &str)> {
    let words = text.trim_start_matches('#');
    let level = text.len() - words.len();
    if !(1..=6).contains(&level) {
        return None;
    }
    // "#tag" is not a heading.
    if !words.is_empty() && !words.starts_with([' ', '\t']) {
        return None;
    }
    Some((level, words.trim_start()))
}

/// Returns the level of the heading that a line of `=` or `-` makes of the line above.
fn underline_level(text: &str) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.bytes().all(|byte| byte == b'=') {
        return Some(1);
    }
    if text.bytes().all(|byte| byte == b'-') {
        return Some(2);
    }
    None
}

/// Returns the end of the table that begins with a line, and advances past the table's lines; `None` if no table
/// begins.
///
/// Two lines that begin with `|` are a table even without a header.
fn table_end(lines: &mut MarkdownLines<'_>, first: MarkdownLine<'_>) -> Option<usize> {
    if !first.text.contains('|') {
        return None;
    }
    let is_barred = first.text.starts_with('|') && first.text.len() > 1;
    let is_closed = is_barred && first.text.ends_with('|');
    let mut ahead = *lines;
    let continues = match ahead.next_line() {
        Some(second) if second.quoted == first.quoted => {
            second.is_separator_row() || (is_barred && second.text.starts_with('|'))
        }
        _ => false,
    };
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

/// Returns the end of an indented code block, and advances past its lines.
fn indented_code_end(lines: &mut MarkdownLines<'_>, first: MarkdownLine<'_>) -> usize {
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

/// The mark that opens and closes a code block.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(text: &str) -> Option<Self> {
        let mark = text.chars().next()?;
        if !matches!(mark, '`' | '~') {
            return None;
        }
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        // "```x```" is code within a line.
        let is_inline = mark == '`' && info.contains('`');
        if length < 3 || is_inline {
            return None;
        }
        Some(Self { mark, length })
    }

    /// Returns the end of the code, and advances past its lines. Without a closing fence, the code ends with the text
    /// or with its block quote.
    fn end(self, lines: &mut MarkdownLines<'_>, opening: MarkdownLine<'_>) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Vec<(PartKind, &str)> {
        parts(content).into_iter().map(|part| (part.kind, &content[part.range])).collect()
    }

    #[test]
    fn every_kind_of_part_is_found_with_its_range() {
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
    fn a_fence_without_an_end_lasts_to_the_end_of_the_text() {
        let kinds: Vec<PartKind> =
            parts("- ```sh\n  make\n  ```\n- b\n```\nmake\n\n# x").iter().map(|p| p.kind).collect();
        let bullet = PartKind::Item(Marker::Bullet);
        assert_eq!(kinds, [bullet, bullet, PartKind::Code]);
    }
}
