//! Recognizes small talk: texts that consist of courtesies alone and do not become memories.
//!
//! The phrases are a closed list by language, `small_talk.txt`. A text is small talk if it divides completely into such
//! phrases, whatever its punctuation and emoji. A single other word keeps the whole text. Names of the conversation's
//! participants are skipped ("Thanks, Ann!"). Every other text is kept, however short it is.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::tokenize::{fold, writes_no_spaces};

/// Phrases in sections: `# <language> courtesy`, `# <language> reply`.
const PHRASES: &str = include_str!("small_talk.txt");
/// A longer text is kept. The bound keeps the check cheap; no courtesy is as long.
const TEXT_BYTES_MAX: usize = 400;

/// Bytes at the beginning of a text in which somebody is greeted.
const GREETING_BYTES_MAX: usize = 60;
/// Words of a greeting before the name.
const GREETING_WORDS_MAX: usize = 2;
/// Greetings before a name in English, German, French, Spanish, Portuguese, Italian and Dutch, folded.
const GREETINGS: [&str; 38] = [
    "hi",
    "hey",
    "hello",
    "hiya",
    "morning",
    "good morning",
    "good afternoon",
    "good evening",
    "good night",
    "hallo",
    "moin",
    "servus",
    "guten morgen",
    "guten tag",
    "guten abend",
    "gute nacht",
    "bonjour",
    "bonsoir",
    "salut",
    "coucou",
    "hola",
    "buenas",
    "buenos dias",
    "buenas tardes",
    "buenas noches",
    "ola",
    "oi",
    "bom dia",
    "boa tarde",
    "boa noite",
    "ciao",
    "salve",
    "buongiorno",
    "buonasera",
    "hoi",
    "goedemorgen",
    "goedemiddag",
    "goedenavond",
];

/// The role of a phrase in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PhraseKind {
    /// Small talk in every position: greetings, thanks, reactions.
    Courtesy,
    /// An answer after a question, otherwise small talk: yes, no, never, great.
    Reply,
}

/// A phrase of the list, without its first word.
struct Phrase {
    rest: Vec<String>,
    kind: PhraseKind,
}

/// The position of a text in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Directly after another participant's question.
    AfterQuestion,
    /// Any other position.
    Elsewhere,
}

/// The list by the first word of each phrase.
static LIST: LazyLock<HashMap<String, Vec<Phrase>>> = LazyLock::new(read_list);

fn read_list() -> HashMap<String, Vec<Phrase>> {
    let mut list: HashMap<String, Vec<Phrase>> = HashMap::new();
    let mut kind = PhraseKind::Courtesy;
    for line in PHRASES.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            kind = if heading.ends_with("reply") { PhraseKind::Reply } else { PhraseKind::Courtesy };
            continue;
        }
        // The phrases in the list are already folded.
        let mut words = split_words(line).into_iter();
        if let Some(first) = words.next() {
            list.entry(first).or_default().push(Phrase { rest: words.collect(), kind });
        }
    }
    list
}

/// The words of the participants' names, folded, with how often each was added.
#[derive(Default)]
pub struct Participants(HashMap<String, usize>);

impl Participants {
    /// Adds a participant by the full name.
    pub fn add(&mut self, name: &str) {
        for word in folded_words(name) {
            *self.0.entry(word).or_insert(0) += 1;
        }
    }

    /// Takes back one addition of a name.
    pub fn remove(&mut self, name: &str) {
        for word in folded_words(name) {
            if let Some(count) = self.0.get_mut(&word) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(&word);
                }
            }
        }
    }

    /// Whether a folded word is part of a participant's name.
    pub fn contains(&self, word: &str) -> bool {
        self.0.contains_key(word)
    }
}

/// Returns the name of the one whom a text greets at its beginning: "Hey Mel!"
pub fn greeted(text: &str) -> Option<&str> {
    let beginning = &text[..text.floor_char_boundary(GREETING_BYTES_MAX)];
    let written: Vec<&str> = beginning.split_whitespace().take(GREETING_WORDS_MAX + 2).collect();
    for (index, word) in written.iter().enumerate().take(GREETING_WORDS_MAX + 1).skip(1) {
        let closes = word.ends_with(['!', ',', '.', '?', ':', ';']) || index + 1 == written.len();
        if word.starts_with(char::is_uppercase) && closes {
            let greeting = folded_words(&written[..index].join(" ")).join(" ");
            if GREETINGS.contains(&greeting.as_str()) {
                return Some(word);
            }
        }
    }
    None
}

/// Returns whether a text consists of small talk alone.
///
/// After a question, a reply ("Yes!") and a participant's name are answers, so they are kept.
pub fn is_small_talk(text: &str, position: Position, participants: &Participants) -> bool {
    if text.len() > TEXT_BYTES_MAX {
        return false;
    }
    let mut words = folded_words(text);
    if position == Position::Elsewhere {
        words.retain(|word| !participants.contains(word));
    }
    divides(&words, position)
}

/// Returns whether words divide completely into phrases that are small talk at a position.
fn divides(words: &[String], position: Position) -> bool {
    // For each index, whether the words before it divide.
    let mut reached = vec![false; words.len() + 1];
    reached[0] = true;
    for start in 0..words.len() {
        if !reached[start] {
            continue;
        }
        let Some(phrases) = LIST.get(&words[start]) else { continue };
        for phrase in phrases {
            if phrase.kind == PhraseKind::Reply && position == Position::AfterQuestion {
                continue;
            }
            if words[start + 1..].starts_with(&phrase.rest) {
                reached[start + 1 + phrase.rest.len()] = true;
            }
        }
    }
    reached[words.len()]
}

/// Returns the words of a text in the form in which they are compared: lowercase, without accents, with repeated
/// letters and laughter shortened. A character of a script without spaces is a word of its own.
pub fn folded_words(text: &str) -> Vec<String> {
    split_words(&fold(text))
}

/// Returns the words of a folded text.
fn split_words(folded: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in folded.chars() {
        let alone = writes_no_spaces(c);
        if alone || !(c.is_alphanumeric() || c == '\'') {
            close(&mut word, &mut words);
        }
        if alone && c.is_alphanumeric() {
            words.push(c.to_string());
        } else if c.is_alphanumeric() || (c == '\'' && !word.is_empty()) {
            word.push(c);
        }
    }
    close(&mut word, &mut words);
    words
}

/// Adds the word that is being read, if there is one.
fn close(word: &mut String, words: &mut Vec<String>) {
    let whole = std::mem::take(word);
    let whole = whole.trim_end_matches('\'');
    if !whole.is_empty() {
        words.push(shorten_laughter(shorten_runs(whole)));
    }
}

/// Shortens three or more repetitions of a letter to one letter: "soooo" becomes "so".
fn shorten_runs(word: &str) -> String {
    let mut shortened = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let after = rest.trim_start_matches(c);
        let run = rest[..rest.len() - after.len()].chars().count();
        let kept = if run > 2 && c.is_alphabetic() { 1 } else { run };
        shortened.extend(std::iter::repeat_n(c, kept));
        rest = after;
    }
    shortened
}

/// Shortens laughter to two syllables: "hahahaha" becomes "haha".
fn shorten_laughter(word: String) -> String {
    let syllable = word.get(..2).unwrap_or_default();
    let is_laughter =
        word.len() > 4 && word.trim_start_matches(syllable).is_empty() && syllable.ends_with(['a', 'e', 'i']);
    if is_laughter { syllable.repeat(2) } else { word }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Returns the entries of the list with their kinds.
    fn entries() -> Vec<(&'static str, PhraseKind)> {
        let mut entries = Vec::new();
        let mut kind = PhraseKind::Courtesy;
        for line in PHRASES.lines() {
            match line.strip_prefix('#') {
                Some(heading) if heading.ends_with(" reply") => kind = PhraseKind::Reply,
                Some(heading) => {
                    assert!(heading.ends_with(" courtesy"), "{heading}");
                    kind = PhraseKind::Courtesy;
                }
                None => entries.push((line, kind)),
            }
        }
        entries
    }

    fn is_dropped(text: &str, position: Position) -> bool {
        let mut participants = Participants::default();
        participants.add("Ann Lee");
        is_small_talk(text, position, &participants)
    }

    #[test]
    fn every_entry_alone_is_dropped() {
        for (entry, kind) in entries() {
            assert!(is_dropped(entry, Position::Elsewhere), "{entry}");
            assert!(is_dropped(&format!("{entry}!! 😊"), Position::Elsewhere), "{entry}");
            assert!(is_dropped(&format!("{entry}, Ann."), Position::Elsewhere), "{entry}");
            assert!(is_dropped(entry, Position::AfterQuestion) || kind == PhraseKind::Reply, "{entry}");
        }
    }

    #[test]
    fn every_entry_is_kept_with_a_statement() {
        for (entry, _) in entries() {
            for statement in ["I quit", "东京很大", "Rome"] {
                assert!(!is_dropped(&format!("{entry}. {statement}."), Position::Elsewhere), "{entry}");
                assert!(!is_dropped(&format!("{statement}! {entry}"), Position::Elsewhere), "{entry}");
            }
        }
    }

    #[test]
    fn no_entry_is_listed_twice_and_every_entry_is_folded() {
        let mut seen = HashSet::new();
        for (entry, _) in entries() {
            assert!(seen.insert(entry), "{entry} is listed twice");
            assert_eq!(entry, fold(entry), "{entry}");
            assert!(!folded_words(entry).is_empty(), "{entry}");
        }
    }

    #[test]
    fn a_short_statement_is_kept() {
        for statement in ["I like tea", "I'm vegan", "We divorced", "I quit", "Rome.", "40", "猫", "I love you", "Bo"]
        {
            assert!(!is_dropped(statement, Position::Elsewhere), "{statement}");
        }
    }

    #[test]
    fn a_reply_and_a_name_are_kept_after_a_question() {
        for answer in ["Yes!", "No.", "Great", "Ann"] {
            assert!(is_dropped(answer, Position::Elsewhere), "{answer}");
            assert!(!is_dropped(answer, Position::AfterQuestion), "{answer}");
        }
        assert!(is_dropped("Thanks!", Position::AfterQuestion));
    }

    #[test]
    fn letters_may_be_repeated() {
        assert!(is_dropped("Soooo cool, woooow!!!", Position::Elsewhere));
        assert!(is_dropped("hahahahaha", Position::Elsewhere));
    }
}
