//! Splits turns into statements. A turn is one statement unless it is long.

use crate::text::sentences::{bounds, sentences};
use crate::text::steps::{Interrupted, Steps};
use crate::text::words::{WordCount, cut, flat, words};

/// Words of a turn that is not split: about a page, whose parts make little sense without each other.
const WHOLE_WORDS_MAX: usize = 400;
/// Words of the statements of a longer turn. It is split at ends of sentences.
const STATEMENT_WORDS: usize = 250;
/// Words of a first sentence that becomes the title.
const TITLE_WORDS_MAX: usize = 18;

/// A statement with its sentences.
pub struct Statement<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The sentences, trimmed, in order.
    pub sentences: Vec<&'a str>,
}

impl<'a> Statement<'a> {
    /// Finds the sentences of a statement.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if the steps are interrupted.
    pub fn read(text: &'a str, steps: &Steps<'_>) -> Result<Self, Interrupted> {
        Ok(Self { text, sentences: sentences(text, steps)? })
    }
}

/// Returns the statements of a message, in order and with unchanged wording.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub fn split(text: &str, steps: &Steps<'_>) -> Result<Vec<String>, Interrupted> {
    steps.take(text.len())?;
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if words(text) <= WHOLE_WORDS_MAX {
        return Ok(vec![text.to_owned()]);
    }
    let mut statements = Vec::new();
    let mut current = String::new();
    let mut count = WordCount::default();
    for piece in pieces(text, steps)? {
        steps.take(2 * piece.len())?;
        if !current.is_empty() && count.words() + words(piece) > STATEMENT_WORDS {
            statements.push(std::mem::take(&mut current).trim().to_owned());
            count = WordCount::default();
        }
        current.push_str(piece);
        count.add(piece);
    }
    statements.push(current.trim().to_owned());
    statements.retain(|statement| !statement.is_empty());
    Ok(statements)
}

/// Returns the body of a memory: the speaker and the first sentence as the title, and the rest below.
pub fn body(speaker: &str, statement: &Statement<'_>) -> String {
    let text = statement.text;
    if let Some(first) = statement.sentences.first()
        && !first.is_empty()
        && words(first) <= TITLE_WORDS_MAX
        && !first.contains("```")
    {
        let title = format!("# {speaker}: {}\n", flat(first));
        // Sentences are trimmed pieces of the text, so the text begins with the first one.
        let rest = text.trim_start().strip_prefix(first).unwrap_or("").trim();
        return if rest.is_empty() { title } else { format!("{title}\n{rest}\n") };
    }
    format!("# {speaker}\n\n{}\n", text.trim())
}

/// Returns the sentences and whole code blocks of a text, with the white space after them.
fn pieces<'a>(text: &'a str, steps: &Steps<'_>) -> Result<Vec<&'a str>, Interrupted> {
    let mut pieces = Vec::new();
    for (index, part) in text.split("```").enumerate() {
        steps.take(part.len() + 1)?;
        if index % 2 == 1 {
            pieces.push(part);
            continue;
        }
        for paragraph in part.split_inclusive("\n\n") {
            for sentence in bounds(paragraph, steps)? {
                pieces.extend(cut(sentence, STATEMENT_WORDS, steps)?);
            }
        }
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        super::split(text, &Steps::unlimited()).expect("not interrupted")
    }

    fn body(speaker: &str, text: &str) -> String {
        let statement = Statement::read(text, &Steps::unlimited()).expect("not interrupted");
        super::body(speaker, &statement)
    }

    #[test]
    fn a_short_turn_stays_whole_and_a_long_one_is_cut_at_sentences() {
        assert_eq!(split(" I ran a race. It rained. "), ["I ran a race. It rained."]);
        assert!(split("  ").is_empty());
        let sentence = "This sentence has exactly seven words here. ";
        assert_eq!(split(&sentence.repeat(57)).len(), 1, "399 words are a page");
        let parts = split(&sentence.repeat(100));
        assert!(parts.len() > 2);
        assert!(parts.iter().all(|part| part.ends_with('.') && words(part) <= STATEMENT_WORDS), "{parts:?}");
        assert_eq!(parts.iter().map(|part| words(part)).sum::<usize>(), 700);
        let chinese = "我们昨天去了海边，孩子们很高兴。".repeat(60);
        let parts = split(&chinese);
        assert!(parts.len() > 1 && parts.iter().all(|part| part.ends_with('。')), "{parts:?}");
        assert_eq!(parts.concat(), chinese);
        let thai = "ฉันย้ายไปเชียงใหม่เมื่อเดือนที่แล้ว".repeat(60);
        let parts = split(&thai);
        assert!(parts.iter().all(|part| words(part) <= STATEMENT_WORDS), "{parts:?}");
        assert_eq!(parts.concat(), thai);
        let endless = "word ".repeat(1000);
        let parts = split(&endless);
        assert!(parts.iter().all(|part| words(part) <= STATEMENT_WORDS), "{parts:?}");
        assert_eq!(parts.iter().map(|part| words(part)).sum::<usize>(), 1000);
    }

    #[test]
    fn the_first_sentence_is_the_title() {
        assert_eq!(body("Ann", "I ran a race. It rained."), "# Ann: I ran a race.\n\nIt rained.\n");
        let doctor = "I saw Dr. Diallo, i.e. my physio. She was content.";
        assert_eq!(body("Ann", doctor), "# Ann: I saw Dr. Diallo, i.e. my physio.\n\nShe was content.\n");
        assert_eq!(body("Ann", "One\nline?"), "# Ann: One\n\nline?\n");
        let long = "word ".repeat(30);
        assert!(body("Ann", &long).starts_with("# Ann\n\nword"));
    }
}
