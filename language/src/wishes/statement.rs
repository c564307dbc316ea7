//! Whether a memory is the statement that a wish names.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use super::words::NEGATIONS;
use crate::tokenize::{content_terms, fold};

/// Bytes of a memory that can be one statement.
const STATEMENT_BYTES_MAX: usize = 1000;

/// Whether a wish names the statement of a memory with certainty: the memory has all content words of the wish, few others,
/// and denies something if and only if the wish does. `text` is the body of a memory or a message.
pub fn is_named(named: &str, text: &str) -> bool {
    if text.len() > STATEMENT_BYTES_MAX {
        return false;
    }
    let (own, quoted) = own_and_quoted(text);
    let (named_terms, own_terms, quoted_terms) = (terms(named), terms(&own), terms(&quoted));
    let has_all = named_terms.iter().all(|term| own_terms.contains(term) || quoted_terms.contains(term));
    let others = own_terms.difference(&named_terms).count();
    let others_max = if named_terms.len() < 2 { 0 } else { named_terms.len().div_ceil(2) };
    let has_own = !named_terms.is_disjoint(&own_terms);
    has_all && has_own && others <= others_max && denies(named) == denies(&own)
}

/// Whether a memory is about a topic: it has all content words of the topic.
pub fn is_about(topic: &str, text: &str) -> bool {
    let (own, _) = own_and_quoted(text);
    let (topic, own) = (terms(topic), terms(&own));
    text.len() <= STATEMENT_BYTES_MAX && !topic.is_empty() && topic.is_subset(&own)
}

/// Splits the body of a memory into what its speaker says and what it quotes. The heading's speaker is left out.
fn own_and_quoted(text: &str) -> (String, String) {
    let (mut own, mut quoted) = (String::new(), String::new());
    for line in text.lines() {
        let (side, line) = match line.strip_prefix('>') {
            Some(line) => (&mut quoted, line),
            None => (&mut own, line),
        };
        let said = match (line.strip_prefix("# "), line.split_once(": ")) {
            (Some(_), Some((_, said))) => said,
            _ => line,
        };
        side.push_str(said);
        side.push('\n');
    }
    (own, quoted)
}

fn terms(text: &str) -> HashSet<String> {
    content_terms(text).into_iter().collect()
}

fn denies(text: &str) -> bool {
    for word in text.unicode_words() {
        let folded = fold(word).replace('\u{2019}', "'");
        if folded.ends_with("n't") || NEGATIONS.contains(&folded.as_str()) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_named_by_its_content_words() {
        for (named, body) in [
            ("I live in Oslo", "# User: I live in Oslo.\n"),
            ("I live in Oslo", "# User: We live in Oslo since May.\n"),
            ("my sister is ill", "# User: My sister is very ill.\n"),
            ("ich in Oslo wohne", "# User: Ich wohne in Oslo.\n"),
            ("I smoke", "# User: I smoke.\n"),
            ("I don't eat meat", "# User: I do not eat meat.\n"),
            ("I live in Oslo", "# User: In Oslo.\n\n> Assistant: Where do you live?\n"),
        ] {
            assert!(is_named(named, body), "{named}: {body}");
        }
    }

    #[test]
    fn a_memory_that_says_something_else_or_more_is_not_named() {
        for (named, body) in [
            ("I live in Oslo", "# User: I work in Oslo.\n"),
            ("I live in Oslo", "# User: I live in Oslo with two cats and a piano from Bergen.\n"),
            ("I smoke", "# User: I smoke salmon in the garden.\n"),
            ("I eat meat", "# User: I don't eat meat.\n"),
            ("I asked", "# User: I asked Ruth about the boat.\n"),
            ("I said anything", "# User: I said that the boat leaks.\n"),
            ("noise", "# User: The noise of the road keeps me awake.\n"),
        ] {
            assert!(!is_named(named, body), "{named}: {body}");
        }
        assert!(is_about("my divorce", "# User: The divorce is through since May.\n"));
        assert!(!is_about("my divorce", "# User: In May.\n\n> Assistant: When was the divorce?\n"));
    }
}
