//! Which earlier message a correction corrects: "no wait, Thursday", "it's Robin, not Ruben".
//!
//! A correction says little by itself. Its memory quotes the message that it corrects, so that it is found by what that one
//! says, and can be understood. A message corrects another one of the same speaker in the session if a word of its own
//! says so, or if it denies a number or a name of the other ("not the 16th").

use super::turns::Corrected;
use crate::conversation::Message;
use crate::text::filler::is_filler;
use crate::text::steps::{Interrupted, Steps};
use crate::tokenize::{fold, is_stop_word};

/// Messages before a correction in which the corrected one is looked for.
const MESSAGES_MAX: usize = 12;
/// Bytes of a message that can be quoted as a whole. A longer one says too much else.
const QUOTED_BYTES_MAX: usize = 600;
/// Words of a correction. A longer message tells something of its own.
const WORDS_MAX: usize = 80;
/// Words of a sentence in which a confession of a mistake stands.
const CONFESSION_WORDS_MAX: usize = 16;
/// What a word counts that a correction denies, in words that both messages have.
const DENIED_WEIGHT: usize = 4;

/// Phrases with which a sentence begins that corrects something, in English, German, French, Spanish, Portuguese, Italian and
/// Dutch, folded.
const BEGINNINGS: [&str; 31] = [
    "no wait",
    "wait no",
    "oh wait",
    "wait i",
    "hang on",
    "hold on",
    "scratch",
    "scrap",
    "strike that",
    "correction",
    "my mistake",
    "my bad",
    "oops",
    "moment",
    "nein warte",
    "halt stopp",
    "korrektur",
    "non attends",
    "attends non",
    "rectification",
    "espera no",
    "no espera",
    "corrijo",
    "correccion",
    "nao espera",
    "corrigindo",
    "no aspetta",
    "aspetta no",
    "correzione",
    "nee wacht",
    "correctie",
];
/// Phrases by which somebody says that they made a mistake, wherever they stand in a sentence.
const CONFESSIONS: [&str; 33] = [
    "i meant",
    "i misread",
    "i misspoke",
    "i mistyped",
    "i was wrong",
    "i got that wrong",
    "i told you the wrong",
    "i mixed up",
    "i mixed that up",
    "i swapped",
    "ich meinte",
    "ich hab mich vertan",
    "ich habe mich vertan",
    "verwechselt",
    "vertauscht",
    "verlesen",
    "verschrieben",
    "je me suis trompe",
    "je me suis trompee",
    "je voulais dire",
    "me equivoque",
    "me he equivocado",
    "queria decir",
    "quise decir",
    "enganei me",
    "me enganei",
    "queria dizer",
    "mi sono sbagliato",
    "mi sono sbagliata",
    "volevo dire",
    "ik bedoelde",
    "ik heb me vergist",
    "verkeerd gelezen",
];
/// Interjections before the beginning of a correction.
const INTERJECTIONS: [&str; 16] =
    ["oh", "ah", "ach", "argh", "hm", "hmm", "sorry", "ups", "no", "nein", "non", "nao", "nee", "ok", "okay", "perdon"];
/// Words that deny the word after them.
const DENIALS: [&str; 9] = ["not", "isn't", "wasn't", "nicht", "statt", "pas", "nao", "non", "niet"];
/// Words between a denial and what it denies.
const ARTICLES: [&str; 22] = [
    "the", "a", "an", "on", "at", "in", "der", "die", "das", "dem", "den", "am", "le", "la", "les", "el", "los", "o",
    "a", "il", "lo", "de",
];

/// A word of a correction.
struct Word {
    folded: String,
    /// Whether it is a number or begins with a capital letter.
    is_value: bool,
}

/// Returns the message that the last of some messages corrects, if it corrects one.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub(super) fn find(messages: &[Message<'_>], steps: &Steps<'_>) -> Result<Option<Corrected>, Interrupted> {
    let Some((message, before)) = messages.split_last() else { return Ok(None) };
    steps.take(2 * message.text.len())?;
    if message.text.split_whitespace().nth(WORDS_MAX).is_some() {
        return Ok(None);
    }
    let words = words(message.text);
    let denied = denied(&words);
    let is_marked = is_marked(message.text);
    if !is_marked && denied.is_empty() {
        return Ok(None);
    }
    let mut best: Option<(usize, usize)> = None;
    for (other, earlier) in before.iter().enumerate().rev().take(MESSAGES_MAX) {
        if !earlier.is_stored || earlier.speaker() != message.speaker() || earlier.text.len() > QUOTED_BYTES_MAX {
            continue;
        }
        steps.take(2 * earlier.text.len())?;
        let earlier = self::words(earlier.text);
        let denied_count = denied.iter().filter(|word| are_words_of(&earlier, word)).count();
        if denied_count == 0 && !is_marked {
            continue;
        }
        let shared = words.iter().filter(|word| is_content(word) && are_words_of(&earlier, &word.folded)).count();
        let weight = 1 + shared + DENIED_WEIGHT * denied_count;
        if best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, other));
        }
    }
    let Some((_, corrected)) = best else { return Ok(None) };
    let Message { text, said, .. } = before[corrected];
    Ok(Some(Corrected { text: text.to_owned(), message: corrected, day: said.day }))
}

/// Returns the words of a text.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’')) {
        if !word.is_empty() {
            let is_value = word.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
            words.push(Word { folded: fold(word), is_value });
        }
    }
    words
}

fn is_content(word: &Word) -> bool {
    (word.is_value || word.folded.chars().count() > 2) && !is_filler(&word.folded) && !is_stop_word(&word.folded)
}

/// Whether a sentence begins as a correction does, or says that the speaker made a mistake.
fn is_marked(text: &str) -> bool {
    for sentence in text.split(['.', '!', '?', '\n', '…']) {
        let words = words(sentence);
        let mut spaced = String::from(" ");
        for word in words.iter().take(CONFESSION_WORDS_MAX) {
            spaced.push_str(&word.folded);
            spaced.push(' ');
        }
        let mut beginning = &spaced[..];
        loop {
            if BEGINNINGS.iter().any(|mark| begins_with(beginning, mark)) {
                return true;
            }
            let Some(interjection) = INTERJECTIONS.iter().find(|word| begins_with(beginning, word)) else { break };
            beginning = &beginning[interjection.len() + 1..];
        }
        for phrase in CONFESSIONS {
            // Most phrases do not occur at all, so that no text is allocated for them.
            if spaced.contains(phrase) && spaced.contains(&format!(" {phrase} ")) {
                return true;
            }
        }
    }
    false
}

/// Whether words, each after a space, begin with a phrase.
fn begins_with(spaced: &str, phrase: &str) -> bool {
    spaced.get(1..).and_then(|words| words.strip_prefix(phrase)).is_some_and(|rest| rest.starts_with(' '))
}

/// Returns the numbers and names that a correction denies.
fn denied(words: &[Word]) -> Vec<&str> {
    let mut denied = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if !DENIALS.contains(&word.folded.as_str()) {
            continue;
        }
        let value = words[at + 1..].iter().find(|word| !ARTICLES.contains(&word.folded.as_str()));
        if let Some(value) = value
            && value.is_value
            && is_content(value)
        {
            denied.push(value.folded.as_str());
        }
    }
    denied
}

/// Whether a word is among some others.
fn are_words_of(words: &[Word], folded: &str) -> bool {
    words.iter().any(|word| word.folded == folded)
}

#[cfg(test)]
mod tests {
    use super::super::tests::message;
    use super::*;

    fn corrected(texts: &[&str]) -> Option<usize> {
        let messages: Vec<Message<'_>> = texts.iter().map(|text| message(Some("Ann"), text)).collect();
        let corrected = find(&messages, &Steps::unlimited()).expect("not interrupted");
        corrected.map(|corrected| corrected.message)
    }

    #[test]
    fn a_marked_correction_is_one_of_the_message_that_it_is_most_like() {
        let texts = ["The regatta is on 12 June.", "Bo sold his kayak.", "hang on, the regatta is on the 13th"];
        assert_eq!(corrected(&texts), Some(0));
        assert_eq!(corrected(&["Bo sold his kayak for 300.", "no wait, 350"]), Some(0));
        assert_eq!(corrected(&["Die Regatta ist am 12. Juni.", "Moment, verlesen: am 13."]), Some(0));
        assert_eq!(corrected(&["La regata es el 12 de junio.", "Perdón, corrijo: el 13."]), Some(0));
        assert_eq!(corrected(&["Mein Kurs ist am Montag.", "ach Mist, Montag hab ich vertauscht"]), Some(0));
    }

    #[test]
    fn a_denied_name_or_number_is_corrected_where_it_stands() {
        let texts = ["His name is Ruben.", "We paddled to the island.", "It's Robin, not Ruben."];
        assert_eq!(corrected(&texts), Some(0));
        assert_eq!(corrected(&["The train leaves at 16.", "it leaves at 17, not the 16"]), Some(0));
    }

    #[test]
    fn other_messages_correct_nothing() {
        assert_eq!(corrected(&["His name is Ruben.", "We did not go to Oslo."]), None);
        assert_eq!(corrected(&["His name is Ruben.", "He is not tall."]), None);
        assert_eq!(corrected(&["I paddled to the island.", "What a moment! Wait until I tell you."]), None);
        assert_eq!(corrected(&["I paddled to the island.", "No, I did not swim."]), None);
        assert_eq!(corrected(&["no wait, Thursday"]), None);
        let other = [message(Some("Bo"), "It is on Friday."), message(Some("Ann"), "no wait, Thursday")];
        assert!(find(&other, &Steps::unlimited()).expect("not interrupted").is_none());
    }
}
