//! Whom a query names.
//!
//! A chat with an assistant has two speakers without names of their own: memories of what the user said have the speaker
//! "User", of what the assistant said "Assistant". Whoever asks "what did I say" or "what did you recommend" means one of
//! them, so that such a query names a speaker as "What did Ann say" does.

use unicode_segmentation::UnicodeSegmentation;

use crate::hash::{Kind, hash};
use crate::text;

/// The speakers of a chat who have no names of their own, folded.
const USER: &str = "user";
const ASSISTANT: &str = "assistant";
/// The asker speaks of themselves.
const FIRST_PERSON: [&str; 9] = ["i", "my", "mine", "myself", "we", "our", "ours", "i'm", "i've"];
/// The asker speaks of what was said to them, when "you" stands before it.
const SAYING: [&str; 20] = [
    "said",
    "say",
    "told",
    "tell",
    "suggested",
    "suggest",
    "recommended",
    "recommend",
    "mentioned",
    "mention",
    "gave",
    "give",
    "listed",
    "list",
    "provided",
    "wrote",
    "write",
    "explained",
    "explain",
    "advised",
];

/// The folded words of a query as hashes, as names are compared, and the role of whom it means by "I" or "you".
pub(crate) fn names(query: &str) -> Vec<u64> {
    let words: Vec<String> = query.unicode_words().map(text::fold).collect();
    let bare = |word: &String| hash(Kind::Name, word.strip_suffix("'s").unwrap_or(word));
    let mut names: Vec<u64> = words.iter().map(bare).collect();
    names.extend(role(&words).map(|role| hash(Kind::Name, role)));
    names
}

/// The speakers of a chat who have no names of their own, as hashes.
pub(crate) fn roles() -> [u64; 2] {
    [USER, ASSISTANT].map(|role| hash(Kind::Name, role))
}

fn role(words: &[String]) -> Option<&'static str> {
    // "Can you tell me" asks for an answer, "did you tell me" and "you told me" ask for what was told.
    let says = |pair: &[String]| pair[0] == "you" && SAYING.contains(&pair[1].as_str());
    let asks_for_answer =
        |before: Option<&String>| before.is_some_and(|word| ["can", "could", "would", "will"].contains(&word.as_str()));
    let told = words
        .windows(2)
        .enumerate()
        .any(|(at, pair)| says(pair) && !asks_for_answer(at.checked_sub(1).and_then(|before| words.get(before))));
    let own = words.iter().any(|word| FIRST_PERSON.contains(&word.as_str()));
    match (told, own) {
        (true, _) => Some(ASSISTANT),
        (false, true) => Some(USER),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i_and_you_are_the_speakers_of_a_chat() {
        let role = |query: &str| role(&query.unicode_words().map(text::fold).collect::<Vec<_>>());
        for own in [
            "What is my sister's name?",
            "Where did I park?",
            "Can you remind me what I'm allergic to?",
            "Could you tell me my dentist's name?",
        ] {
            assert_eq!(role(own), Some("user"), "{own}");
        }
        for told in [
            "Which hotel did you recommend?",
            "What was the recipe you gave me for my party?",
            "What did you say about tides?",
        ] {
            assert_eq!(role(told), Some("assistant"), "{told}");
        }
        for neither in ["When did Ann move?", "Do you know the way?", "IKEA shelves"] {
            assert_eq!(role(neither), None, "{neither}");
        }
        assert!(names("Where is Ann's boat?").contains(&hash(Kind::Name, "ann")));
    }
}
