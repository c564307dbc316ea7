//! Turns into statements: one turn is one statement unless it is long.

use crate::text::sentences::{bounds, sentences};
use crate::text::steps::{Interrupted, Steps};
use crate::text::words::{WordCount, cut, flat, words};

/// A turn of up to so many words stays whole: a page, whose parts make little sense without one another.
const WHOLE_WORDS_MAX: usize = 400;
/// A longer turn is cut into statements of about so many words, at sentence ends.
const STATEMENT_WORDS: usize = 250;
/// A lead sentence of up to so many words becomes the title.
const TITLE_WORDS_MAX: usize = 18;

/// A statement with its sentences, which several parts of the extractor need.
pub struct Statement<'a> {
    /// The whole of it.
    pub text: &'a str,
    /// Its sentences, trimmed, in order.
    pub sentences: Vec<&'a str>,
}

impl<'a> Statement<'a> {
    /// Finds the sentences of a statement.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] when the steps are.
    pub fn read(text: &'a str, steps: &Steps<'_>) -> Result<Self, Interrupted> {
        Ok(Self { text, sentences: sentences(text, steps)? })
    }
}

/// Returns the statements of a message, in order, each with its own wording.
///
/// # Errors
///
/// [`Interrupted`] when the steps are.
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
    let mut held = WordCount::default();
    for piece in pieces(text, steps)? {
        steps.take(2 * piece.len())?;
        if !current.is_empty() && held.words() + words(piece) > STATEMENT_WORDS {
            statements.push(std::mem::take(&mut current).trim().to_owned());
            held = WordCount::default();
        }
        current.push_str(piece);
        held.add(piece);
    }
    statements.push(current.trim().to_owned());
    statements.retain(|statement| !statement.is_empty());
    Ok(statements)
}

/// The body of a memory: the speaker and the lead sentence as its title, the rest below.
pub fn body(speaker: &str, statement: &Statement<'_>) -> String {
    let text = statement.text;
    let lead = statement.sentences.first().copied().unwrap_or_default();
    // Sentences are trimmed pieces of the statement, so the lead is where it starts.
    let rest = text.trim_start().strip_prefix(lead).unwrap_or_default().trim();
    if !lead.is_empty() && words(lead) <= TITLE_WORDS_MAX && !lead.contains("```") {
        let title = format!("# {speaker}: {}\n", flat(lead));
        return if rest.is_empty() { title } else { format!("{title}\n{rest}\n") };
    }
    format!("# {speaker}\n\n{}\n", text.trim())
}

/// Sentences and whole code blocks, with the white space that follows them.
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
        super::split(text, &Steps::unlimited()).expect("nothing interrupts")
    }

    fn body(speaker: &str, text: &str) -> String {
        let statement = Statement::read(text, &Steps::unlimited()).expect("nothing interrupts");
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
    fn the_lead_sentence_is_the_title() {
        assert_eq!(body("Ann", "I ran a race. It rained."), "# Ann: I ran a race.\n\nIt rained.\n");
        let doctor = "I saw Dr. Diallo, i.e. my physio. She was content.";
        assert_eq!(body("Ann", doctor), "# Ann: I saw Dr. Diallo, i.e. my physio.\n\nShe was content.\n");
        assert_eq!(body("Ann", "One\nline?"), "# Ann: One\n\nline?\n");
        let long = "word ".repeat(30);
        assert!(body("Ann", &long).starts_with("# Ann\n\nword"));
    }
}
