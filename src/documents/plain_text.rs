//! Plain text: paragraphs between blank lines, each with its line.

use super::blocks::{Block, Place};

/// Returns the paragraphs of a text.
pub(super) fn read(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut paragraph = String::new();
    let mut first_line = 1;
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            push(&mut blocks, &mut paragraph, first_line);
            continue;
        }
        if paragraph.is_empty() {
            first_line = line_number(index);
        } else {
            paragraph.push('\n');
        }
        paragraph.push_str(line.trim_end());
    }
    push(&mut blocks, &mut paragraph, first_line);
    blocks
}

fn push(blocks: &mut Vec<Block>, paragraph: &mut String, line: u32) {
    if !paragraph.is_empty() {
        blocks.push(Block::text(paragraph, Place::Line(line)));
        paragraph.clear();
    }
}

/// Returns the number of a line from its index.
pub(super) fn line_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_have_their_first_line() {
        let blocks = read("\nOne\ntwo\n \n\nThree\n");
        assert_eq!(blocks, [Block::text("One\ntwo", Place::Line(2)), Block::text("Three", Place::Line(6))]);
        assert_eq!(read(" \n\n"), []);
    }
}
