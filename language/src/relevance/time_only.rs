//! Queries that name a time and ask for nothing else: "what happened last weekend?", "was war im Mai los?"
//!
//! Apart from the time, such a query has only function words and words for events, all of one language. Other words may
//! name a speaker ("what did Ana do in May?"), which only the namespace knows. Start with [`time_only`].

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::event_words::EVENT_WORDS;
use crate::dates::Millis;
use crate::dates::question::QuestionTimes;
use crate::tokenize::{fold, is_stop_word_in, writes_no_spaces};

/// Words that a query may have apart from its time. A query with more words describes something.
const WORDS_MAX: usize = 12;
/// Words of the name of a speaker.
const NAME_WORDS_MAX: usize = 3;
/// Characters of the longest word for an event in a script without spaces.
const UNSPACED_CHARS_MAX: usize = 6;
/// The codes of the languages that are written without spaces.
const UNSPACED: [&str; 2] = ["zh", "ja"];
/// The code of the language in which every noun begins with a capital letter.
const GERMAN: &str = "de";

/// A query that asks for what a time holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeOnly {
    /// The times, ascending and disjoint.
    pub times: Vec<Range<Millis>>,
    /// Where a time without a year is looked for first.
    pub direction: Direction,
    /// Words that must name a speaker, folded. Otherwise the query asks for something else as well.
    pub speaker: Vec<String>,
    /// What these words look like.
    pub speaker_form: SpeakerForm,
}

/// What the words of a query look like that may name a speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeakerForm {
    /// Words that begin with a capital letter, in a language that writes only names so.
    Name,
    /// Any others.
    Words,
}

/// Where a time that recurs is looked for first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// In the past: "what happened in May?"
    Past,
    /// In the future: "what is planned for May?"
    Future,
}

/// The words for events of each language, folded, by their language.
static WORDS: LazyLock<HashMap<(&str, String), Direction>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for language in EVENT_WORDS {
        for (list, direction) in [(language.words, Direction::Past), (language.ahead, Direction::Future)] {
            for word in list.split_whitespace() {
                words.insert((language.code, fold(word)), direction);
            }
        }
    }
    words
});

/// Returns what a query asks for whose times are given, if it asks for nothing but these times.
pub fn time_only(query: &str, named: &QuestionTimes) -> Option<TimeOnly> {
    if named.times.is_empty() {
        return None;
    }
    let words = words_beside(query, &named.words)?;
    let mut fewest: Option<Left> = None;
    for language in EVENT_WORDS {
        let left = Left::of(&words, language.code);
        if fewest.as_ref().is_none_or(|fewest| left.words.len() < fewest.words.len()) {
            fewest = Some(left);
        }
    }
    let Left { code, words: speaker, direction, has_event } = fewest?;
    if speaker.len() > NAME_WORDS_MAX || (!speaker.is_empty() && !has_event) {
        return None;
    }
    // "How many were there in May?" asks for a number of something.
    if speaker.iter().any(|word| word.contains(char::is_numeric)) {
        return None;
    }
    let is_name = code != GERMAN && !speaker.is_empty() && speaker.iter().all(|word| is_capitalised(word, query));
    let speaker_form = if is_name { SpeakerForm::Name } else { SpeakerForm::Words };
    Some(TimeOnly { times: named.times.clone(), direction, speaker, speaker_form })
}

/// Whether a folded word begins with a capital letter where it stands in a text.
fn is_capitalised(word: &str, text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|original| original.starts_with(char::is_uppercase) && fold(original) == word)
}

/// What is left of a query in one language.
struct Left {
    code: &'static str,
    words: Vec<String>,
    direction: Direction,
    /// Whether a word for events was among the others.
    has_event: bool,
}

impl Left {
    fn of(words: &[String], code: &'static str) -> Self {
        let mut left = Self { code, words: Vec::new(), direction: Direction::Past, has_event: false };
        for word in words {
            if UNSPACED.contains(&code) && word.starts_with(writes_no_spaces) {
                left.add_unspaced(word);
            } else if !left.is_known(word) {
                left.words.push(word.clone());
            }
        }
        left
    }

    /// Whether a word is a function word or a word for events.
    fn is_known(&mut self, word: &str) -> bool {
        if let Some(direction) = WORDS.get(&(self.code, word.to_owned())) {
            self.has_event = true;
            if *direction == Direction::Future {
                self.direction = Direction::Future;
            }
            return true;
        }
        is_stop_word_in(word, self.code)
    }

    /// Splits a run of characters at the longest known words. What none of them covers is left.
    fn add_unspaced(&mut self, run: &str) {
        let mut rest = run;
        let mut unknown = String::new();
        while let Some(first) = rest.chars().next() {
            let mut length = first.len_utf8();
            let mut is_known = false;
            for chars in (1..=UNSPACED_CHARS_MAX).rev() {
                let Some((end, _)) = rest.char_indices().chain([(rest.len(), ' ')]).nth(chars) else { continue };
                if self.is_known(&rest[..end]) {
                    (length, is_known) = (end, true);
                    break;
                }
            }
            if !is_known {
                unknown.push_str(&rest[..length]);
            }
            rest = &rest[length..];
        }
        if !unknown.is_empty() {
            self.words.push(unknown);
        }
    }
}

/// Returns the words of a query outside of some bytes, folded. Letters by themselves are left out, such as the "s" of
/// "what's". `None` if there are more than [`WORDS_MAX`].
fn words_beside(query: &str, ranges: &[Range<usize>]) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut start = 0;
    for end in ranges.iter().map(|range| range.start).chain([query.len()]) {
        let piece = query.get(start..end).unwrap_or("");
        for word in piece.split(|c: char| !c.is_alphanumeric()) {
            let is_letter = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_alphabetic());
            if !word.is_empty() && !is_letter {
                words.push(fold(word));
            }
        }
        if words.len() > WORDS_MAX {
            return None;
        }
        start = ranges.iter().find(|range| range.start == end).map_or(query.len(), |range| range.end);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::dates::question;

    fn asked(query: &str) -> Option<TimeOnly> {
        let now: Timestamp = "2026-06-10T12:00:00Z".parse().expect("a time");
        time_only(query, &question::find(query, now, &TimeZone::UTC))
    }

    #[test]
    fn a_query_with_nothing_but_a_time_asks_for_that_time() {
        for query in [
            "What happened last weekend?",
            "what did we do yesterday",
            "What did I tell you on 3 May?",
            "anything new in April?",
            "What was announced last week?",
            "May 2026",
            "Was war letztes Wochenende los?",
            "Was ist am 3. Mai passiert?",
            "Qu'est-ce qui s'est passé en avril ?",
            "Qu'avons-nous fait le week-end dernier ?",
            "¿Qué hicimos el fin de semana pasado?",
            "¿Qué pasó en abril?",
            "O que aconteceu em abril?",
            "Cosa è successo ad aprile 2026?",
            "Wat is er vorige week gebeurd?",
            "3月3日にどんな発表がありましたか？",
            "上周发生了什么？",
            "Что произошло в апреле?",
        ] {
            assert_eq!(asked(query).map(|asked| asked.speaker), Some(Vec::new()), "{query}");
        }
    }

    #[test]
    fn other_words_may_name_a_speaker() {
        for (query, speaker) in [
            ("What did Ana do last Friday?", &["ana"][..]),
            ("Was hat Jörg gestern gemacht?", &["jorg"]),
            ("What did Ana Lima say in April 2026?", &["ana", "lima"]),
        ] {
            assert_eq!(asked(query).expect("a time").speaker, speaker, "{query}");
        }
    }

    #[test]
    fn a_query_that_asks_for_more_than_a_time_is_searched() {
        for query in [
            "What happened?",
            "What happened today?",
            "Which paint did the neighbours order in April for the fence and the shed?",
            "the war in 1944",
            "Ana 2026",
            "who won 14 games in May",
            "",
        ] {
            assert_eq!(asked(query), None, "{query}");
        }
        let form = |query: &str| asked(query).map(|asked| asked.speaker_form);
        assert_eq!(form("What paint did we say in April?"), Some(SpeakerForm::Words));
        assert_eq!(form("Was hat das Auto im April gemacht?"), Some(SpeakerForm::Words));
        assert_eq!(form("What did Ana do in April?"), Some(SpeakerForm::Name));
    }

    #[test]
    fn words_for_plans_ask_for_the_future() {
        for (query, direction) in [
            ("What is planned for July?", Direction::Future),
            ("what's coming up in July", Direction::Future),
            ("Was steht im Juli an?", Direction::Future),
            ("What happened in July?", Direction::Past),
        ] {
            assert_eq!(asked(query).expect("a time").direction, direction, "{query}");
        }
    }
}
