//! The claims that a question asks for: the names in it, the attributes that its words ask for, and the time.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use crate::claims::{AskedClaims, AskedKind, AskedPeriod};
use crate::tokenize::{fold, is_stop_word, writes_no_spaces};

use super::attributes::{self, ATTRIBUTES, Cardinality};
use super::lists::{
    FIRST_PERSON, FOREIGN_QUESTIONS, GENERIC_VERBS, OWN_PARENTS, PRESENT_VERBS, STATE_QUESTIONS, STATE_WORDS, STILL,
};
use super::names;

/// The name of the user in a chat with an assistant.
pub const USER: &str = "user";
/// Words that ask for a former value.
const FORMER: [&str; 9] =
    ["previously", "former", "formerly", "originally", "previous", "earlier", "prior", "old", "ex"];
/// Words of past tenses, without which "before" does not ask for a former value.
const PAST: [&str; 5] = ["did", "was", "were", "had", "been"];
/// Words of a question that are considered.
const WORDS_MAX: usize = 40;
/// Characters of a name or a noun in a script without spaces.
const SUBSTRING_CHARS_MAX: usize = 6;
/// Words of a name or an attribute.
const NAME_WORDS_MAX: usize = 3;

/// The words by which questions ask for the attributes of the table: those of the table, and the verbs of its frames.
struct Phrases {
    /// The attributes of each phrase.
    attributes: HashMap<&'static str, Vec<&'static str>>,
    /// The words of the longest phrase.
    words_max: usize,
}

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    let mut phrases = Phrases { attributes: HashMap::new(), words_max: 0 };
    for attribute in ATTRIBUTES.iter() {
        let mut asked: Vec<&'static str> = attribute.asked.iter().chain(&attribute.nouns).copied().collect();
        for frame in &attribute.frames {
            asked.extend(frame.forms.iter().map(|(form, _)| *form).filter(|form| !GENERIC_VERBS.has(form)));
        }
        asked.sort_unstable();
        asked.dedup();
        for phrase in asked {
            phrases.words_max = phrases.words_max.max(phrase.split(' ').count());
            phrases.attributes.entry(phrase).or_default().push(attribute.name);
        }
    }
    phrases
});

/// Returns the claims that a question asks for. `times` are the times that it names, and `now` is the present.
pub fn asked(question: &str, times: &[Range<i64>], now: i64) -> AskedClaims {
    let folded = fold(question);
    let mut words = Vec::new();
    for word in folded.split_whitespace().take(WORDS_MAX) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '$' | '#'));
        if !word.is_empty() {
            words.push(word);
        }
    }
    let joined = format!(" {} ", words.join(" "));
    AskedClaims {
        subjects: subjects(&words),
        attributes: attributes(&words),
        period: period(&words, times, now),
        kind: kind(&words, &joined),
    }
}

/// Returns the names that a question contains: of the user, of relatives of anyone, and all runs of its words that may
/// be a name. The empty name stands for things that need no owner: "the door code".
fn subjects(words: &[&str]) -> Vec<String> {
    let mut subjects = vec![String::new()];
    if words.iter().any(|word| FIRST_PERSON.has(word)) || words.iter().any(|word| word.contains('我')) {
        subjects.push(USER.to_owned());
    }
    for word in words {
        if OWN_PARENTS.has(word) {
            subjects.push(format!("{USER}'s {word}"));
        }
    }
    for run in runs(words) {
        if let Some(owned) = run.strip_prefix("my ").or_else(|| run.strip_prefix("our ")) {
            subjects.push(format!("{USER}'s {owned}"));
            continue;
        }
        subjects.push(run.strip_suffix("'s").unwrap_or(&run).to_owned());
        subjects.push(run);
    }
    subjects.sort();
    subjects.dedup();
    subjects
}

/// Returns the attributes that a question may be about: those of the table whose words it contains, and all runs of its
/// words.
fn attributes(words: &[&str]) -> Vec<String> {
    let mut asked = Vec::new();
    for (_, attribute) in phrases(words) {
        asked.push(attribute.to_owned());
    }
    for run in runs(words) {
        if let Some(singular) = run.strip_suffix('s') {
            asked.push(format!("number of {singular}"));
        }
        asked.push(format!("number of {run}"));
        asked.push(format!("place of {run}"));
        for unit in ["day", "week", "month"] {
            asked.push(format!("{run} per {unit}"));
        }
        asked.push(run);
    }
    asked.sort();
    asked.dedup();
    asked
}

/// Returns the phrases of the table that a question contains, each with its attribute.
fn phrases(words: &[&str]) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    for begin in 0..words.len() {
        for end in begin + 1..=words.len().min(begin + PHRASES.words_max) {
            let Some((phrase, attributes)) = PHRASES.attributes.get_key_value(words[begin..end].join(" ").as_str())
            else {
                continue;
            };
            found.extend(attributes.iter().map(|attribute| (*phrase, *attribute)));
        }
    }
    found
}

/// Returns the runs of up to [`NAME_WORDS_MAX`] words that neither begin nor end with a stop word. "my" and "our" may
/// begin a run.
fn runs(words: &[&str]) -> Vec<String> {
    let mut runs = Vec::new();
    for word in words {
        runs.extend(substrings(word));
    }
    let mut content = words.to_vec();
    content.retain(|word| !names::is_function_word(word) || matches!(*word, "my" | "our"));
    let words = &content[..];
    for begin in 0..words.len() {
        let is_owner = matches!(words[begin], "my" | "our");
        if is_stop_word(words[begin]) && !is_owner {
            continue;
        }
        for end in begin + 1..=words.len().min(begin + NAME_WORDS_MAX) {
            let is_alone = is_owner && end == begin + 1;
            if !is_stop_word(words[end - 1]) && !is_alone {
                runs.push(words[begin..end].join(" "));
            }
        }
    }
    runs
}

/// Returns whether a question asks how something is at present: in the present tense, for an attribute that has one
/// value at a time. "What did Ana do?" and "Which books does Ana like?" have several answers, of which the latest is no
/// better than the others.
fn kind(words: &[&str], joined: &str) -> AskedKind {
    if words.iter().any(|word| STILL.has(word)) || joined.contains(" any more ") || joined.contains(" any longer ") {
        return AskedKind::Continuation;
    }
    let is_question = words.iter().take(3).any(|word| STATE_QUESTIONS.has(word));
    let is_foreign = words.iter().take(3).any(|word| FOREIGN_QUESTIONS.has(word));
    let is_present = words.iter().any(|word| PRESENT_VERBS.has(word));
    let is_past = words.iter().any(|word| PAST.contains(word));
    if (is_foreign || (is_question && is_present && !is_past)) && asks_for_one_value(words) {
        AskedKind::State
    } else {
        AskedKind::Anything
    }
}

/// Whether a question names an attribute that has one value, or one of the user's things: "what is my gym".
fn asks_for_one_value(words: &[&str]) -> bool {
    if phrases(words).into_iter().any(|(phrase, attribute)| is_named_by(attribute, phrase)) {
        return true;
    }
    let is_about_user = words.iter().any(|word| FIRST_PERSON.has(word));
    is_about_user || words.iter().any(|word| STATE_WORDS.has(word))
}

/// Whether a noun names an attribute with one value.
fn is_named_by(attribute: &str, noun: &str) -> bool {
    match attributes::named(attribute) {
        Some(attribute) => attribute.cardinality == Cardinality::One && attribute.nouns.contains(&noun),
        None => false,
    }
}

/// Returns the parts of a text in a script without spaces that may be a name or a noun.
fn substrings(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let characters: Vec<char> = word.chars().collect();
    if !characters.iter().any(|c| writes_no_spaces(*c)) {
        return parts;
    }
    for begin in 0..characters.len() {
        for end in begin + 2..=characters.len().min(begin + SUBSTRING_CHARS_MAX) {
            parts.push(characters[begin..end].iter().collect());
        }
    }
    parts
}

/// Returns the time that a question asks for: the latest of the named times that is not in the future, or a former
/// value, or the present.
fn period(words: &[&str], times: &[Range<i64>], now: i64) -> AskedPeriod {
    if let Some(time) = times.iter().rev().find(|time| time.start <= now) {
        return AskedPeriod::Named(time.start, time.end.saturating_sub(1));
    }
    let is_past = words.iter().any(|word| PAST.contains(word));
    let used_to = words.windows(2).any(|pair| matches!(pair, ["used" | "use", "to"]));
    let before = is_past && words.contains(&"before");
    if used_to || before || names_former(words) {
        return AskedPeriod::Former;
    }
    AskedPeriod::Present
}

/// Whether a question asks for something former: "my old phone", but not "how old" and "two years old".
fn names_former(words: &[&str]) -> bool {
    let mut previous = "";
    for word in words {
        let is_age = *word == "old" && matches!(previous, "how" | "years" | "year" | "months" | "weeks" | "wie");
        if FORMER.contains(word) && !is_age {
            return true;
        }
        previous = word;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_attributes_are_found() {
        let asked = asked("Where does Ana's sister work these days?", &[], 0);
        assert!(asked.subjects.contains(&"ana's sister".to_owned()), "{asked:?}");
        assert!(asked.subjects.contains(&"ana".to_owned()));
        assert!(asked.attributes.contains(&"employer".to_owned()));
        assert_eq!(asked.period, AskedPeriod::Present);
        let asked = super::asked("What is my gym?", &[], 0);
        assert!(asked.subjects.contains(&"user".to_owned()) && asked.attributes.contains(&"gym".to_owned()));
    }

    #[test]
    fn the_time_in_question_is_found() {
        assert_eq!(asked("Where did Ana live in March?", &[5..10, 20..30], 15).period, AskedPeriod::Named(5, 9));
        for former in ["Where did Ana use to work?", "Where did she work before?", "What was my previous job?"] {
            assert_eq!(asked(former, &[], 0).period, AskedPeriod::Former, "{former}");
        }
        assert_eq!(asked("What must I buy before Friday?", &[], 0).period, AskedPeriod::Present);
    }
}
