//! The tier of a statement, from its words.

use cuebase_storage::memory_file::Tier;

use super::procedure::is_procedure;
use crate::text::steps::{Interrupted, Steps};

/// Phrases of permanent instructions and preferences, in folded text between spaces.
const RULES: [&str; 17] = [
    " i prefer ",
    " we prefer ",
    " i'd prefer ",
    " i would prefer ",
    " please always ",
    " please never ",
    " you should always ",
    " you should never ",
    " always use ",
    " never use ",
    " from now on ",
    " make sure to ",
    " make sure you ",
    " must always ",
    " must never ",
    " the rule is ",
    " we always ",
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
/// and facts for all others.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub fn sort(statement: &str, dated: bool, steps: &Steps<'_>) -> Result<Tier, Interrupted> {
    steps.take(PASSES * statement.len())?;
    if is_procedure(statement) {
        return Ok(Tier::Skills);
    }
    let folded = cuebase_retrieval::fold(statement);
    let words: Vec<&str> =
        folded.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).collect();
    let spaced = format!(" {} ", words.join(" "));
    let is_command = matches!(words.first(), Some(&("always" | "never"))) || spaced.contains(" i always ");
    if contains_any(&spaced, &RULES) || is_command {
        return Ok(Tier::Rules);
    }
    Ok(if dated || contains_any(&spaced, &HAPPENED) { Tier::Incidents } else { Tier::Facts })
}

fn contains_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_decide_the_tier() {
        let sort = |text: &str, dated: bool| sort(text, dated, &Steps::unlimited()).expect("not interrupted");
        assert_eq!(sort("Never deploy on a Friday.", false), Tier::Rules);
        assert_eq!(sort("I prefer tea.", true), Tier::Rules);
        assert_eq!(sort("We met Ann yesterday.", true), Tier::Incidents);
        assert_eq!(sort("1. mix\n2. bake\n3. eat", false), Tier::Skills);
        assert_eq!(sort("My sister lives in Porto.", false), Tier::Facts);
    }
}
