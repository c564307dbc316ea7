//! Recognizes reactions: sentences that praise, thank or encourage another participant and state nothing of their own.
//!
//! "That charity race sounds great, Mel!" repeats what Mel said. A sentence is a reaction if each of its words is in a
//! list, is a participant's name, or was said in the turn before, and one of them praises or supports. The list,
//! `reactions.txt`, is English, so sentences in other languages are never reactions. A sentence about the speaker ("I love pottery too") is one only if it begins as
//! in [`ABOUT_THE_OTHER`]. Questions are not reactions.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::tokenize::QUESTION_MARKS;

use super::small_talk::{Participants, Position, folded_words, is_small_talk};

/// Words of reactions in folded form, in sections. The first section has [`FUNCTIONS`] as its heading.
const WORDS: &str = include_str!("reactions.txt");
/// Heading of the words that say nothing on their own.
const FUNCTIONS: &str = "# functions";
/// A longer sentence is not a reaction.
const SENTENCE_BYTES_MAX: usize = 300;
/// More words outside of the list are not an echo.
const ECHOED_WORDS_MAX: usize = 6;
/// The rest of a longer text is not searched for echoed words.
const BEFORE_BYTES_MAX: usize = 2000;
/// Words that make a sentence one about its speaker.
const FIRST_PERSON: [&str; 18] = [
    "i", "i'm", "i've", "i'll", "i'd", "my", "me", "mine", "myself", "we", "we're", "we've", "we'll", "we'd", "our",
    "ours", "us", "im",
];
/// How sentences in the first person begin that are about the other person.
const ABOUT_THE_OTHER: [&str; 26] = [
    "i agree",
    "i totally agree",
    "i completely agree",
    "i couldn't agree",
    "i appreciate",
    "i really appreciate",
    "i believe in you",
    "i bet",
    "i can see",
    "i can tell",
    "i can imagine",
    "i can't wait to see",
    "i can't wait to hear",
    "i hope you",
    "i hope it",
    "i hope that",
    "i know you",
    "i'd love to hear",
    "i'd love to see",
    "i'm glad you",
    "i'm happy for you",
    "i'm proud of you",
    "i'm really proud of you",
    "i'm so proud of you",
    "i'm super proud of you",
    "i'm sure you",
];

/// What decides whether a sentence is a reaction, in addition to its words.
#[derive(Clone, Copy)]
pub struct Reaction<'a> {
    /// The position of the turn.
    pub position: Position,
    /// The participants of the conversation.
    pub participants: &'a Participants,
    /// What another participant said before.
    pub before: &'a str,
}

impl Reaction<'_> {
    /// Whether a sentence is a courtesy or a reaction.
    pub fn is_made_by(self, sentence: &str) -> bool {
        is_small_talk(sentence, self.position, self.participants) || self.is_reaction(sentence)
    }

    fn is_reaction(self, sentence: &str) -> bool {
        static LIST: LazyLock<HashMap<&str, WordKind>> = LazyLock::new(read_list);
        // After a question, "Sure, it means a lot." is an answer.
        let may_answer = self.position == Position::AfterQuestion;
        if may_answer || sentence.len() > SENTENCE_BYTES_MAX || sentence.ends_with(QUESTION_MARKS) {
            return false;
        }
        let mut words = folded_words(sentence);
        words.retain(|word| !self.participants.contains(word));
        if words.iter().any(|word| FIRST_PERSON.contains(&word.as_str())) && !is_about_the_other(&words) {
            return false;
        }
        let praises = words.iter().any(|word| LIST.get(word.as_str()) == Some(&WordKind::Praise));
        words.retain(|word| !LIST.contains_key(word.as_str()) && !FIRST_PERSON.contains(&word.as_str()));
        if !praises || words.len() > ECHOED_WORDS_MAX {
            return false;
        }
        words.is_empty() || self.was_said(&words)
    }

    /// Whether the other participant said each of some words.
    fn was_said(self, words: &[String]) -> bool {
        let before = &self.before[..self.before.floor_char_boundary(BEFORE_BYTES_MAX)];
        let said = folded_words(before);
        words.iter().all(|word| said.contains(word))
    }
}

fn is_about_the_other(words: &[String]) -> bool {
    let text = words.join(" ");
    ABOUT_THE_OTHER.iter().any(|beginning| text.starts_with(beginning))
}

/// What a word of the list does in a reaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// Says nothing on its own.
    Function,
    /// Praises, thanks or encourages.
    Praise,
}

fn read_list() -> HashMap<&'static str, WordKind> {
    let mut list = HashMap::new();
    let mut kind = WordKind::Function;
    for line in WORDS.lines() {
        if line.starts_with('#') {
            kind = if line == FUNCTIONS { WordKind::Function } else { WordKind::Praise };
            continue;
        }
        for word in line.split_whitespace() {
            list.entry(word).or_insert(kind);
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    const RACE: &str = "I ran a charity race for mental health on Saturday, and it raised awareness.";

    fn is_reaction(sentence: &str) -> bool {
        let mut participants = Participants::default();
        participants.add("Mel");
        let reaction = Reaction { position: Position::Elsewhere, participants: &participants, before: RACE };
        reaction.is_made_by(sentence)
    }

    #[test]
    fn praise_of_what_the_other_said_is_a_reaction() {
        for reaction in [
            "That charity race sounds great, Mel!",
            "I'm really proud of you!",
            "Your hard work matters, keep going and never give up!",
            "Thanks, your support means a lot.",
        ] {
            assert!(is_reaction(reaction), "{reaction}");
        }
    }

    #[test]
    fn a_sentence_about_the_speaker_or_with_another_word_is_no_reaction() {
        for statement in [
            "I love charity races too!",
            "My dream is a race.",
            "You look great in that turquoise dress.",
            "We have been friends for a long time.",
            "How was the race?",
            "One.",
            "You were there.",
            "Das Rennen klingt toll!",
        ] {
            assert!(!is_reaction(statement), "{statement}");
        }
    }
}
