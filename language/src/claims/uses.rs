//! Claims of what somebody has and does with it: which tool is used for what, where a thing is kept, which version was
//! released, who or what is new, what is preferred, and how somebody wants to be called.

use super::attributes;
use super::clause::{self, Mood, Subject, is_relation};
use super::frames::Shape;
use super::sentence::{Found, Sentence};
use super::values;
use super::words::{Break, Word};

/// Adds the claims of a sentence about what is used and kept.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    for index in 0..sentence.words.len() {
        match sentence.words[index].text.as_str() {
            "use" | "uses" | "using" => find_use(sentence, index, found),
            "to" if index > 0 && sentence.words[index - 1].text == "switched" => find_use(sentence, index, found),
            "shipped" | "released" | "deployed" | "published" => find_release(sentence, index, found),
            "has" | "have" | "got" | "hired" | "found" => find_new(sentence, index, found),
            "prefer" | "prefers" => find_preference(sentence, index, found),
            "call" => find_called_me(sentence, index, found),
            "keep" | "keeps" | "store" | "stores" => find_place(sentence, index, found),
            _ => {}
        }
    }
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
    found.push(Found::stated(verb.subject, format!("preferred {kind}"), value.text, index..value.words.end));
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
    let owner = match words[index + 1].text.as_str() {
        "my" => Subject::Speaker,
        _ => Subject::Named(String::new()),
    };
    found.push(Found::stated(
        owner,
        format!("place of {}", nouns.join(" ")),
        format!("{} {}", words[at].text, value.text),
        index..value.words.end,
    ));
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
        is_event: true,
        ..Found::stated(Subject::Named(thing.text), "version".to_owned(), version.written.clone(), index..index + 2)
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
    found.push(Found { is_event: true, ..Found::stated(subject, attribute, value.text, index..value.words.end) });
}

/// Reads "we use MySQL for the booking app".
fn find_use(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = if words[index].text == "to" { index - 1 } else { index };
    let before = clause::before(words, verb);
    // "My accountant uses DATEV for invoices" says nothing about the speaker's.
    let is_own = matches!(before.subject, Subject::Speaker | Subject::Missing);
    if before.mood != Mood::Fact || !is_own {
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
    found.push(Found::stated(Subject::Named(thing_text), "platform".to_owned(), value.text, index..thing.words.end));
}

/// Reads "call me Sam".
fn find_called_me(sentence: &Sentence<'_>, index: usize, found: &mut Vec<Found>) {
    let words = &sentence.words;
    let verb = clause::before(words, index);
    let is_request =
        verb.subject == Subject::Missing || words[..index].last().is_some_and(|word| word.text == "please");
    let is_me = words.get(index + 1).is_some_and(|word| word.text == "me");
    if verb.mood != Mood::Fact || !is_request || !is_me {
        return;
    }
    let Some(value) = values::read(sentence.text, words, index + 2, Shape::Place, &sentence.dates) else { return };
    if value.words.len() <= 2 {
        let claimed = index..value.words.end;
        found.push(Found::stated(Subject::Speaker, "name".to_owned(), value.text, claimed));
    }
}
