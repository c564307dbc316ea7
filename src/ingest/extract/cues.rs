//! The cues of a statement: what should bring it to mind.

use super::statements::{last_question, sentences, telling_words};

/// Sentences that get a cue of their own, at most.
const SENTENCES_MAX: usize = 4;
/// A sentence needs so many telling words to be a cue.
const TELLING_WORDS_MIN: usize = 3;

/// The statement with its speaker; the question that it answers; its sentences one by one where there are several.
pub fn write(speaker: &str, statement: &str, question: Option<&str>) -> Vec<String> {
    let mut cues = vec![format!("{speaker}: {}", flat(statement))];
    if let Some(question) = question {
        cues.push(flat(question));
    }
    let sentences = sentences(statement);
    if sentences.len() > 1 {
        let telling = sentences.iter().filter(|sentence| telling_words(sentence) >= TELLING_WORDS_MIN);
        cues.extend(telling.take(SENTENCES_MAX).map(|sentence| flat(sentence)));
    }
    cues.dedup();
    cues
}

/// The cues of a text that nobody wrote cues for: its title and its sections' names with their first sentence.
pub fn of_markdown(body: &str) -> Vec<String> {
    let mut cues = vec![flat(body.trim_start_matches(['#', ' ']))];
    for section in cuebase_storage::memory_file::markdown::sections(body) {
        cues.push(section.name);
    }
    cues.extend(last_question(body).map(|question| flat(&question)));
    cues.retain(|cue| !cue.is_empty());
    cues.dedup();
    cues
}

/// A text on one line.
pub(super) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
