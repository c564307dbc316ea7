//! The blocks of a memory that make sense only as a whole: lists of steps, tables, code.
//!
//! [`parts`] reads lines; here parts become blocks with their lead-in, the heading or the "To rotate the keys:" directly
//! above. Everything else is lines of prose. The time is linear in the content's length.

mod markers;
mod parts;

use std::ops::Range;

use self::markers::{Marker, inline_steps};
pub(super) use self::parts::{Lines, is_separator_row};
use self::parts::{Part, PartKind, parts};

/// Bytes of a paragraph that is a lead-in as a whole; of a longer one only the last line is.
const LEAD_IN_BYTES_MAX: usize = 300;
/// Bytes of unindented paragraphs between two steps of one list; numbers with more text between them head chapters.
const LOOSE_BYTES_MAX: usize = 400;
/// Columns by which the items of one list may differ in their indentation.
const INDENT_TOLERANCE: usize = 1;

/// A block and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Bytes of the content, from the lead-in to the last line; a heading's marks are left out.
    pub(super) range: Range<usize>,
    /// Where the block begins behind its lead-in.
    pub(super) body: usize,
    /// The level of the heading that it begins with.
    pub(super) heading: Option<usize>,
}

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A line of prose.
    Line,
    /// Steps or entries, with where each begins.
    List { steps: Vec<usize>, order: Order },
    /// A table.
    Table,
    /// A code block.
    Code,
}

/// Whether the order of a list's entries is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Numbered,
    Bulleted,
}

/// Returns the blocks of a memory, in order.
pub(super) fn blocks(content: &str) -> Vec<Block> {
    let parts = parts(content);
    let next = continuations(&parts);
    let mut finder = Finder { content, parts: &parts, next: &next, lead: None, blocks: Vec::new() };
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

/// For each part the later one whose number is the next in the same list, also where code or a few lines are in between.
fn continuations(parts: &[Part]) -> Vec<Option<usize>> {
    let mut next = vec![None; parts.len()];
    let loose = loose_bytes(parts);
    for series in [Series::Numbers, Series::Labels, Series::Headings] {
        // The last step of each open list, the outermost first.
        let mut open: Vec<(usize, Step)> = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            if let Some(level) = series.ended_by(part) {
                while open.last().is_some_and(|(_, step)| step.depth >= level) {
                    open.pop();
                }
            }
            let Some(step) = series.step(part) else { continue };
            while open.last().is_some_and(|(_, before)| before.depth > step.depth + series.tolerance()) {
                open.pop();
            }
            if let Some((before, last)) = open.last().copied()
                && last.depth + series.tolerance() >= step.depth
            {
                let is_near = loose[at] - loose[before] <= series.loose_bytes_max();
                if step.number == last.number + 1 && is_near && parts[before].quoted == part.quoted {
                    next[before] = Some(at);
                }
                open.pop();
            }
            open.push((at, step));
        }
    }
    next
}

/// For each part the bytes of the unindented paragraphs before it.
fn loose_bytes(parts: &[Part]) -> Vec<usize> {
    let mut bytes = 0;
    let mut before = Vec::with_capacity(parts.len());
    for part in parts {
        before.push(bytes);
        if part.kind == PartKind::Text && part.indent <= INDENT_TOLERANCE {
            bytes += part.range.len();
        }
    }
    before
}

/// Parts whose numbers may follow one another.
#[derive(Clone, Copy)]
enum Series {
    Numbers,
    Labels,
    Headings,
}

#[derive(Clone, Copy)]
struct Step {
    number: u32,
    depth: usize,
}

impl Series {
    fn step(self, part: &Part) -> Option<Step> {
        match (self, part.kind) {
            (Self::Numbers, PartKind::Item(Marker::Number(number)))
            | (Self::Labels, PartKind::Item(Marker::Label(number))) => Some(Step { number, depth: part.indent }),
            (Self::Headings, PartKind::Heading { level, step: Some(number) }) => Some(Step { number, depth: level }),
            _ => None,
        }
    }

    /// The depth from which on a part ends the lists before it.
    fn ended_by(self, part: &Part) -> Option<usize> {
        match (self, part.kind) {
            (Self::Headings, PartKind::Heading { level, step: None }) => Some(level),
            (Self::Headings, _) => None,
            (_, PartKind::Heading { .. }) => Some(0),
            _ => None,
        }
    }

    fn loose_bytes_max(self) -> usize {
        match self {
            Self::Headings => usize::MAX,
            Self::Numbers | Self::Labels => LOOSE_BYTES_MAX,
        }
    }

    fn tolerance(self) -> usize {
        match self {
            Self::Headings => 0,
            Self::Numbers | Self::Labels => INDENT_TOLERANCE,
        }
    }
}

struct Finder<'a> {
    content: &'a str,
    parts: &'a [Part],
    next: &'a [Option<usize>],
    /// A heading or a paragraph that may lead in the next block.
    lead: Option<&'a Part>,
    blocks: Vec<Block>,
}

impl<'a> Finder<'a> {
    /// The part after the last section of steps whose first heading is `first`.
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

    /// The part after the list whose first item is `first`.
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

    /// Adds the block that some parts make, with its lead-in.
    fn add(&mut self, first: usize, end: usize) {
        let all = self.parts;
        let parts = &all[first..end];
        let Some((head, last)) = parts.first().zip(parts.last()) else { return };
        let Some(kind) = self.kind(parts) else {
            // A single entry is prose like any other.
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

    /// What some parts are as a whole; none for a single entry.
    fn kind(&self, parts: &[Part]) -> Option<Kind> {
        let first = parts.first()?;
        let order = match first.kind {
            PartKind::Table => return Some(Kind::Table),
            PartKind::Code => return Some(Kind::Code),
            PartKind::Item(Marker::Bullet) => Order::Bulleted,
            PartKind::Item(_) | PartKind::Heading { .. } => Order::Numbered,
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
        Some(Kind::List { steps: if siblings.len() < 2 { items } else { siblings }, order })
    }

    /// Whether the first step is in the title above: "# Ann: Step 1: warm the milk.", then "Step 2: add the yeast."
    fn continues_title(&self, first: &Part) -> bool {
        let is_later = matches!(first.kind, PartKind::Item(Marker::Number(2) | Marker::Label(2)));
        is_later && self.lead.is_some_and(|lead| level(lead).is_some())
    }

    /// Where the lead-in of a block begins in the part above it; none where that part is no lead-in.
    fn lead_in(&self, lead: &Part, first: &Part) -> Option<usize> {
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
        Some(lead.range.start + text.rfind('\n').map_or(0, |at| at + 1))
    }

    /// Adds the part above as prose.
    fn release_lead(&mut self) {
        if let Some(lead) = self.lead.take() {
            self.add_lines(lead.range.clone(), level(lead));
        }
    }

    /// Adds the lines of a range: each is prose, or a list where it holds several steps.
    fn add_lines(&mut self, range: Range<usize>, heading: Option<usize>) {
        let mut lines = Lines::of(self.content, range);
        while let Some(line) = lines.next_line() {
            if line.text.is_empty() {
                continue;
            }
            let mut block = Block { kind: Kind::Line, range: line.start..line.end(), body: line.start, heading };
            let mut steps = inline_steps(line.text);
            if !steps.is_empty() {
                for step in &mut steps {
                    *step += line.start;
                }
                block.kind = Kind::List { steps, order: Order::Numbered };
                self.take_title_into(&mut block);
            }
            self.blocks.push(block);
        }
    }

    /// Makes a title directly above the lead-in of the steps on a line of prose.
    fn take_title_into(&mut self, block: &mut Block) {
        let Some(above) = self.blocks.last() else { return };
        if block.heading.is_none() && above.kind == Kind::Line && above.heading.is_some() {
            block.range.start = above.range.start;
            block.heading = above.heading;
            self.blocks.pop();
        }
    }
}

/// Whether a part that follows a list, of which `first` is the first and `last` the latest item, is still in it.
fn belongs(part: &Part, first: &Part, last: &Part) -> bool {
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
            // Numbers that begin again are another list, except where every item is "1.".
            number > before || (number, before) == (1, 1)
        }
        (PartKind::Item(_), _) => !part.after_blank,
    }
}

/// Whether a part begins a step of the same list as its first.
fn is_sibling(part: &Part, first: &Part) -> bool {
    match (part.kind, first.kind) {
        (PartKind::Item(marker), PartKind::Item(of_first)) => {
            let same = std::mem::discriminant(&marker) == std::mem::discriminant(&of_first);
            same && part.indent <= first.indent + INDENT_TOLERANCE
        }
        (PartKind::Heading { level, step: Some(_) }, PartKind::Heading { level: of_first, .. }) => level == of_first,
        _ => false,
    }
}

fn level(part: &Part) -> Option<usize> {
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
                Kind::Line => {}
                Kind::List { steps, .. } => found.push((&content[block.range], steps.len())),
                Kind::Table | Kind::Code => found.push((&content[block.range], 0)),
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
    fn lists_end_where_another_begins_and_a_single_entry_is_prose() {
        assert_eq!(found("1. a\n2. b\n\n1. c\n2. d\n"), [("1. a\n2. b", 2), ("1. c\n2. d", 2)]);
        assert_eq!(found("- a\n- b\n\nText.\n\n- c\n- d\n"), [("- a\n- b", 2), ("- c\n- d", 2)]);
        assert_eq!(found("## A\n1. a\n2. b\n## B\n3. c\n4. d\n"), [("A\n1. a\n2. b", 2), ("B\n3. c\n4. d", 2)]);
        assert!(found("- Boil it. Wait.\n\nIt took 2. No more.\n").is_empty());
    }

    #[test]
    fn the_time_is_linear_in_the_length() {
        // Of each text a part of quadratic time would take minutes.
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
