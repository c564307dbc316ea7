//! Claims from general statements: "my gym is Flex", "Ana's gym is Flex", "the deadline for the report is Friday", "the
//! price went up to $40".

use cuebase_storage::memory_file::Polarity;

use super::attributes;
use super::clause::{self, LAST, Mood, Noun, Owner, SPEAKER, Subject, is_relation};
use super::frames::Shape;
use super::lists::{ADVERBS, AUXILIARIES, EVENTS, SLOTS, STATUSES};
use super::sentence::{Found, Sentence};
use super::values::{self, is_name, is_number};
use super::words::{Break, Word};

/// Verbs by which an attribute gets a new value, before "to".
const CHANGES: [&str; 34] = [
    "changed",
    "changes",
    "moved",
    "switched",
    "pushed",
    "postponed",
    "rescheduled",
    "delayed",
    "extended",
    "went",
    "goes",
    "gone",
    "dropped",
    "rose",
    "increased",
    "bumped",
    "raised",
    "lowered",
    "slipped",
    "updated",
    "set",
    "reset",
    "renamed",
    "upgraded",
    "cut",
    "shifted",
    "grew",
    "fell",
    "jumped",
    "reduced",
    "migrated",
    "downgraded",
    "brought",
    "ported",
];
/// Words that may stand between such a verb and "to".
const CHANGE_PARTICLES: [&str; 10] =
    ["up", "down", "back", "over", "out", "forward", "again", "from", "all", "straight"];

/// Adds the claims of general statements.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    for index in 0..sentence.words.len() {
        let text = sentence.words[index].text.as_str();
        if matches!(text, "is" | "are" | "am") {
            let before = found.len();
            find_reversed(sentence, index, found);
            if found.len() == before {
                find_copula(sentence, index, found);
            }
        }
        if matches!(text, "called" | "named") {
            find_called(sentence, index, found);
        }
        if text == "of" {
            find_amount(sentence, index, found);
        }
        if matches!(text, "pay" | "pays" | "paying") {
            find_payment(sentence, index, found);
        }
        let is_switch = text == "to" && index > 0 && sentence.words[index - 1].text == "switched";
        if matches!(text, "use" | "uses" | "using") || is_switch {
            find_use(sentence, index, found);
        }
        if CHANGES.contains(&text) {
            find_change(sentence, index, found);
        }
        if matches!(text, "shipped" | "released" | "deployed" | "published") {
            find_release(sentence, index, found);
        }
        if matches!(text, "has" | "have" | "got" | "hired" | "found") {
            find_new(sentence, index, found);
        }
        if matches!(text, "prefer" | "prefers") {
            find_preference(sentence, index, found);
        }
        if text == "call" || text == "saved" {
            find_name_or_savings(sentence, index, found);
        }
        if text == "takes" {
            find_duration(sentence, index, found);
        }
        if matches!(text, "keep" | "keeps" | "store" | "stores") {
            find_place(sentence, index, found);
        }
    }
}

/// A subject and an attribute, as a noun names them.
struct Named {
    subject: Subject,
    attribute: String,
    /// Whether the noun names an attribute that may have any value.
    is_slot: bool,
}

/// Returns the subject and the attribute that a noun names.
fn named(noun: Noun) -> Option<Named> {
    // "my son Linus" is a person and not an attribute.
    if noun.name.contains(' ') && is_relation(noun.name.split(' ').next().unwrap_or_default()) {
        return None;
    }
    if let Some(named) = attribute_of_thing(&noun) {
        return Some(named);
    }
    let subject = match noun.owner {
        Owner::Speaker => Subject::Speaker,
        Owner::Last => Subject::Last,
        Owner::Named(name) => Subject::Named(name),
        Owner::Shared => Subject::Named(String::new()),
    };
    let known = attributes::named(&noun.name);
    let last = noun.name.rsplit(' ').next().unwrap_or("");
    let first = noun.name.split(' ').next().unwrap_or("");
    let is_slot = known.is_some() || SLOTS.has(last) || SLOTS.has(first);
    let attribute = match known {
        Some(attribute) => attribute.name.to_owned(),
        None => noun.name,
    };
    let subject = match subject {
        Subject::Named(name) if name.is_empty() && OWN.contains(&attribute.as_str()) => Subject::Speaker,
        subject => subject,
    };
    if attribute.is_empty() { None } else { Some(Named { subject, attribute, is_slot }) }
}

/// Attributes that only the speaker has, even after "the": "they raised the rent".
const OWN: [&str; 12] = [
    "rent",
    "salary",
    "commute",
    "weight",
    "height",
    "mortgage",
    "dentist",
    "therapist",
    "gym",
    "landlord",
    "alarm",
    "bedtime",
];

/// Reads "the printer pin": the pin of the printer.
fn attribute_of_thing(noun: &Noun) -> Option<Named> {
    if noun.owner != Owner::Shared || attributes::named(&noun.name).is_some() {
        return None;
    }
    let (thing, last) = noun.name.rsplit_once(' ')?;
    let is_slot = SLOTS.has(last) || attributes::named(last).is_some();
    if !is_slot && !EVENTS.has(last) {
        return None;
    }
    let attribute = match attributes::named(last) {
        Some(attribute) => attribute.name,
        None if EVENTS.has(last) => "date",
        None => last,
    };
    Some(Named { subject: Subject::Named(thing.to_owned()), attribute: attribute.to_owned(), is_slot: true })
}

/// Reads the noun that ends before an index, with "of" or "for" and what it belongs to: "the deadline for the report".
fn named_before(words: &[Word], end: usize) -> Option<Named> {
    for index in (1..end).rev().take(6) {
        // "My personal best over 10k".
        if matches!(words[index].text.as_str(), "in" | "over")
            && let Some(noun) = clause::noun_with_owner(words, index)
            && noun.owner == Owner::Speaker
        {
            return named(noun);
        }
        if !matches!(words[index].text.as_str(), "of" | "for") {
            continue;
        }
        let noun = clause::noun_with_owner(words, index)?;
        let whole = &words[index + 1..end];
        let begin = usize::from(
            matches!(whole.first(), Some(word) if matches!(word.text.as_str(), "the" | "our" | "my" | "this")),
        );
        let texts: Vec<&str> = whole[begin.min(whole.len())..].iter().map(|word| word.written.as_str()).collect();
        if texts.is_empty() || noun.owner != Owner::Shared {
            return None;
        }
        let named = named(noun)?;
        return Some(Named { subject: Subject::Named(texts.join(" ")), ..named });
    }
    named(clause::noun_with_owner(words, end)?)
}

/// Reads "my gym is Flex".
fn find_copula(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let mut begin = index + 1;
    let mut is_now = false;
    while let Some(word) = words.get(begin)
        && (ADVERBS.has(&word.text) || matches!(word.text.as_str(), "at" | "called" | "named" | "with"))
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
    if named.attribute == "phone model" && !is_specific {
        return;
    }
    // "My car is in the shop" names no car.
    let is_place =
        WHERE_ATTRIBUTES.contains(&named.attribute.as_str()) || attributes::named(&named.attribute).is_none();
    if values::is_preposition(&value_words[0].text) && !is_place {
        return;
    }
    let is_numeric = NUMERIC_ATTRIBUTES.contains(&named.attribute.as_str());
    if !is_accepted || is_vague(value_words, named.is_slot) || (is_numeric && !value_words.iter().any(is_number)) {
        return;
    }
    found.push(Found {
        subject: named.subject,
        attribute: named.attribute,
        value: value.text,
        polarity: Polarity::Positive,
        is_event: is_now,
        is_future: false,
        at: index,
        end: value.words.end,
    });
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
    let (subject, polarity, end) = (verb.subject, Polarity::Positive, value.words.end);
    found.push(Found {
        subject,
        attribute,
        value: value.text,
        polarity,
        is_event: false,
        is_future: false,
        at: has,
        end,
    });
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
            let Some(named) =
                clause::noun_with_owner(&words[..end.min(words.len())], end.min(words.len())).and_then(named)
            else {
                return;
            };
            if !named.is_slot && rest[0] != "my" {
                return;
            }
            (named.subject, named.attribute, end)
        }
        _ => return,
    };
    let polarity = Polarity::Positive;
    found.push(Found { subject, attribute, value, polarity, is_event: false, is_future: false, at: index, end });
}

/// Whether a subject is one word that may be a name in small letters: "nadia is my girlfriend".
fn is_lowercase_name(subject: &Subject) -> bool {
    matches!(subject, Subject::Named(name) if !name.is_empty() && !name.contains(' ') && !cuebase_retrieval::is_stop_word(name))
}

fn ends_noun(word: &Word) -> bool {
    super::lists::VALUE_ENDS.has(&word.text) || cuebase_retrieval::is_stop_word(&word.text) || ADVERBS.has(&word.text)
}

/// Reads "a budget of 40,000 euros for the kiosk", "the kiosk has a budget of 40,000 euros".
fn find_amount(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let Some(noun) = index.checked_sub(1).and_then(|at| words.get(at)) else { return };
    let is_slot = SLOTS.has(&noun.text) || attributes::named(&noun.text).is_some();
    let is_led =
        index > 1 && matches!(words[index - 2].text.as_str(), "a" | "the" | "an" | "new" | "total" | "personal");
    let begins_number = words.get(index + 1).is_some_and(is_number);
    if !is_slot || !is_led || !begins_number {
        return;
    }
    let Some(value) = values::read(sentence.text, words, index + 1, Shape::Number, &[]) else { return };
    let has = (0..index).rev().find(|at| matches!(words[*at].text.as_str(), "has" | "have" | "got"));
    if clause::before(words, has.unwrap_or(index)).mood != Mood::Fact {
        return;
    }
    let mut subject = match has {
        Some(has) => clause::before(words, has).subject,
        None => Subject::Missing,
    };
    if words.get(value.words.end).is_some_and(|word| word.text == "for")
        && let Some(thing) = values::read(sentence.text, words, value.words.end + 1, Shape::Any, &sentence.dates)
    {
        subject = Subject::Named(thing.text);
    }
    let is_best = words[..index].windows(2).any(|pair| pair[0].text == "personal" && pair[1].text == "best");
    let attribute = match attributes::named(&noun.text) {
        _ if is_best => "personal best".to_owned(),
        Some(attribute) => attribute.name.to_owned(),
        None => noun.text.clone(),
    };
    let (polarity, end) = (Polarity::Positive, value.words.end);
    found.push(Found {
        subject,
        attribute,
        value: value.text,
        polarity,
        is_event: false,
        is_future: false,
        at: index,
        end,
    });
}

/// Reads "I pay 14 dollars a month for Penwick".
fn find_payment(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    if clause::before(words, index).mood != Mood::Fact {
        return;
    }
    let Some(value) = values::read(sentence.text, words, index + 1, Shape::Number, &sentence.dates) else { return };
    let thing = words[index..].iter().position(|word| word.text == "for").map(|at| index + at + 1);
    let thing = thing.and_then(|at| values::read(sentence.text, words, at, Shape::Any, &sentence.dates));
    let subject = match thing {
        Some(thing) => Subject::Named(thing.text),
        None => Subject::Named(String::new()),
    };
    let (attribute, polarity, end) = ("price".to_owned(), Polarity::Positive, value.words.end);
    found.push(Found {
        subject,
        attribute,
        value: value.text,
        polarity,
        is_event: false,
        is_future: false,
        at: index,
        end,
    });
}

/// Reads "I prefer concise answers": what is preferred of a kind.
fn find_preference(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = clause::before(words, index);
    if verb.mood != Mood::Fact || verb.subject == Subject::Missing {
        return;
    }
    let Some(value) = values::read(sentence.text, words, index + 1, Shape::Thing, &sentence.dates) else { return };
    let value_words = &words[value.words.clone()];
    if !(2..=3).contains(&value_words.len()) {
        return;
    }
    let kind = &value_words[value_words.len() - 1].text;
    found.push(Found {
        subject: verb.subject,
        attribute: format!("preferred {kind}"),
        value: value.text,
        polarity: Polarity::Positive,
        is_event: false,
        is_future: false,
        at: index,
        end: value.words.end,
    });
}

/// Reads "call me Sam", "I've saved $5,000".
fn find_name_or_savings(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = clause::before(words, index);
    let is_call = words[index].text == "call";
    let is_request =
        verb.subject == Subject::Missing || words[..index].last().is_some_and(|word| word.text == "please");
    let (attribute, begin, shape) = match words.get(index + 1) {
        Some(me) if is_call && me.text == "me" && is_request => ("name", index + 2, Shape::Place),
        Some(_) if !is_call && verb.is_perfect => ("savings", index + 1, Shape::Number),
        _ => return,
    };
    let is_up = words.get(begin).is_some_and(|word| word.text == "up");
    let Some(value) = values::read(sentence.text, words, begin + usize::from(is_up), shape, &sentence.dates) else {
        return;
    };
    let is_money = sentence.words[value.words.clone()].iter().any(|word| is_currency(&word.text));
    if verb.mood != Mood::Fact
        || (attribute == "savings" && !is_money)
        || (attribute == "name" && value.words.len() > 2)
    {
        return;
    }
    found.push(Found {
        subject: Subject::Speaker,
        attribute: attribute.to_owned(),
        value: value.text,
        polarity: Polarity::Positive,
        is_event: false,
        is_future: false,
        at: index,
        end: value.words.end,
    });
}

/// Whether a word is an amount of money or its unit.
fn is_currency(word: &str) -> bool {
    word.starts_with(['$', '€', '£'])
        || matches!(word.trim_end_matches('s'), "dollar" | "euro" | "pound" | "franc" | "buck")
}

/// Reads "my commute takes 45 minutes".
fn find_duration(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let begins_number = words[index + 1..].iter().take(3).any(is_number);
    if !begins_number || clause::before(words, index).mood != Mood::Fact {
        return;
    }
    let Some(named) = subject_noun(words, index).filter(|named| named.subject == Subject::Speaker) else { return };
    let mut begin = index + 1;
    while begin < words.len() && matches!(words[begin].text.as_str(), "me" | "us" | "about" | "only") {
        begin += 1;
    }
    let Some(value) = values::read(sentence.text, words, begin, Shape::Number, &[]) else { return };
    found.push(Found {
        subject: named.subject,
        attribute: named.attribute,
        value: value.text,
        polarity: Polarity::Positive,
        is_event: false,
        is_future: false,
        at: index,
        end: value.words.end,
    });
}

/// Reads "I keep my sneakers under the bed".
fn find_place(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let is_place = |word: &Word| matches!(word.text.as_str(), "in" | "on" | "under" | "behind" | "inside" | "at");
    let Some(at) = (index + 2..words.len().min(index + 7)).find(|at| is_place(&words[*at])) else { return };
    let is_own = words[index + 1].text == "my" || words[index + 1].text == "the";
    if !is_own
        || clause::before(words, index).mood != Mood::Fact
        || words[index..at].iter().any(|word| word.after != Break::None)
    {
        return;
    }
    let nouns: Vec<&str> =
        words[index + 2..at].iter().map(|word| word.text.as_str()).filter(|word| *word != "old").collect();
    let Some(value) = values::read(sentence.text, words, at + 1, Shape::Any, &sentence.dates) else { return };
    if nouns.is_empty() {
        return;
    }
    found.push(Found {
        subject: Subject::Speaker,
        attribute: nouns.join(" "),
        value: format!("{} {}", words[at].text, value.text),
        polarity: Polarity::Positive,
        is_event: false,
        is_future: false,
        at: index,
        end: value.words.end,
    });
}

/// Reads "we shipped 5.0.1 of the desktop client".
fn find_release(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let Some(version) = words.get(index + 1).filter(|word| values::is_version(word)) else { return };
    let is_led = words.get(index + 2).is_some_and(|word| word.text == "of");
    if !is_led || clause::before(words, index).mood != Mood::Fact {
        return;
    }
    let Some(thing) = values::read(sentence.text, words, index + 3, Shape::Any, &sentence.dates) else { return };
    found.push(Found {
        subject: Subject::Named(thing.text),
        attribute: "version".to_owned(),
        value: version.written.clone(),
        polarity: Polarity::Positive,
        is_event: true,
        is_future: false,
        at: index,
        end: index + 2,
    });
}

/// Reads "Abdul has a new extension, it's 4603", "Jules has a new girlfriend, her name is Maike".
fn find_new(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let texts: Vec<&str> = words[index + 1..].iter().take(3).map(|word| word.text.as_str()).collect();
    let ["a", "new", noun] = texts.as_slice() else { return };
    if words[index + 3].after == Break::None {
        return;
    }
    let verb = clause::before(words, index);
    let rest: Vec<&str> = words[index + 4..].iter().take(3).map(|word| word.text.as_str()).collect();
    let begin = match rest.as_slice() {
        ["it", "is", ..] => index + 6,
        ["her" | "his", "name", "is"] => index + 7,
        _ => return,
    };
    if verb.mood != Mood::Fact {
        return;
    }
    let Some(value) = values::read(sentence.text, words, begin, Shape::Name, &sentence.dates) else { return };
    let attribute = match attributes::named(noun) {
        Some(attribute) => attribute.name.to_owned(),
        None => (*noun).to_owned(),
    };
    // "We hired a new CTO": the company's.
    let is_shared = index > 0 && words[..index].iter().any(|word| word.text == "we") && !is_relation(noun);
    let subject = if is_shared { Subject::Named(String::new()) } else { verb.subject };
    found.push(Found {
        subject,
        attribute,
        value: value.text,
        polarity: Polarity::Positive,
        is_event: true,
        is_future: false,
        at: index,
        end: value.words.end,
    });
}

/// Reads "we use MySQL for the booking app".
fn find_use(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = if words[index].text == "to" { index - 1 } else { index };
    if clause::before(words, verb).mood != Mood::Fact {
        return;
    }
    let Some(value) = values::read(sentence.text, words, index + 1, Shape::Name, &sentence.dates) else { return };
    let at = value.words.end;
    let is_led = words.get(at).is_some_and(|word| matches!(word.text.as_str(), "for" | "to"));
    if !is_led || words[at - 1].after != Break::None {
        return;
    }
    let Some(thing) = values::read(sentence.text, words, at + 1, Shape::Any, &sentence.dates) else { return };
    let first = &words[thing.words.start];
    let last = &words[thing.words.end - 1];
    // "To track my runs", "for tracking my runs": the thing is what the verb is about.
    let is_verb = words[at].text == "to" || (first.text.ends_with("ing") && thing.words.start == at + 1);
    if is_verb && thing.words.len() == 1 {
        return;
    }
    let thing_text = if is_verb { last.written.clone() } else { thing.text };
    found.push(Found {
        subject: Subject::Named(thing_text),
        attribute: "platform".to_owned(),
        value: value.text,
        polarity: Polarity::Positive,
        is_event: false,
        is_future: false,
        at: index,
        end: thing.words.end,
    });
}

/// Returns the attribute that a noun means with a value: a phone may be a number or a model, and "personal best time" is
/// the personal best.
fn of_value(attribute: String, value: &[Word]) -> String {
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

/// Reads "the price went up to $40", "we changed the standup to 9:30".
fn find_change(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = clause::before(words, index);
    if verb.mood != Mood::Fact {
        return;
    }
    let mut begin = index + 1;
    let mut noun_end = begin;
    let Some(to) =
        (begin..words.len().min(begin + 9)).find(|at| matches!(words[*at].text.as_str(), "to" | "until" | "till"))
    else {
        return;
    };
    if words[index..to].iter().any(|word| word.after == Break::Clause) {
        return;
    }
    // "changed the standup to", or else the noun stands before the verb.
    while noun_end < to && !CHANGE_PARTICLES.contains(&words[noun_end].text.as_str()) {
        noun_end += 1;
    }
    let named = if noun_end > begin { named_before(&words[..noun_end], noun_end) } else { subject_noun(words, index) };
    let Some(named) = named else { return };
    begin = to + 1;
    let Some(value) = values::read(sentence.text, words, begin, Shape::Any, &sentence.dates_outside(begin)) else {
        return;
    };
    let value_words = &words[value.words.clone()];
    let is_specific = value_words.iter().any(|word| is_name(word) || is_number(word));
    let is_own_thing = named.subject == Subject::Speaker && words[index].text == "moved";
    if !is_specific && !named.is_slot && !is_own_thing && !is_bare_name(value_words, begin, &value) {
        return;
    }
    let (subject, attribute) = moved_thing(named, value_words);
    let mut attribute = of_value(attribute, value_words);
    let is_date =
        attribute == "version" && values::has_shape(value_words, Shape::Time) && !values::is_version(&value_words[0]);
    if is_date {
        "date".clone_into(&mut attribute);
    }
    let mut text = value.text;
    if value_words.len() > 1 && matches!(value_words[0].text.as_str(), "room" | "building" | "desk") {
        attribute.clone_from(&value_words[0].text);
        text = text[value_words[0].written.len()..].trim_start().to_owned();
    }
    found.push(Found {
        subject,
        attribute,
        value: text,
        polarity: Polarity::Positive,
        is_event: true,
        is_future: false,
        at: index,
        end: value.words.end,
    });
}

/// Whether a value is one word without an article, as names of machines are: "moved the wiki to juniper".
fn is_bare_name(words: &[Word], begin: usize, value: &values::Value) -> bool {
    let is_word = |word: &Word| word.text.len() > 3 && !cuebase_retrieval::is_stop_word(&word.text);
    value.words.start == begin && matches!(words, [word] if is_word(word) && !ADVERBS.has(&word.text))
}

/// Returns the attribute of a thing that moved: "the standup moved to 9:30", "we migrated the app to Postgres".
fn moved_thing(named: Named, value: &[Word]) -> (Subject, String) {
    let last = named.attribute.rsplit(' ').next().unwrap_or_default();
    if EVENTS.has(last) && values::has_shape(value, Shape::Time) {
        let thing = match named.subject {
            Subject::Speaker => format!("{SPEAKER}'s {}", named.attribute),
            Subject::Last => format!("{LAST}'s {}", named.attribute),
            Subject::Named(_) | Subject::Missing => named.attribute,
        };
        return (Subject::Named(thing), "date".to_owned());
    }
    if matches!(last, "trip" | "flight" | "holiday" | "vacation") {
        return (named.subject, "destination".to_owned());
    }
    if named.is_slot || named.subject != Subject::Named(String::new()) {
        return (named.subject, named.attribute);
    }
    let is_time = values::has_shape(&value[..1], Shape::Time) || EVENTS.has(&named.attribute);
    let attribute = if is_time { "date" } else { "platform" };
    (Subject::Named(named.attribute), attribute.to_owned())
}

/// Returns what the noun before a verb names.
fn subject_noun(words: &[Word], verb: usize) -> Option<Named> {
    let mut end = verb;
    while end > 0 && (AUXILIARIES.has(&words[end - 1].text) || ADVERBS.has(&words[end - 1].text)) {
        end -= 1;
    }
    named_before(words, end)
}
