//! The speakers that a query names.
//!
//! A chat with an assistant has two speakers without names: the memories of what the user said have the speaker "User",
//! those of what the assistant said "Assistant". A query such as "what did I say" or "what did you recommend" refers to
//! one of them, so it names a speaker just as "What did Ann say" does.

use cuebase_language::tokenize;
use unicode_segmentation::UnicodeSegmentation;

use crate::hash::{NameHash, chat_assistant, chat_user};

/// The speakers of a chat who have no names, folded.
const USER: &str = "user";
const ASSISTANT: &str = "assistant";
/// Words by which the person who asks refers to themselves: in English, German, French, Spanish, Portuguese, Italian and
/// Dutch, without those that are words of another of these languages or names.
const FIRST_PERSON: [&str; 52] = [
    "i", "my", "mine", "myself", "we", "our", "ours", "i'm", "i've", "ich", "mein", "meine", "meinen", "meinem",
    "meiner", "meines", "mir", "mich", "wir", "unser", "unsere", "unseren", "unserer", "je", "mon", "mes", "nous",
    "notre", "yo", "mis", "nosotros", "nuestro", "nuestra", "nuestros", "nuestras", "eu", "meu", "minha", "meus",
    "minhas", "nosso", "nossa", "io", "mio", "miei", "nostro", "nostra", "ik", "mijn", "wij", "ons", "onze",
];
/// Words that ask for an answer when they precede "you": "can you tell me", unlike "did you tell me".
const REQUESTS: [&str; 4] = ["can", "could", "would", "will"];
/// After "you", words that refer to what the assistant said.
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

/// Verbs that say in one word that the assistant said something: Spanish and Portuguese.
const YOU_SAID: [&str; 14] = [
    "recomendaste",
    "sugeriste",
    "dijiste",
    "aconsejaste",
    "propusiste",
    "mencionaste",
    "explicaste",
    "disseste",
    "aconselhaste",
    "propuseste",
    "indicaste",
    "aconselhou",
    "recomendou",
    "sugeriu",
];
/// What the assistant did, after [`YOU_HAVE`].
const HAVE_SAID: [&str; 46] = [
    "empfohlen",
    "vorgeschlagen",
    "gesagt",
    "geraten",
    "genannt",
    "gegeben",
    "erwahnt",
    "erklart",
    "geschrieben",
    "conseille",
    "conseillee",
    "recommande",
    "recommandee",
    "propose",
    "proposee",
    "dit",
    "suggere",
    "suggeree",
    "donne",
    "indique",
    "explique",
    "recomendado",
    "sugerido",
    "dicho",
    "aconsejado",
    "propuesto",
    "mencionado",
    "explicado",
    "dado",
    "dito",
    "consigliato",
    "consigliata",
    "suggerito",
    "suggerita",
    "detto",
    "proposto",
    "proposta",
    "raccomandato",
    "indicato",
    "aangeraden",
    "voorgesteld",
    "gezegd",
    "geadviseerd",
    "genoemd",
    "gegeven",
    "aanbevolen",
];
/// Words that say that "you" did something, in the second person: German, French, Spanish, Portuguese, Italian, Dutch.
const YOU_HAVE: [&str; 14] = [
    "hast", "hattest", "m'as", "m'avais", "as", "avais", "has", "habias", "tinhas", "hai", "avevi", "heb", "had",
    "hebt",
];
/// Words between such a word and what was done.
const SAID_WITHIN: usize = 8;

/// Whether a query speaks of the person who asks: "my", "ich".
pub fn is_in_first_person(query: &str) -> bool {
    let words: Vec<String> = query.unicode_words().map(tokenize::fold).collect();
    chat_speaker(&words) == Some(USER)
}

/// Returns the words of a name.
pub(crate) fn words_of_name(name: &str) -> Vec<NameHash> {
    let mut words = Vec::new();
    for word in name.unicode_words() {
        words.push(NameHash::of(&tokenize::fold(word)));
    }
    words
}

/// Returns a query's folded words, to compare with names, and the speaker that "I" or "you" stands for. `user` are the words
/// of the name of the person who asks, for whom "I" stands as well.
pub(crate) fn name_hashes(query: &str, user: &[NameHash]) -> Vec<NameHash> {
    let words: Vec<String> = query.unicode_words().map(tokenize::fold).collect();
    let mut names: Vec<NameHash> =
        words.iter().map(|word| NameHash::of(word.strip_suffix("'s").unwrap_or(word))).collect();
    if let Some(speaker) = chat_speaker(&words) {
        names.push(NameHash::of(speaker));
        if speaker == USER {
            names.extend_from_slice(user);
        }
    }
    names
}

/// Returns the speakers of a chat who have no names.
pub(super) fn chat_speakers() -> [NameHash; 2] {
    [chat_user(), chat_assistant()]
}

/// Returns the speaker of a chat that the words refer to.
fn chat_speaker(words: &[String]) -> Option<&'static str> {
    if refers_to_assistant(words) {
        Some(ASSISTANT)
    } else if words.iter().any(|word| FIRST_PERSON.contains(&word.as_str())) {
        Some(USER)
    } else {
        None
    }
}

/// Whether the words ask for something that the assistant said.
fn refers_to_assistant(words: &[String]) -> bool {
    if words.iter().any(|word| YOU_SAID.contains(&word.as_str())) || says_you_have_said(words) {
        return true;
    }
    for (index, pair) in words.windows(2).enumerate() {
        if pair[0] != "you" || !SAYING.contains(&pair[1].as_str()) {
            continue;
        }
        let is_request = index > 0 && REQUESTS.contains(&words[index - 1].as_str());
        if !is_request {
            return true;
        }
    }
    false
}

/// Whether the words have "you have" and, soon after it, what the assistant did: "hast du mir empfohlen".
fn says_you_have_said(words: &[String]) -> bool {
    for (index, word) in words.iter().enumerate() {
        let next = words.get(index + 1).map(String::as_str);
        let is_you = match word.as_str() {
            "heb" | "had" | "hebt" => matches!(next, Some("je" | "jij")),
            "as" | "avais" => index > 0 && words[index - 1] == "tu" || next == Some("tu"),
            word => YOU_HAVE.contains(&word),
        };
        let mut after = words[index + 1..].iter().take(SAID_WITHIN);
        if is_you && after.any(|word| HAVE_SAID.contains(&word.as_str())) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i_and_you_refer_to_the_speakers_of_a_chat() {
        let speaker = |query: &str| chat_speaker(&query.unicode_words().map(tokenize::fold).collect::<Vec<_>>());
        for user in [
            "What is my sister's name?",
            "Where did I park?",
            "Can you remind me what I'm allergic to?",
            "Could you tell me my dentist's name?",
        ] {
            assert_eq!(speaker(user), Some("user"), "{user}");
        }
        for assistant in [
            "Which hotel did you recommend?",
            "What was the recipe you gave me for my party?",
            "What did you say about tides?",
            "Welches Hotel hattest du mir empfohlen?",
            "Quel hôtel m'avais-tu conseillé ?",
            "¿Qué hotel me recomendaste?",
            "Que hotel me aconselhou?",
            "Quale albergo mi avevi consigliato?",
            "Welk hotel heb je me aangeraden?",
        ] {
            assert_eq!(speaker(assistant), Some("assistant"), "{assistant}");
        }
        for neither in ["When did Ann move?", "Do you know the way?", "IKEA shelves"] {
            assert_eq!(speaker(neither), None, "{neither}");
        }
        let ann = NameHash::of("ann");
        assert!(name_hashes("Where is Ann's boat?", &[]).contains(&ann));
        assert!(name_hashes("Where is my boat?", &[ann]).contains(&ann));
        assert!(!name_hashes("Where did you say that it is?", &[ann]).contains(&ann));
    }
}
