//! Source code: groups of definitions at the left margin, under the name of the file.

use super::blocks::{Block, Place};
use super::plain_text::line_number;

/// Characters after which a definition begins another group.
const GROUP_CHARS: usize = 1000;
/// Most characters of the line that names a group.
const TITLE_CHARS_MAX: usize = 100;
/// Beginnings of lines that name nothing: comments, attributes, brackets.
const UNNAMED: [&str; 14] = ["//", "#", "/*", "*", "@", "--", "\"\"\"", "'''", "{", "}", ")", "]", ";", "%"];

/// Returns the file as code blocks. Each has the first definition in it as its heading.
pub(super) fn read(name: &str, language: &str, text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = vec![Block::heading(1, name, Place::Line(1))];
    let mut start = 0;
    let mut chars = 0;
    for (index, line) in lines.iter().enumerate() {
        let is_after_blank = index > 0 && lines[index - 1].trim().is_empty();
        if chars >= GROUP_CHARS && is_after_blank && begins_definition(line) {
            push(&mut blocks, language, &lines, start..index);
            start = index;
            chars = 0;
        }
        chars += line.chars().count() + 1;
    }
    push(&mut blocks, language, &lines, start..lines.len());
    if blocks.len() == 1 { Vec::new() } else { blocks }
}

/// Whether a line is at the left margin and closes nothing.
fn begins_definition(line: &str) -> bool {
    line.starts_with(|c: char| !c.is_whitespace() && !"})];".contains(c))
}

fn push(blocks: &mut Vec<Block>, language: &str, lines: &[&str], group: std::ops::Range<usize>) {
    let mut start = group.start;
    while start < group.end && lines[start].trim().is_empty() {
        start += 1;
    }
    if start == group.end {
        return;
    }
    let place = Place::Line(line_number(start));
    let group = &lines[start..group.end];
    if let Some(title) = title(group) {
        blocks.push(Block::heading(2, &title, place));
    }
    let code = group.join("\n");
    let code = code.trim_end();
    blocks.push(Block::text(&format!("```{language}\n{code}\n```"), place));
}

/// Returns the first line at the left margin that names something.
fn title(lines: &[&str]) -> Option<String> {
    for line in lines {
        let begins = line.starts_with(|c: char| !c.is_whitespace());
        if begins && !UNNAMED.iter().any(|beginning| line.starts_with(beginning)) {
            let line = line.trim_end().trim_end_matches(['{', ':', '(', '=', ' ']);
            return Some(line.chars().take(TITLE_CHARS_MAX).collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_name_their_groups() {
        let body = "    let x = 1;\n".repeat(80);
        let text = format!("// A file.\n\n#[test]\nfn one() {{\n{body}}}\n\npub struct Two {{\n    a: u8,\n}}\n");
        let blocks = read("a.rs", "rust", &text);
        let headings: Vec<&str> = blocks
            .iter()
            .filter(|block| block.kind != super::super::blocks::BlockKind::Text)
            .map(|b| &*b.text)
            .collect();
        assert_eq!(headings, ["a.rs", "fn one()", "pub struct Two"]);
        assert_eq!(blocks[4].text, "```rust\npub struct Two {\n    a: u8,\n}\n```");
        assert_eq!(blocks[4].place, Place::Line(87));
        assert_eq!(read("a.rs", "rust", "\n\n"), []);
    }
}
