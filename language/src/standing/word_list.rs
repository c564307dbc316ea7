//! The lists of words as one automaton, which finds the entries of all lists in one pass over a text.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::words::{
    ASKED_FOR, CONDITIONS, NO_CONDITIONS, NO_RULES, RECALLING, REQUEST_BEGINNINGS, REQUEST_PHRASES, RULE_BEGINNINGS,
    RULES, TOPICS,
};
use super::{Topic, Topics};
use crate::tokenize::{QUESTION_MARKS, fold, writes_no_spaces};

/// Stands before the first word of a sentence.
const SENTENCE: char = '\u{1}';
/// Characters that end a sentence.
const SENTENCE_ENDS: [char; 6] = ['.', '!', '\n', '。', '！', ':'];

/// What an entry of a list says.
#[derive(Clone, Copy)]
enum Meaning {
    Topic(Topic),
    Condition(Topics),
    Rule,
    Request,
    AskedFor,
    Recalling,
    NoRule,
    NoCondition,
}

/// What the words of a text say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The topics that the text is about.
    pub(super) topics: Topics,
    /// The topics of the conditions that it names.
    pub(super) conditions: Topics,
    pub(super) is_rule: bool,
    /// Whether it asks for work or advice.
    pub(super) is_request: bool,
    /// Whether it asks what was said or done.
    pub(super) recalls: bool,
}

/// The automaton, with the meaning of each of its patterns.
struct WordLists {
    automaton: AhoCorasick,
    meanings: Vec<Meaning>,
}

static LISTS: LazyLock<WordLists> = LazyLock::new(|| {
    let mut lists: Vec<(Meaning, Place, &str)> = Vec::new();
    for topic in TOPICS {
        lists.push((Meaning::Topic(topic.topic), Place::Anywhere, topic.words));
    }
    for condition in CONDITIONS {
        lists.push((Meaning::Condition(condition.topics), Place::Anywhere, condition.words));
    }
    lists.push((Meaning::Rule, Place::Anywhere, RULES));
    lists.push((Meaning::Rule, Place::SentenceStart, RULE_BEGINNINGS));
    lists.push((Meaning::Request, Place::SentenceStart, REQUEST_BEGINNINGS));
    lists.push((Meaning::Request, Place::Anywhere, REQUEST_PHRASES));
    lists.push((Meaning::AskedFor, Place::Anywhere, ASKED_FOR));
    lists.push((Meaning::NoRule, Place::SentenceStart, NO_RULES));
    lists.push((Meaning::NoCondition, Place::Anywhere, NO_CONDITIONS));
    lists.push((Meaning::Recalling, Place::Anywhere, RECALLING));
    let (mut patterns, mut meanings) = (Vec::new(), Vec::new());
    for (meaning, place, list) in lists {
        for entry in list.split_whitespace() {
            patterns.push(pattern(entry, place));
            meanings.push(meaning);
        }
    }
    let built = AhoCorasick::builder().match_kind(MatchKind::Standard).build(patterns);
    WordLists { automaton: built.expect("the lists are small"), meanings }
});

/// Where in a sentence an entry counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    SentenceStart,
}

/// Returns the bytes by which an entry is found in a text of [`spaced`].
fn pattern(entry: &str, place: Place) -> String {
    let phrase = fold(entry).replace('_', " ");
    if entry.starts_with(writes_no_spaces) {
        return phrase;
    }
    let start = match place {
        Place::Anywhere => String::new(),
        Place::SentenceStart => SENTENCE.to_string(),
    };
    match phrase.strip_suffix('*') {
        Some(beginning) => format!("{start} {beginning}"),
        None => format!("{start} {phrase} "),
    }
}

/// Returns the folded words of a text with one space around each, and [`SENTENCE`] before those that begin a sentence.
fn spaced(text: &str) -> String {
    let folded = fold(text);
    let mut spaced = String::with_capacity(folded.len() + 8);
    spaced.push(SENTENCE);
    spaced.push(' ');
    let mut begins_sentence = true;
    let mut word_ended = true;
    for c in folded.chars() {
        if c.is_alphanumeric() || c == '\'' || is_combining(c) {
            if word_ended && begins_sentence && spaced.len() > 2 {
                spaced.push(SENTENCE);
                spaced.push(' ');
            }
            spaced.push(c);
            (word_ended, begins_sentence) = (false, false);
            continue;
        }
        if !word_ended {
            spaced.push(' ');
            word_ended = true;
        }
        begins_sentence |= SENTENCE_ENDS.contains(&c) || QUESTION_MARKS.contains(&c);
    }
    if !word_ended {
        spaced.push(' ');
    }
    spaced
}

/// Whether a character only modifies the one before it, such as the voicing mark of a kana.
fn is_combining(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

impl Found {
    /// Reads the words of a text.
    pub(super) fn of(text: &str) -> Self {
        let spaced = spaced(text);
        let mut found = Self::default();
        let (mut asks_for_idea, mut looks_like_rule, mut denies) = (false, false, false);
        for hit in LISTS.automaton.find_overlapping_iter(&spaced) {
            match LISTS.meanings[hit.pattern().as_usize()] {
                Meaning::Topic(topic) => found.topics = found.topics.and(Topics::of(&[topic])),
                Meaning::Condition(topics) => found.conditions = found.conditions.and(topics),
                Meaning::Rule => found.is_rule = true,
                Meaning::Request => found.is_request = true,
                Meaning::AskedFor => asks_for_idea = true,
                Meaning::Recalling => found.recalls = true,
                Meaning::NoRule => looks_like_rule = true,
                Meaning::NoCondition => denies = true,
            }
        }
        found.is_rule &= !looks_like_rule;
        if denies {
            found.conditions = Topics::default();
        }
        if asks_for_idea {
            (found.is_request, found.recalls) = (true, false);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_and_beginnings_of_sentences_marked() {
        assert_eq!(spaced("No Emojis, ever! Don't shout"), "\u{1} no emojis ever \u{1} don't shout ");
        assert_eq!(spaced(""), "\u{1} ");
    }

    #[test]
    fn words_beginnings_and_phrases_are_found() {
        let topics = |text: &str| Found::of(text).topics;
        assert!(topics("what a recipe").meets(Topics::of(&[Topic::Food])));
        assert!(topics("he was cooking").meets(Topics::of(&[Topic::Food])));
        assert!(topics("open a pull request").meets(Topics::of(&[Topic::Software])));
        assert!(topics("the pull of a request").is_empty());
        assert!(Found::of("From now on, tea").is_rule);
        assert!(Found::of("It rained. Never again!").is_rule);
        assert!(!Found::of("we never met").is_rule);
        assert!(Found::of("私はそばアレルギーです").conditions.meets(Topics::of(&[Topic::Food])));
    }
}
