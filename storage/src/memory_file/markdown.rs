//! Reads title, sections and links from the markdown body of a memory.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// A heading and the text below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Text of the heading.
    pub name: String,
    /// 1 for `#`, 2 for `##`, and so on.
    pub level: u8,
    /// Byte range in the body, from the heading to the next heading of the same or a higher level.
    pub range: Range<usize>,
}

/// Returns the text of the first `# heading`, or of the first non-blank line.
pub fn title(body: &str) -> String {
    if let Some(section) = sections(body).into_iter().find(|section| section.level == 1) {
        return section.name;
    }
    let first_line = body.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    first_line.trim_start_matches(['#', ' ']).to_owned()
}

/// Returns the sections of all headings, in order of appearance.
pub fn sections(body: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    // The heading being read. Its range ends with the body until all headings are known.
    let mut heading: Option<Section> = None;
    for (event, range) in Parser::new(body).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some(Section { name: String::new(), level: level as u8, range: range.start..body.len() });
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.name.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(mut section) = heading.take() {
                    section.name = section.name.trim().to_owned();
                    sections.push(section);
                }
            }
            _ => {}
        }
    }
    for index in 0..sections.len() {
        let level = sections[index].level;
        if let Some(next) = sections[index + 1..].iter().find(|next| next.level <= level) {
            sections[index].range.end = next.range.start;
        }
    }
    sections
}

/// Returns the paths of other memories that the body links to, in order. Relative links are resolved against `path`.
///
/// Includes `[text](../other.md)` and `[[facts/other.md]]`, but no links that lead outside the tiers.
pub fn links(path: &str, body: &str) -> Vec<String> {
    let mut found = Vec::new();
    for event in Parser::new(body) {
        if let Event::Start(Tag::Link { dest_url, .. }) = event
            && let Some(target) = resolve(path, &dest_url)
        {
            found.push(target);
        }
    }
    for piece in body.split("[[").skip(1) {
        if let Some((target, _)) = piece.split_once("]]") {
            found.extend(resolve("", target));
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|target| target != path && seen.insert(target.clone()));
    found
}

/// Resolves a link in the file `from` to the path of a memory. Removes a `#fragment`.
pub(super) fn resolve(from: &str, target: &str) -> Option<String> {
    let (target, _) = target.split_once('#').unwrap_or((target, ""));
    if target.contains(':') || target.is_empty() {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for segment in target.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            segment => parts.push(segment),
        }
    }
    let joined = parts.join("/");
    if super::MemoryPath::of_stored(&joined).is_ok() { Some(joined) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_nest_and_titles_fall_back_to_the_first_line() {
        let body = "# Deploy\n\nintro\n\n## Roll out\n\none\n\n### Detail `x`\n\ntwo\n\n## Roll back\n\nthree\n";
        let names: Vec<_> =
            sections(body).iter().map(|s| (s.name.clone(), body[s.range.clone()].lines().count())).collect();
        assert_eq!(
            names,
            [
                ("Deploy".to_owned(), 15),
                ("Roll out".to_owned(), 8),
                ("Detail x".to_owned(), 4),
                ("Roll back".to_owned(), 3)
            ]
        );
        assert_eq!(title(body), "Deploy");
        assert_eq!(title("just text\nmore"), "just text");
        assert_eq!(title(""), "");
    }

    #[test]
    fn links_are_resolved_and_stay_inside_the_tiers() {
        let body = "[a](b.md) [up](../rules/x.md#y) [[facts/z.md]] [out](../../etc.md) [web](https://x.org/a.md)";
        assert_eq!(links("facts/a.md", body), ["facts/b.md", "rules/x.md", "facts/z.md"]);
    }
}
