//! Claims from general statements: "my gym is Flex", "Ana's gym is Flex", "the deadline for the report is Friday".

use super::attributes;
use super::clause::{self, LAST, Mood, SPEAKER, Subject, is_relation};
use super::frames::Shape;
use super::lists::{ADVERBS, AUXILIARIES, STATUSES};
use super::named::{Named, named, named_before};
use super::sentence::{Found, Sentence};
use super::values::{self, is_name, is_number};
use super::words::{Break, Word};

/// Adds the claims of general statements.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    for index in 0..sentence.words.len() {
        match sentence.words[index].text.as_str() {
            "is" | "are" | "am" => {
                let before = found.len();
                find_reversed(sentence, index, found);
                if found.len() == before {
                    find_copula(sentence, index, found);
                }
            }
            "called" | "named" => find_called(sentence, index, found),
            _ => {}
        }
    }
}

/// Removes roles that are posts: "Mei is the new team lead" says who leads the team, which ends with the next one.
pub(super) fn prefer_posts(found: &mut Vec<Found>) {
    let mut posts = Vec::new();
    for one in found.iter() {
        if matches!(one.subject, Subject::Named(_)) && one.attribute != "role" {
            posts.push((one.at, one.value.clone()));
        }
    }
    found.retain(|one| {
        let Subject::Named(person) = &one.subject else { return true };
        one.attribute != "role" || !posts.contains(&(one.at, person.clone()))
    });
}

/// Reads "my gym is Flex".
fn find_copula(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let mut begin = index + 1;
    let mut is_now = false;
    while let Some(word) = words.get(begin)
        && (ADVERBS.has(&word.text)
            || matches!(word.text.as_str(), "at" | "called" | "named" | "with")
            || leads_time(words, begin))
        && word.after == Break::None
    {
        is_now |= matches!(word.text.as_str(), "now" | "currently" | "officially");
        begin += 1;
    }
    let mut end = without_present(words, index);
    while end > 0 && ADVERBS.has(&words[end - 1].text) && words[end - 1].after == Break::None {
        is_now |= words[end - 1].text == "now";
        end -= 1;
    }
    if clause::before(words, index).mood != Mood::Fact
        && clause::before(words, begin.min(words.len())).mood != Mood::Fact
    {
        return;
    }
    if !matches!(clause::before(words, begin.min(words.len())).mood, Mood::Fact) {
        return;
    }
    let Some(named) = named_before(words, end) else { return };
    let negated = words
        .get(begin)
        .is_some_and(|word| matches!(word.text.as_str(), "not" | "no" | "going" | "why" | "how" | "what"));
    if negated
        || words[begin.min(words.len())..].iter().take(2).any(|word| AUXILIARIES.has(&word.text) && word.text != "to")
    {
        return;
    }
    is_now |= words[begin.min(words.len())..].iter().take(8).any(|word| word.text == "now");
    let is_aim = matches!(named.attribute.as_str(), "goal" | "dream" | "aim");
    if is_aim && words.get(begin).is_some_and(|word| word.text == "to") {
        begin += 1;
    }
    let shape = if TIME_ATTRIBUTES.contains(&named.attribute.as_str()) { Shape::Time } else { Shape::Any };
    let Some(value) = values::read(sentence.text, words, begin, shape, &sentence.dates) else { return };
    let value_words = &words[value.words.clone()];
    let is_specific = value_words.iter().any(|word| is_name(word) || is_number(word));
    let is_person = is_relation(&named.attribute);
    let is_accepted =
        if is_person { is_specific && value_words[0].capital } else { is_specific || named.is_slot || is_now };
    let mut named = named;
    named.attribute = of_value(named.attribute, value_words);
    if is_rate(value_words) && !is_amount(&named.attribute) {
        let is_own = words[..end].iter().any(|word| word.text == "my");
        let thing = match named.subject {
            Subject::Speaker if is_own => format!("{SPEAKER}'s {}", named.attribute),
            Subject::Named(owner) if !owner.is_empty() => format!("{owner}'s {}", named.attribute),
            _ => named.attribute,
        };
        named = Named { subject: Subject::Named(thing), attribute: "price".to_owned(), is_slot: true };
    }
    if named.attribute == "phone model" && !is_specific {
        return;
    }
    // "My car is in the shop" names no car.
    let is_place =
        WHERE_ATTRIBUTES.contains(&named.attribute.as_str()) || attributes::named(&named.attribute).is_none();
    if values::is_preposition(&value_words[0].text) && !is_place {
        return;
    }
    // "The page is hosted on Netlify" is read by its verb.
    let is_participle = value_words[0].text.ends_with("ed")
        && words
            .get(value.words.start + 1)
            .is_some_and(|next| values::is_preposition(&next.text) || next.text == "for");
    let is_time_of = matches!(value_words[0].text.as_str(), "set" | "due");
    // "My car is electric" and "my husband is Scottish" do not say which car or who.
    let is_kind = (named.attribute == "car" && !is_specific)
        || (is_person && ["ish", "ese"].iter().any(|ending| value_words[0].text.ends_with(ending)));
    if is_participle || is_time_of || is_kind {
        return;
    }
    let is_where = WHERE_ATTRIBUTES.contains(&named.attribute.as_str()) || PLACES.contains(&named.attribute.as_str());
    let is_when = values::has_shape(value_words, Shape::Time);
    if !is_where && !is_when && values::is_preposition(&value_words[0].text) {
        named.attribute = format!("place of {}", named.attribute);
    }
    let is_group = is_relation(named.attribute.trim_end_matches('s'));
    let is_accepted = is_accepted || (is_somewhere(words, begin) && !is_group);
    let is_numeric = NUMERIC_ATTRIBUTES.contains(&named.attribute.as_str());
    if !is_accepted || is_vague(value_words, named.is_slot) || (is_numeric && !value_words.iter().any(is_number)) {
        return;
    }
    found.push(Found {
        is_event: is_now,
        ..Found::stated(named.subject, named.attribute, value.text, index..value.words.end)
    });
}

/// Whether a word belongs to "set for", "planned for", "scheduled for".
fn leads_time(words: &[Word], index: usize) -> bool {
    let is_verb =
        |at: usize| words.get(at).is_some_and(|word| matches!(word.text.as_str(), "set" | "planned" | "scheduled"));
    let is_for = |at: usize| words.get(at).is_some_and(|word| word.text == "for");
    (is_verb(index) && is_for(index + 1)) || (is_for(index) && index > 0 && is_verb(index - 1))
}

/// Whether a value says in or under which thing something is: "the boxes are in the cellar".
fn is_somewhere(words: &[Word], begin: usize) -> bool {
    let [preposition, determiner, ..] = &words[begin.min(words.len())..] else { return false };
    matches!(preposition.text.as_str(), "in" | "under" | "behind" | "inside")
        && matches!(determiner.text.as_str(), "the" | "my" | "our")
}

/// Whether a value is a price for a time or a piece: "35 a month".
fn is_rate(words: &[Word]) -> bool {
    let [first, .., per, unit] = words else { return false };
    let is_unit = ["month", "week", "year", "day", "hour", "night", "head", "person"].contains(&unit.text.as_str());
    is_number(first) && is_unit && matches!(per.text.as_str(), "a" | "an" | "per")
}

/// Whether an attribute is an amount itself: "the rent is 900 a month".
fn is_amount(attribute: &str) -> bool {
    let last = attribute.rsplit(' ').next().unwrap_or(attribute);
    matches!(
        last,
        "price"
            | "rent"
            | "salary"
            | "budget"
            | "cost"
            | "fee"
            | "mortgage"
            | "rate"
            | "allowance"
            | "deposit"
            | "wage"
            | "commute"
            | "instalment"
            | "installment"
            | "premium"
    )
}

/// Returns the end of a noun before "at the moment", "right now", "these days".
fn without_present(words: &[Word], end: usize) -> usize {
    let texts: Vec<&str> = words[..end].iter().map(|word| word.text.as_str()).collect();
    for phrase in
        [&["at", "the", "moment"][..], &["right", "now"], &["these", "days"], &["at", "present"], &["this", "year"]]
    {
        if texts.ends_with(phrase) {
            return end - phrase.len();
        }
    }
    end
}

/// Reads "Jules has a girlfriend called Romy", "we adopted a dog named Rex".
fn find_called(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let Some(noun) = index.checked_sub(1).and_then(|at| words.get(at)) else { return };
    let has =
        (0..index).rev().take(6).find(|at| matches!(words[*at].text.as_str(), "has" | "have" | "got" | "adopted"));
    let Some(has) = has else { return };
    let verb = clause::before(words, has);
    if verb.mood != Mood::Fact || !(is_relation(&noun.text) || attributes::named(&noun.text).is_some()) {
        return;
    }
    let Some(value) = values::read(sentence.text, words, index + 1, Shape::Name, &sentence.dates) else { return };
    let is_pet = matches!(noun.text.as_str(), "dog" | "cat");
    let attribute = match attributes::named(&noun.text) {
        _ if is_pet => "pet".to_owned(),
        Some(attribute) => attribute.name.to_owned(),
        None => noun.text.clone(),
    };
    found.push(Found::stated(verb.subject, attribute, value.text, has..value.words.end));
}

/// Reads "Pavel is my favourite director", "Petra is on call".
fn find_reversed(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = clause::before(words, index + 1);
    let is_person = match &verb.subject {
        Subject::Named(name) => name.starts_with(char::is_uppercase),
        Subject::Last => true,
        Subject::Speaker | Subject::Missing => false,
    };
    let is_relative = is_lowercase_name(&verb.subject)
        && words.get(index + 1).is_some_and(|word| word.text == "my")
        && words.get(index + 2).is_some_and(|word| is_relation(&word.text));
    if verb.mood != Mood::Fact || !(is_person || is_relative) {
        return;
    }
    let value = match verb.subject {
        Subject::Named(name) => name,
        _ => LAST.to_owned(),
    };
    let mut begin = index + 1;
    while words.get(begin).is_some_and(|word| ADVERBS.has(&word.text)) {
        begin += 1;
    }
    let rest: Vec<&str> = words[begin.min(words.len())..].iter().map(|word| word.text.as_str()).collect();
    let (subject, attribute, end) = match rest.as_slice() {
        ["on", "call", ..] => (Subject::Named(String::new()), "on call".to_owned(), begin + 2),
        ["my" | "our" | "the", ..] => {
            let mut end = begin + 2;
            while end < words.len() && end < begin + 4 && words[end - 1].after == Break::None && !ends_noun(&words[end])
            {
                end += 1;
            }
            end = end.min(words.len());
            let Some(named) = clause::noun_with_owner(&words[..end], end).and_then(named) else { return };
            let is_post = words[begin + 1..end].last().is_some_and(values::is_role);
            if !named.is_slot && !is_post && rest[0] != "my" {
                return;
            }
            match thing_after(sentence, end) {
                Some(thing) if is_post => (Subject::Named(thing.text), named.attribute, thing.words.end),
                _ => (named.subject, named.attribute, end),
            }
        }
        _ => return,
    };
    found.push(Found::stated(subject, attribute, value, index..end));
}

/// Reads what a post is for: "the coach for the juniors".
fn thing_after(sentence: &Sentence<'_>, end: usize) -> Option<values::Value> {
    let words = &sentence.words;
    let is_led = words.get(end).is_some_and(|word| matches!(word.text.as_str(), "for" | "of"));
    if !is_led || words[end - 1].after != Break::None {
        return None;
    }
    values::read(sentence.text, words, end + 1, Shape::Any, &sentence.dates)
}

/// Whether a subject is one word that may be a name in small letters: "nadia is my girlfriend".
fn is_lowercase_name(subject: &Subject) -> bool {
    matches!(subject, Subject::Named(name) if !name.is_empty() && !name.contains(' ') && !crate::tokenize::is_stop_word(name))
}

fn ends_noun(word: &Word) -> bool {
    super::lists::VALUE_ENDS.has(&word.text) || crate::tokenize::is_stop_word(&word.text) || ADVERBS.has(&word.text)
}

/// Returns the attribute that a noun means with a value: a phone may be a number or a model, and "personal best time" is
/// the personal best.
pub(super) fn of_value(attribute: String, value: &[Word]) -> String {
    let has_letters = value.iter().any(|word| word.text.chars().all(char::is_alphabetic));
    if attribute == "phone" && has_letters {
        return "phone model".to_owned();
    }
    match attribute.strip_suffix("best time") {
        Some(rest) => format!("{rest}best"),
        None => attribute,
    }
}

/// Attributes of the table whose values may begin with a preposition.
const WHERE_ATTRIBUTES: [&str; 6] = ["date", "deadline", "home", "venue", "platform", "status"];

/// Nouns of places, whose value is a place.
const PLACES: [&str; 6] = ["office", "location", "meeting", "standup", "desk", "room"];

/// Attributes whose values have digits.
const NUMERIC_ATTRIBUTES: [&str; 4] = ["phone", "port", "age", "extension"];

/// Attributes whose values are times.
const TIME_ATTRIBUTES: [&str; 6] = ["deadline", "launch", "birthday", "meeting", "standup", "anniversary"];

/// Whether a value says what something is like, and not which one it is.
fn is_vague(words: &[Word], is_slot: bool) -> bool {
    let Some(first) = words.first() else { return true };
    let is_status = words.len() <= 2 && STATUSES.has(&first.text);
    let is_plain = !words.iter().any(|word| is_name(word) || is_number(word));
    let is_comment = matches!(
        first.text.as_str(),
        "so" | "very"
            | "really"
            | "too"
            | "great"
            | "good"
            | "bad"
            | "nice"
            | "fine"
            | "awesome"
            | "amazing"
            | "terrible"
            | "important"
            | "worth"
            | "fun"
            | "hard"
            | "easy"
            | "something"
            | "nothing"
            | "more"
            | "less"
            | "better"
            | "why"
            | "how"
            | "what"
            | "where"
            | "when"
            | "wrong"
            | "right"
            | "different"
            | "gone"
            | "making"
            | "doing"
            | "getting"
    );
    is_comment || (is_plain && !is_slot && is_status && first.text.len() < 3)
}
