//! Reads the claims of a conversation, statement by statement.

use std::ops::Range;

use crate::claims::{Claim, Polarity};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::attributes::{self, Cardinality};
use super::clause::{self, LAST, SPEAKER, Subject};
use super::lists::{OWN_PARENTS, TIMES, UNNAMED_RELATIONS};
use super::sentence::{Found, Sentence};
use super::words::Break;
use super::{
    amounts, changed, contacts, corrections, counts, doses, ends, general, languages, names, phrases, things, uses,
};
use crate::dates::DateSpan;
use crate::dates::statement::{self as dates, DateMention};
use crate::text::sentences::sentences;
use crate::text::steps::{Interrupted, Steps};

/// Claims of one statement.
const CLAIMS_MAX: usize = 16;
/// Bytes of a sentence that is read for claims. Longer ones are lists or code.
const SENTENCE_BYTES_MAX: usize = 600;
/// How often a sentence is read.
const PASSES: usize = 24;
/// Statements of a speaker within which a correction refers to a claim.
const CORRECTED_WITHIN: usize = 4;

/// Common verbs in the past that do not end in "ed".
const PAST_VERBS: [&str; 24] = [
    "left", "quit", "went", "came", "took", "got", "said", "told", "bought", "sold", "found", "gave", "made", "lost",
    "won", "became", "began", "met", "thought", "ran", "broke", "put", "had", "kept",
];
/// Words before the name of a person who is introduced.
const INTRODUCING: [&str; 18] = [
    "is", "are", "bringing", "called", "named", "dating", "seeing", "met", "meet", "meeting", "know", "remember",
    "saw", "does", "did", "about", "has", "married",
];

/// Phrases of sentences that are not meant, or that tell a story.
const NOT_MEANT: [&str; 16] = [
    " kidding ",
    " jk ",
    " in my dreams ",
    " in a dream ",
    " not really ",
    " in the game ",
    " in the play ",
    " in the book ",
    " in the film ",
    " in the movie ",
    " in the novel ",
    " in the story ",
    " in the school play ",
    " if i get ",
    " if we get ",
    " according to ",
];
/// Words that say that something is one of several, or for a time only.
const SEVERAL: [&str; 4] = ["sometimes", "temporarily", "while", "until"];

/// Who says a statement, and when.
#[derive(Clone, Copy, Debug)]
pub struct Saying<'a> {
    /// The name of the speaker.
    pub speaker: &'a str,
    /// The day, for dates such as "last week".
    pub day: Date,
    /// The time.
    pub at: Timestamp,
}

/// What a speaker claimed last.
struct LastClaim {
    speaker: String,
    claim: Claim,
    /// The number of the statement.
    statement: usize,
    /// The index of the message.
    message: usize,
}

/// A person or thing that a message named.
struct LastSubject {
    name: String,
    /// The index of the message.
    message: usize,
}

/// Reads the statements of one conversation in order.
#[derive(Default)]
pub struct ClaimReader {
    /// The person or thing that was named last.
    last_subject: Option<LastSubject>,
    last_claim: Option<LastClaim>,
    /// The number of statements so far.
    statements: usize,
    /// The index of the message that is read.
    message: usize,
}

impl ClaimReader {
    /// Begins to read the statements of a message. What was named before the message `first` is forgotten.
    pub fn begin_message(&mut self, message: usize, first: usize) {
        self.message = message;
        self.last_subject.take_if(|subject| subject.message < first);
        self.last_claim.take_if(|last| last.message < first);
    }

    /// Returns the claims of a statement.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if the steps are interrupted.
    pub fn read(&mut self, statement: &str, saying: Saying<'_>, steps: &Steps<'_>) -> Result<Vec<Claim>, Interrupted> {
        self.statements += 1;
        let mut claims: Vec<Claim> = Vec::new();
        let mentions = dates::find(statement, saying.day);
        let mut offset = 0;
        for text in sentences(statement, steps)? {
            steps.take(PASSES * text.len())?;
            // Sentences are trimmed pieces of the statement, in order.
            let begin = offset + statement[offset..].find(text).unwrap_or(0);
            offset = begin + text.len();
            if text.len() > SENTENCE_BYTES_MAX || text.starts_with('>') || text.contains("```") {
                continue;
            }
            let dated = within(&mentions, begin..offset);
            self.read_sentence(text, saying, &dated, &mut claims);
            if claims.len() >= CLAIMS_MAX {
                claims.truncate(CLAIMS_MAX);
                break;
            }
        }
        if let Some(claim) = claims.iter().rev().find(|claim| claim.polarity == Polarity::Positive) {
            let speaker = saying.speaker.to_owned();
            let (statement, message) = (self.statements, self.message);
            self.last_claim = Some(LastClaim { speaker, claim: claim.clone(), statement, message });
        }
        Ok(claims)
    }

    fn read_sentence(&mut self, text: &str, saying: Saying<'_>, dated: &[DateMention], claims: &mut Vec<Claim>) {
        let ranges = dated.iter().map(|mention| mention.range.clone()).collect();
        let mut sentence = Sentence::new(text, saying.speaker, ranges);
        let named = named_person(&sentence);
        sentence.words.truncate(clause::stating_words(text, &sentence.words));
        if sentence.words.is_empty() || is_not_meant(&sentence) {
            self.remember_subject(named);
            return;
        }
        let mut found = Vec::new();
        contacts::find(&sentence, &mut found);
        phrases::find(&sentence, &mut found);
        ends::find(&sentence, &mut found);
        uses::find(&sentence, &mut found);
        general::find(&sentence, &mut found);
        general::prefer_posts(&mut found);
        amounts::find(&sentence, &mut found);
        changed::find(&sentence, &mut found);
        counts::find(&sentence, &mut found);
        doses::find(&sentence, &mut found);
        things::find(&sentence, &mut found);
        languages::find(&sentence, &mut found);
        let mut added = Vec::new();
        for one in without_overlaps(found) {
            if let Some(claim) = self.finish(&one, &sentence, saying, dated) {
                added.push(claim);
            }
        }
        if added.is_empty() {
            added.extend(self.correction(&sentence, saying, claims));
        }
        for claim in added {
            if !claims.contains(&claim) {
                claims.push(claim);
            }
        }
        let subject = named_subject(&sentence, sentence.words.len());
        self.remember_subject(subject.or(named));
    }

    fn remember_subject(&mut self, named: Option<String>) {
        if let Some(name) = named {
            self.last_subject = Some(LastSubject { name, message: self.message });
        }
    }

    /// Returns the name of the person or thing that was named last.
    fn last_subject(&self) -> Option<String> {
        self.last_subject.as_ref().map(|subject| subject.name.clone())
    }

    /// Returns the claim that a sentence puts in the place of the speaker's last one.
    fn correction(&self, sentence: &Sentence<'_>, saying: Saying<'_>, claims: &[Claim]) -> Option<Claim> {
        let corrected = match claims.iter().rev().find(|claim| claim.polarity == Polarity::Positive) {
            Some(claim) => claim,
            None => {
                let last = self.last_claim.as_ref()?;
                if last.speaker != saying.speaker || self.statements - last.statement > CORRECTED_WITHIN {
                    return None;
                }
                &last.claim
            }
        };
        let value = corrections::of(sentence, corrected)?;
        Some(Claim { value, from: None, ..corrected.clone() })
    }

    /// Makes a claim of what was found. Returns `None` if its subject or its time is unknown.
    fn finish(
        &self,
        found: &Found,
        sentence: &Sentence<'_>,
        saying: Saying<'_>,
        dated: &[DateMention],
    ) -> Option<Claim> {
        let subject = match &found.subject {
            Subject::Speaker | Subject::Missing => saying.speaker.to_owned(),
            Subject::Last => named_subject(sentence, found.at).or_else(|| self.last_subject())?,
            Subject::Named(name) if name.contains(LAST) => {
                let last = named_subject(sentence, found.at).or_else(|| self.last_subject())?;
                name.replace(LAST, &last)
            }
            Subject::Named(name) if name.is_empty() => self.subject_of_last(&found.attribute),
            Subject::Named(name) if is_own_parent(name) => format!("{}'s {}", saying.speaker, name.to_lowercase()),
            Subject::Named(name) => {
                let name = name.replace(SPEAKER, saying.speaker);
                self.longer_name(&name, &found.attribute).unwrap_or(name)
            }
        };
        let mut value = found.value.clone();
        let attribute = match found.attribute.as_str() {
            // A meeting has a day and a time.
            "date" if is_clock(&value) => "time".to_owned(),
            _ => found.attribute.clone(),
        };
        if value.contains(LAST) {
            value = value.replace(LAST, &self.last_subject()?);
        }
        let from = begin_of(found, sentence, saying, dated);
        if found.is_future && from.is_none_or(|from| from <= saying.at) {
            return None;
        }
        let relation = subject.rsplit(' ').next().unwrap_or(&subject);
        if UNNAMED_RELATIONS.has(relation) && subject.ends_with(&format!("'s {relation}")) {
            return None;
        }
        if attributes::cardinality(&found.attribute) == Cardinality::One && is_one_of_several(found, sentence) {
            return None;
        }
        let is_new = names::subject(&subject) != names::value(&value);
        if subject.is_empty() && value.is_empty() || !is_new {
            return None;
        }
        Some(Claim { subject, attribute, value, polarity: found.polarity, from })
    }

    /// Returns what the last claim is about if it has an attribute: "the deadline" is that of the report which was
    /// mentioned before. Else the empty name.
    fn subject_of_last(&self, attribute: &str) -> String {
        match &self.last_claim {
            Some(last) if last.claim.attribute == attribute => last.claim.subject.clone(),
            _ => String::new(),
        }
    }

    /// Returns the subject of the last claim if a name with the same attribute is a part of it: "the appointment" after
    /// "my appointment", "metrics" after "the metrics service".
    fn longer_name(&self, name: &str, attribute: &str) -> Option<String> {
        let last = &self.last_claim.as_ref()?.claim;
        let subject = last.subject.as_str();
        let is_part = subject.ends_with(&format!("'s {name}")) || subject.starts_with(&format!("{name} "));
        let is_thing = name.starts_with(char::is_lowercase);
        if is_part && is_thing && last.attribute == attribute { Some(subject.to_owned()) } else { None }
    }
}

/// Returns the first name in the words of a sentence up to an index that is the subject of a verb, or the first relative
/// of the speaker: whom "he" and "she" mean later.
fn named_subject(sentence: &Sentence<'_>, end: usize) -> Option<String> {
    for (index, word) in sentence.words[..end].iter().enumerate() {
        let is_relation = clause::is_relation(&word.text) && index > 0 && sentence.words[index - 1].text == "my";
        let is_function_word = crate::tokenize::is_stop_word(&word.text);
        let is_name = word.capital && !is_function_word && word.text != "i";
        let begins_clause = index > 0 && sentence.words[index - 1].after == Break::Clause;
        if is_relation {
            return Some(format!("{}'s {}", sentence.speaker, word.text));
        }
        if is_name && !begins_clause && is_verb_after(sentence, index) {
            return Some(word.written.clone());
        }
    }
    None
}

/// Returns the last person whom a sentence introduces: "I'm bringing Marcus", "that's Ilse", "what grade is Poppy in?".
fn named_person(sentence: &Sentence<'_>) -> Option<String> {
    let words = &sentence.words;
    let mut named = None;
    for (index, word) in words.iter().enumerate().skip(1) {
        let is_introduced = word.possessive || INTRODUCING.contains(&words[index - 1].text.as_str());
        let is_introduced = is_introduced && words[index - 1].after == Break::None;
        let is_alone = words.get(index + 1).is_none_or(|next| !next.capital);
        let is_name = word.capital && word.text != "i" && !crate::tokenize::is_stop_word(&word.text);
        if is_introduced && is_alone && is_name && !TIMES.has(&word.text) {
            named = Some(word.written.clone());
        }
    }
    named
}

/// Whether a sentence says that it is not meant, or is part of a story: "just kidding", "in the game".
fn is_not_meant(sentence: &Sentence<'_>) -> bool {
    let texts: Vec<&str> = sentence.words.iter().map(|word| word.text.as_str()).collect();
    let joined = format!(" {} ", texts.join(" "));
    NOT_MEANT.iter().any(|phrase| joined.contains(phrase))
}

/// Whether a value is a time of the day and no day: "9:15", "noon", "half past six".
fn is_clock(value: &str) -> bool {
    for word in value.split_whitespace() {
        let word = word.to_lowercase();
        let is_time = word.contains(':') || word.ends_with("am") || word.ends_with("pm");
        let is_hour = word.parse::<u32>().is_ok_and(|hour| hour <= 24);
        let is_name = matches!(word.as_str(), "noon" | "midnight" | "o'clock" | "sharp" | "half" | "past" | "quarter");
        if !is_time && !is_hour && !is_name {
            return false;
        }
    }
    !value.is_empty()
}

/// Whether the clause of a claim says that what holds is one of several, or holds at some times only: "Mo is our designer
/// too", "on Saturdays I work at the bakery".
fn is_one_of_several(found: &Found, sentence: &Sentence<'_>) -> bool {
    if found.polarity == Polarity::Negative {
        return false;
    }
    let words = &sentence.words;
    let is_work = matches!(found.attribute.as_str(), "employer" | "role" | "home");
    let is_shared = found.subject == Subject::Named(String::new());
    let mut begin = found.at.min(words.len());
    while begin > 0 && words[begin - 1].after != Break::Clause {
        begin -= 1;
    }
    let mut previous = "";
    for word in &words[begin..] {
        let text = word.text.as_str();
        let is_aside = previous == "the" && text == "side";
        previous = text;
        let is_day = text.ends_with("days") && TIMES.has(text.trim_end_matches('s'));
        let at_times = is_work && (is_day || matches!(text, "weekends" | "mornings" | "evenings"));
        // "Mo is our designer too", but "Callum is a paramedic too" is about another person.
        if at_times || is_aside || SEVERAL.contains(&text) || (is_shared && text == "too") {
            return true;
        }
        if word.after == Break::Clause {
            break;
        }
    }
    false
}

/// Whether a name is how somebody calls their own relative: "Mom moved to Tucson".
fn is_own_parent(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && OWN_PARENTS.has(&name.to_lowercase())
}

/// Whether the word after an index is a common verb, so that the word before it is the subject.
fn is_verb_after(sentence: &Sentence<'_>, index: usize) -> bool {
    sentence.words.get(index + 1).is_some_and(|next| is_verb(&next.text))
}

fn is_verb(word: &str) -> bool {
    super::lists::AUXILIARIES.has(word)
        || word.ends_with("ed")
        || PAST_VERBS.contains(&word)
        || matches!(word, "just" | "now" | "finally" | "works" | "lives")
}

/// Returns the dates in a range of a statement, relative to its begin.
fn within(mentions: &[DateMention], range: Range<usize>) -> Vec<DateMention> {
    let mut inside = Vec::new();
    for mention in mentions {
        if mention.range.start >= range.start && mention.range.end <= range.end {
            let moved = mention.range.start - range.start..mention.range.end - range.start;
            inside.push(DateMention { range: moved, ..mention.clone() });
        }
    }
    inside
}

/// Returns when a claim began, if the sentence says so: an event on a date, or a state since a date.
fn begin_of(found: &Found, sentence: &Sentence<'_>, saying: Saying<'_>, dated: &[DateMention]) -> Option<Timestamp> {
    for mention in dated {
        let before = sentence.words.iter().rev().find(|word| word.range.end <= mention.range.start);
        let lead = before.map(|word| word.text.as_str()).unwrap_or_default();
        let is_begin = matches!(lead, "since" | "from" | "starting" | "effective" | "of");
        if (found.is_event || found.is_future || is_begin)
            && !is_in_value(found, sentence, mention)
            && let Some(at) = begin_of_span(mention.span)
            && (found.is_future || at <= saying.at)
        {
            return Some(at);
        }
    }
    None
}

/// Whether a date belongs to the value of a claim about a time: "pushed the release to May 2".
fn is_in_value(found: &Found, sentence: &Sentence<'_>, mention: &DateMention) -> bool {
    let is_time = matches!(found.attribute.as_str(), "date" | "deadline" | "birthday");
    match (sentence.words.get(found.at), sentence.words.get(found.end.wrapping_sub(1))) {
        (Some(verb), Some(last)) => {
            is_time && verb.range.start <= mention.range.start && mention.range.start < last.range.end
        }
        _ => false,
    }
}

/// Returns noon of the first day of a span.
fn begin_of_span(span: DateSpan) -> Option<Timestamp> {
    let day = match span {
        DateSpan::Day(day) | DateSpan::Week(day) | DateSpan::Weekend(day) => day,
        DateSpan::Month(day) => day.first_of_month(),
        DateSpan::Year(year) => Date::new(year, 1, 1).ok()?,
    };
    Some(day.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Removes what was found twice: of two claims about one attribute with the same words, the first counts.
fn without_overlaps(found: Vec<Found>) -> Vec<Found> {
    let mut kept: Vec<Found> = Vec::new();
    for one in found {
        let is_known = kept.iter().any(|other| {
            // "I left the Rovers" may end a job or a place in a team: whatever has the value.
            let is_end = one.polarity == Polarity::Negative;
            let same_verb = other.at == one.at && other.polarity == one.polarity && !is_end;
            let same_value = other.end == one.end && !one.value.is_empty();
            // In "a new girlfriend, her name is Maike", the name is the girlfriend's.
            if same_value && one.attribute == "name" && other.value == one.value {
                return true;
            }
            let same_attribute = other.attribute == one.attribute && other.polarity == one.polarity;
            let same_claim = same_attribute && !other.value.is_empty() && one.value.starts_with(&other.value);
            same_claim || (same_verb && same_value)
        });
        if !is_known {
            kept.push(one);
        }
    }
    kept
}
