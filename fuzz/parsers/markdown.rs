//! A memory's text as HTML for the dashboard. No text may produce active content.

/// Elements that run code or send requests.
const ACTIVE_ELEMENTS: [&str; 9] = ["script", "img", "svg", "iframe", "object", "embed", "style", "form", "base"];

pub(super) fn enter(bytes: &[u8]) {
    let html = cuebase::dashboard::markdown::to_html(&String::from_utf8_lossy(bytes));
    for (place, _) in html.match_indices('<') {
        let tag = html[place + 1..].split('>').next().unwrap_or_default().to_ascii_lowercase();
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        assert!(!ACTIVE_ELEMENTS.contains(&name), "<{tag}> in {html:?}");
        // The text outside of quotes contains the names of the attributes.
        let bare: String = tag.split('"').step_by(2).collect();
        assert!(!bare.contains(" on") && !bare.contains(" style"), "<{tag}> in {html:?}");
        for attribute in ["href=\"", "src=\""] {
            let target = tag.split(attribute).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
            let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
            let plain = scheme.is_empty() || scheme.contains(['/', '?', '#']);
            assert!(plain || ["http", "https", "mailto"].contains(&scheme), "<{tag}> in {html:?}");
        }
    }
}
