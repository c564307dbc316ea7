//! What every reader makes of a file: headings and pieces of text in order.

/// Most characters of a heading. The rest is cut off.
const HEADING_CHARS_MAX: usize = 200;

/// A heading or a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// What the block is.
    pub(super) kind: BlockKind,
    /// The text: one line of a heading, else markdown.
    pub(super) text: String,
    /// Where the block begins in the file.
    pub(super) place: Place,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// A heading of a level, from 1.
    Heading(u8),
    /// A paragraph, a list, a table or a code block.
    Text,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The format has neither pages nor lines.
    Unknown,
    /// A page, from 1.
    Page(u32),
    /// A line, from 1.
    Line(u32),
}

impl Block {
    /// Makes a heading. Its text is put on one line.
    pub(super) fn heading(level: u8, text: &str, place: Place) -> Self {
        let text = one_line(text).chars().take(HEADING_CHARS_MAX).collect();
        Self { kind: BlockKind::Heading(level.max(1)), text, place }
    }

    /// Makes a piece of text, without blank lines around it.
    pub(super) fn text(text: &str, place: Place) -> Self {
        Self { kind: BlockKind::Text, text: text.trim_matches(['\n', '\r']).trim_end().to_owned(), place }
    }

    /// Whether the block has no text.
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// Returns a text on one line, with single spaces.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}
