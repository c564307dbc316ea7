//! Text in HTML.

/// Returns a text as it is written in HTML, inside of elements and of attributes in quotation marks.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // HTML has no way to write other control characters.
            '\n' | '\t' => escaped.push(character),
            _ if character.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_markup_are_escaped() {
        assert_eq!(escaped("<a href=\"x\" title='y'>&amp;"), "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;");
        assert_eq!(escaped("a\n\u{0}\u{1b}é"), "a\n\u{fffd}\u{fffd}é");
    }
}
