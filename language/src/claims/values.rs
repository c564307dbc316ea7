//! Values: where they end in a sentence, and what they must look like.

use std::ops::Range;

use super::frames::Shape;
use super::lists::{
    CARS, DIETS, NO_PROFESSIONS, PETS, PLANS, ROLES, SCHOOLS, SPORTS, STATUSES, SUBJECTS, TIMES, VALUE_ENDS,
    VALUE_STARTS, WORKPLACES,
};
use super::numbers;
use super::words::{Break, Word};

/// Words of a value.
const VALUE_WORDS_MAX: usize = 7;

/// A value in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// The text, as the sentence has it.
    pub(super) text: String,
    /// The indexes of its words.
    pub(super) words: Range<usize>,
}

/// Reads the value that begins at a word. `dates` are the bytes of dates in the sentence, which end a value that is no
/// time. Returns `None` if no value of the shape begins there.
pub(super) fn read(
    sentence: &str,
    words: &[Word],
    begin: usize,
    shape: Shape,
    dates: &[Range<usize>],
) -> Option<Value> {
    let mut begin = begin;
    while begin < words.len() && VALUE_STARTS.has(&words[begin].text) && !words[begin].capital {
        begin += 1;
    }
    // "80 euros on the first of April": what follows an amount is not part of it.
    let is_amount =
        shape == Shape::Any && words.get(begin).is_some_and(|word| is_number(word) && !word.text.contains(':'));
    let shape = if is_amount { Shape::Number } else { shape };
    let mut end = begin;
    while end < words.len() && end - begin < VALUE_WORDS_MAX {
        let word = &words[end];
        let in_date = shape != Shape::Time && dates.iter().any(|date| date.contains(&word.range.start));
        let is_name_part = word.capital && word.text != "i";
        let is_part =
            (is_name_part || !ends_value(&words[begin..=end], shape)) && !begins_noun(&words[begin..=end], shape);
        let begins_day =
            shape != Shape::Time && end > begin && is_preposition(&word.text) && is_time(words.get(end + 1));
        if in_date || begins_day || !is_part {
            break;
        }
        end += 1;
        if word.after == Break::Clause || (word.after == Break::Comma && !continues(words, end)) {
            break;
        }
    }
    while end > begin && shape != Shape::Status && is_preposition(&words[end - 1].text) {
        end -= 1;
    }
    let range = begin..end;
    let (first, last) = (words.get(begin)?, words.get(end.checked_sub(1)?)?);
    let begins_elsewhere = !matches!(shape, Shape::Any | Shape::Status) && is_preposition(&first.text);
    if range.is_empty() || begins_elsewhere || !has_shape(&words[range.clone()], shape) {
        return None;
    }
    let text = sentence.get(first.range.start..last.range.end)?.to_owned();
    Some(Value { text, words: range })
}

/// Whether the last of some words begins another noun after a name: "since I quit Arcadia Films the mornings are
/// quiet".
fn begins_noun(words: &[Word], shape: Shape) -> bool {
    let [.., name, last] = words else { return false };
    let is_determiner = matches!(last.text.as_str(), "the" | "my" | "our" | "his" | "her" | "their");
    matches!(shape, Shape::Name | Shape::Workplace | Shape::Place) && is_determiner && is_name(name) && !last.capital
}

fn is_time(word: Option<&Word>) -> bool {
    word.is_some_and(|word| TIMES.has(word.text.trim_end_matches('s')))
}

/// Whether the last of some words ends the value before it.
fn ends_value(words: &[Word], shape: Shape) -> bool {
    let Some(last) = words.last() else { return true };
    let text = last.text.as_str();
    let is_first = words.len() == 1;
    if matches!(shape, Shape::Time) {
        return matches!(
            text,
            "and" | "but" | "because" | "so" | "instead" | "now" | "which" | "due" | "again" | "after" | "since"
        );
    }
    if !is_first && !matches!(shape, Shape::Any | Shape::Time) && is_preposition(text) {
        return true;
    }
    if !is_first && matches!(text, "is" | "are" | "was" | "has" | "have" | "i" | "we" | "he" | "she" | "they" | "it") {
        return true;
    }
    VALUE_ENDS.has(text)
}

/// Whether a word is a preposition of place or time.
pub(super) fn is_preposition(word: &str) -> bool {
    matches!(
        word,
        "in" | "on"
            | "at"
            | "near"
            | "under"
            | "behind"
            | "inside"
            | "of"
            | "into"
            | "not"
            | "out"
            | "down"
            | "off"
            | "like"
            | "per"
    )
}

/// Whether a value continues after a comma: "Portland, Oregon".
fn continues(words: &[Word], next: usize) -> bool {
    let Some(word) = words.get(next) else { return false };
    let ends_soon = word.after != Break::None || next + 1 == words.len();
    word.capital && ends_soon && word.text != "i"
}

/// Whether words look like a value of a shape.
pub(super) fn has_shape(words: &[Word], shape: Shape) -> bool {
    let any = |holds: &dyn Fn(&Word) -> bool| words.iter().any(holds);
    let Some(last) = words.last() else { return false };
    match shape {
        Shape::Any => any(&|word| word.text.chars().any(char::is_alphanumeric)),
        Shape::Name => any(&is_name) && !is_team(&last.text) && !is_club(&last.text),
        Shape::Tool => any(&is_name) || words.len() == 1,
        Shape::Thing => any(&|word| word.text.chars().any(char::is_alphabetic)),
        Shape::Sport => any(&|word| SPORTS.has(&word.text)),
        Shape::Subject => any(&|word| SUBJECTS.has(&word.text)),
        Shape::Club => is_club(&last.text),
        Shape::Lesson => {
            matches!(last.text.as_str(), "lessons" | "lesson" | "classes" | "class" | "course" | "courses")
        }
        Shape::Pet => {
            // "My dog trailer" names a trailer and not a dog.
            let is_named = any(&|word| matches!(word.text.as_str(), "called" | "named"));
            (PETS.has(&last.text) || (is_named && any(&|word| PETS.has(&word.text)))) && !any(&is_number)
        }
        Shape::Place => any(&|word| word.capital && word.text != "i" && !is_time(Some(word))) && !is_team(&last.text),
        Shape::Number => any(&is_number),
        Shape::Workplace => {
            let is_place = WORKPLACES.has(&last.text) || WORKPLACES.has(&words[0].text);
            (any(&is_name) || is_place) && !is_team(&last.text)
        }
        Shape::Version => any(&is_version),
        Shape::School => any(&|word| SCHOOLS.has(&word.text)) && any(&is_name),
        Shape::Role => {
            (any(&|word| ROLES.has(&word.text)) || is_profession(&last.text)) && !any(&|word| is_owner(&word.text))
        }
        Shape::Diet => any(&|word| DIETS.has(&word.text)),
        Shape::Car => any(&|word| CARS.has(&word.text)),
        Shape::Status => STATUSES.has(&joined(words)) || STATUSES.has(&last.text) && words.len() <= 2,
        Shape::Team => is_team(&last.text),
        Shape::TeamName => is_team(&last.text) || (words.len() <= 2 && is_plural_name(last)),
        Shape::Plan => any(&|word| PLANS.has(&word.text)) && !TIMES.has(&last.text),
        Shape::Weight => any(&is_number) && any(&|word| is_weight(&word.text)),
        Shape::Grade => last.text == "grade" || (words.len() == 2 && words[0].text == "year" && is_number(last)),
        Shape::Time => {
            any(&|word| begins_with_digit(word) || TIMES.has(word.text.trim_end_matches('s')))
                && !any(&|word| is_unit(&word.text))
        }
    }
}

/// Whether a word is part of a name, or a number.
pub(super) fn is_name(word: &Word) -> bool {
    (word.capital && word.text != "i") || word.text.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_club(word: &str) -> bool {
    matches!(word, "club" | "choir" | "band" | "league" | "society" | "association" | "orchestra" | "union" | "gym")
}

/// Whether a word names a profession or a post.
pub(super) fn is_role(word: &Word) -> bool {
    ROLES.has(&word.text) || is_profession(&word.text)
}

/// Whether a word looks like a profession by its ending.
fn is_profession(word: &str) -> bool {
    let ends = ["er", "ist", "ian", "or"].iter().any(|ending| word.ends_with(ending));
    ends && word.len() > 5 && !NO_PROFESSIONS.has(word)
}

fn is_team(word: &str) -> bool {
    matches!(word, "team" | "squad" | "group" | "crew" | "department")
}

/// Whether a word is a unit of weight, or a number that ends in one.
fn is_weight(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(unit, "kilo" | "kilos" | "kg" | "kilograms" | "pounds" | "lb" | "lbs" | "stone")
}

fn is_owner(word: &str) -> bool {
    matches!(word, "my" | "his" | "her" | "their" | "your" | "our")
}

/// Whether a word is a name like that of a team: "the Kestrels".
fn is_plural_name(word: &Word) -> bool {
    word.capital && word.text.len() > 4 && word.text.ends_with('s') && !TIMES.has(word.text.trim_end_matches('s'))
}

/// Whether a word is the number of a version.
pub(super) fn is_version(word: &Word) -> bool {
    let number = word.text.strip_prefix('v').unwrap_or(&word.text);
    let begins = number.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    begins && (number.contains('.') || number.len() < word.text.len())
}

/// Whether a word says that the number beside it is no time.
fn is_unit(word: &str) -> bool {
    matches!(
        word.trim_end_matches('s'),
        "version"
            | "dollar"
            | "euro"
            | "pound"
            | "franc"
            | "percent"
            | "page"
            | "point"
            | "mg"
            | "mcg"
            | "ml"
            | "kg"
            | "km"
    ) || word.starts_with(['$', '€', '£'])
        || word.bytes().filter(|byte| *byte == b'.').count() > 1
}

/// Whether a word is a number in digits or words.
pub(super) fn is_number(word: &Word) -> bool {
    word.text.bytes().any(|byte| byte.is_ascii_digit()) || numbers::read(&[word.text.as_str()]).is_some()
}

fn begins_with_digit(word: &Word) -> bool {
    word.text.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
}

fn joined(words: &[Word]) -> String {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    texts.join(" ")
}
