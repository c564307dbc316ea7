//! What the prose of a markdown text names: tags, links to other notes, and files.
//!
//! Code is left out: a `#` or `[[` in it means something else.

use percent_encoding::percent_decode_str;
use pulldown_cmark::{Event, Parser, Tag};

/// Stands for the code that is left out, so that the words around it are not joined.
const CODE: char = '`';

/// Returns a markdown text without code spans and code blocks.
pub(super) fn without_code(body: &str) -> String {
    let mut prose = String::new();
    let mut end = 0;
    for (event, range) in Parser::new(body).into_offset_iter() {
        let is_code = matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)));
        if is_code && range.start >= end {
            prose.push_str(&body[end..range.start]);
            prose.push(CODE);
            end = range.end;
        }
    }
    prose.push_str(&body[end..]);
    prose
}

/// Returns the tags in a text: a `#` at the beginning of a word, then letters, digits and `_ - /`, with at least one
/// character that is not a digit.
pub(super) fn tags(prose: &str) -> Vec<String> {
    let mut tags = Vec::new();
    for word in prose.split_whitespace() {
        let Some(word) = word.strip_prefix('#') else { continue };
        let end = word.find(|c: char| !is_tag_character(c)).unwrap_or(word.len());
        let tag = &word[..end];
        if tag.chars().any(|c| !c.is_numeric()) {
            tags.push(tag.to_owned());
        }
    }
    tags
}

fn is_tag_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/')
}

/// Returns the targets of wiki links, `[[target#heading|text]]`, without heading and text.
pub(super) fn wiki_targets(prose: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    for piece in prose.split("[[").skip(1) {
        let Some((inside, _)) = piece.split_once("]]") else { continue };
        let end = inside.find(['|', '#', '^', '\n']).unwrap_or(inside.len());
        // In a table the bar is escaped.
        let target = inside[..end].trim_end_matches('\\').trim();
        if !target.is_empty() {
            targets.push(target);
        }
    }
    targets
}

/// Returns the targets of markdown links to files, decoded and without a heading.
pub(super) fn link_targets(body: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for event in Parser::new(body) {
        let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
        let url: &str = &dest_url;
        let (target, _) = url.split_once('#').unwrap_or((url, ""));
        if target.is_empty() || target.contains(':') {
            continue;
        }
        if let Ok(target) = percent_decode_str(target).decode_utf8() {
            targets.push(target.into_owned());
        }
    }
    targets
}

/// Returns the files that a text imports as Claude Code does it: words that begin with `@` and look like a path.
pub(super) fn imported_files(prose: &str) -> Vec<&str> {
    let mut files = Vec::new();
    for word in prose.split_whitespace() {
        let Some(file) = word.strip_prefix('@') else { continue };
        let file = file.trim_end_matches(['.', ',', ';', ':', ')', '!', '?']);
        let is_path = file.contains(['/', '.']) && !file.contains('@');
        if is_path && !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "# Title #boat\n\nA #Projekt/Übersicht, #1984 and x#y. `#code [[a]]` [[Ida|her]], [[notes/Oban#Pier]]\n\
        ![[map.png]] [[#here]] [b](../my%20b.md#top) [web](https://example.org/c.md)\n\n```sh\n#no [[no]] @no/no.md\n```\n\n\
        See @docs/git.md, @~/.claude/me.md and @ida; a@b.org.\n";

    #[test]
    fn tags_links_and_files_are_found_outside_of_code() {
        let prose = without_code(TEXT);
        assert_eq!(tags(&prose), ["boat", "Projekt/Übersicht"]);
        assert_eq!(wiki_targets(&prose), ["Ida", "notes/Oban", "map.png"]);
        assert_eq!(link_targets(TEXT), ["../my b.md"]);
        assert_eq!(imported_files(&prose), ["docs/git.md", "~/.claude/me.md"]);
    }

    #[test]
    fn a_wiki_link_in_a_table_has_an_escaped_bar() {
        assert_eq!(wiki_targets("| [[Oban\\|the harbour]] | [[broken |"), ["Oban"]);
    }

    proptest! {
        #[test]
        fn any_text_is_searched(text in "([a@#`\\[\\]| \n]|\\PC){0,60}") {
            let prose = without_code(&text);
            let _ = (tags(&prose), wiki_targets(&prose), link_targets(&text), imported_files(&prose));
        }
    }
}
