//! Reading a memory's body: its title, its sections, its links.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

/// A heading and the text that it heads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading's words.
    pub name: String,
    /// 1 for `#`, 2 for `##`, and so on.
    pub level: u8,
    /// Bytes of the body from the heading up to the next heading of the same or a higher level.
    pub range: Range<usize>,
}

/// The words of the first `# heading`, or of the first line that is not empty.
pub fn title(body: &str) -> String {
    let first = sections(body).into_iter().find(|section| section.level == 1);
    first.map(|section| section.name).unwrap_or_else(|| {
        let line = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        line.trim_start_matches(['#', ' ']).to_owned()
    })
}

/// Every heading with its section, in order.
pub fn sections(body: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let mut open: Option<(u8, usize, String)> = None;
    for (event, range) in Parser::new(body).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => open = Some((depth(level), range.start, String::new())),
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, _, name)) = &mut open {
                    name.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, start, name)) = open.take() {
                    found.push(Section { name: name.trim().to_owned(), level, range: start..body.len() });
                }
            }
            _ => {}
        }
    }
    for index in 0..found.len() {
        let level = found[index].level;
        if let Some(next) = found[index + 1..].iter().find(|next| next.level <= level) {
            found[index].range.end = next.range.start;
        }
    }
    found
}

/// Paths of other memories that the body links to, relative links resolved against `path`, in order of appearance.
///
/// Both `[text](../other.md)` and `[[facts/other.md]]` count; links that lead outside the tiers do not.
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
            found.extend(resolve("", target.split('#').next().unwrap_or_default()));
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|target| target != path && seen.insert(target.clone()));
    found
}

fn resolve(from: &str, target: &str) -> Option<String> {
    let target = target.split('#').next().unwrap_or_default();
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
    joined.parse::<super::MemoryPath>().is_ok().then_some(joined)
}

fn depth(level: HeadingLevel) -> u8 {
    level as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_nest_and_titles_are_found() {
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
