//! Contexts and profiles.

use std::fmt::Write;

use super::{CLOSING_CHARS, day};
use crate::agent_text::escaped_context;
use crate::mcp::budget::{CHARACTERS_DEFAULT, Fitted, cut, lines};
use crate::service::context::ContextResponse;
use crate::service::profile::{ProfileClaim, ProfileResponse};

/// Other subjects that are named.
const SUBJECTS_SHOWN: usize = 20;

/// Renders a context within a number of characters, with the paths of its memories.
pub(in crate::mcp) fn context(response: &ContextResponse, max_characters: usize) -> String {
    if response.text.is_empty() {
        return "Nothing in memory is relevant to this.".to_owned();
    }
    let mut text = format!("{}\n", response.text);
    for (index, citation) in response.citations.iter().enumerate() {
        let namespace = match &citation.namespace {
            Some(namespace) => format!("{namespace}: "),
            None => String::new(),
        };
        let _ = write!(text, "\n[{}] {namespace}{}", index + 1, citation.path);
    }
    let text = escaped_context(&text);
    let shown = cut(&text, max_characters.saturating_sub(CLOSING_CHARS));
    if shown.len() == text.len() {
        return shown.to_owned();
    }
    format!("{}\n… shortened; memory_recall with fewer words returns less.", shown.trim_end())
}

/// Renders the claims about a subject, and the names of other subjects.
pub(in crate::mcp) fn profile(response: &ProfileResponse) -> String {
    let mut out = format!("{}:", response.subject);
    if response.claims.is_empty() {
        out = format!("No claims about {}.", response.subject);
    }
    let claims: Vec<String> = response.claims.iter().map(claim).collect();
    let Fitted { text, shown } = lines(&claims, CHARACTERS_DEFAULT.saturating_sub(out.len() + 4 * CLOSING_CHARS));
    if shown > 0 {
        let _ = write!(out, "\n{text}");
    }
    if shown < claims.len() {
        let _ = write!(out, "\n{} more claims.", claims.len() - shown);
    }
    let others: Vec<&str> = response.subjects.iter().take(SUBJECTS_SHOWN).map(String::as_str).collect();
    if !others.is_empty() {
        let named = others.join(", ");
        let _ = write!(out, "\nOther subjects: {}", cut(&named, 2 * CLOSING_CHARS));
    }
    out
}

fn claim(claim: &ProfileClaim) -> String {
    let ProfileClaim { attribute, value, path, valid_from, valid_until, current } = claim;
    let (from, until) = (day(valid_from.as_deref()), day(valid_until.as_deref()));
    let mut line = format!("- {attribute}: {value}");
    if *current && !from.is_empty() {
        let _ = write!(line, " (since {from})");
    } else if !*current && !until.is_empty() {
        let _ = write!(line, " (former, until {until})");
    } else if !*current {
        line.push_str(" (former)");
    }
    let _ = write!(line, " [{path}]");
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::context::ContextCitation;

    #[test]
    fn an_empty_context_says_so() {
        assert_eq!(context(&ContextResponse::default(), 8000), "Nothing in memory is relevant to this.");
    }

    #[test]
    fn the_paths_of_a_context_stand_below_it() {
        let citation = ContextCitation { path: "facts/a.md".into(), ..ContextCitation::default() };
        let text = "- The ferry leaves at nine. [1]".to_owned();
        let response = ContextResponse { text, citations: vec![citation], ..ContextResponse::default() };
        assert_eq!(context(&response, 8000), "- The ferry leaves at nine. [1]\n\n[1] facts/a.md");
    }

    #[test]
    fn a_context_stays_within_its_characters() {
        let text = "- The ferry leaves at nine. [1]\n".repeat(500);
        let response = ContextResponse { text, ..ContextResponse::default() };
        let shown = context(&response, CHARACTERS_DEFAULT);
        assert!(shown.chars().count() <= CHARACTERS_DEFAULT && shown.contains("… shortened"), "{shown}");
    }

    #[test]
    fn a_profile_shows_claims_with_their_times_and_paths() {
        let home = |value: &str, current: bool| ProfileClaim {
            attribute: "home".into(),
            value: value.into(),
            path: "facts/a.md".into(),
            valid_from: Some("2026-01-02T00:00:00Z".into()),
            valid_until: if current { None } else { Some("2026-03-04T00:00:00Z".into()) },
            current,
        };
        let response = ProfileResponse {
            subject: "ana".into(),
            claims: vec![home("oslo", true), home("rome", false)],
            subjects: vec!["bob".into()],
        };
        let expected = "ana:\n- home: oslo (since 2026-01-02) [facts/a.md]\n\
                        - home: rome (former, until 2026-03-04) [facts/a.md]\nOther subjects: bob";
        assert_eq!(profile(&response), expected);
        let nobody = ProfileResponse { subject: "cleo".into(), ..ProfileResponse::default() };
        assert_eq!(profile(&nobody), "No claims about cleo.");
    }
}
