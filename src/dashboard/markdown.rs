//! Markdown as HTML that a page may take in, whatever stands in it.
//!
//! Raw HTML is shown as the text that it is, pictures as their description, and a link goes to the web, to an address of
//! mail, or to another file; never to a script.

use pulldown_cmark::{Alignment, CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Schemes that a link may have.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// The HTML of a markdown text.
pub fn to_html(text: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_WIKILINKS
        | Options::ENABLE_FOOTNOTES;
    let events = Parser::new_ext(text, options).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if harmless(&dest_url) { dest_url } else { CowStr::Borrowed("") };
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        // As a style on each cell, which the page's policy refuses.
        Event::Start(Tag::Table(columns)) => Some(Event::Start(Tag::Table(vec![Alignment::None; columns.len()]))),
        other => Some(other),
    });
    let mut out = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut out, events);
    out
}

/// Whether a link's target is a file's path or has a scheme that does nothing by itself.
fn harmless(target: &str) -> bool {
    // A browser skips these where a scheme begins, so none may hide one.
    if target.chars().any(|c| c.is_control() || c.is_whitespace()) || target.starts_with("//") {
        return false;
    }
    match target.split_once(':') {
        None => true,
        Some((scheme, _)) if scheme.contains(['/', '?', '#']) => true,
        Some((scheme, _)) => SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markdown_is_shown() {
        let html = to_html("# A\n\n- **b** [c](d.md) and [[facts/e.md]]\n\n| x |\n|:-:|\n| y |\n");
        for part in ["<h1>A</h1>", "<strong>b</strong>", "href=\"d.md\"", "href=\"facts/e.md\"", "<td>y</td>"] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn what_is_hostile_is_text() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](java\u{1}script:alert(1))",
            "[x](<java&#9;script:alert(1)>)",
            "[x](data:text/html,<script>alert(1)</script>)",
            "![x](http://elsewhere.example/pixel.png)",
            "[x](//elsewhere.example)",
            "<a href=\"javascript:alert(1)\">x</a>",
            "<javascript:alert(1)>",
            "[x](\"onmouseover=alert(1)//)",
        ] {
            let html = to_html(text);
            check(&html);
        }
    }

    fn check(html: &str) {
        for (place, _) in html.match_indices('<') {
            let tag = html[place + 1..].split('>').next().unwrap_or_default().to_ascii_lowercase();
            assert!(!tag.starts_with("script") && !tag.starts_with("img"), "{html}");
            // Outside quotes nothing stands but the names of attributes.
            let bare: String = tag.split('"').step_by(2).collect();
            assert!(!bare.contains(" on"), "{html}");
            if let Some(target) = tag.split("href=\"").nth(1) {
                let target = target.split('"').next().unwrap_or_default();
                assert!(!target.starts_with("javascript") && !target.starts_with("data:"), "{html}");
                assert!(!target.starts_with("//"), "{html}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_harmless(text in "(\\PC|[\\[\\]()<>!:\"'\n]|javascript:|onerror=|<script|<img ){0,60}") {
            check(&to_html(&text));
        }
    }
}
