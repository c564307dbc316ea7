//! Which messages of an assistant are kept: those with something that somebody may ask for later.
//!
//! An assistant without a name answers every message of its user. Most answers acknowledge, repeat what was said, or ask
//! back. A message is kept by how much it says that the messages before it do not: content words, numbers, names and
//! items of a list. An answer to a question or a request needs less than a message that nobody asked for.

use std::collections::HashSet;

use super::entities;
use super::statements::Statement;
use crate::conversation::Message;
use crate::text::filler::is_filler;
use crate::text::steps::{Interrupted, Steps};
use crate::text::words::unspaced;
use crate::tokenize::{QUESTION_MARKS, fold, is_stop_word};

/// Messages before an assistant's that it may repeat.
const MESSAGES_BEFORE_MAX: usize = 4;
/// Bytes of such a message that are read.
const BEFORE_BYTES_MAX: usize = 2000;
/// New content words of an answer to a question that has a new number, a new name or items of a list, or that says the
/// question again as a statement.
const ANSWER_WITH_DETAILS_MIN: usize = 2;
/// New content words of any other answer to a question.
const ANSWER_MIN: usize = 6;
/// New content words of a message with a new number that answers no question: a finding.
const FINDING_MIN: usize = 5;
/// New content words of any other message.
const OTHER_MIN: usize = 18;
/// Content words of a question that an answer may say again.
const REPEATED_MIN: usize = 2;
/// How often a message is read.
const PASSES: usize = 7;
/// The mark of a block of code. Code is kept.
const CODE: &str = "```";

/// Whether the message before that of an assistant asks something, or asks for something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Yes,
    No,
}

/// Whether a message of an assistant says something worth keeping after the messages before it.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub(super) fn is_worth_keeping(
    text: &str,
    before: &[Message<'_>],
    asked: Asked,
    steps: &Steps<'_>,
) -> Result<bool, Interrupted> {
    steps.take(PASSES * text.len())?;
    if text.contains(CODE) {
        return Ok(true);
    }
    let said = said_before(before, steps)?;
    let statement = Statement::read(text, steps)?;
    let mut new = HashSet::new();
    for sentence in &statement.sentences {
        if !sentence.ends_with(QUESTION_MARKS) {
            new.extend(content_words(sentence).into_iter().filter(|word| !said.contains(word)));
        }
    }
    let has_number = new.iter().any(|word| has_digit(word));
    if new.len() >= if has_number { FINDING_MIN } else { OTHER_MIN } {
        return Ok(true);
    }
    if asked == Asked::No {
        return Ok(false);
    }
    let has_details =
        has_number || has_items(text) || has_new_name(&statement, &new) || repeats_question(&statement, before.last());
    Ok(new.len() >= if has_details { ANSWER_WITH_DETAILS_MIN } else { ANSWER_MIN })
}

/// Returns the content words of the messages before one.
fn said_before(before: &[Message<'_>], steps: &Steps<'_>) -> Result<HashSet<String>, Interrupted> {
    let mut said = HashSet::new();
    for message in before.iter().rev().take(MESSAGES_BEFORE_MAX) {
        let text = &message.text[..message.text.floor_char_boundary(BEFORE_BYTES_MAX)];
        steps.take(text.len())?;
        said.extend(content_words(text));
    }
    Ok(said)
}

/// Returns the content words of a text, folded: numbers, and words of at least three letters that are not filler. Each
/// character of a script without spaces counts as a word.
fn content_words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut words = Vec::new();
    for word in folded.split(|c: char| !c.is_alphanumeric() && c != '\'') {
        if unspaced(word) > 0 {
            words.extend(word.chars().map(String::from));
        } else if has_digit(word) || (word.chars().count() > 2 && !is_filler(word) && !is_stop_word(word)) {
            words.push(word.to_owned());
        }
    }
    words
}

fn has_digit(word: &str) -> bool {
    word.contains(char::is_numeric)
}

/// Whether a text names somebody or something with a word that is new.
fn has_new_name(statement: &Statement<'_>, new: &HashSet<String>) -> bool {
    for name in entities::find(statement, "") {
        if content_words(&name).iter().any(|word| new.contains(word)) {
            return true;
        }
    }
    false
}

/// Whether a statement says a question of the message before it again: "Where is the crown kept?" "The crown is kept in the
/// museum cellar."
fn repeats_question(statement: &Statement<'_>, before: Option<&Message<'_>>) -> bool {
    let Some(before) = before else { return false };
    let text = &before.text[..before.text.floor_char_boundary(BEFORE_BYTES_MAX)];
    for question in text.split_inclusive(['.', '!', '\n', '?', '？', '؟']).filter(|part| part.ends_with(QUESTION_MARKS))
    {
        let asked: HashSet<String> = content_words(question).into_iter().collect();
        if asked.len() < REPEATED_MIN {
            continue;
        }
        for sentence in statement.sentences.iter().filter(|sentence| !sentence.ends_with(QUESTION_MARKS)) {
            let said: HashSet<String> = content_words(sentence).into_iter().collect();
            if asked.is_subset(&said) {
                return true;
            }
        }
    }
    false
}

/// Whether a text has two items of a list or rows of a table.
fn has_items(text: &str) -> bool {
    text.lines().filter(|line| is_item(line)).nth(1).is_some()
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after.len() < line.len() && (after.starts_with(". ") || after.starts_with(") "));
    is_numbered || ["- ", "* ", "• ", "|"].iter().any(|bullet| line.starts_with(bullet))
}

#[cfg(test)]
mod tests {
    use super::super::tests::message;
    use super::*;

    const ASKED: &str =
        "Letter from the energy supplier, the direct debit goes up. What should I do about the heating?";
    const STATED: &str = "Letter from the energy supplier, the direct debit goes up.";

    fn is_kept(before: &str, text: &str) -> bool {
        let asked = if before == ASKED { Asked::Yes } else { Asked::No };
        let before = [message(Some("Ann"), before)];
        is_worth_keeping(text, &before, asked, &Steps::unlimited()).expect("not interrupted")
    }

    #[test]
    fn acknowledgements_repetitions_and_questions_are_not_kept() {
        for text in [
            "Got it, I'm happy to help with that.",
            "So the energy supplier sent a letter and the direct debit goes up. That is annoying!",
            "Good question. How much electricity did you use last year? And how old is the boiler?",
            "Verstanden, das kriegen wir hin.",
            "好的，明白了。",
        ] {
            assert!(!is_kept(ASKED, text), "{text}");
            assert!(!is_kept(STATED, text), "{text}");
        }
    }

    #[test]
    fn findings_recommendations_numbers_and_lists_are_kept() {
        for text in [
            "Norton Power is the cheapest.",
            "The standing charge is 47 pence.",
            "Bleed the radiators, lower the flow temperature, and seal the loft hatch.",
            "- radiators\n- loft hatch",
            "Je prendrais plutôt une pompe à chaleur de Daikin.",
        ] {
            assert!(is_kept(ASKED, text), "{text}");
        }
    }

    #[test]
    fn an_answer_that_says_the_question_again_is_kept() {
        let before = [message(Some("Ann"), "I forgot it. Where is the old crown kept?")];
        for (text, expected) in [
            ("The old crown is kept in the museum cellar.", true),
            ("The old crown is kept there.", false),
            ("In the museum cellar, I think.", false),
        ] {
            let kept = is_worth_keeping(text, &before, Asked::Yes, &Steps::unlimited()).expect("not interrupted");
            assert_eq!(kept, expected, "{text}");
        }
    }

    #[test]
    fn what_nobody_asked_for_has_to_say_more() {
        assert!(!is_kept(STATED, "Norton Power is the cheapest."));
        assert!(is_kept(STATED, "The staging gateway of the supplier listens on port 8443."));
        let advice = "Several things lower a bill quickly: bleed radiators upstairs, insulate pipes in the cellar, choose a thicker \
            curtain before the balcony door, close shutters after sunset, dry laundry outdoors, bake bread and potatoes \
            together, and descale the kettle.";
        assert!(is_kept(STATED, advice));
        assert!(is_kept(STATED, "```sh\nls\n```"));
    }
}
