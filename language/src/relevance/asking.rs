//! What a long query asks: the question inside of a message that also tells other things.
//!
//! Somebody who writes "… the bus was late again. Anyway, who is Julian's dentist?" asks for a dentist, and memories of
//! buses would only be in the way. A short query is searched as it is.

use std::borrow::Cow;

use crate::tokenize::QUESTION_MARKS;

use super::words::{Word, words};
use crate::text::sentences::sentences;
use crate::text::steps::Steps;

/// Words of a query that is searched as a whole.
const WHOLE_WORDS_MAX: usize = 40;
/// The share of the words that the asking sentences have at most. A query that asks more is searched as a whole.
const ASKING_SHARE_MAX: f64 = 0.5;
/// Content words of a sentence that says by itself what it asks for. "Who was it?" does not; "Right?" asks for nothing.
const CONTENT_MIN: usize = 2;
/// The same of a sentence with a word that refers to something before it: "What did she say about it?"
const REFERRING_CONTENT_MIN: usize = 3;

/// Returns the sentences of a long query that ask, with the sentence before if they refer to it. Returns the whole query
/// if it is short, if no sentence asks, or if most of it does.
pub fn asking_part(query: &str) -> Cow<'_, str> {
    let all = query.split_whitespace().count();
    if all <= WHOLE_WORDS_MAX {
        return Cow::Borrowed(query);
    }
    let Ok(sentences) = sentences(query, &Steps::unlimited()) else { return Cow::Borrowed(query) };
    let mut asking = Vec::new();
    let mut asking_words = 0;
    for (index, sentence) in sentences.iter().enumerate() {
        if !is_question(sentence) {
            continue;
        }
        let words = words(sentence);
        let content = words.iter().filter(|word| word.is_content()).count();
        if content < CONTENT_MIN && !words.iter().any(Word::is_question_word) {
            continue;
        }
        let content_min = if words.iter().any(Word::refers) { REFERRING_CONTENT_MIN } else { CONTENT_MIN };
        if content < content_min
            && let Some(before) = index.checked_sub(1)
            && !asking.contains(&before)
        {
            asking.push(before);
        }
        asking.push(index);
        asking_words += sentence.split_whitespace().count();
    }
    if asking.is_empty() || asking_words as f64 > all as f64 * ASKING_SHARE_MAX {
        return Cow::Borrowed(query);
    }
    let mut text = String::new();
    for index in asking {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(sentences[index]);
    }
    Cow::Owned(text)
}

/// Whether a sentence ends with a question mark, which quotes and brackets may follow.
fn is_question(sentence: &str) -> bool {
    let trimmed = sentence.trim_end_matches(|c: char| !c.is_alphanumeric() && !QUESTION_MARKS.contains(&c));
    trimmed.ends_with(QUESTION_MARKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHATTER: &str = "It rained all morning and the bus was late, so I read half a chapter at the stop and got cold feet. \
        The new neighbours have a drum kit, imagine that. My sister says that I should complain, but to whom, really, \
        and what would it change.";

    #[test]
    fn a_question_inside_of_a_long_message_is_what_is_asked() {
        let query = format!("{CHATTER} Anyway, who is Julian's dentist? I must ring him.");
        assert_eq!(asking_part(&query), "Anyway, who is Julian's dentist?");
        let query = format!("{CHATTER} Who is Julian's dentist?");
        assert_eq!(asking_part(&query), "Who is Julian's dentist?");
        let query = format!("Wer ist Julians neuer Zahnarzt? {CHATTER}");
        assert_eq!(asking_part(&query), "Wer ist Julians neuer Zahnarzt?");
    }

    #[test]
    fn a_question_that_says_little_comes_with_the_sentence_before_it() {
        let query = format!("{CHATTER} Julian saw a dentist in Bergen. Who was it again, remember?");
        assert_eq!(asking_part(&query), "Julian saw a dentist in Bergen. Who was it again, remember?");
        let query = format!("{CHATTER} Julian saw a dentist in Bergen. Where does he live?");
        assert_eq!(asking_part(&query), "Julian saw a dentist in Bergen. Where does he live?");
    }

    #[test]
    fn short_queries_and_those_that_ask_throughout_are_whole() {
        let short = "The bus was late. Who is Julian's dentist?";
        assert_eq!(asking_part(short), short);
        assert_eq!(asking_part(CHATTER), CHATTER);
        let questions = "Where does Ana keep the spare key of the house in Bergen? ".repeat(5);
        assert_eq!(asking_part(&questions), questions);
        let remark = format!("{CHATTER} Right?");
        assert_eq!(asking_part(&remark), remark);
    }
}
