//! The cues of a statement: what should bring it to mind.

use super::statements::Statement;
use crate::text::steps::{Interrupted, Steps};
use crate::text::words::{cut, flat, telling_words, words};

/// A statement of more words is cued by its passages.
const SHORT_WORDS_MAX: usize = 110;
/// A passage has about so many words.
const PASSAGE_WORDS: usize = 60;
/// Sentences that get a cue of their own, at most.
const SENTENCES_MAX: usize = 4;
/// A sentence needs so many telling words to be a cue.
const TELLING_WORDS_MIN: usize = 3;
/// Bytes of a question that becomes a cue of its answer. Every statement of a long answer repeats it, so a longer one,
/// which is a text that happens to end in a question mark, is left out.
pub(super) const QUESTION_BYTES_MAX: usize = 2000;

/// The statement with its speaker, in passages where it is long: the vector of a page is near to nothing that stands on
/// it. Then the question that it answers, and its sentences one by one where it is short and has several.
///
/// # Errors
///
/// [`Interrupted`] when the steps are.
pub fn write(
    speaker: &str,
    statement: &Statement<'_>,
    question: Option<&str>,
    steps: &Steps<'_>,
) -> Result<Vec<String>, Interrupted> {
    let Statement { text, sentences } = statement;
    // Counting its words, looking for telling ones, and copying it.
    steps.take(3 * text.len())?;
    let long = words(text) > SHORT_WORDS_MAX && !sentences.is_empty();
    let mut cues = if long { passages(sentences, steps)? } else { vec![flat(text)] };
    cues[0] = format!("{speaker}: {}", cues[0]);
    cues.extend(question.filter(|question| question.len() <= QUESTION_BYTES_MAX).map(flat));
    if !long && sentences.len() > 1 {
        let telling = sentences.iter().filter(|sentence| telling_words(sentence) >= TELLING_WORDS_MIN);
        cues.extend(telling.take(SENTENCES_MAX).map(|sentence| flat(sentence)));
    }
    cues.dedup();
    Ok(cues)
}

/// Sentences one after another, as many as make a passage; at least one.
fn passages(sentences: &[&str], steps: &Steps<'_>) -> Result<Vec<String>, Interrupted> {
    let mut passages: Vec<String> = Vec::new();
    let mut held = 0;
    for sentence in sentences {
        for piece in cut(sentence, PASSAGE_WORDS, steps)? {
            steps.take(2 * piece.len())?;
            held += words(piece);
            match passages.last_mut().filter(|_| held <= PASSAGE_WORDS) {
                Some(passage) => passage.extend([" ", &flat(piece)]),
                None => {
                    held = words(piece);
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
        let statement = Statement::read(text, &steps).expect("nothing interrupts");
        super::write(speaker, &statement, question, &steps).expect("nothing interrupts")
    }

    #[test]
    fn a_question_as_long_as_a_page_is_no_cue_of_its_answer() {
        let question = format!("{}?", "and then ".repeat(300));
        assert_eq!(write("Ann", "At the harbour.", Some(&question)), ["Ann: At the harbour."]);
    }

    #[test]
    fn a_statement_is_cued_by_itself_its_question_and_its_sentences() {
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
    fn a_long_statement_is_cued_by_its_passages() {
        let told: Vec<String> = (0..60).map(|n| format!("On day {n} we walked to the next village.")).collect();
        let passages = write("Ann", &told.join("\n"), None);
        assert!((8..=10).contains(&passages.len()), "{passages:?}");
        assert!(passages.iter().all(|passage| words(passage) <= PASSAGE_WORDS + 1), "{passages:?}");
        assert_eq!(passages.join(" "), format!("Ann: {}", told.join(" ")));
        let endless: String = (0..200).map(|n| format!("word{n} ")).collect();
        assert_eq!(write("Ann", &endless, None).len(), 4, "a sentence that does not end is cut");
        assert_eq!(write("Ann", &"🎉 ".repeat(200), None).len(), 1);
        let chinese: String = (0..60).map(|n| format!("第{n}天我们去了海边，孩子们很高兴。")).collect();
        let chinese = write("Ann", &chinese, None);
        assert!(chinese.len() > 5 && chinese.iter().all(|cue| words(cue) <= PASSAGE_WORDS + 1), "{chinese:?}");
    }
}
