//! The wish of one message.

use unicode_segmentation::UnicodeSegmentation;

use super::words::{
    ASKING_OPENERS, CLOSERS, FORGET_THIS, NOT_BEFORE, NOT_THIS, OPENERS, REPORTED, STATEMENT, SUPPOSITIONS, TOPIC,
    TOPIC_ENDINGS,
};
use crate::text::sentences::sentences;
use crate::text::steps::Steps;
use crate::tokenize::fold;

/// Bytes of a message that can have a wish. A longer one is pasted, or tells something.
const MESSAGE_BYTES_MAX: usize = 600;
/// Openers before a wish.
const OPENERS_MAX: usize = 4;
/// Characters between which somebody quotes.
const QUOTES: [char; 8] = ['"', '“', '”', '„', '«', '»', '`', '>'];

/// What a message asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish<'a> {
    /// That the message itself is not remembered.
    NotThis,
    /// That the message of the same speaker before it is not remembered.
    NotBefore,
    /// That a statement is forgotten.
    Statement(&'a str),
    /// That what was said about a topic is forgotten.
    Topic(&'a str),
}

/// A wish and the sentence that words it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundWish<'a> {
    /// The wish.
    pub wish: Wish<'a>,
    /// The sentence, a part of the message.
    pub sentence: &'a str,
}

/// Reads the wish of a message of a user. `None` for most messages.
pub fn find_wish(message: &str) -> Option<FoundWish<'_>> {
    if message.len() > MESSAGE_BYTES_MAX || message.contains(QUOTES) {
        return None;
    }
    let sentences = sentences(message, &Steps::unlimited()).ok()?;
    for (index, sentence) in sentences.iter().enumerate() {
        // After "rewrite this:" come the words of others.
        if index > 0 && sentences[index - 1].ends_with(':') {
            return None;
        }
        match wish_of(sentence) {
            Some(Said::Wish(wish)) => return Some(FoundWish { wish, sentence }),
            Some(Said::NotThis { rest }) => {
                let mut others = sentences.iter().enumerate().filter(|(other, _)| *other != index);
                let is_alone = rest.is_empty() && others.all(|(_, other)| is_courtesy(other));
                let wish = if is_alone { Wish::NotBefore } else { Wish::NotThis };
                return Some(FoundWish { wish, sentence });
            }
            None => {}
        }
    }
    None
}

/// What a sentence asks.
enum Said<'a> {
    Wish(Wish<'a>),
    /// Not to remember "this": the message if it says something else, otherwise the one before.
    NotThis {
        /// What follows after the wish: "don't remember this: …".
        rest: &'a str,
    },
}

/// A word of a sentence.
struct Word {
    folded: String,
    start: usize,
    end: usize,
}

/// Where the wish of a sentence can begin.
struct Beginning {
    /// The first word, and the word after each opener: "no" may be one, or the first word of "no guardes esto".
    starts: Vec<usize>,
    /// Whether an opener makes a question of the wish.
    is_asked: bool,
}

fn wish_of(sentence: &str) -> Option<Said<'_>> {
    let words = words(sentence);
    let Beginning { starts, is_asked } = beginning(&words);
    let is_courtesy = (0..words.len()).any(|position| is_closed(&words, position));
    if sentence.trim_end().ends_with('?') && !is_asked && !is_courtesy {
        return None;
    }
    if SUPPOSITIONS.iter().any(|phrase| find(&words, phrase).is_some()) {
        return None;
    }
    if let Some(end) = longest_at(&words, &starts, NOT_BEFORE)
        && is_closed(&words, end)
    {
        return Some(Said::Wish(Wish::NotBefore));
    }
    if let Some(end) = longest_at(&words, &starts, NOT_THIS) {
        return not_this(sentence, &words, end);
    }
    if let Some(end) = longest_at(&words, &starts, FORGET_THIS)
        && is_closed(&words, end)
    {
        return Some(Said::NotThis { rest: "" });
    }
    if let Some(end) = longest_at(&words, &starts, TOPIC) {
        let topic = without_endings(sentence, &words[end..], TOPIC_ENDINGS)?;
        return Some(Said::Wish(Wish::Topic(topic)));
    }
    let end = longest_at(&words, &starts, STATEMENT)?;
    // "Forget that, I'll eat at work": what follows is no statement to forget.
    if sentence[words[end - 1].end..].starts_with(',') {
        return None;
    }
    // "I" and "my" belong to the statement.
    let mut start = if matches!(words[end - 1].folded.as_str(), "i" | "my") { end - 1 } else { end };
    if let Some(reported) = longest(&words, start, REPORTED) {
        start = reported;
    }
    let statement = without_endings(sentence, &words[start..], CLOSERS)?;
    Some(Said::Wish(Wish::Statement(statement)))
}

/// Returns the wish of a sentence that begins with "don't remember this" up to a word.
fn not_this<'a>(sentence: &'a str, words: &[Word], end: usize) -> Option<Said<'a>> {
    let rest = &sentence[words[end - 1].end..];
    if is_closed(words, end) {
        return Some(Said::NotThis { rest: "" });
    }
    // "Don't save this file" is about a file.
    let rest = rest.trim_start().strip_prefix([':', ',', ';', '-', '–', '—'])?;
    Some(Said::NotThis { rest: rest.trim() })
}

/// Returns the words of a sentence.
fn words(sentence: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for (start, word) in sentence.unicode_word_indices() {
        let folded = fold(word).replace('\u{2019}', "'");
        words.push(Word { folded, start, end: start + word.len() });
    }
    words
}

/// Returns where a wish can begin.
fn beginning(words: &[Word]) -> Beginning {
    let mut beginning = Beginning { starts: vec![0], is_asked: false };
    let mut position = 0;
    for _ in 0..OPENERS_MAX {
        if let Some(end) = longest(words, position, ASKING_OPENERS) {
            (position, beginning.is_asked) = (end, true);
        } else if let Some(end) = longest(words, position, OPENERS) {
            position = end;
        } else {
            break;
        }
        beginning.starts.push(position);
    }
    beginning
}

/// Returns the end of the longest phrase that stands at one of some positions.
fn longest_at(words: &[Word], positions: &[usize], phrases: &[&str]) -> Option<usize> {
    positions.iter().filter_map(|position| longest(words, *position, phrases)).max()
}

/// Returns the end of the longest phrase that stands at a position.
fn longest(words: &[Word], position: usize, phrases: &[&str]) -> Option<usize> {
    phrases.iter().filter_map(|phrase| end_of(words, position, phrase)).max()
}

/// Returns the end of a phrase that stands at a position.
fn end_of(words: &[Word], mut position: usize, phrase: &str) -> Option<usize> {
    for wanted in phrase.split(' ') {
        if words.get(position)?.folded != wanted {
            return None;
        }
        position += 1;
    }
    Some(position)
}

/// Returns the end of a phrase, wherever it stands.
fn find(words: &[Word], phrase: &str) -> Option<usize> {
    (0..words.len()).find_map(|position| end_of(words, position, phrase))
}

/// Whether nothing but courtesies follows a position.
fn is_closed(words: &[Word], mut position: usize) -> bool {
    while position < words.len() {
        match longest(words, position, CLOSERS) {
            Some(end) => position = end,
            None => return false,
        }
    }
    true
}

/// Whether a sentence has nothing but courtesies: "Thanks!"
fn is_courtesy(sentence: &str) -> bool {
    let words = words(sentence);
    let mut position = 0;
    while position < words.len() {
        match longest(&words, position, CLOSERS).max(longest(&words, position, OPENERS)) {
            Some(end) => position = end,
            None => return false,
        }
    }
    true
}

/// Returns the part of a sentence with some words, without those at its end that belong to the wish.
fn without_endings<'a>(sentence: &'a str, mut words: &[Word], endings: &[&str]) -> Option<&'a str> {
    while let Some((last, others)) = words.split_last() {
        if !endings.contains(&last.folded.as_str()) {
            return Some(&sentence[words[0].start..last.end]);
        }
        words = others;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(message: &str) -> Option<Wish<'_>> {
        find_wish(message).map(|found| found.wish)
    }

    #[test]
    fn a_statement_is_named_after_the_wish() {
        for (message, named) in [
            ("Forget that I live in Oslo.", "I live in Oslo"),
            ("Please forget I told you that my sister is ill.", "my sister is ill"),
            ("Could you forget that we moved to Bergen?", "we moved to Bergen"),
            ("Forget my allergy to walnuts.", "my allergy to walnuts"),
            ("Oh, and forget that I hate coriander!", "I hate coriander"),
            ("Forget that I live in Oslo, please.", "I live in Oslo"),
            ("Vergiss bitte, dass ich in Oslo wohne.", "ich in Oslo wohne"),
            ("Vergiss, dass ich in Oslo wohne.", "ich in Oslo wohne"),
            ("Oublie que j'habite à Oslo.", "j'habite à Oslo"),
            ("Olvida que vivo en Oslo.", "vivo en Oslo"),
            ("Esquece que moro em Oslo.", "moro em Oslo"),
            ("Dimentica che abito a Oslo.", "abito a Oslo"),
            ("Vergeet dat ik in Oslo woon.", "ik in Oslo woon"),
        ] {
            assert_eq!(wish(message), Some(Wish::Statement(named)), "{message}");
        }
    }

    #[test]
    fn a_topic_is_named_after_the_wish() {
        for (message, named) in [
            ("Forget what I told you about my divorce.", "my divorce"),
            ("Please forget everything I said about the surprise party, please.", "the surprise party"),
            ("Vergiss, was ich dir über meine Scheidung erzählt habe.", "meine Scheidung"),
            ("Oublie ce que je t'ai dit sur mon divorce.", "mon divorce"),
            ("Vergeet wat ik over mijn scheiding zei.", "mijn scheiding"),
        ] {
            assert_eq!(wish(message), Some(Wish::Topic(named)), "{message}");
        }
    }

    #[test]
    fn a_message_asks_not_to_be_remembered() {
        for message in [
            "Don't remember this: my PIN is 4711.",
            "My PIN is 4711. Please don't store this.",
            "My knee hurts again. Don\u{2019}t save that, ok?",
            "Das Passwort ist Erdbeere. Merk dir das bitte nicht.",
            "Mon code est 4711. Ne retiens pas ça.",
            "Mi clave es 4711. No guardes esto, por favor.",
            "Il mio PIN è 4711. Non memorizzarlo.",
            "O meu PIN é 4711. Não guardes isto.",
            "Mijn pincode is 4711. Onthoud dit niet.",
        ] {
            assert_eq!(wish(message), Some(Wish::NotThis), "{message}");
        }
        for message in [
            "Please don't remember this.",
            "Forget what I just said.",
            "Vergiss, was ich gerade gesagt habe.",
            "Thanks! Don't store this.",
            "Forget that.",
            "Ok, forget that please.",
            "Could you delete that from your memory?",
            "Vergiss das bitte wieder.",
            "Oublie ça, s'il te plaît.",
            "Olvida eso, por favor.",
            "Esquece isso.",
            "Vergeet dat alsjeblieft.",
        ] {
            assert_eq!(wish(message), Some(Wish::NotBefore), "{message}");
        }
        assert_eq!(wish("I am seeing a lawyer. Forget that."), Some(Wish::NotThis));
    }

    #[test]
    fn idioms_denials_and_quotes_ask_for_nothing() {
        for message in [
            "Don't forget that I live in Oslo.",
            "Never forget that I told you so.",
            "Forget it.",
            "Forget about dinner, I'll eat at work.",
            "Let's forget that.",
            "Forget that, I'll eat at work.",
            "Did you forget that I live in Oslo?",
            "You forgot that I live in Oslo.",
            "I keep forgetting that I moved.",
            "I'd like to forget that I ever met him.",
            "Before I forget, I moved to Bergen.",
            "I don't remember this at all.",
            "I can't remember this street.",
            "Don't remember that, sorry.",
            "Don't save this file as PDF.",
            "Don't keep this recipe in the fridge.",
            "Forget for a moment that I live in Oslo.",
            "Forget that I live in Oslo for a second: where would you move?",
            "He said \"forget that I live in Oslo\".",
            "> Forget that I live in Oslo.",
            "Translate this: Forget that I live in Oslo.",
            "Write a song called `Forget that I live here`.",
            "Forget the umbrella, the sun is out.",
            "Forget me not is a flower.",
            "My phone always forgets that I turned it off.",
            "Vergiss nicht, dass ich in Oslo wohne.",
            "Vergiss es.",
            "N'oublie pas que j'habite à Oslo.",
            "Laisse tomber, oublie.",
            "No olvides que vivo en Oslo.",
            "Olvídalo.",
            "Não te esqueças que moro em Oslo.",
            "Non dimenticare che abito a Oslo.",
            "Vergeet niet dat ik in Oslo woon.",
            "Vergeet het maar.",
            "",
        ] {
            assert_eq!(wish(message), None, "{message}");
        }
    }
}
