//! Splits a query that asks for several things into its parts: "our React setup, the CI and how we handle errors".
//!
//! Lines, list items, sentences and semicolons separate parts, and so do commas and conjunctions inside of a sentence
//! (`sentence`). A heading is the lead of the parts after it if it names what they are about, such as "billing
//! service:". The time is linear in the length of the query.

use super::part::Part;
use super::sentence::{Splitter, Style};
use super::words::words;
use crate::text::sentences::sentences;
use crate::text::steps::Steps;

pub use super::sentence::PARTS_MAX;

/// Words of a heading that names what the parts after it are about. Longer ones describe a task.
const HEADING_WORDS_MAX: usize = 4;
/// Digits of the number of a list item.
const ITEM_DIGITS_MAX: usize = 2;
/// Dashes after a heading. They stand once in the sentence: "pack list - tent, stove".
const DASHES: [&str; 3] = [" - ", " – ", " — "];

/// A sentence after a heading.
struct Headed<'a> {
    heading: &'a str,
    rest: &'a str,
}

/// Returns the parts of a query, at most [`PARTS_MAX`]. A query that asks for one thing is one part.
pub fn parts(query: &str) -> Vec<Part<'_>> {
    let mut splitter = Splitter::default();
    let mut lead = Vec::new();
    for line in query.lines() {
        let line = line.trim();
        let mut text = line;
        match list_item(line) {
            Some(item) => text = item,
            None => lead.clear(),
        }
        if let Some(heading) = text.strip_suffix([':', '：']) {
            lead = heading_lead(heading);
            continue;
        }
        for clause in text.split([';', '；']) {
            add_sentences(clause, &lead, &mut splitter);
        }
    }
    let parts = splitter.parts;
    if parts.len() > 1 { parts } else { vec![Part::new(Vec::new(), query.trim())] }
}

fn add_sentences<'a>(text: &'a str, lead: &[&'a str], splitter: &mut Splitter<'a>) {
    let sentences = match sentences(text, &Steps::unlimited()) {
        Ok(sentences) => sentences,
        Err(_) => vec![text],
    };
    for sentence in sentences {
        match headed(sentence) {
            Some(Headed { heading, rest }) => {
                let mut lead = lead.to_vec();
                lead.extend(heading_lead(heading));
                splitter.add(rest, &lead, Style::List);
            }
            None => splitter.add(sentence, lead, Style::Prose),
        }
    }
}

/// Returns the text of a list item without its bullet or number. `None` if a line is none.
fn list_item(line: &str) -> Option<&str> {
    let after = match line.strip_prefix(['-', '*', '•', '–']) {
        Some(after) => after,
        None => {
            let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
            if !(1..=ITEM_DIGITS_MAX).contains(&(line.len() - after.len())) {
                return None;
            }
            after.strip_prefix(['.', ')'])?
        }
    };
    if after.starts_with(char::is_whitespace) { Some(after.trim_start()) } else { None }
}

/// Separates the heading of a sentence: "store page: title, price".
fn headed(sentence: &str) -> Option<Headed<'_>> {
    if let Some((heading, rest)) = sentence.split_once(": ").or_else(|| sentence.split_once('：')) {
        return Some(Headed { heading, rest });
    }
    for dash in DASHES {
        let Some((heading, rest)) = sentence.split_once(dash) else { continue };
        let first = words(heading).into_iter().next()?;
        if !rest.contains(dash) && !first.is_question_word() && !first.is_auxiliary() {
            return Some(Headed { heading, rest });
        }
    }
    None
}

/// Returns what a heading adds to the parts after it: all of a short one, and the name in the description of a task.
fn heading_lead(heading: &str) -> Vec<&str> {
    let words = words(heading);
    let Some((first, others)) = words.split_first() else { return Vec::new() };
    if words.len() <= HEADING_WORDS_MAX && !first.begins_task() {
        return vec![heading.trim()];
    }
    match others.iter().rev().find(|word| word.is_capitalised() && word.is_content()) {
        Some(name) => vec![name.text],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(query: &str) -> Vec<String> {
        parts(query).iter().map(|part| part.text().into_owned()).collect()
    }

    #[test]
    fn enumerations_are_split() {
        for (query, expected) in [
            (
                "our React setup, the CI and how we handle errors",
                vec!["our React setup", "the CI", "how we handle errors"],
            ),
            ("log retention, backup retention, cache time", vec!["log retention", "backup retention", "cache time"]),
            (
                "how we do deployments, secrets and backups",
                vec!["how we do deployments", "how we do secrets", "how we do backups"],
            ),
            (
                "What do we know about Kubernetes, Terraform and Ansible?",
                vec![
                    "What do we know about Kubernetes",
                    "What do we know about Terraform",
                    "What do we know about Ansible?",
                ],
            ),
            (
                "my wifi password, door code and locker number",
                vec!["my wifi password", "my door code", "my locker number"],
            ),
            ("postgres topology + restore tests", vec!["postgres topology", "restore tests"]),
            (
                "Tell me about the deploy pipeline as well as the error handling",
                vec!["Tell me about the deploy pipeline", "Tell me about the error handling"],
            ),
            ("the release date, also the price", vec!["the release date", "the price"]),
        ] {
            assert_eq!(texts(query), expected, "{query}");
        }
    }

    #[test]
    fn questions_in_a_row_are_split() {
        for (query, expected) in [
            ("Where is the key? Who has the car?", vec!["Where is the key?", "Who has the car?"]),
            ("who translates, who designs", vec!["who translates", "who designs"]),
            ("Who pays and until when is it open?", vec!["Who pays", "until when is it open?"]),
            ("Where does Ana live and when is her birthday?", vec!["Where does Ana live", "Ana when is her birthday?"]),
            (
                "In March, where did Ana go and what did she eat?",
                vec!["In March where did Ana go", "In March Ana what did she eat?"],
            ),
            ("training plan; what I eat on Sundays", vec!["training plan", "what I eat on Sundays"]),
        ] {
            assert_eq!(texts(query), expected, "{query}");
        }
    }

    #[test]
    fn lists_have_the_lead_of_their_heading() {
        let expected = ["Billing service the owner", "Billing service the on-call rota"];
        assert_eq!(texts("Billing service:\n- the owner\n2. the on-call rota"), expected);
        assert_eq!(
            texts("Bruno: which flight, which vaccinations"),
            ["Bruno which flight", "Bruno which vaccinations"]
        );
        assert_eq!(texts("plan the bike tour for Mara - helmet, route"), ["Mara helmet", "Mara route"]);
        assert_eq!(texts("write the note: the key, the mail"), ["the key", "the mail"]);
    }

    #[test]
    fn one_thing_is_one_part() {
        for query in [
            "Rock and Roll",
            "What are Tom and Ana planning?",
            "salt and pepper",
            "peanut butter and jelly",
            "What did Ana and her sister paint?",
            "How do I start, stop and restart the billing service?",
            "What do Tom, Ana and Bob do for work?",
            "What is between the bridge and the church?",
            "What happened on May 3, 2025?",
            "Hi, what is my wifi password?",
            "What does Ana, who lives in Oslo, do for work?",
            "我的电话号码是多少",
            "What about Mrs. Blom?",
            "   ",
            "",
        ] {
            assert_eq!(texts(query), [query.trim()], "{query}");
        }
    }

    #[test]
    fn a_query_has_at_most_eight_parts() {
        let query = (0..40).map(|n| format!("- topic {n}\n")).collect::<String>();
        assert_eq!(parts(&query).len(), PARTS_MAX);
    }

    proptest! {
        #[test]
        fn parts_are_pieces_of_any_query(
            query in "(\\PC{0,6}|, |and |the |: |what |Ana's |\n- |[.?;+] |[a-z]{1,8} ){0,40}",
        ) {
            let parts = parts(&query);
            prop_assert!((1..=PARTS_MAX).contains(&parts.len()));
            for part in &parts {
                prop_assert!(part.pieces().all(|piece| query.contains(piece)), "{:?}", part);
                prop_assert!(parts.len() == 1 || !part.text().trim().is_empty());
            }
        }
    }
}
