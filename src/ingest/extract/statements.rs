//! Turns into statements: one turn is one statement unless it is long.

use cuebase_retrieval::{QUESTION_MARKS, writes_no_spaces};
use unicode_segmentation::UnicodeSegmentation;

use super::cues::flat;
use super::filler::is_filler;
use super::sentences::{bounds, sentences};
use super::small_talk::{Participants, Position, is_small_talk};
use crate::ingest::steps::{Interrupted, Steps};

/// A turn of up to so many words stays whole: a page, whose parts make little sense without one another.
const WHOLE_WORDS_MAX: usize = 400;
/// A longer turn is cut into statements of about so many words, at sentence ends.
const STATEMENT_WORDS: usize = 250;
/// A turn only asks when it holds at most so many telling words beside its questions.
const BESIDE_WORDS_MAX: usize = 2;
/// Where no spaces are written, so many characters count as a word.
const WORD_CHARS: usize = 2;
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

/// Returns the last question of a text that asks something in particular, rather than "Really?" or "How are you?".
///
/// # Errors
///
/// [`Interrupted`] when the steps are.
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

/// Whether a text asks and says next to nothing else.
///
/// # Errors
///
/// [`Interrupted`] when the steps are.
pub fn only_asks(text: &str, steps: &Steps<'_>) -> Result<bool, Interrupted> {
    steps.take(4 * text.len())?;
    if !text.contains(QUESTION_MARKS) {
        return Ok(false);
    }
    let mut asks = false;
    let mut telling = 0;
    for sentence in sentences(text, steps)? {
        if is_question(sentence) {
            asks = asks || asks_something(sentence);
        } else {
            telling += telling_words(sentence);
        }
    }
    Ok(asks && telling <= BESIDE_WORDS_MAX)
}

fn is_question(sentence: &str) -> bool {
    sentence.ends_with(QUESTION_MARKS)
}

/// Whether a question is more than a courtesy.
fn asks_something(question: &str) -> bool {
    !is_small_talk(question, Position::Elsewhere, &Participants::default())
}

/// The words of a text that carry a subject.
pub fn telling_words(text: &str) -> usize {
    let folded = cuebase_retrieval::fold(text);
    let words = folded.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let telling = |word: &str| match unspaced(word) {
        0 => usize::from(word.chars().count() > 2 && !is_filler(word)),
        characters => characters / WORD_CHARS,
    };
    words.map(telling).sum()
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

/// The words of a text, as they are counted here.
pub fn words(text: &str) -> usize {
    text.split_whitespace().map(|word| weight(unspaced(word))).sum()
}

/// How many words something without white space is, by its characters of scripts that write no spaces.
fn weight(unspaced: usize) -> usize {
    unspaced.div_ceil(WORD_CHARS).max(1)
}

/// The number of [`words`] of a text that is put together from pieces, each looked at once.
#[derive(Default)]
struct WordCount {
    /// Words that white space follows.
    closed: usize,
    /// The unspaced characters of the word at the end, which the next piece may continue.
    open: Option<usize>,
}

impl WordCount {
    /// Appends a piece to the text.
    fn add(&mut self, piece: &str) {
        for c in piece.chars() {
            if c.is_whitespace() {
                self.closed = self.words();
                self.open = None;
            } else {
                self.open = Some(self.open.unwrap_or(0) + usize::from(writes_no_spaces(c)));
            }
        }
    }

    fn words(&self) -> usize {
        self.closed + self.open.map_or(0, weight)
    }
}

/// How many characters of a text are of scripts that write no spaces.
pub fn unspaced(text: &str) -> usize {
    // Most texts have none, which is told by their bytes.
    if text.is_ascii() { 0 } else { text.chars().filter(|c| writes_no_spaces(*c)).count() }
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

/// Cuts a sentence of more words than so many (a log, a table) between words, or between characters where no spaces are
/// written.
///
/// # Errors
///
/// [`Interrupted`] when the steps are.
pub fn cut<'a>(sentence: &'a str, words_max: usize, steps: &Steps<'_>) -> Result<Vec<&'a str>, Interrupted> {
    steps.take(sentence.len())?;
    if words(sentence) <= words_max {
        return Ok(vec![sentence]);
    }
    let mut pieces = Vec::new();
    let (mut start, mut characters) = (0, 0);
    for (at, character) in sentence.grapheme_indices(true) {
        steps.take(character.len())?;
        let (space, unspaced) = (character.starts_with(char::is_whitespace), unspaced(character));
        characters += if space { WORD_CHARS } else { unspaced };
        if (space || unspaced > 0) && characters >= words_max * WORD_CHARS {
            pieces.push(&sentence[start..at]);
            (start, characters) = (at, unspaced);
        }
    }
    pieces.push(&sentence[start..]);
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

    fn only_asks(text: &str) -> bool {
        super::only_asks(text, &Steps::unlimited()).expect("nothing interrupts")
    }

    fn last_question(text: &str) -> Option<String> {
        super::last_question(text, &Steps::unlimited()).expect("nothing interrupts")
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

    #[test]
    fn a_turn_that_only_asks_is_told_from_one_that_tells() {
        for asks in [
            "What did you paint last week?",
            "Wow, great! Where is the harbour fair held?",
            "真的！你上周画了什么？",
            "ماذا رسمت الأسبوع الماضي؟",
        ] {
            assert!(only_asks(asks), "{asks}");
        }
        for tells in [
            "Really?",
            "I sold my old boat to Ann. What about yours?",
            "We paint every week.",
            "我上周卖了那条船。你的船怎么样了？",
            "",
        ] {
            assert!(!only_asks(tells), "{tells}");
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

    #[test]
    fn words_of_pieces_are_counted_as_those_of_the_whole() {
        let mut count = WordCount::default();
        let mut whole = String::new();
        for piece in ["We ", "paint", "ed ", "\n\n", "我们去", "了海", "边。", " end", "", "x"] {
            count.add(piece);
            whole.push_str(piece);
            assert_eq!(count.words(), words(&whole), "{whole:?}");
        }
    }
}
