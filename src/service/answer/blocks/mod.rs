//! The blocks of a memory that make sense only as a whole: lists of steps, tables, code.
//!
//! [`parts`] reads lines; [`series`] finds successive steps. This file makes blocks of the parts, each with its lead-in:
//! the heading or the "To rotate the keys:" directly above. All other parts are lines of prose. The time is linear in
//! the content's length. Start with [`blocks`].

mod markers;
mod parts;
mod series;

use std::ops::Range;

use self::markers::{Marker, inline_steps};
use self::parts::{MarkdownPart, PartKind, parts};
use self::series::{INDENT_TOLERANCE, continuations};
use super::lines::MarkdownLines;

/// Bytes of a paragraph that is a lead-in as a whole; only the last line of a longer one is.
const LEAD_IN_BYTES_MAX: usize = 300;

/// A block and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    /// Bytes of the content, from the lead-in to the last line; a heading's marks are left out.
    pub(super) range: Range<usize>,
    /// Offset of the block's first byte after its lead-in.
    pub(super) body: usize,
    /// Level of the heading that the block begins with.
    pub(super) heading: Option<usize>,
}

/// The kind of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// A line of prose.
    Line,
    /// A list, with the offset of each step or entry.
    List { steps: Vec<usize>, style: ListStyle },
    /// A table.
    Table,
    /// A code block.
    Code,
}

/// The markers of a list's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListStyle {
    /// Numbers or labels.
    Numbered,
    Bulleted,
}

/// Returns the blocks of a memory, in order.
pub(super) fn blocks(content: &str) -> Vec<Block> {
    let parts = parts(content);
    let next = continuations(&parts);
    let mut finder = BlockFinder { content, parts: &parts, next: &next, lead: None, blocks: Vec::new() };
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        let end = match part.kind {
            PartKind::Heading { step: Some(_), .. } if next[at].is_some() => finder.sections_end(at),
            PartKind::Item(_) => finder.list_end(at),
            PartKind::Table | PartKind::Code => at + 1,
            PartKind::Heading { .. } | PartKind::Text => {
                finder.release_lead();
                finder.lead = Some(part);
                at += 1;
                continue;
            }
        };
        finder.add(at, end);
        at = end;
    }
    finder.release_lead();
    finder.blocks
}

/// Collects the blocks of a text part by part.
struct BlockFinder<'a> {
    content: &'a str,
    parts: &'a [MarkdownPart],
    /// The result of [`continuations`].
    next: &'a [Option<usize>],
    /// A heading or a paragraph that may be the lead-in of the next block.
    lead: Option<&'a MarkdownPart>,
    blocks: Vec<Block>,
}

impl<'a> BlockFinder<'a> {
    /// Returns the index after the last section of a procedure whose first heading is `first`.
    fn sections_end(&self, first: usize) -> usize {
        let mut last = first;
        while let Some(next) = self.next[last] {
            last = next;
        }
        let PartKind::Heading { level: step_level, .. } = self.parts[first].kind else { return first + 1 };
        let mut end = last + 1;
        while let Some(part) = self.parts.get(end) {
            if matches!(part.kind, PartKind::Heading { level, .. } if level <= step_level) {
                break;
            }
            end += 1;
        }
        end
    }

    /// Returns the index after the last part of the list whose first item is `first`.
    fn list_end(&self, first: usize) -> usize {
        let mut last = first;
        let mut end = first + 1;
        loop {
            if let Some(next) = self.next[last] {
                last = next;
                end = next + 1;
                continue;
            }
            let Some(part) = self.parts.get(end) else { return end };
            if !belongs(part, &self.parts[first], &self.parts[last]) {
                return end;
            }
            if is_sibling(part, &self.parts[first]) {
                last = end;
            }
            end += 1;
        }
    }

    /// Adds the block that consists of some parts, with its lead-in.
    fn add(&mut self, first: usize, end: usize) {
        let all = self.parts;
        let parts = &all[first..end];
        let [head, ..] = parts else { return };
        let [.., last] = parts else { return };
        let Some(kind) = self.kind(parts) else {
            // A single entry is prose.
            self.release_lead();
            for part in parts {
                self.add_lines(part.range.clone(), None);
            }
            return;
        };
        let mut heading = level(head);
        let mut start = head.range.start;
        if let Some(lead) = self.lead.take() {
            let lead_start = self.lead_in(lead, head);
            self.add_lines(lead.range.start..lead_start.unwrap_or(lead.range.end), level(lead));
            if let Some(lead_start) = lead_start {
                start = lead_start;
                heading = level(lead).or(heading);
            }
        }
        self.blocks.push(Block { kind, range: start..last.range.end, body: head.range.start, heading });
    }

    /// Returns the kind of the block that consists of some parts; `None` for a single entry.
    fn kind(&self, parts: &[MarkdownPart]) -> Option<BlockKind> {
        let first = parts.first()?;
        let style = match first.kind {
            PartKind::Table => return Some(BlockKind::Table),
            PartKind::Code => return Some(BlockKind::Code),
            PartKind::Item(Marker::Bullet) => ListStyle::Bulleted,
            PartKind::Item(_) | PartKind::Heading { .. } => ListStyle::Numbered,
            PartKind::Text => return None,
        };
        let mut siblings = Vec::new();
        let mut items = Vec::new();
        for part in parts {
            if is_sibling(part, first) {
                siblings.push(part.line_start);
            }
            if matches!(part.kind, PartKind::Item(_)) {
                items.push(part.line_start);
            }
        }
        let has_code = parts.iter().any(|part| part.kind == PartKind::Code);
        if items.len().max(siblings.len()) < 2 && !has_code && !self.continues_title(first) {
            return None;
        }
        let steps = if siblings.len() < 2 { items } else { siblings };
        Some(BlockKind::List { steps, style })
    }

    /// Returns whether the title above contains the first step: "# Ann: Step 1: warm the milk.", then "Step 2: add the
    /// yeast."
    fn continues_title(&self, first: &MarkdownPart) -> bool {
        let is_second = matches!(first.kind, PartKind::Item(Marker::Number(2) | Marker::Label(2)));
        let below_title = matches!(self.lead, Some(MarkdownPart { kind: PartKind::Heading { .. }, .. }));
        is_second && below_title
    }

    /// Returns the offset at which a block's lead-in begins in the part above the block; `None` if the part is not a
    /// lead-in.
    fn lead_in(&self, lead: &MarkdownPart, first: &MarkdownPart) -> Option<usize> {
        if lead.quoted != first.quoted {
            return None;
        }
        if level(lead).is_some() {
            return Some(lead.range.start);
        }
        let text = &self.content[lead.range.clone()];
        if first.after_blank && !text.ends_with([':', '：']) {
            return None;
        }
        if text.len() <= LEAD_IN_BYTES_MAX {
            return Some(lead.range.start);
        }
        let last_line = match text.rfind('\n') {
            Some(line_break) => line_break + 1,
            None => 0,
        };
        Some(lead.range.start + last_line)
    }

    /// Adds the part above as prose, since it leads in no block.
    fn release_lead(&mut self) {
        if let Some(lead) = self.lead.take() {
            self.add_lines(lead.range.clone(), level(lead));
        }
    }

    /// Adds the lines of a range. Each line is prose, or a list if it contains several steps.
    fn add_lines(&mut self, range: Range<usize>, heading: Option<usize>) {
        let mut lines = MarkdownLines::of(self.content, range);
        while let Some(line) = lines.next_line() {
            if line.text.is_empty() {
                continue;
            }
            let mut block = Block { kind: BlockKind::Line, range: line.start..line.end(), body: line.start, heading };
            let mut steps = inline_steps(line.text);
            if !steps.is_empty() {
                for step in &mut steps {
                    *step += line.start;
                }
                block.kind = BlockKind::List { steps, style: ListStyle::Numbered };
                self.take_title_into(&mut block);
            }
            self.blocks.push(block);
        }
    }

    /// Makes a title directly above the lead-in of a list on a single line.
    fn take_title_into(&mut self, block: &mut Block) {
        let Some(above) = self.blocks.last() else { return };
        if block.heading.is_none() && above.kind == BlockKind::Line && above.heading.is_some() {
            block.range.start = above.range.start;
            block.heading = above.heading;
            self.blocks.pop();
        }
    }
}

/// Returns whether a part belongs to the list before it. `first` is the list's first item, `last` its latest.
fn belongs(part: &MarkdownPart, first: &MarkdownPart, last: &MarkdownPart) -> bool {
    if part.quoted != first.quoted {
        return false;
    }
    let is_nested = part.indent > first.indent + INDENT_TOLERANCE;
    match (part.kind, last.kind) {
        (PartKind::Heading { .. }, _) => false,
        (PartKind::Item(_) | PartKind::Text | PartKind::Table | PartKind::Code, _) if is_nested => true,
        (PartKind::Text, _) => false,
        (PartKind::Table, _) => !part.after_blank,
        (PartKind::Code, kind) => !part.after_blank || kind != PartKind::Item(Marker::Bullet),
        (PartKind::Item(Marker::Bullet), PartKind::Item(Marker::Bullet)) => true,
        (PartKind::Item(Marker::Number(number)), PartKind::Item(Marker::Number(before)))
        | (PartKind::Item(Marker::Label(number)), PartKind::Item(Marker::Label(before))) => {
            // Numbers that start again begin another list, unless every item is "1.".
            number > before || (number, before) == (1, 1)
        }
        (PartKind::Item(_), _) => !part.after_blank,
    }
}

/// Returns whether a part begins a step of the list that `first` begins.
fn is_sibling(part: &MarkdownPart, first: &MarkdownPart) -> bool {
    match (part.kind, first.kind) {
        (PartKind::Item(marker), PartKind::Item(first_marker)) => {
            let same_kind = std::mem::discriminant(&marker) == std::mem::discriminant(&first_marker);
            same_kind && part.indent <= first.indent + INDENT_TOLERANCE
        }
        (PartKind::Heading { level, step: Some(_) }, PartKind::Heading { level: first_level, .. }) => {
            level == first_level
        }
        _ => false,
    }
}

/// Returns the level of a heading.
fn level(part: &MarkdownPart) -> Option<usize> {
    match part.kind {
        PartKind::Heading { level, .. } => Some(level),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks that are not lines of prose: their text and the number of their steps.
    fn found(content: &str) -> Vec<(&str, usize)> {
        let mut found = Vec::new();
        for block in blocks(content) {
            match block.kind {
                BlockKind::Line => {}
                BlockKind::List { steps, .. } => found.push((&content[block.range], steps.len())),
                BlockKind::Table | BlockKind::Code => found.push((&content[block.range], 0)),
            }
        }
        found
    }

    #[test]
    fn a_list_has_its_lead_in_its_nested_lines_and_the_code_between_its_steps() {
        let list =
            "To rotate:\n\n1. Stop:\n\n```sh\nmake stop\n```\n\n2. Turn.\n   - left\n\n   Then right.\n\n3. Start.";
        let content = format!("# Keys\n\nEvery spring.\n\n{list}\n\nDone is done.\n");
        assert_eq!(found(&content), [(list, 3)]);
        assert_eq!(blocks(&content).len(), 4);
    }

    #[test]
    fn steps_are_found_however_they_are_numbered() {
        for (content, steps) in [
            ("# Ann\n\n1. a\n2. b\n", 2),
            ("# Ann\n\n1) a\n2) b\n3) c\n", 3),
            ("# Ann\n\nStep 1: a\nStep 2: b\n", 2),
            ("# Ann\n\n1. a\n1. b\n1. c\n", 3),
            ("# Ann\n\n- a\n\n- b\n", 2),
            ("# Ann\n\n1. a\n- x\n- y\n2. b\n", 2),
            ("# Ann\n\n1. a\n\nWhy: x\n\n2. b\n", 2),
            ("# Ann: Step 1: a.\n\nStep 2: b.\n", 1),
            ("# Ann\n\n## Step 1: a\n\nx\n\n## Step 2: b\n\ny\n", 2),
        ] {
            let list = content.trim_start_matches("# ").trim_end();
            assert_eq!(found(content), [(list, steps)], "{content}");
        }
        let inline = "# Ann: Do 1. a 2. b 3. c\n";
        assert_eq!(found(inline), [("Ann: Do 1. a 2. b 3. c", 3)]);
        let below_title = "# Ann: To moor: 1.\n\nSlow down. 2. Throw it. 3. Tie it.\n";
        assert_eq!(found(below_title), [(below_title.trim_start_matches("# ").trim_end(), 2)]);
        assert_eq!(found("> 1. a\n> 2. b\n\nc\n"), [("1. a\n> 2. b", 2)]);
    }

    #[test]
    fn a_list_ends_where_another_begins_and_a_single_entry_is_prose() {
        assert_eq!(found("1. a\n2. b\n\n1. c\n2. d\n"), [("1. a\n2. b", 2), ("1. c\n2. d", 2)]);
        assert_eq!(found("- a\n- b\n\nText.\n\n- c\n- d\n"), [("- a\n- b", 2), ("- c\n- d", 2)]);
        assert_eq!(found("## A\n1. a\n2. b\n## B\n3. c\n4. d\n"), [("A\n1. a\n2. b", 2), ("B\n3. c\n4. d", 2)]);
        assert!(found("- Boil it. Wait.\n\nIt took 2. No more.\n").is_empty());
    }

    #[test]
    fn the_time_is_linear_in_the_length() {
        // In quadratic time, each of these texts would take minutes.
        let megabyte = 1 << 20;
        for fragment in [
            "- a\n",
            "1. a\n",
            "1. a\n\n",
            "> ",
            "|a|\n",
            "| \n",
            "```\n",
            "````",
            "~",
            "#",
            "# a\n",
            "a\n---\n",
            "    a\n\n",
            "\n",
            " ",
            "Step 1 ",
            "1. ",
            "## Step 1\n",
            "(",
            "*",
            "9",
            "a|b\n",
            "a:\n- a\n",
            "-",
        ] {
            let content = fragment.repeat(megabyte / fragment.len());
            let blocks = blocks(&content);
            assert!(blocks.iter().all(|block| content.get(block.range.clone()).is_some()), "{fragment:?}");
        }
    }
}
