//! Claims in languages other than English, by the templates of `languages.txt`: where somebody lives and works, and
//! general statements such as "mein Passwort ist jetzt …". Chinese has forms of its own, because it writes no spaces.

use std::sync::LazyLock;

use crate::claims::Polarity;
use crate::tokenize::writes_no_spaces;
use ahash::AHashMap;

use super::attributes;
use super::clause::Subject;
use super::doses::is_unit as is_dose_unit;
use super::lists::TIMES;
use super::sentence::{Found, Sentence};
use super::values::is_number;
use super::words::{Break, Word};
use crate::dates::foreign_month_number;

/// The templates.
const TEMPLATES: &str = include_str!("languages.txt");
/// Words of a value, of a noun and of a name.
const VALUE_WORDS_MAX: usize = 5;
const NOUN_WORDS_MAX: usize = 6;
const NAME_WORDS_MAX: usize = 2;
/// Words at which a value ends.
const VALUE_ENDS: &str = "aber und weil seit denn gleich schon jetzt wieder pero y porque desde que mais et depuis car parce \
    maintenant mas e porque desde agora ma perché da adesso ora come wo ou où junto al près avec con com para pour";
/// Characters of a Chinese noun or value.
const CHINESE_CHARS_MAX: usize = 12;

/// An element of a template.
#[derive(Debug)]
enum Element {
    /// One of some words.
    Words(Vec<&'static str>),
    /// One of some words, or nothing.
    Optional(Vec<&'static str>),
    Value,
    Name,
    Noun,
    Number,
}

/// What a template is about.
#[derive(Debug, PartialEq, Eq)]
enum About {
    Attribute(&'static str),
    /// The attribute that the noun names.
    Noun,
    /// How many of the noun there are.
    Count,
}

#[derive(Debug)]
struct Template {
    about: About,
    polarity: Polarity,
    elements: Vec<Element>,
}

/// What a template matched.
#[derive(Default)]
struct Match {
    value: Option<String>,
    name: Option<String>,
    noun: Option<String>,
    number: Option<String>,
    end: usize,
}

static ALL: LazyLock<Vec<Template>> = LazyLock::new(|| TEMPLATES.lines().filter_map(template).collect());

/// The indexes of the templates by the words of one of their elements: a sentence without any of these words does not
/// match.
static BY_WORD: LazyLock<AHashMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
    let mut by_word: AHashMap<&'static str, Vec<usize>> = AHashMap::new();
    for (index, template) in ALL.iter().enumerate() {
        for word in template.rarest_words() {
            by_word.entry(*word).or_default().push(index);
        }
    }
    by_word
});

impl Template {
    /// Returns the alternatives of the element whose shortest word is longest, which few sentences contain.
    fn rarest_words(&self) -> &[&'static str] {
        let mut rarest: (usize, &[&'static str]) = (0, &[]);
        for element in &self.elements {
            let Element::Words(words) = element else { continue };
            let shortest = words.iter().map(|word| word.len()).min().unwrap_or(0);
            if shortest > rarest.0 {
                rarest = (shortest, words);
            }
        }
        rarest.1
    }
}

fn template(line: &'static str) -> Option<Template> {
    let (head, words) = line.split_once(": ")?;
    let mut head = head.split(' ');
    let (_language, attribute, polarity) = (head.next()?, head.next()?, head.next()?);
    let about = match attribute {
        "*" => About::Noun,
        "#" => About::Count,
        attribute => About::Attribute(attribute),
    };
    let polarity = match polarity {
        "+" => Polarity::Positive,
        "-" => Polarity::Negative,
        _ => return None,
    };
    let elements = words.split(' ').map(element).collect();
    Some(Template { about, polarity, elements })
}

fn element(text: &'static str) -> Element {
    match text {
        "{v}" => Element::Value,
        "{s}" => Element::Name,
        "{n}" => Element::Noun,
        "{d}" => Element::Number,
        _ => match text.strip_prefix('?') {
            Some(optional) => Element::Optional(optional.split('|').collect()),
            None => Element::Words(text.split('|').collect()),
        },
    }
}

/// Adds the claims that templates find in a sentence.
pub(super) fn find(sentence: &Sentence<'_>, found: &mut Vec<Found>) {
    if sentence.text.chars().any(writes_no_spaces) {
        find_chinese(sentence.text, found);
        return;
    }
    let lowered: Vec<String> = sentence.words.iter().map(lower).collect();
    let mut candidates = Vec::new();
    for word in &lowered {
        if let Some(indexes) = BY_WORD.get(word.as_str()) {
            candidates.extend_from_slice(indexes);
        }
    }
    candidates.sort_unstable();
    candidates.dedup();
    for index in candidates {
        let template = &ALL[index];
        for begin in 0..lowered.len() {
            let mut matched = Match::default();
            if matches(sentence, &lowered, &template.elements, begin, &mut matched) {
                found.extend(claim(template, matched, begin));
                break;
            }
        }
    }
}

/// Returns a word in lowercase, with its accents: "é" is a verb and "e" is not.
fn lower(word: &Word) -> String {
    if word.written.is_empty() { word.text.clone() } else { word.written.to_lowercase().replace('’', "'") }
}

/// Whether the elements match the words from an index on.
fn matches(sentence: &Sentence<'_>, lowered: &[String], elements: &[Element], at: usize, matched: &mut Match) -> bool {
    let Some((element, rest)) = elements.split_first() else {
        matched.end = at;
        return true;
    };
    let words = &sentence.words;
    match element {
        Element::Words(wanted) => is_one_of(lowered, at, wanted) && matches(sentence, lowered, rest, at + 1, matched),
        Element::Optional(wanted) => {
            (is_one_of(lowered, at, wanted) && matches(sentence, lowered, rest, at + 1, matched))
                || matches(sentence, lowered, rest, at, matched)
        }
        Element::Number => {
            let Some(number) = words.get(at).filter(|word| is_number(word)) else { return false };
            matched.number = Some(number.written.clone());
            matches(sentence, lowered, rest, at + 1, matched)
        }
        Element::Name => longest(sentence, lowered, rest, at, NAME_WORDS_MAX, Kind::Name, matched),
        Element::Noun => longest(sentence, lowered, rest, at, NOUN_WORDS_MAX, Kind::Noun, matched),
        Element::Value if rest.is_empty() => {
            let end = value_end(words, lowered, at);
            matched.value = text_of(sentence, at, end);
            matched.end = end;
            matched.value.is_some()
        }
        Element::Value => longest(sentence, lowered, rest, at, VALUE_WORDS_MAX, Kind::Value, matched),
    }
}

/// What several words stand for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Noun,
    Value,
}

/// Matches the fewest words, at least one, after which the rest matches.
fn longest(
    sentence: &Sentence<'_>,
    lowered: &[String],
    rest: &[Element],
    at: usize,
    words_max: usize,
    kind: Kind,
    matched: &mut Match,
) -> bool {
    let words = &sentence.words;
    for end in at + 1..=words.len().min(at + words_max) {
        let last = &words[end - 1];
        if kind == Kind::Name && !last.capital {
            return false;
        }
        if matches(sentence, lowered, rest, end, matched) {
            let text = text_of(sentence, at, end);
            match kind {
                Kind::Name => matched.name = text,
                Kind::Noun => matched.noun = text,
                Kind::Value => matched.value = text,
            }
            return true;
        }
        if last.after != Break::None {
            return false;
        }
    }
    false
}

fn is_one_of(lowered: &[String], at: usize, wanted: &[&str]) -> bool {
    lowered.get(at).is_some_and(|word| wanted.contains(&word.as_str()))
}

/// Returns the index after the last word of a value.
fn value_end(words: &[Word], lowered: &[String], begin: usize) -> usize {
    let mut end = begin;
    while end < words.len() && end - begin < VALUE_WORDS_MAX {
        let ends = VALUE_ENDS.split_whitespace().any(|word| word == lowered[end]) || begins_month(lowered, end);
        if ends && end > begin {
            break;
        }
        end += 1;
        if words[end - 1].after != Break::None {
            break;
        }
    }
    end
}

/// Whether a preposition and the name of a month begin at an index: "en juin".
fn begins_month(lowered: &[String], at: usize) -> bool {
    let is_preposition = matches!(lowered[at].as_str(), "en" | "im" | "em" | "a" | "in" | "au" | "al" | "no");
    is_preposition && lowered.get(at + 1).is_some_and(|word| foreign_month_number(word).is_some())
}

fn text_of(sentence: &Sentence<'_>, begin: usize, end: usize) -> Option<String> {
    let (first, last) = (sentence.words.get(begin)?, sentence.words.get(end.checked_sub(1)?)?);
    if end <= begin {
        return None;
    }
    Some(sentence.text.get(first.range.start..last.range.end)?.to_owned())
}

fn claim(template: &Template, matched: Match, at: usize) -> Option<Found> {
    let Match { value, name, noun, number, end } = matched;
    let subject = match name {
        Some(name) => Subject::Named(name),
        None if is_shared(template) => Subject::Named(String::new()),
        None => Subject::Speaker,
    };
    let (attribute, value) = match template.about {
        About::Attribute(attribute) => (attribute.to_owned(), value?),
        About::Noun => {
            let noun = super::names::attribute(&noun?);
            let name = match attributes::named(&noun) {
                Some(attribute) => attribute.name.to_owned(),
                None => noun,
            };
            (name, value?)
        }
        About::Count => {
            let noun = noun?;
            // "4 May" is a date.
            let lower = noun.to_lowercase();
            if TIMES.has(&lower) || is_dose_unit(&lower) {
                return None;
            }
            (format!("number of {}", super::names::attribute(&noun)), number?)
        }
    };
    let is_event = template.polarity == Polarity::Negative;
    Some(Found { subject, attribute, value, polarity: template.polarity, is_event, is_future: false, at, end })
}

/// Whether a template is about a thing that belongs to nobody in particular: it begins with an article alone.
fn is_shared(template: &Template) -> bool {
    match template.elements.first() {
        Some(Element::Words(words)) => words.iter().any(|word| matches!(*word, "der" | "el" | "le")),
        _ => false,
    }
}

/// Adds the claims of a Chinese sentence: "我的…是…", "…改成…", "住在…", "在…上班".
fn find_chinese(text: &str, found: &mut Vec<Found>) {
    for clause in text.split(['，', ',', '。', '！', '!', '；', ';', '：', ':', '？', '?', '、']) {
        if clause.contains(['吗', '呢']) {
            continue;
        }
        let clause = clause.trim();
        if let Some((noun, value)) = clause.split_once("改成").or_else(|| clause.split_once("是")) {
            found.extend(chinese_general(noun, value));
        }
        for (lead, tail, attribute) in
            [("住在", "", "home"), ("搬到", "", "home"), ("在", "上班", "employer"), ("在", "工作", "employer")]
        {
            if let Some((_, value)) = clause.split_once(lead)
                && let Some(value) = strip_tail(value, tail)
            {
                found.push(chinese(Subject::Speaker, attribute, value));
                break;
            }
        }
    }
}

fn strip_tail<'a>(value: &'a str, tail: &str) -> Option<&'a str> {
    let value = if tail.is_empty() { value } else { value.rsplit_once("在").map_or(value, |(_, value)| value) };
    let value = value.strip_suffix(tail)?.trim_end_matches('了');
    let is_short = (1..=CHINESE_CHARS_MAX).contains(&value.chars().count());
    if is_short { Some(value) } else { None }
}

fn chinese_general(noun: &str, value: &str) -> Option<Found> {
    let (subject, noun) = match noun.rsplit_once('的') {
        Some(("我" | "我们" | "我現在" | "我现在", noun)) => (Subject::Speaker, noun),
        Some((owner, noun)) => (Subject::Named(owner.trim_start_matches("我").to_owned()), noun),
        None => (Subject::Named(String::new()), noun),
    };
    let noun = noun.trim_end_matches("现在").trim();
    let value = value.trim_end_matches('了').trim();
    let is_short = |text: &str| (1..=CHINESE_CHARS_MAX).contains(&text.chars().count());
    if !is_short(noun) || !is_short(value) || noun.chars().count() < 2 || noun.starts_with(['这', '那', '不', '就'])
    {
        return None;
    }
    // "王磊的办公室的门禁密码": the owner of a password is a place here, so it is left out.
    let subject = if noun.ends_with("密码") { Subject::Named(String::new()) } else { subject };
    Some(chinese(subject, noun, value))
}

fn chinese(subject: Subject, attribute: &str, value: &str) -> Found {
    Found::stated(subject, attribute.to_owned(), value.to_owned(), 0..0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_understood() {
        for line in TEMPLATES.lines() {
            assert!(line.starts_with("; ") || template(line).is_some(), "{line}");
        }
        for template in ALL.iter() {
            assert!(!template.rarest_words().is_empty(), "{template:?} is never looked for");
        }
    }

    /// Returns attribute and value of the claims in a sentence.
    fn claims(text: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        find(&Sentence::new(text, "Ana", Vec::new()), &mut found);
        found.into_iter().map(|one| (one.attribute, one.value)).collect()
    }

    #[test]
    fn general_statements_are_read_in_several_languages() {
        for (text, attribute, value) in [
            ("Ich wohne jetzt in Leipzig.", "home", "Leipzig"),
            ("Ich bin Anfang Mai nach Leipzig gezogen.", "home", "Leipzig"),
            ("Mein Passwort lautet jetzt Seestern77.", "passwort", "Seestern77"),
            ("Ahora vivo en Sevilla.", "home", "Sevilla"),
            ("Mi dentista es la doctora Ruiz.", "dentista", "doctora Ruiz"),
            ("J'ai déménagé à Grenoble en juin.", "home", "Grenoble"),
            ("Mon code est maintenant 4471.", "code", "4471"),
            ("Agora trabalho na Pontes.", "employer", "Pontes"),
            ("Mi sono trasferito a Ferrara, ho trovato casa.", "home", "Ferrara"),
            ("我的钢琴老师是马老师。", "钢琴老师", "马老师"),
        ] {
            assert_eq!(claims(text), [(attribute.to_owned(), value.to_owned())], "{text}");
        }
    }
}
