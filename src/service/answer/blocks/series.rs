//! Consecutive numbers: which parts of a text are successive steps of one list.

use super::markers::Marker;
use super::parts::{MarkdownPart, PartKind};

/// Bytes of unindented paragraphs between two steps of one list. Numbers with more text between them belong to
/// chapters.
const LOOSE_BYTES_MAX: usize = 400;
/// Columns by which the items of one list may differ in their indentation.
pub(super) const INDENT_TOLERANCE: usize = 1;

/// Returns, for each part, the index of the part with the next number in the same list. Code or a few lines may be in
/// between.
pub(super) fn continuations(parts: &[MarkdownPart]) -> Vec<Option<usize>> {
    let mut next = vec![None; parts.len()];
    let loose = loose_bytes(parts);
    for series in [NumberSeries::Numbers, NumberSeries::Labels, NumberSeries::Headings] {
        // The last step of each open list, the outermost first.
        let mut open: Vec<NumberedStep> = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            if let Some(level) = series.ended_by(part) {
                close_lists_from(&mut open, level);
            }
            let Some(step) = series.step(at, part) else { continue };
            close_lists_from(&mut open, step.depth + series.tolerance() + 1);
            if let Some(last) = open.last().copied()
                && last.depth + series.tolerance() >= step.depth
            {
                let is_near = loose[at] - loose[last.part] <= series.loose_bytes_max();
                if step.number == last.number + 1 && is_near && parts[last.part].quoted == part.quoted {
                    next[last.part] = Some(at);
                }
                open.pop();
            }
            open.push(step);
        }
    }
    next
}

/// Removes the lists whose depth is at least a minimum.
fn close_lists_from(open: &mut Vec<NumberedStep>, depth_min: usize) {
    while let Some(step) = open.last()
        && step.depth >= depth_min
    {
        open.pop();
    }
}

/// Returns, for each part, the bytes of the unindented paragraphs before it.
fn loose_bytes(parts: &[MarkdownPart]) -> Vec<usize> {
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

/// Parts whose numbers may be consecutive.
#[derive(Clone, Copy)]
enum NumberSeries {
    Numbers,
    Labels,
    Headings,
}

/// A step of a list that is being read.
#[derive(Clone, Copy)]
struct NumberedStep {
    /// Index of the step's part.
    part: usize,
    number: u32,
    /// Indentation of an item, level of a heading.
    depth: usize,
}

impl NumberSeries {
    /// Returns the step that a part begins, if the part belongs to the series.
    fn step(self, index: usize, part: &MarkdownPart) -> Option<NumberedStep> {
        match (self, part.kind) {
            (Self::Numbers, PartKind::Item(Marker::Number(number)))
            | (Self::Labels, PartKind::Item(Marker::Label(number))) => {
                Some(NumberedStep { part: index, number, depth: part.indent })
            }
            (Self::Headings, PartKind::Heading { level, step: Some(number) }) => {
                Some(NumberedStep { part: index, number, depth: level })
            }
            _ => None,
        }
    }

    /// Returns the depth from which a part ends the lists before it.
    fn ended_by(self, part: &MarkdownPart) -> Option<usize> {
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
