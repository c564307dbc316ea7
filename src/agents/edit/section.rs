//! A marked section at the end of a TOML file.

use anyhow::{anyhow, bail};

/// The line before the section.
const BEGIN: &str = "# >>> cuebase (written by `cuebase install`) >>>";
/// The line after the section.
const END: &str = "# <<< cuebase <<<";

/// Parses TOML. The error has the line.
pub(crate) fn parse(text: &str) -> anyhow::Result<toml::Table> {
    let parsed: Result<toml::Table, toml::de::Error> = text.parse();
    parsed.map_err(|error| {
        let begin = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(begin).filter(|byte| *byte == b'\n').count();
        anyhow!("invalid TOML: line {line}: {}", error.message().replace('\n', " "))
    })
}

/// Returns the lines of the section; `None` without one.
pub(crate) fn section(text: &str) -> anyhow::Result<Option<&str>> {
    let Some((begin, end)) = bounds(text)? else { return Ok(None) };
    let inside = text[begin..end].trim_end().strip_prefix(BEGIN).unwrap_or_default();
    Ok(Some(inside.strip_suffix(END).unwrap_or(inside).trim()))
}

/// Adds the section at the end, or replaces it.
pub(crate) fn add(text: &str, lines: &str) -> anyhow::Result<String> {
    let mut text = remove(text)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if !text.is_empty() {
        text.push('\n');
    }
    Ok(format!("{text}{BEGIN}\n{}\n{END}\n", lines.trim()))
}

/// Removes the section, and the blank line before it.
pub(crate) fn remove(text: &str) -> anyhow::Result<String> {
    let Some((begin, end)) = bounds(text)? else { return Ok(text.to_owned()) };
    let before = &text[..begin];
    let before = if before.ends_with("\n\n") { &before[..before.len() - 1] } else { before };
    Ok(format!("{before}{}", &text[end..]))
}

/// Returns where the section begins and ends, with the line break at its end.
fn bounds(text: &str) -> anyhow::Result<Option<(usize, usize)>> {
    let Some(begin) = text.find(BEGIN) else { return Ok(None) };
    let Some(length) = text[begin..].find(END) else {
        let line = 1 + text.bytes().take(begin).filter(|byte| *byte == b'\n').count();
        bail!("line {line}: the section has no end: add the line {END:?} after it, or remove the section");
    };
    let mut end = begin + length + END.len();
    if text[end..].starts_with('\n') {
        end += 1;
    }
    Ok(Some((begin, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "[mcp_servers.cuebase]\ncommand = \"cuebase\"";

    #[test]
    fn a_section_is_added_once_and_removed_without_a_trace() {
        for text in ["", "model = \"x\" # mine\n", "[a]\nb = 1\n\n[c]\n"] {
            let added = add(text, LINES).expect("adds");
            assert_eq!(parse(&added).expect("TOML")["mcp_servers"]["cuebase"]["command"].as_str(), Some("cuebase"));
            assert_eq!(section(&added).expect("reads"), Some(LINES));
            assert_eq!(add(&added, LINES).expect("adds"), added, "a second time changes nothing");
            assert_eq!(remove(&added).expect("removes"), text);
            let later = format!("{added}\n[later]\nd = 1\n");
            assert!(!remove(&later).expect("removes").contains("cuebase"));
        }
    }

    #[test]
    fn problems_are_reported_with_their_line() {
        let error = parse("a = 1\nb = \n").expect_err("refused").to_string();
        assert!(error.contains("line 2"), "{error}");
        let error = remove(&format!("a = 1\n\n{BEGIN}\n[x]\n")).expect_err("refused").to_string();
        assert!(error.contains("line 3"), "{error}");
    }
}
