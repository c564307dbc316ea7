//! Statements that stand: conditions of people, and rules.

use super::Topics;
use super::word_list::Found;
use crate::text::steps::{Interrupted, Steps};

/// How often a statement is read.
const PASSES: usize = 4;
/// Bytes of a statement that are read. A longer one is a document.
const BYTES_MAX: usize = 4000;

/// What stands in a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The topics of the requests that it matters to.
    pub topics: Topics,
    /// Those among them to which a condition of a person matters.
    pub conditions: Topics,
    /// Whether it is a rule, which also matters to a request that has a word in common with it.
    pub is_rule: bool,
}

impl Standing {
    /// Whether nothing stands in the statement.
    pub fn is_nothing(self) -> bool {
        self.topics.is_empty() && !self.is_rule
    }
}

/// Whether a statement states a condition of a person, or a rule.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub fn is_standing(statement: &str, steps: &Steps<'_>) -> Result<bool, Interrupted> {
    let read = &statement[..statement.floor_char_boundary(BYTES_MAX)];
    steps.take(PASSES * read.len())?;
    Ok(!standing(read).is_nothing())
}

/// Returns what stands in a statement.
pub fn standing(statement: &str) -> Standing {
    let found = Found::of(&statement[..statement.floor_char_boundary(BYTES_MAX)]);
    let topics = if found.is_rule { found.conditions.and(found.topics) } else { found.conditions };
    Standing { topics, conditions: found.conditions, is_rule: found.is_rule }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standing::Topic;

    #[test]
    fn conditions_have_the_topics_that_they_matter_to() {
        for (statement, topic) in [
            ("Ruth is allergic to walnuts", Topic::Food),
            ("Ruth is allergic to walnuts", Topic::Health),
            ("Ich esse kein Fleisch mehr", Topic::Food),
            ("je suis végétarienne depuis dix ans", Topic::Food),
            ("Soy alérgico a la penicilina", Topic::Health),
            ("sou intolerante à lactose", Topic::Food),
            ("I have been dyslexic all my life", Topic::Writing),
            ("そばアレルギーがあります", Topic::Food),
        ] {
            let found = standing(statement);
            assert!(found.topics.meets(Topics::of(&[topic])), "{statement}");
        }
    }

    #[test]
    fn wishes_for_the_future_are_rules() {
        for statement in [
            "Please no emojis, and keep it short.",
            "From now on invoices go to Petra first.",
            "Never merge before the nightly run is green.",
            "Ab sofort bitte alles auf Deutsch.",
            "Desde hoy, norma de la casa: sin listas.",
        ] {
            assert!(standing(statement).is_rule, "{statement}");
        }
    }

    #[test]
    fn ordinary_statements_do_not_stand() {
        for statement in [
            "We had pasta at the harbour and it rained.",
            "I never saw the film.",
            "My sister always takes the early train.",
            "The invoice from Norton came today.",
            "I'm not allergic to anything.",
            "Ich habe keine Allergien.",
            "Ya no soy vegetariano.",
            "I used to be a vegan.",
            "In der Regel essen wir um sieben.",
            "Mai 2024 waren wir in Rom.",
            "J'ai réglé la facture du restaurant.",
            "There's no more milk.",
            "Never mind the email.",
            "",
        ] {
            assert!(standing(statement).is_nothing(), "{statement}");
        }
    }
}
