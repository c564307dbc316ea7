//! An answer with its citations.

use std::fmt::Write;

use super::CLOSING_CHARS;
use crate::mcp::budget::{CHARACTERS_DEFAULT, Fitted, cut, excerpt, lines};
use crate::service::answer::{Answer, Citation};

/// Most characters of an answer's text. The rest of the result is for its citations.
const ANSWER_CHARS: usize = 6_000;
/// Most characters of a citation's quote.
const QUOTE_CHARS: usize = 300;

/// Renders an answer with its citations. A quote of several lines is a list, a table or code that the answer contains, so
/// its citation has only the path and the section.
pub(in crate::mcp) fn answer(answer: &Answer) -> String {
    let path = match answer.citations.first() {
        Some(citation) => citation.path.as_str(),
        None => "",
    };
    let mut out = excerpt(answer.answer.trim(), ANSWER_CHARS, path);
    let cited: Vec<String> = answer.citations.iter().map(citation).collect();
    let room = CHARACTERS_DEFAULT.saturating_sub(out.chars().count() + CLOSING_CHARS);
    let Fitted { text, shown } = lines(&cited, room);
    if shown > 0 {
        // In markdown, citations right after a list or a table would become part of it.
        let separator = if out.contains('\n') { "\n\n" } else { "\n" };
        let _ = write!(out, "{separator}{text}");
    }
    if shown < cited.len() {
        let _ = write!(out, "\n{} more citations.", cited.len() - shown);
    }
    out
}

fn citation(citation: &Citation) -> String {
    let Citation { path, section, quote, namespace } = citation;
    let place = match namespace {
        Some(namespace) => format!("{path} in namespace {namespace}"),
        None => path.clone(),
    };
    if quote.contains('\n') {
        return match section {
            Some(section) => format!("- {place}, section \"{section}\""),
            None => format!("- {place}"),
        };
    }
    let words: Vec<&str> = quote.split_whitespace().collect();
    let quote = words.join(" ");
    let shown = cut(&quote, QUOTE_CHARS);
    let mark = if shown.len() < quote.len() { " …" } else { "" };
    format!("- {place}: \"{shown}{mark}\"")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rendered(body: Value) -> String {
        answer(&serde_json::from_value(body).expect("an answer"))
    }

    #[test]
    fn an_answer_stays_within_the_default_budget() {
        let citation = json!({"path": "facts/a.md", "quote": "quoted words ".repeat(2_000)});
        let response = json!({"answer": "Words of it. ".repeat(5_000), "citations": vec![citation; 40]});
        let text = rendered(response);
        assert!(text.chars().count() <= CHARACTERS_DEFAULT, "{}", text.chars().count());
        assert!(text.contains(" more characters: memory_read facts/a.md\n\n- facts/a.md: \"quoted words"), "{text}");
        assert!(text.ends_with(" more citations."), "{text}");
    }

    #[test]
    fn a_citation_of_several_namespaces_names_its_own() {
        let citation = json!({"path": "facts/a.md", "quote": "It is green.", "namespace": "team"});
        let text = rendered(json!({"answer": "It is green.", "citations": [citation]}));
        assert_eq!(text, "It is green.\n- facts/a.md in namespace team: \"It is green.\"");
    }

    #[test]
    fn the_citations_of_an_answer_repeat_no_block() {
        let citation = |quote: &str| json!({"path": "skills/a.md", "section": "Rotate", "quote": quote});
        let sentence = json!({"answer": "It is green.", "citations": [citation("It is green.")]});
        assert_eq!(rendered(sentence), "It is green.\n- skills/a.md: \"It is green.\"");
        let steps = json!({"answer": "1. Stop.\n2. Start.", "citations": [citation("1. Stop.\n2. Start.")]});
        assert_eq!(rendered(steps), "1. Stop.\n2. Start.\n\n- skills/a.md, section \"Rotate\"");
    }
}
