//! Claims from verbs: finds the frames of the attribute table in a sentence.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::claims::Polarity;
use crate::tokenize::is_stop_word;

use super::attributes::{ATTRIBUTES, Attribute, Cardinality};
use super::clause::{self, Mood, Subject, Verb};
use super::frames::{Frame, FrameKind, Shape, Tense};
use super::lists::{ADVERBS, EVENTS, SLOTS};
use super::sentence::{Found, Sentence};
use super::values::{self, Value};
use super::words::{Break, Word};

/// Words that a `~` in a frame stands for.
const GAP_WORDS_MAX: usize = 4;
/// Words between "not" and "any more".
const DENIED_WORDS_MAX: usize = 8;
/// Attributes that only persons have.
const PERSONAL: [&str; 16] = [
    "home", "employer", "role", "partner", "age", "car", "team", "school", "diet", "hobby", "language", "allergy",
    "weight", "grade", "bank", "pet",
];

/// A frame of the table, by a form of its verb.
struct FrameForm {
    attribute: &'static Attribute,
    frame: &'static Frame,
    tense: Tense,
}

static BY_FORM: LazyLock<HashMap<&'static str, Vec<FrameForm>>> = LazyLock::new(|| {
    let mut by_form: HashMap<&'static str, Vec<FrameForm>> = HashMap::new();
    for attribute in ATTRIBUTES.iter() {
        for frame in &attribute.frames {
            for (form, tense) in &frame.forms {
                by_form.entry(form).or_default().push(FrameForm { attribute, frame, tense: *tense });
            }
        }
    }
    by_form
});

/// Adds the claims that the verbs of a sentence make.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let mut carried = Subject::Speaker;
    for index in 0..words.len() {
        let Some(forms) = BY_FORM.get(words[index].text.as_str()) else { continue };
        let is_noun = index > 0 && matches!(words[index - 1].text.as_str(), "my" | "the" | "our" | "a" | "his" | "her");
        if (words[index].capital && index > 0) || is_noun {
            continue;
        }
        let mut verb = clause::before(words, index);
        match &verb.subject {
            Subject::Missing if index > 0 && !begins_clause(words, index) => continue,
            Subject::Missing => verb.subject = carried.clone(),
            subject => carried = subject.clone(),
        }
        for form in forms {
            find_form(sentence, index, &verb, form, found);
        }
    }
}

/// Whether a verb without a subject begins a clause, so that it has the subject of the clause before it.
fn begins_clause(words: &[Word], verb: usize) -> bool {
    let mut index = verb;
    while index > 0 && words[index - 1].after == Break::None {
        let text = words[index - 1].text.as_str();
        if !ADVERBS.has(text) && !matches!(text, "have" | "has" | "am" | "been") {
            break;
        }
        index -= 1;
    }
    if index == 0 {
        return true;
    }
    let before = &words[index - 1];
    before.after != Break::None || matches!(before.text.as_str(), "and" | "then" | "but" | "so")
}

fn find_form(sentence: &Sentence<'_>, index: usize, verb: &Verb, form: &FrameForm, found: &mut Vec<Found>) {
    let FrameForm { attribute, frame, tense } = form;
    if frame.kind == FrameKind::Inverse {
        find_inverse(sentence, index, verb, attribute, frame, found);
        return;
    }
    let (claim, denied) = match denied_state(sentence, index, verb, frame) {
        Some(words) => (Polarity::Negative, words),
        None => match claim_of(verb, frame, *tense, &sentence.words[index..]) {
            Some(claim) => (claim, 0),
            None => return,
        },
    };
    let is_about_me = sentence.words.get(index + 1).is_some_and(|word| word.text == "me");
    let subject = if is_about_me { Subject::Speaker } else { verb.subject.clone() };
    if PERSONAL.contains(&attribute.name) && !is_person(&subject) {
        return;
    }
    // "My alarm is set for 6:45": the time is the alarm.
    if attribute.name == "date" && is_slot(&subject) {
        return;
    }
    let mut begin = index + 1 + denied;
    if frame.kind == FrameKind::Change
        && let Some((old, next)) = former_value(sentence, begin, frame.shape)
    {
        found.push(Found::ended(subject.clone(), attribute.name, old.text, index));
        begin = next;
    }
    if let Some(old) = exchanged(sentence, begin, frame)
        && claim == Polarity::Positive
    {
        found.push(Found::ended(subject.clone(), attribute.name, old.text, index));
    }
    let Some(value) = value_after(sentence, begin, frame) else { return };
    // "We use Jenkins for CI" says what CI runs on.
    let is_led = sentence.words.get(value.words.end).is_some_and(|word| word.text == "for");
    if attribute.name == "tool" && is_led && sentence.words[value.words.clone()].iter().any(values::is_name) {
        return;
    }
    let stated = &sentence.words[..sentence.words.len().min(value.words.end + 2)];
    if attribute.cardinality == Cardinality::One && claim == Polarity::Positive && is_further(stated) {
        return;
    }
    if attribute.name == "role" && claim == Polarity::Positive {
        find_employer(sentence, &subject, value.words.end, index, found);
    }
    let attribute_name = if is_hourly(attribute.name, &value) { "hourly rate" } else { attribute.name };
    if claim == Polarity::Negative && names_work(&value, sentence) {
        found.push(Found::ended(subject, attribute.name, String::new(), index));
        return;
    }
    found.push(Found {
        subject,
        attribute: attribute_name.to_owned(),
        value: match attribute.name {
            "age" => number_in(sentence, &value),
            "partner" => name_in(&value.text).to_owned(),
            _ => value.text,
        },
        polarity: claim,
        is_event: frame.kind != FrameKind::State,
        // "The workshop will take place in Bristol" holds now; "I will live in Bristol" does not.
        is_future: (verb.mood == Mood::Future
            && (PERSONAL.contains(&attribute.name) || frame.kind != FrameKind::State))
            || (*tense == Tense::Continuous && frame.kind == FrameKind::Change && verb.has_be),
        at: index,
        end: value.words.end,
    });
}

/// Returns how many words after a form of "be" say that a state has ended: "I'm no longer the treasurer", "he isn't vegan
/// any more". `None` if none do.
fn denied_state(sentence: &Sentence<'_>, index: usize, verb: &Verb, frame: &Frame) -> Option<usize> {
    let words = &sentence.words[index..];
    let is_state = frame.kind == FrameKind::State && verb.mood == Mood::Fact;
    if !is_state || !matches!(words[0].text.as_str(), "am" | "is" | "are") {
        return None;
    }
    match (words.get(1)?.text.as_str(), words.get(2)?.text.as_str()) {
        ("no", "longer") => Some(2),
        ("not", _) if says_any_more(words) => Some(1),
        _ => None,
    }
}

/// Whether the next words say "any more".
fn says_any_more(words: &[Word]) -> bool {
    for pair in words.windows(2).take(DENIED_WORDS_MAX) {
        let is_any = pair[0].text == "any" && matches!(pair[1].text.as_str(), "more" | "longer");
        if is_any || pair[1].text == "anymore" {
            return true;
        }
    }
    false
}

/// Whether words say that something holds in addition to what is known: "I also work at", "a second car".
fn is_further(words: &[Word]) -> bool {
    let mut further = false;
    // "Also I got promoted" adds to what was said and not to the job.
    let is_opener = |first: &Word| matches!(first.text.as_str(), "also" | "additionally" | "besides");
    let skipped = usize::from(words.first().is_some_and(is_opener));
    for pair in words[skipped..].windows(2) {
        further |= matches!(pair[0].text.as_str(), "also" | "another" | "second" | "additionally" | "besides");
        further |= pair[0].text == "the" && matches!(pair[1].text.as_str(), "side" | "evenings" | "weekends");
    }
    further
}

/// Whether a subject is a noun that names a value of its own: "my alarm".
fn is_slot(subject: &Subject) -> bool {
    match subject {
        Subject::Named(name) => is_alone_slot(name.rsplit(' ').next().unwrap_or(name)),
        Subject::Speaker | Subject::Last | Subject::Missing => false,
    }
}

fn is_alone_slot(noun: &str) -> bool {
    SLOTS.has(noun) && !EVENTS.has(noun)
}

/// Whether a subject can be a person: a name, or somebody's relative.
fn is_person(subject: &Subject) -> bool {
    match subject {
        Subject::Named(name) => name.starts_with(char::is_uppercase) || clause::is_relation(name),
        Subject::Speaker | Subject::Last | Subject::Missing => true,
    }
}

/// Reads "at Acme" after a role: "I'm a nurse at Acme".
fn find_employer(sentence: &Sentence<'_>, subject: &Subject, begin: usize, verb: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let is_led = words.get(begin).is_some_and(|word| matches!(word.text.as_str(), "at" | "for" | "with"));
    if !is_led || words[begin - 1].after != Break::None {
        return;
    }
    let Some(value) = values::read(sentence.text, words, begin + 1, Shape::Name, &sentence.dates) else { return };
    found.push(Found::stated(subject.clone(), "employer".to_owned(), value.text, verb..value.words.end));
}

/// Returns the name in a value: "Chris" of "someone named Chris".
fn name_in(value: &str) -> &str {
    match value.split_once(" named ").or_else(|| value.split_once(" called ")) {
        Some((_, name)) => name,
        None => value,
    }
}

/// Returns the number in a value.
fn number_in(sentence: &Sentence<'_>, value: &Value) -> String {
    let words = &sentence.words[value.words.clone()];
    match words.iter().find(|word| values::is_number(word)) {
        Some(number) => number.written.clone(),
        None => value.text.clone(),
    }
}

/// Whether a price is one for an hour of work: "I charge 65 euros an hour".
fn is_hourly(attribute: &str, value: &Value) -> bool {
    attribute == "price" && (value.text.ends_with("an hour") || value.text.ends_with("per hour"))
}

/// Whether a value only says that the job, and not which one, has ended.
fn names_work(value: &Value, sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words[value.words.clone()];
    matches!(words, [word] if matches!(word.text.as_str(), "job" | "work"))
}

/// Returns what a verb says about its value; `None` if it says nothing about it.
fn claim_of(verb: &Verb, frame: &Frame, tense: Tense, words: &[Word]) -> Option<Polarity> {
    match (frame.kind, verb.mood) {
        (_, Mood::Unreal) | (FrameKind::Inverse, _) => None,
        (FrameKind::State, Mood::Ended) => Some(Polarity::Negative),
        (FrameKind::State, Mood::Fact | Mood::Future) => state_claim(verb, tense, words),
        (FrameKind::Change, Mood::Ended) => None,
        (FrameKind::Change, Mood::Fact | Mood::Future) => Some(Polarity::Positive),
        (FrameKind::End, Mood::Ended) => None,
        (FrameKind::End, Mood::Fact | Mood::Future) => Some(Polarity::Negative),
    }
}

/// Returns what a verb of a state says: it holds in the present, and has ended in the past.
fn state_claim(verb: &Verb, tense: Tense, words: &[Word]) -> Option<Polarity> {
    let since = words.iter().any(|word| matches!(word.text.as_str(), "since" | "for"));
    let is_participle = verb.has_be && tense == Tense::Past;
    match tense {
        Tense::Present => Some(Polarity::Positive),
        Tense::Continuous if verb.has_be || verb.is_perfect || words[0].capital => Some(Polarity::Positive),
        Tense::Continuous => None,
        Tense::Past if is_participle => Some(Polarity::Positive),
        // "have lived" is the past, unless it says since when.
        Tense::Past if verb.is_perfect => since.then_some(Polarity::Positive),
        // "I played tennis" says nothing about the present.
        Tense::Past => None,
    }
}

/// Reads "from Oslo" before "to Bergen". Returns the former value and the index after it.
fn former_value(sentence: &Sentence<'_>, begin: usize, shape: Shape) -> Option<(Value, usize)> {
    let words = &sentence.words;
    let from = words.get(begin).filter(|word| word.text == "from");
    from?;
    let to =
        (begin + 1..words.len().min(begin + 7)).find(|index| matches!(words[*index].text.as_str(), "to" | "into"))?;
    let value = values::read(sentence.text, &words[..to], begin + 1, shape, &sentence.dates)?;
    Some((value, to))
}

/// Reads what is given for a new value: "swapped the bus for a bike", "traded the Golf for a Fabia".
fn exchanged(sentence: &Sentence<'_>, begin: usize, frame: &Frame) -> Option<Value> {
    if frame.kind != FrameKind::Change || !frame.leads.iter().any(|lead| lead.first() == Some(&"~")) {
        return None;
    }
    let words = sentence.words.get(begin..)?;
    let lead =
        words.iter().take(GAP_WORDS_MAX + 1).position(|word| matches!(word.text.as_str(), "for" | "with" | "by"))?;
    if lead == 0 {
        return None;
    }
    values::read(sentence.text, &sentence.words[..begin + lead], begin, frame.shape, &sentence.dates)
}

/// Returns the value after the leading words of a frame. Adverbs are skipped.
fn value_after(sentence: &Sentence<'_>, begin: usize, frame: &Frame) -> Option<Value> {
    let words = &sentence.words;
    let mut begin = begin;
    loop {
        for lead in &frame.leads {
            if let Some(next) = after_lead(words, begin, lead)
                && let Some(value) = values::read(sentence.text, words, next, frame.shape, &sentence.dates)
            {
                return Some(value);
            }
        }
        let is_skipped = words.get(begin).is_some_and(|word| ADVERBS.has(&word.text) && word.after == Break::None);
        if !is_skipped || begin > 0 && words[begin - 1].after != Break::None {
            return None;
        }
        begin += 1;
    }
}

/// Returns the index after the leading words of a frame, if they begin at an index.
fn after_lead(words: &[Word], begin: usize, lead: &[&str]) -> Option<usize> {
    let (gap, lead) = match lead.split_first() {
        Some((&"~", rest)) => (GAP_WORDS_MAX, rest),
        _ => (0, lead),
    };
    for skipped in 0..=gap {
        let from = begin + skipped;
        let next = from + lead.len();
        if next >= words.len() || skipped > 0 && words[from - 1].after != Break::None {
            return None;
        }
        if lead.iter().zip(&words[from..]).all(|(wanted, word)| *wanted == word.text) {
            return Some(next);
        }
    }
    None
}

/// Whether the word at an index is a noun without an article that ends a clause: "in charge of billing".
fn is_bare_noun(words: &[Word], index: usize) -> bool {
    let word = &words[index];
    let next = words.get(index + 1).filter(|_| word.after == Break::None);
    let ends = next.is_none_or(|next| is_stop_word(&next.text) || ADVERBS.has(&next.text));
    ends && word.text.len() > 3 && !is_stop_word(&word.text)
}

/// Reads "Tom owns the billing service": the value is the subject of the verb.
fn find_inverse(
    sentence: &Sentence<'_>,
    index: usize,
    verb: &Verb,
    attribute: &'static Attribute,
    frame: &Frame,
    found: &mut Vec<Found>,
) {
    if verb.mood != Mood::Fact {
        return;
    }
    let words = &sentence.words;
    for lead in &frame.leads {
        let begin = index + 1 + lead.len();
        let is_led = begin < words.len() && lead.iter().zip(&words[index + 1..]).all(|(a, b)| *a == b.text);
        let begins_thing = is_led
            && (matches!(words[begin].text.as_str(), "the" | "our")
                || words[begin].capital
                || (!lead.is_empty() && is_bare_noun(words, begin)));
        if !begins_thing {
            continue;
        }
        let Some(thing) = values::read(sentence.text, words, begin, Shape::Any, &sentence.dates) else { continue };
        let value = match &verb.subject {
            Subject::Speaker => sentence.speaker.to_owned(),
            Subject::Named(name) if !name.is_empty() => name.replace(clause::SPEAKER, sentence.speaker),
            _ => continue,
        };
        found.push(Found::stated(Subject::Named(thing.text), attribute.name.to_owned(), value, index..thing.words.end));
    }
}
