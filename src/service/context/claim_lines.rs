//! The claims that a query asks for, as the first lines of a context. `claim_search` reads them from the namespaces.
//!
//! A claim is asked for if the query names its subject and its attribute and nothing else: "where does Ana live", but
//! not "what does Ana like about living in Oslo". If the memory that makes the claim is admitted, further words do not
//! matter.

use std::collections::HashSet;
use std::ops::Range;

use cuebase_language::claims::{self, attributes};
use cuebase_language::claims::{AskedClaims, AskedPeriod};
use cuebase_language::dates::question::{self, QuestionTimes};
use cuebase_language::relevance::parts;
use cuebase_language::tokenize::{fold, is_stop_word};
use cuebase_retrieval::{ClaimTime, Error as IndexError, Snapshot, SubjectClaim};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::layout::{Entry, EntryKind, namespace_note};
use super::response::ContextCitation;
use crate::memory::time::day_of;
use crate::service::profile::without_repetitions;
use crate::service::retrieval::RetrievalRequest;

/// Most lines of claims.
const LINES_MAX: usize = 40;
/// Words of a question that name neither a subject nor an attribute, in addition to the stop words.
const FILLER: &str = "tell know known remember remind give show list say please current currently now nowadays day \
    days today present presently still profile fact facts everything anything use used previously former formerly \
    originally previous earlier prior before actually again user";
/// Words of questions about a subject as a whole: "what do you know about Ana", "who is Ana".
const WHOLE_SUBJECT: [&str; 4] = ["about", "who", "who's", "profile"];

/// The questions about claims in a query, one for each of its parts.
pub(super) struct ClaimQuestions {
    questions: Vec<ClaimQuestion>,
    /// The name of the person who asks, if the request has it.
    user: Option<String>,
    time: ClaimTime,
    zone: Option<TimeZone>,
}

/// A question about claims.
struct ClaimQuestion {
    asked: AskedClaims,
    /// The words that must name a subject or an attribute, folded.
    words: Vec<String>,
    /// Whether the question may be about a subject as a whole.
    asks_for_all: bool,
}

impl ClaimQuestions {
    /// Reads the questions of a request.
    pub(super) fn of(request: &RetrievalRequest, now: Timestamp) -> Self {
        let mut questions = Vec::new();
        if let Some(text) = &request.query {
            let asked_at = request.asked_at(now);
            for part in parts(text) {
                questions.push(ClaimQuestion::of(&part.text(), request.zone.as_ref(), asked_at));
            }
        }
        let time = ClaimTime { now: now.as_millisecond(), as_of: request.as_of };
        Self { questions, user: request.user.clone(), time, zone: request.zone.clone() }
    }

    /// Returns the first time other than the present that the query asks for, or else the present.
    pub(super) fn period(&self) -> AskedPeriod {
        for question in &self.questions {
            if question.asked.period != AskedPeriod::Present {
                return question.asked.period;
            }
        }
        AskedPeriod::Present
    }

    /// Returns whether the query names a subject. Otherwise no namespace has a claim that it asks for.
    pub(super) fn name_a_subject(&self) -> bool {
        self.questions.iter().any(|question| !question.asked.subjects.is_empty())
    }

    /// Returns the claims that the query asks for. `admitted` are the paths of the admitted memories.
    pub(super) fn claims(
        &self,
        snapshot: &Snapshot,
        admitted: &HashSet<&str>,
    ) -> Result<Vec<SubjectClaim>, IndexError> {
        let mut claims = Vec::new();
        let mut found = HashSet::new();
        for question in &self.questions {
            for claim in question.candidates(snapshot, self.user.as_deref(), self.time)? {
                let is_wanted = question.names(&claim) || admitted.contains(claim.path.as_str());
                if is_wanted && question.is_of_its_time(&claim) && found.insert(claim.clone()) {
                    claims.push(claim);
                }
            }
        }
        let mut claims = without_repetitions(claims);
        claims.truncate(LINES_MAX);
        Ok(claims)
    }

    /// Returns the entry of a claim.
    pub(super) fn entry(&self, claim: SubjectClaim, namespace: Option<&str>) -> Entry {
        let SubjectClaim { path, subject, attribute, value, from, until, current } = claim;
        let mut content = format!("{attribute}: {value}");
        if !subject.is_empty() {
            content = format!("{subject}, {content}");
        }
        let dates = match (current, self.day(from), self.day(until)) {
            (true, Some(from), _) => format!(" (since {from})"),
            (true, None, _) => String::new(),
            (false, _, Some(until)) => format!(" (former, until {until})"),
            (false, _, None) => " (former)".to_owned(),
        };
        let note = format!("{dates}{}", namespace_note(namespace));
        let namespace = namespace.map(str::to_owned);
        let citation = ContextCitation { path, score: 1.0, namespace, ..ContextCitation::default() };
        Entry { kind: EntryKind::Claim, content, note, citation, ..Entry::default() }
    }

    fn day(&self, at_ms: Option<i64>) -> Option<String> {
        let day = day_of(at_ms?, self.zone.as_ref())?;
        Some(day.to_string())
    }
}

impl ClaimQuestion {
    fn of(text: &str, zone: Option<&TimeZone>, now: Timestamp) -> Self {
        let named = match zone {
            Some(zone) => question::find(text, now, zone),
            None => QuestionTimes::default(),
        };
        let mut words = Vec::new();
        let mut asks_for_all = false;
        for word in words_outside(text, &named.words) {
            asks_for_all |= WHOLE_SUBJECT.contains(&word.as_str());
            let is_filler = is_stop_word(&word) || FILLER.split_whitespace().any(|filler| filler == word);
            if !is_filler {
                words.push(word);
            }
        }
        let asked = claims::question::asked(text, &named.times, now.as_millisecond());
        Self { asked, words, asks_for_all }
    }

    /// Returns the claims that the question may ask for.
    fn candidates(
        &self,
        snapshot: &Snapshot,
        user: Option<&str>,
        time: ClaimTime,
    ) -> Result<Vec<SubjectClaim>, IndexError> {
        let asked = snapshot.asked_of_user(&self.asked, user)?;
        if self.asks_for_all {
            for subject in &asked.subjects {
                let is_whole = !subject.is_empty() && self.words.iter().all(|word| is_in_name(subject, word));
                if !is_whole {
                    continue;
                }
                let claims = snapshot.claims_about(subject, time)?;
                if !claims.is_empty() {
                    return Ok(claims);
                }
            }
        }
        snapshot.asked_claims(&asked, time)
    }

    /// Whether every word of the question names the subject or the attribute of a claim.
    fn names(&self, claim: &SubjectClaim) -> bool {
        let attribute = attributes::named(&claim.attribute);
        for word in &self.words {
            let mut is_named = is_in_name(&claim.subject, word) || is_in_name(&claim.attribute, word);
            if let Some(attribute) = attribute {
                let mut phrases = attribute.nouns.iter().chain(&attribute.asked);
                is_named |= phrases.any(|phrase| is_in_name(phrase, word));
            }
            if !is_named {
                return false;
            }
        }
        true
    }

    /// Whether a claim held at the time that the question asks for.
    fn is_of_its_time(&self, claim: &SubjectClaim) -> bool {
        match self.asked.period {
            AskedPeriod::Present => claim.current,
            AskedPeriod::Former => !claim.current && claim.until.is_some(),
            AskedPeriod::Named(first, last) => {
                claim.from.is_none_or(|from| from <= last) && claim.until.is_none_or(|until| until > first)
            }
        }
    }
}

/// Whether a name has a word, perhaps as its owner: "ana's sister" has "ana".
fn is_in_name(name: &str, word: &str) -> bool {
    name.split_whitespace().any(|part| without_owner(part) == word)
}

fn without_owner(word: &str) -> &str {
    word.strip_suffix("'s").unwrap_or(word)
}

/// Returns the folded words of a text that lie outside of some ranges, without the ending of an owner.
fn words_outside(text: &str, ranges: &[Range<usize>]) -> Vec<String> {
    let mut words = Vec::new();
    let mut position = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let place = position..position + piece.trim_end().len();
        position += piece.len();
        if ranges.iter().any(|range| range.start < place.end && place.start < range.end) {
            continue;
        }
        let folded = fold(piece.trim_matches(|c: char| !c.is_alphanumeric()));
        if !folded.is_empty() {
            words.push(without_owner(&folded).to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_767_225_600_000;

    fn question(text: &str) -> ClaimQuestion {
        let now = Timestamp::from_millisecond(NOW).expect("a time");
        ClaimQuestion::of(text, Some(&TimeZone::UTC), now)
    }

    fn claim(attribute: &str, current: bool) -> SubjectClaim {
        SubjectClaim {
            path: "facts/a.md".into(),
            subject: "ana".into(),
            attribute: attribute.into(),
            value: "oslo".into(),
            from: None,
            until: if current { None } else { Some(0) },
            current,
        }
    }

    #[test]
    fn a_question_names_a_claim_if_it_names_nothing_else() {
        for (text, attribute, expected) in [
            ("Where does Ana live these days?", "home", true),
            ("What is Ana's employer?", "employer", true),
            ("Where does Ana live?", "gym", false),
            ("Where do the cousins of Ana live?", "home", false),
        ] {
            assert_eq!(question(text).names(&claim(attribute, true)), expected, "{text}");
        }
    }

    #[test]
    fn a_question_about_the_present_is_not_answered_with_a_former_value() {
        assert!(question("Where does Ana live?").is_of_its_time(&claim("home", true)));
        assert!(!question("Where does Ana live?").is_of_its_time(&claim("home", false)));
        assert!(question("Where did Ana use to live?").is_of_its_time(&claim("home", false)));
        assert!(!question("Where did Ana use to live?").is_of_its_time(&claim("home", true)));
    }

    #[test]
    fn a_question_about_a_subject_as_a_whole_has_no_further_words() {
        let whole = question("What do you know about Ana?");
        assert!(whole.asks_for_all && whole.words == ["ana"]);
        assert!(!question("Where is Ana?").asks_for_all);
    }
}
