//! Rendering of untrusted markdown to HTML that is safe to insert into a page.
//!
//! Raw HTML is shown as text, and pictures as their description. Links lead to the web, to a mail address, or to
//! another file, never to a script.

use pulldown_cmark::{Alignment, CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Allowed schemes of links.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Renders a markdown text to HTML.
pub fn to_html(text: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_WIKILINKS
        | Options::ENABLE_FOOTNOTES;
    let mut out = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut out, Parser::new_ext(text, options).filter_map(safe_event));
    out
}

/// Replaces an event by a safe one, or removes it.
fn safe_event(event: Event<'_>) -> Option<Event<'_>> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if is_safe_target(&dest_url) { dest_url } else { CowStr::Borrowed("") };
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        // Alignments become inline styles, which the page's content security policy rejects.
        Event::Start(Tag::Table(columns)) => Some(Event::Start(Tag::Table(vec![Alignment::None; columns.len()]))),
        other => Some(other),
    }
}

/// Returns whether a link's target is the path of a file or has an allowed scheme.
fn is_safe_target(target: &str) -> bool {
    // A browser ignores these characters before and inside a scheme, so they could hide one.
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
    fn markdown_is_rendered() {
        let html = to_html("# A\n\n- **b** [c](d.md) and [[facts/e.md]]\n\n| x |\n|:-:|\n| y |\n");
        for part in ["<h1>A</h1>", "<strong>b</strong>", "href=\"d.md\"", "href=\"facts/e.md\"", "<td>y</td>"] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn hostile_markdown_is_shown_as_text() {
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
            // Outside of quotes there are only the names of attributes.
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
        fn the_html_of_any_text_is_safe(text in "(\\PC|[\\[\\]()<>!:\"'\n]|javascript:|onerror=|<script|<img ){0,60}") {
            check(&to_html(&text));
        }
    }
}
