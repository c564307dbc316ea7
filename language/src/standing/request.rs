//! Requests, and the standing facts that they touch.

use std::collections::HashSet;

use super::Topics;
use super::statement::{Standing, standing};
use super::word_list::Found;
use crate::text::filler::is_filler;
use crate::tokenize::{fold, for_each_term};

/// Bytes of a request that are read.
const BYTES_MAX: usize = 4000;
/// Characters of a term that a rule and a request may share. Shorter ones are often abbreviations or numbers.
const TERM_CHARS_MIN: usize = 4;

/// Whether a text asks for work or advice, and not for what was said.
pub fn is_request(text: &str) -> bool {
    let found = Found::of(&text[..text.floor_char_boundary(BYTES_MAX)]);
    found.is_request && !found.recalls
}

/// A request for something: a text, a recommendation, a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    topics: Topics,
    /// The content terms.
    terms: HashSet<String>,
}

impl Request {
    /// Reads a query. `None` if it asks for no work and no advice, but for what was said.
    pub fn read(query: &str) -> Option<Self> {
        let query = &query[..query.floor_char_boundary(BYTES_MAX)];
        let Found { topics, is_request, recalls, .. } = Found::of(query);
        if !is_request || recalls {
            return None;
        }
        Some(Self { topics, terms: telling_terms(query) })
    }

    /// Returns how much a statement matters to the request: more if they have words in common, and more for a condition
    /// than for a rule. `None` if it does not matter.
    pub fn strength(&self, statement: &str) -> Option<usize> {
        let Standing { topics, conditions, is_rule } = standing(statement);
        let shared = telling_terms(statement).intersection(&self.terms).count();
        let is_touched = topics.meets(self.topics) || (is_rule && shared > 0);
        is_touched.then_some(2 * shared + usize::from(conditions.meets(self.topics)))
    }
}

/// Returns the terms of a text by which a rule and a request can have something in common: not those of filler such as
/// "please".
fn telling_terms(text: &str) -> HashSet<String> {
    let mut terms = HashSet::new();
    for_each_term(text, |term| {
        if term.text.chars().count() >= TERM_CHARS_MIN && !is_filler(&fold(term.word)) {
            terms.insert(term.text.to_owned());
        }
    });
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(query: &str, statement: &str) -> bool {
        Request::read(query).is_some_and(|request| request.strength(statement).is_some())
    }

    #[test]
    fn a_request_touches_conditions_of_its_topic() {
        for (query, statement) in [
            ("Suggest a restaurant for tonight", "Ruth is a vegetarian"),
            ("What can I take for a headache?", "I'm allergic to ibuprofen"),
            ("Schlag mir ein Rezept vor", "Ich esse kein Fleisch"),
            ("Écris une lettre à la mairie", "Je suis dyslexique, désormais des phrases courtes"),
            ("Dame una receta para la cena", "Soy celíaca"),
            ("Hast du einen Vorschlag für das Abendessen?", "Ich vertrage keine Milch"),
            ("Dove mi consigli di andare a mangiare?", "Sono celiaco"),
            ("Que sobremesa me sugere para domingo?", "Não posso com lactose"),
            ("Wat raad je aan voor het ontbijt?", "Ik eet veganistisch"),
        ] {
            assert!(touches(query, statement), "{query}");
        }
    }

    #[test]
    fn a_request_touches_rules_that_share_a_word() {
        let rule = "From now on every invoice goes past Petra first.";
        assert!(touches("Please send the invoice for March", rule));
        assert!(!touches("Please water the plants", rule));
        assert!(!touches("Please water the plants", "From now on, please no emojis."));
    }

    #[test]
    fn words_in_common_and_conditions_matter_more() {
        let request = Request::read("Suggest a walnut cake for the regatta").expect("a request");
        let common = request.strength("Ruth is allergic to walnuts");
        let condition = request.strength("Ruth is a vegetarian");
        let rule = request.strength("From now on we eat at seven");
        assert!(common > condition && condition > rule && rule.is_some(), "{common:?} {condition:?} {rule:?}");
    }

    #[test]
    fn questions_about_what_was_said_touch_nothing() {
        for query in [
            "What did Ruth eat in Porto?",
            "Who is the dentist of Jonas?",
            "Wann war das Essen mit Ina?",
            "Which restaurant did you recommend?",
            "Can you tell me what we had for dinner on Sunday?",
            "Wie hieß bitte das Restaurant in Kiel?",
            "Comment s'appelait le restaurant, s'il te plaît ?",
            "¿Cómo se llamaba el restaurante, por favor?",
            "Hoe heette het restaurant, alsjeblieft?",
            "When does my plan for the kitchen start?",
        ] {
            assert_eq!(Request::read(query), None, "{query}");
        }
        assert!(!touches("Suggest a name for the boat", "Ruth is a vegetarian"));
    }
}
