//! What an answer quotes of a memory that somebody said: what they said, and never the question that they answer or the
//! message that they correct. These are quoted by the memory itself, and their words count for what was said: "Jonas."
//! answers "Who signs it?".

use std::ops::Range;

use cuebase_language::text::words::flat;
use cuebase_language::tokenize::QUESTION_MARKS;

use super::blocks::{Block, BlockKind, blocks};
use super::lines::sentences_of;
use super::passage::QuotedPassage;
use super::question::{MatchedTerms, QuestionTerms};

/// A statement up to this many words is quoted as a whole.
const WHOLE_WORDS_MAX: usize = 40;

/// A passage of a statement.
#[derive(Debug)]
pub(super) struct SpokenPassage<'q> {
    /// Bytes of the content.
    pub(super) range: Range<usize>,
    /// The words of the question that it contains, with those of what it answers or corrects.
    pub(super) matched: MatchedTerms<'q>,
}

impl SpokenPassage<'_> {
    /// Returns the passage on one line. A title that is only the speaker's name ends with a colon.
    pub(super) fn quote(&self, content: &str, speaker: &str) -> QuotedPassage {
        let quoted = content.get(self.range.clone()).unwrap_or_default();
        let text = match quoted.split_once("\n\n") {
            Some((title, rest)) if title == speaker => format!("{title}: {}", flat(rest)),
            _ => flat(quoted),
        };
        QuotedPassage { text, quotes: Vec::from([self.range.clone()]) }
    }
}

/// Returns the passages of a statement that may be quoted: the whole of a short one, else each sentence with the next one.
/// `None` if the content has a list, a table or code, which are quoted as blocks.
pub(super) fn passages<'q>(content: &str, question: &QuestionTerms<'q>) -> Option<Vec<SpokenPassage<'q>>> {
    let blocks = blocks(content);
    if blocks.iter().any(|block| block.kind != BlockKind::Line) {
        return None;
    }
    let mut context = MatchedTerms::new();
    let mut spoken: Vec<Range<usize>> = Vec::new();
    for block in &blocks {
        if is_quotation(content, block) {
            context.extend(question.matched(&content[block.range.clone()]).unwrap_or_default());
        } else {
            spoken.extend(sentences_of(content, &block.range));
        }
    }
    let mut passages = Vec::new();
    let words: usize = spoken.iter().map(|range| content[range.clone()].split_whitespace().count()).sum();
    if let (Some(first), Some(last)) = (spoken.first(), spoken.last())
        && words <= WHOLE_WORDS_MAX
    {
        let states = spoken.iter().any(|range| is_stated(&content[range.clone()]));
        if states {
            add(&mut passages, content, first.start..last.end, &context, question);
        }
        return Some(passages);
    }
    for (index, range) in spoken.iter().enumerate() {
        if !is_stated(&content[range.clone()]) {
            continue;
        }
        let next = spoken.get(index + 1).filter(|next| is_stated(&content[(*next).clone()]));
        let end = next.map_or(range.end, |next| next.end);
        add(&mut passages, content, range.start..end, &context, question);
    }
    Some(passages)
}

fn add<'q>(
    passages: &mut Vec<SpokenPassage<'q>>,
    content: &str,
    range: Range<usize>,
    context: &MatchedTerms<'q>,
    question: &QuestionTerms<'q>,
) {
    let mut matched = question.matched(&content[range.clone()]).unwrap_or_default();
    matched.extend(context);
    passages.push(SpokenPassage { range, matched });
}

/// Whether a block is a quotation of an earlier message.
fn is_quotation(content: &str, block: &Block) -> bool {
    let line = content[..block.range.start].rfind('\n').map_or(0, |line_break| line_break + 1);
    content[line..].trim_start().starts_with('>')
}

/// Whether a sentence does not end with a question mark.
fn is_stated(sentence: &str) -> bool {
    !sentence.trim_end().ends_with(QUESTION_MARKS)
}

#[cfg(test)]
mod tests {
    use cuebase_language::tokenize::content_terms;

    use super::*;

    /// Returns the passages as an answer shows them, each with the words of the question that it contains.
    fn shown(content: &str, speaker: &str, question: &str) -> Vec<(String, usize)> {
        let terms = content_terms(question);
        let question = QuestionTerms::of(&terms);
        let mut shown = Vec::new();
        for passage in passages(content, &question).expect("prose") {
            shown.push((passage.quote(content, speaker).text, passage.matched.len()));
        }
        shown
    }

    #[test]
    fn a_reply_is_quoted_without_its_question_whose_words_count() {
        let content = "# Mara: My partner Jonas.\n\n> Assistant: Who signs the mail to the mill?\n";
        let question = "Who signs the mail to the mill?";
        assert_eq!(shown(content, "Mara", question), [("Mara: My partner Jonas.".to_owned(), 3)]);
    }

    #[test]
    fn a_question_is_not_quoted() {
        assert_eq!(shown("# Mara: Who signs the mail?\n", "Mara", "Who signs the mail?"), []);
        let long = format!(
            "# Mara: {} Who signs the mail? Jonas does. He has the pen.\n",
            "The oven is hot today. ".repeat(9)
        );
        let found = shown(&long, "Mara", "Who has the pen?");
        assert!(found.iter().all(|(text, _)| !text.contains('?')), "{found:?}");
        assert!(found.contains(&("Jonas does. He has the pen.".to_owned(), 1)), "{found:?}");
    }

    #[test]
    fn a_short_statement_is_quoted_on_one_line_with_its_speaker() {
        let content = "# Mara\n\nnew oven: 140 degrees\n\nIt holds two trays.\n";
        assert_eq!(
            shown(content, "Mara", "How hot is the oven?")[0].0,
            "Mara: new oven: 140 degrees It holds two trays."
        );
    }

    #[test]
    fn lists_are_quoted_as_blocks() {
        let terms = content_terms("steps");
        assert!(passages("# Assistant: Steps:\n\n1. Stop.\n2. Turn.\n", &QuestionTerms::of(&terms)).is_none());
    }
}
