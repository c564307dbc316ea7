//! Markdown: headings, and the source of each block between them, with its line.

use cuebase_language::text::steps::Steps;
use cuebase_storage::memory_file::MemoryFile;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::blocks::{Block, Place};
use super::error::DocumentError;
use super::plain_text::line_number;

/// Returns the blocks of a markdown text. Front matter is left out.
pub(super) fn read(text: &str, steps: &Steps<'_>) -> Result<Vec<Block>, DocumentError> {
    let body = match MemoryFile::parse_untyped(text.as_bytes()) {
        Ok((_, body)) => body,
        Err(_) => text.to_owned(),
    };
    // The body ends where the text ends, except for a changed line end.
    let lines_before = text.lines().count().saturating_sub(body.lines().count());
    let mut lines = Lines { text: &body, offset: 0, line: lines_before };
    let mut blocks = Vec::new();
    let mut heading: Option<(u8, String)> = None;
    let mut depth = 0usize;
    for (event, range) in Parser::new_ext(&body, Options::ENABLE_TABLES).into_offset_iter() {
        steps.take(1)?;
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                heading = Some((level as u8, String::new()));
                depth += 1;
            }
            Event::End(TagEnd::Heading(_)) if depth == 1 && heading.is_some() => {
                depth -= 1;
                if let Some((level, text)) = heading.take() {
                    blocks.push(Block::heading(level, &text, lines.place_of(range.start)));
                }
            }
            Event::Start(_) => {
                if depth == 0 {
                    steps.take(range.len())?;
                    blocks.push(Block::text(&body[range.clone()], lines.place_of(range.start)));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, heading)) = &mut heading {
                    steps.take(text.len())?;
                    heading.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, heading)) = &mut heading {
                    heading.push(' ');
                }
            }
            _ => {}
        }
    }
    blocks.retain(|block| !block.is_blank());
    Ok(blocks)
}

/// Finds the lines of ascending offsets.
struct Lines<'a> {
    text: &'a str,
    offset: usize,
    /// Number of line ends before `offset`.
    line: usize,
}

impl Lines<'_> {
    fn place_of(&mut self, offset: usize) -> Place {
        if let Some(passed) = self.text.get(self.offset..offset) {
            self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
            self.offset = offset;
        }
        Place::Line(line_number(self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_keep_their_source_and_line() {
        let text = "---\ntitle: x\n---\n\n# The *boat*\n\nLock it.\nAlways.\n\n- a\n  - b\n\n## `Keys`\n\n```sh\n# no heading\n```\n";
        let blocks = read(text, &Steps::unlimited()).expect("reads");
        let expected = [
            Block::heading(1, "The boat", Place::Line(5)),
            Block::text("Lock it.\nAlways.", Place::Line(7)),
            Block::text("- a\n  - b", Place::Line(10)),
            Block::heading(2, "Keys", Place::Line(13)),
            Block::text("```sh\n# no heading\n```", Place::Line(15)),
        ];
        assert_eq!(blocks, expected);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([#>|`*\\[\\]\n -]|\\PC){0,80}") {
            let lines = text.lines().count().max(1);
            for block in read(&text, &Steps::unlimited()).expect("reads") {
                let Place::Line(line) = block.place else { panic!("without a line: {block:?}") };
                prop_assert!(line as usize <= lines, "{block:?}");
            }
        }
    }
}
