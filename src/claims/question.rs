//! The claims that a question asks for: the names in it, the attributes that its words ask for, and the time.

use std::ops::Range;

use cuebase_retrieval::{AskedClaims, AskedKind, AskedPeriod, fold, is_stop_word};

use super::attributes::ATTRIBUTES;
use super::names;

/// The name of the user in a chat with an assistant.
const USER: &str = "user";
/// Words by which the person who asks refers to themselves.
const FIRST_PERSON: [&str; 9] = ["i", "me", "my", "mine", "we", "us", "our", "ours", "i'm"];
/// Words that ask for a former value.
const FORMER: [&str; 9] =
    ["previously", "former", "formerly", "originally", "previous", "earlier", "prior", "old", "ex"];
/// Words of past tenses, without which "before" does not ask for a former value.
const PAST: [&str; 5] = ["did", "was", "were", "had", "been"];
/// Words that begin questions about how something is.
const STATE_QUESTIONS: [&str; 10] =
    ["what", "what's", "which", "who", "who's", "whose", "where", "where's", "how", "when"];
/// Verbs of such questions. In other tenses they ask what happened.
const STATE_VERBS: [&str; 14] =
    ["is", "are", "am", "does", "do", "has", "have", "what's", "who's", "where's", "was", "were", "did", "runs"];
/// Words of a question that are considered.
const WORDS_MAX: usize = 40;
/// Words of a name or an attribute.
const NAME_WORDS_MAX: usize = 3;

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
    AskedClaims {
        subjects: subjects(&words),
        attributes: attributes(&words),
        period: period(&words, times, now),
        kind: kind(&words),
    }
}

/// Returns the names that a question contains: of the user, of relatives of anyone, and all runs of its words that may
/// be a name. The empty name stands for things that need no owner: "the door code".
fn subjects(words: &[&str]) -> Vec<String> {
    let mut subjects = vec![String::new()];
    if words.iter().any(|word| FIRST_PERSON.contains(word)) {
        subjects.push(USER.to_owned());
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
    let joined = format!(" {} ", words.join(" "));
    for attribute in ATTRIBUTES.iter() {
        let mut is_asked = false;
        for phrase in attribute.asked.iter().chain(&attribute.nouns) {
            is_asked |= joined.contains(&format!(" {phrase} "));
        }
        if is_asked {
            asked.push(attribute.name.to_owned());
        }
    }
    for run in runs(words) {
        if let Some(singular) = run.strip_suffix('s') {
            asked.push(format!("number of {singular}"));
        }
        asked.push(format!("number of {run}"));
        asked.push(names::attribute(&run));
    }
    asked.sort();
    asked.dedup();
    asked
}

/// Returns the runs of up to [`NAME_WORDS_MAX`] words that neither begin nor end with a stop word. "my" and "our" may
/// begin a run.
fn runs(words: &[&str]) -> Vec<String> {
    let mut runs = Vec::new();
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

/// Returns whether a question asks how something is, or was at a time: "where does", "what is", "how old".
fn kind(words: &[&str]) -> AskedKind {
    let is_question = words.iter().take(3).any(|word| STATE_QUESTIONS.contains(word));
    let has_verb = words.iter().any(|word| STATE_VERBS.contains(word));
    if is_question && has_verb { AskedKind::State } else { AskedKind::Anything }
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
    if used_to || before || words.iter().any(|word| FORMER.contains(word)) {
        return AskedPeriod::Former;
    }
    AskedPeriod::Present
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
