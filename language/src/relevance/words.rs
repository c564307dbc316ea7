//! The words of a query, and the kinds of words that say where a part begins.

use std::ops::Range;

use crate::tokenize::{fold, is_stop_word};

const ARTICLES: [&str; 10] = ["a", "an", "the", "this", "that", "these", "those", "any", "every", "all"];
const OWNERS: [&str; 7] = ["my", "our", "your", "his", "her", "their", "its"];
/// Owners that refer to a name before them: "Ana and her sister" is one thing.
const THIRD_PERSON_OWNERS: [&str; 4] = ["his", "her", "their", "its"];
const QUESTION_WORDS: [&str; 19] = [
    "what", "when", "where", "who", "whom", "whose", "which", "why", "how", "whether", "what's", "when's", "where's",
    "who's", "why's", "how's", "what're", "who're", "where're",
];
/// Question words that can also begin a relative clause: "Ana, who lives in Oslo".
const RELATIVES: [&str; 5] = ["who", "which", "whose", "where", "when"];
const AUXILIARIES: [&str; 17] = [
    "is", "are", "was", "were", "do", "does", "did", "can", "could", "has", "have", "had", "will", "would", "should",
    "am", "may",
];
/// Auxiliaries that are as often a verb of their own: "and have the cake".
const VERB_AUXILIARIES: [&str; 3] = ["has", "have", "had"];
const PRONOUNS: [&str; 7] = ["i", "you", "he", "she", "it", "we", "they"];
/// Pronouns that refer to a name before them.
const REFERRING: [&str; 9] = ["he", "she", "his", "her", "him", "hers", "they", "their", "them"];
const PREPOSITIONS: [&str; 14] =
    ["until", "till", "to", "in", "at", "for", "with", "from", "by", "on", "under", "of", "about", "since"];
/// Verbs that ask for something, before "me" or "us".
const ASKING: [&str; 6] = ["tell", "remind", "show", "give", "explain", "list"];
/// Words that begin an introduction: "in March, where …".
const INTRODUCTIONS: [&str; 19] = [
    "in",
    "on",
    "at",
    "during",
    "after",
    "before",
    "since",
    "when",
    "while",
    "if",
    "for",
    "as",
    "last",
    "next",
    "regarding",
    "concerning",
    "about",
    "according",
    "based",
];
/// Words that begin a task rather than name what it is about: "write a note for Mara: …".
const TASK_WORDS: [&str; 22] = [
    "write", "make", "add", "put", "list", "need", "plan", "tell", "set", "suggest", "explain", "give", "show",
    "prepare", "create", "draft", "before", "i'm", "i", "build", "check", "help",
];
/// Words that find nothing, in addition to the stop words.
const FILLER: [&str; 19] = [
    "hey", "hi", "hello", "please", "thanks", "thank", "ok", "okay", "well", "btw", "way", "quick", "question", "else",
    "etc", "cheers", "much", "many", "long",
];

/// A word of a query.
#[derive(Debug)]
pub(super) struct Word<'a> {
    /// The word without the punctuation around it. Empty if it is only punctuation.
    pub(super) text: &'a str,
    /// The folded word.
    pub(super) folded: String,
    /// The word with its punctuation.
    pub(super) raw: &'a str,
    /// The bytes of the word with its punctuation.
    pub(super) range: Range<usize>,
    /// Whether a comma follows.
    pub(super) has_comma: bool,
}

/// Returns the words of a text.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut position = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let raw = piece.trim_end();
        if !raw.is_empty() {
            let inner = raw.trim_matches(|c: char| !c.is_alphanumeric());
            words.push(Word {
                text: inner,
                folded: fold(inner),
                raw,
                range: position..position + raw.len(),
                has_comma: raw.ends_with([',', '，', '、', '،']),
            });
        }
        position += piece.len();
    }
    words
}

/// Whether any of the words can find something.
pub(super) fn has_substance(words: &[Word<'_>]) -> bool {
    words.iter().any(|word| word.is_content() && !FILLER.contains(&word.folded.as_str()))
}

impl<'a> Word<'a> {
    /// Whether the word is a given one.
    pub(super) fn is(&self, word: &str) -> bool {
        self.folded == word
    }

    fn is_any(&self, words: &[&str]) -> bool {
        words.contains(&self.folded.as_str())
    }

    /// Whether the word begins with a capital letter.
    pub(super) fn is_capitalised(&self) -> bool {
        self.text.starts_with(char::is_uppercase) && !self.folded.starts_with("i'") && !self.is("i")
    }

    /// Whether the word is neither a function word nor a question word.
    pub(super) fn is_content(&self) -> bool {
        !self.folded.is_empty() && !is_stop_word(&self.folded) && !self.is_question_word()
    }

    /// Returns the name in a possessive: "Ana" of "Ana's".
    pub(super) fn possessor(&self) -> Option<&'a str> {
        let name = self.text.strip_suffix("'s").or_else(|| self.text.strip_suffix("’s"))?;
        if is_stop_word(&fold(name)) || self.is_question_word() || self.is("let's") { None } else { Some(name) }
    }

    /// Whether the word says whose the following thing is.
    pub(super) fn is_owner(&self) -> bool {
        self.is_any(&OWNERS) || self.possessor().is_some()
    }

    /// Whether the word is an owner that refers to a name before it.
    pub(super) fn is_third_person_owner(&self) -> bool {
        self.is_any(&THIRD_PERSON_OWNERS)
    }

    /// Whether a noun phrase begins with the word.
    pub(super) fn is_determiner(&self) -> bool {
        self.is_any(&ARTICLES) || self.is_owner()
    }

    pub(super) fn is_question_word(&self) -> bool {
        self.is_any(&QUESTION_WORDS)
    }

    pub(super) fn is_relative(&self) -> bool {
        self.is_any(&RELATIVES)
    }

    pub(super) fn is_auxiliary(&self) -> bool {
        self.is_any(&AUXILIARIES)
    }

    pub(super) fn is_verb_auxiliary(&self) -> bool {
        self.is_any(&VERB_AUXILIARIES)
    }

    pub(super) fn is_pronoun(&self) -> bool {
        self.is_any(&PRONOUNS)
    }

    /// Whether the word refers to a name before it.
    pub(super) fn refers(&self) -> bool {
        self.is_any(&REFERRING)
    }

    pub(super) fn is_preposition(&self) -> bool {
        self.is_any(&PREPOSITIONS)
    }

    pub(super) fn asks(&self) -> bool {
        self.is_any(&ASKING)
    }

    pub(super) fn introduces(&self) -> bool {
        self.is_any(&INTRODUCTIONS)
    }

    pub(super) fn begins_task(&self) -> bool {
        self.is_any(&TASK_WORDS)
    }
}
