//! Warnings as the last lines of a text.

use std::fmt::Write;

use crate::mcp::budget::cut;

/// Most warnings that are shown.
const WARNINGS_MAX: usize = 10;
/// Most characters of a warning.
const WARNING_CHARS: usize = 400;

/// Adds the warnings of a response as last lines.
pub(in crate::mcp) fn with_warnings(mut out: String, warnings: &[String]) -> String {
    for warning in warnings.iter().take(WARNINGS_MAX) {
        add_warning(&mut out, cut(warning, WARNING_CHARS));
    }
    if warnings.len() > WARNINGS_MAX {
        add_warning(&mut out, &format!("{} more", warnings.len() - WARNINGS_MAX));
    }
    out
}

/// Adds a warning as the last line.
pub(in crate::mcp) fn add_warning(out: &mut String, warning: &str) {
    let _ = write!(out, "\nwarning: {warning}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_the_last_lines() {
        let text = with_warnings("Accepted.".into(), &["unknown field \"a\" ignored".into(), "b".into()]);
        assert_eq!(text, "Accepted.\nwarning: unknown field \"a\" ignored\nwarning: b");
        assert_eq!(with_warnings("Accepted.".into(), &[]), "Accepted.");
        let many = with_warnings(String::new(), &vec!["x".repeat(5_000); 50]);
        assert!(many.chars().count() < 5_000 && many.ends_with("warning: 40 more"), "{many}");
    }
}
