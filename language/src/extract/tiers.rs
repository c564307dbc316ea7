//! The tier of a statement, from its words.

use super::procedure::{is_instruction, is_procedure};
use crate::conversation::Role;
use crate::memory::Tier;
use crate::text::questions::only_asks;
use crate::text::steps::{Interrupted, Steps};

/// Phrases of permanent instructions and preferences, in folded text between spaces. A habit ("I always take the train")
/// is a fact.
const RULES: [&str; 15] = [
    " i prefer ",
    " we prefer ",
    " i'd prefer ",
    " i would prefer ",
    " please always ",
    " please never ",
    " please make sure ",
    " you should always ",
    " you should never ",
    " always use ",
    " never use ",
    " from now on ",
    " must always ",
    " must never ",
    " the rule is ",
];

/// Phrases of past events without a date.
const HAPPENED: [&str; 8] = [
    " just got ",
    " just finished ",
    " just had ",
    " recently ",
    " the other day ",
    " this week ",
    " i went to ",
    " we went to ",
];

/// How often a statement is read: by [`is_procedure`], to split it into words, and once per phrase.
const PASSES: usize = 8 + RULES.len() + HAPPENED.len();

/// Returns the tier of a statement: skills for steps, rules for permanent wishes, incidents for dated or past events,
/// and facts for all others. An assistant's advice is not a wish, and a question is not an event.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub fn sort(statement: &str, role: Role, dated: bool, steps: &Steps<'_>) -> Result<Tier, Interrupted> {
    steps.take(PASSES * statement.len())?;
    if is_procedure(statement) {
        return Ok(Tier::Skills);
    }
    let folded = crate::tokenize::fold(statement);
    let words: Vec<&str> =
        folded.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).collect();
    let spaced = format!(" {} ", words.join(" "));
    if role != Role::Assistant && (contains_any(&spaced, &RULES) || is_standing_instruction(&words)) {
        return Ok(Tier::Rules);
    }
    let has_happened = dated || contains_any(&spaced, &HAPPENED);
    Ok(if has_happened && !only_asks(statement, steps)? { Tier::Incidents } else { Tier::Facts })
}

/// Whether a statement begins with "always" or "never" and an instruction, unlike "always happy to help".
fn is_standing_instruction(words: &[&str]) -> bool {
    matches!(words, ["always" | "never", verb, ..] if is_instruction(verb))
}

fn contains_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(text: &str, role: Role, dated: bool) -> Tier {
        sort(text, role, dated, &Steps::unlimited()).expect("not interrupted")
    }

    #[test]
    fn the_words_decide_the_tier() {
        assert_eq!(tier("Never deploy on a Friday.", Role::User, false), Tier::Rules);
        assert_eq!(tier("Always include error codes when I ask about the API.", Role::User, false), Tier::Rules);
        assert_eq!(tier("I prefer tea.", Role::User, true), Tier::Rules);
        assert_eq!(tier("We met Ann yesterday.", Role::User, true), Tier::Incidents);
        assert_eq!(tier("1. mix\n2. bake\n3. eat", Role::User, false), Tier::Skills);
        assert_eq!(tier("My sister lives in Porto.", Role::User, false), Tier::Facts);
    }

    #[test]
    fn courtesies_habits_and_advice_are_no_rules() {
        for text in ["Always happy to help. Bye!", "Never mind, I found it.", "I always take the early train."] {
            assert_eq!(tier(text, Role::User, false), Tier::Facts, "{text}");
        }
        for text in ["Make sure to get enough sleep.", "Always use a strong password."] {
            assert_eq!(tier(text, Role::Assistant, false), Tier::Facts, "{text}");
        }
    }

    #[test]
    fn a_question_is_no_incident() {
        assert_eq!(tier("How are you today?", Role::User, true), Tier::Facts);
    }
}
