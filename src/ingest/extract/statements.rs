//! Turns into statements: one turn is one statement unless it is long.

use cuebase_retrieval::{QUESTION_MARKS, writes_no_spaces};
use unicode_segmentation::UnicodeSegmentation;

use super::cues::flat;
use super::small_talk::is_filler;

/// A turn of up to so many words stays whole: a page, whose parts make little sense without one another.
const WHOLE_WORDS_MAX: usize = 400;
/// A longer turn is cut into statements of about so many words, at sentence ends.
const STATEMENT_WORDS: usize = 250;
/// A turn only asks when it holds at most so many telling words beside its questions.
const BESIDE_WORDS_MAX: usize = 2;
/// Words whose full stop ends no sentence.
const ABBREVIATIONS: [&str; 13] =
    ["dr", "mr", "mrs", "ms", "prof", "st", "mt", "messrs", "vs", "e.g", "i.e", "approx", "incl"];
/// Where no spaces are written, so many characters count as a word.
const WORD_CHARS: usize = 2;
/// A lead sentence of up to so many words becomes the title.
const TITLE_WORDS_MAX: usize = 18;

/// The statements of a message, in order, each with its own wording.
pub fn split(text: &str) -> Vec<String> {
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    if words(text) <= WHOLE_WORDS_MAX {
        return vec![text.to_owned()];
    }
    let mut statements = Vec::new();
    let mut current = String::new();
    for piece in pieces(text) {
        if !current.is_empty() && words(&current) + words(piece) > STATEMENT_WORDS {
            statements.push(std::mem::take(&mut current).trim().to_owned());
        }
        current.push_str(piece);
    }
    statements.push(current.trim().to_owned());
    statements.retain(|statement| !statement.is_empty());
    statements
}

/// The sentences of a text; fenced code and list lines stay in one piece.
pub fn sentences(text: &str) -> Vec<&str> {
    bounds(text).into_iter().map(str::trim).filter(|sentence| sentence.contains(char::is_alphanumeric)).collect()
}

/// The sentences of a text with what follows each up to the next. A full stop after an abbreviation ends none, nor does
/// the one after a list's number.
fn bounds(text: &str) -> Vec<&str> {
    let mut bounds = Vec::new();
    let mut rest = text;
    let mut end = 0;
    for piece in text.split_sentence_bounds() {
        end += piece.len();
        if !is_cut_short(&rest[..end]) {
            let (sentence, after) = rest.split_at(end);
            bounds.push(sentence);
            (rest, end) = (after, 0);
        }
    }
    bounds.extend(Some(rest).filter(|rest| !rest.is_empty()));
    bounds
}

/// Whether a sentence ends with an abbreviation that something follows ("Dr."), or with the number of a list's next item.
fn is_cut_short(sentence: &str) -> bool {
    let before = sentence.trim_end().strip_suffix('.').unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    if (1..=2).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let word = before.rsplit(|c: char| !c.is_alphabetic() && c != '.').next().unwrap_or_default();
    ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// The last question of a text that asks something in particular.
pub fn last_question(text: &str) -> Option<String> {
    let asks = |sentence: &&&str| is_question(sentence) && words(sentence) >= 3;
    sentences(text).iter().rev().find(asks).map(|sentence| (*sentence).to_owned())
}

/// Whether a text asks and says next to nothing else.
pub fn only_asks(text: &str) -> bool {
    let (asking, beside): (Vec<&str>, Vec<&str>) =
        sentences(text).into_iter().partition(|sentence| is_question(sentence));
    let telling: usize = beside.into_iter().map(telling_words).sum();
    asking.into_iter().any(|sentence| words(sentence) >= 3) && telling <= BESIDE_WORDS_MAX
}

fn is_question(sentence: &str) -> bool {
    sentence.ends_with(QUESTION_MARKS)
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
pub fn body(speaker: &str, statement: &str) -> String {
    let lead = sentences(statement).first().copied().unwrap_or_default();
    // Sentences are trimmed pieces of the statement, so the lead is where it starts.
    let rest = statement.trim_start().strip_prefix(lead).unwrap_or_default().trim();
    if !lead.is_empty() && words(lead) <= TITLE_WORDS_MAX && !lead.contains("```") {
        let title = format!("# {speaker}: {}\n", flat(lead));
        return if rest.is_empty() { title } else { format!("{title}\n{rest}\n") };
    }
    format!("# {speaker}\n\n{}\n", statement.trim())
}

/// The words of a text, as they are counted here.
pub fn words(text: &str) -> usize {
    text.split_whitespace().map(|word| unspaced(word).div_ceil(WORD_CHARS).max(1)).sum()
}

/// How many characters of a text are of scripts that write no spaces.
pub fn unspaced(text: &str) -> usize {
    // Most texts have none, which is told by their bytes.
    if text.is_ascii() { 0 } else { text.chars().filter(|c| writes_no_spaces(*c)).count() }
}

/// Sentences and whole code blocks, with the white space that follows them.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 1 {
            pieces.push(part);
        } else {
            let sentences = part.split_inclusive("\n\n").flat_map(bounds);
            sentences.for_each(|sentence| pieces.extend(cut(sentence, STATEMENT_WORDS)));
        }
    }
    pieces
}

/// A sentence of more words than so many (a log, a table) is cut between words, or between characters where no spaces are
/// written.
pub fn cut(sentence: &str, words_max: usize) -> Vec<&str> {
    if words(sentence) <= words_max {
        return vec![sentence];
    }
    let mut pieces = Vec::new();
    let (mut start, mut characters) = (0, 0);
    for (at, character) in sentence.grapheme_indices(true) {
        let (space, unspaced) = (character.starts_with(char::is_whitespace), unspaced(character));
        characters += if space { WORD_CHARS } else { unspaced };
        if (space || unspaced > 0) && characters >= words_max * WORD_CHARS {
            pieces.push(&sentence[start..at]);
            (start, characters) = (at, unspaced);
        }
    }
    pieces.push(&sentence[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_list_keeps_its_numbers() {
        let list = "Two novels:\n1. The Wall. A lodge in the Alps.\n2. Foster. A summer.\nIn all 12.\nRead both.";
        let told = [
            "Two novels:",
            "1. The Wall.",
            "A lodge in the Alps.",
            "2. Foster.",
            "A summer.",
            "In all 12.",
            "Read both.",
        ];
        assert_eq!(sentences(list), told);
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
}
