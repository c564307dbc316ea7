//! The cues of a statement: the texts that are embedded to retrieve it.

use super::statements::Statement;
use crate::text::steps::{Interrupted, Steps};
use crate::text::words::{cut, flat, telling_words, words};

/// A statement of more words has its passages as cues.
const SHORT_WORDS_MAX: usize = 110;
/// Words of a passage, approximately.
const PASSAGE_WORDS: usize = 60;
/// Sentences of a statement that become cues.
const SENTENCES_MAX: usize = 4;
/// A sentence with fewer content words is not a cue.
const CONTENT_WORDS_MIN: usize = 3;
/// Bytes of a question that becomes a cue of its answer. Every statement of a long answer repeats the question, so a
/// longer one is left out: it is a text that happens to end in a question mark.
pub(super) const QUESTION_BYTES_MAX: usize = 2000;

/// Returns the cues of a statement. The first ones are the statement with its speaker, or its passages if it is long,
/// because the vector of a whole page is not similar to those of its parts. Then follow the question that it answers,
/// and the sentences of a short statement.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub fn write(
    speaker: &str,
    statement: &Statement<'_>,
    question: Option<&str>,
    steps: &Steps<'_>,
) -> Result<Vec<String>, Interrupted> {
    let Statement { text, sentences } = statement;
    // One pass each to count words, to find content words, and to copy.
    steps.take(3 * text.len())?;
    let is_long = words(text) > SHORT_WORDS_MAX && !sentences.is_empty();
    let mut cues = if is_long { passages(sentences, steps)? } else { vec![flat(text)] };
    cues[0] = format!("{speaker}: {}", cues[0]);
    if let Some(question) = question
        && question.len() <= QUESTION_BYTES_MAX
    {
        cues.push(flat(question));
    }
    if !is_long && sentences.len() > 1 {
        let complete = sentences.iter().filter(|sentence| telling_words(sentence) >= CONTENT_WORDS_MIN);
        cues.extend(complete.take(SENTENCES_MAX).map(|sentence| flat(sentence)));
    }
    cues.dedup();
    Ok(cues)
}

/// Joins sentences to passages of up to [`PASSAGE_WORDS`] words. Returns at least one passage.
fn passages(sentences: &[&str], steps: &Steps<'_>) -> Result<Vec<String>, Interrupted> {
    let mut passages: Vec<String> = Vec::new();
    let mut passage_words = 0;
    for sentence in sentences {
        for piece in cut(sentence, PASSAGE_WORDS, steps)? {
            steps.take(2 * piece.len())?;
            let piece_words = words(piece);
            passage_words += piece_words;
            match passages.last_mut() {
                Some(passage) if passage_words <= PASSAGE_WORDS => passage.extend([" ", &flat(piece)]),
                _ => {
                    passage_words = piece_words;
                    passages.push(flat(piece));
                }
            }
        }
    }
    Ok(passages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(speaker: &str, text: &str, question: Option<&str>) -> Vec<String> {
        let steps = Steps::unlimited();
        let statement = Statement::read(text, &steps).expect("not interrupted");
        super::write(speaker, &statement, question, &steps).expect("not interrupted")
    }

    #[test]
    fn a_question_as_long_as_a_page_is_not_a_cue() {
        let question = format!("{}?", "and then ".repeat(300));
        assert_eq!(write("Ann", "At the harbour.", Some(&question)), ["Ann: At the harbour."]);
    }

    #[test]
    fn a_statement_its_question_and_its_sentences_are_cues() {
        let cues = write("Ann", "We painted a sunset over the lake. Thanks!", Some("What did you paint?"));
        assert_eq!(
            cues,
            [
                "Ann: We painted a sunset over the lake. Thanks!",
                "What did you paint?",
                "We painted a sunset over the lake."
            ]
        );
    }

    #[test]
    fn the_cues_of_a_long_statement_are_passages() {
        let sentences: Vec<String> = (0..60).map(|n| format!("On day {n} we walked to the next village.")).collect();
        let passages = write("Ann", &sentences.join("\n"), None);
        assert!((8..=10).contains(&passages.len()), "{passages:?}");
        assert!(passages.iter().all(|passage| words(passage) <= PASSAGE_WORDS + 1), "{passages:?}");
        assert_eq!(passages.join(" "), format!("Ann: {}", sentences.join(" ")));
        let endless: String = (0..200).map(|n| format!("word{n} ")).collect();
        assert_eq!(write("Ann", &endless, None).len(), 4, "a sentence that does not end is cut");
        assert_eq!(write("Ann", &"🎉 ".repeat(200), None).len(), 1);
        let chinese: String = (0..60).map(|n| format!("第{n}天我们去了海边，孩子们很高兴。")).collect();
        let chinese = write("Ann", &chinese, None);
        assert!(chinese.len() > 5 && chinese.iter().all(|cue| words(cue) <= PASSAGE_WORDS + 1), "{chinese:?}");
    }
}
