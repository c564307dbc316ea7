//! Questions in a text: the last question, and whether the text consists of questions.

use crate::tokenize::QUESTION_MARKS;

use super::sentences::sentences;
use super::small_talk::{Participants, Position, is_small_talk};
use super::words::telling_words;
use crate::text::steps::{Interrupted, Steps};

/// Content words that a turn may have outside of its questions and still count as only asking.
const OTHER_WORDS_MAX: usize = 2;

/// Returns the last question of a text that is not a courtesy such as "Really?" or "How are you?".
///
/// # Errors
///
/// [`Interrupted`] if `steps` interrupts the work.
pub fn last_question(text: &str, steps: &Steps<'_>) -> Result<Option<String>, Interrupted> {
    steps.take(3 * text.len())?;
    if !text.contains(QUESTION_MARKS) {
        return Ok(None);
    }
    for sentence in sentences(text, steps)?.into_iter().rev() {
        if is_question(sentence) && asks_something(sentence) {
            return Ok(Some(sentence.to_owned()));
        }
    }
    Ok(None)
}

/// Returns whether a text asks something and states almost nothing.
///
/// # Errors
///
/// [`Interrupted`] if `steps` interrupts the work.
pub fn only_asks(text: &str, steps: &Steps<'_>) -> Result<bool, Interrupted> {
    steps.take(4 * text.len())?;
    if !text.contains(QUESTION_MARKS) {
        return Ok(false);
    }
    let mut asks = false;
    let mut content_words = 0;
    for sentence in sentences(text, steps)? {
        if is_question(sentence) {
            asks = asks || asks_something(sentence);
        } else {
            content_words += telling_words(sentence);
        }
    }
    Ok(asks && content_words <= OTHER_WORDS_MAX)
}

fn is_question(sentence: &str) -> bool {
    sentence.ends_with(QUESTION_MARKS)
}

/// Returns whether a question is more than a courtesy.
fn asks_something(question: &str) -> bool {
    !is_small_talk(question, Position::Elsewhere, &Participants::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only_asks(text: &str) -> bool {
        super::only_asks(text, &Steps::unlimited()).expect("nothing interrupts")
    }

    fn last_question(text: &str) -> Option<String> {
        super::last_question(text, &Steps::unlimited()).expect("nothing interrupts")
    }

    #[test]
    fn a_turn_that_only_asks_differs_from_a_statement() {
        for question in [
            "What did you paint last week?",
            "Wow, great! Where is the harbour fair held?",
            "真的！你上周画了什么？",
            "ماذا رسمت الأسبوع الماضي؟",
        ] {
            assert!(only_asks(question), "{question}");
        }
        for statement in [
            "Really?",
            "I sold my old boat to Ann. What about yours?",
            "We paint every week.",
            "我上周卖了那条船。你的船怎么样了？",
            "",
        ] {
            assert!(!only_asks(statement), "{statement}");
        }
    }

    #[test]
    fn the_last_question_is_found() {
        assert_eq!(
            last_question("How are you? What did you paint last week? Bye!").as_deref(),
            Some("What did you paint last week?")
        );
        assert_eq!(last_question("下雨了。你喜欢什么颜色？").as_deref(), Some("你喜欢什么颜色？"));
        assert_eq!(last_question("Really?"), None);
    }
}
