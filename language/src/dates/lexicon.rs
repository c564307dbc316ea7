//! What each word means in dates, from the tables of all languages.

use std::sync::LazyLock;

use ahash::{AHashMap, AHashSet};

use super::languages::TABLES;
use super::languages::english;
use super::languages::table::{Language, Role, Table};
use super::normal::normal;

/// Characters of the longest word in a language without spaces.
const UNSPACED_CHARS_MAX: usize = 5;

/// What a word, or a phrase that begins with it, means in one language.
#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) language: Language,
    pub(crate) role: Role,
    /// The other words of the phrase.
    pub(crate) rest: Vec<String>,
    /// Whether it is a word of another language as well.
    pub(crate) is_shared: bool,
}

/// The meanings by words in the form of [`normal`].
struct Lexicon {
    words: AHashMap<String, Vec<Meaning>>,
    /// The first characters of words in languages without spaces.
    starts: AHashSet<char>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::of_all_tables);

/// Returns what a word in the form of [`normal`] means.
pub(crate) fn meanings(word: &str) -> &'static [Meaning] {
    match LEXICON.words.get(word) {
        Some(meanings) => meanings.as_slice(),
        None => &[],
    }
}

/// Returns the bytes and the meanings of the longest word at the beginning of a text without spaces.
pub(crate) fn longest(text: &str) -> Option<(usize, &'static [Meaning])> {
    if !LEXICON.starts.contains(&text.chars().next()?) {
        return None;
    }
    let mut found = None;
    for (begin, c) in text.char_indices().take(UNSPACED_CHARS_MAX) {
        let end = begin + c.len_utf8();
        let meanings = meanings(&text[..end]);
        if !meanings.is_empty() {
            found = Some((end, meanings));
        }
    }
    found
}

/// Returns the number of a month, from 1, by its name in another language than English, in lowercase.
pub(crate) fn foreign_month_number(word: &str) -> Option<i8> {
    for meaning in meanings(word) {
        if let Role::Month(number) | Role::DoubtfulMonth(number) = meaning.role
            && meaning.rest.is_empty()
        {
            return Some(number);
        }
    }
    None
}

impl Lexicon {
    fn of_all_tables() -> Self {
        let mut lexicon = Self { words: AHashMap::new(), starts: AHashSet::new() };
        lexicon.add_common(english::COMMON, Language::English);
        for table in TABLES {
            lexicon.add_table(table);
        }
        lexicon
    }

    fn add_table(&mut self, table: &Table) {
        for (names, month) in table.months.iter().zip(1..) {
            for name in names.split('|') {
                let role =
                    if is_listed(table.doubtful, name) { Role::DoubtfulMonth(month) } else { Role::Month(month) };
                self.add(table, role, name);
            }
        }
        for (names, month) in table.short_months.iter().zip(1..) {
            self.add(table, Role::ShortMonth(month), names);
        }
        for (names, weekday) in table.weekdays.iter().zip(0..) {
            self.add(table, Role::DayName(weekday), names);
        }
        for (names, number) in table.numbers.iter().zip(1..) {
            self.add(table, Role::Number(number), names);
        }
        for (role, phrases) in table.words {
            self.add(table, *role, phrases);
        }
        self.add_common(table.common, table.language);
    }

    /// Adds phrases with one meaning.
    fn add(&mut self, table: &Table, role: Role, phrases: &str) {
        for phrase in phrases.split('|') {
            let mut words = phrase.split_whitespace();
            let Some(first) = words.next() else { continue };
            let mut rest = Vec::new();
            for word in words {
                rest.push(normal(word).into_owned());
            }
            let is_shared = is_listed(table.shared, phrase);
            self.insert(first, Meaning { language: table.language, role, rest, is_shared });
        }
    }

    fn add_common(&mut self, words: &str, language: Language) {
        for word in words.split_whitespace() {
            self.insert(word, Meaning { language, role: Role::Common, rest: Vec::new(), is_shared: false });
        }
    }

    fn insert(&mut self, word: &str, meaning: Meaning) {
        let word = normal(word).into_owned();
        if matches!(meaning.language, Language::Chinese | Language::Japanese) {
            self.starts.extend(word.chars().next());
        }
        self.words.entry(word).or_default().push(meaning);
    }
}

/// Whether a list with "|" between its entries contains an entry.
fn is_listed(list: &str, entry: &str) -> bool {
    list.split('|').any(|other| other == entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_of_other_languages_are_known_by_their_full_names() {
        for (word, month) in [("januari", 1), ("février", 2), ("märz", 3), ("maggio", 5), ("agosto", 8), ("мая", 5)]
        {
            assert_eq!(foreign_month_number(word), Some(month), "{word}");
        }
        for word in ["mar", "set", "may", "january", "lunes", ""] {
            assert_eq!(foreign_month_number(word), None, "{word}");
        }
    }

    #[test]
    fn every_listed_exception_is_a_word_of_its_table() {
        for table in TABLES {
            for word in table.shared.split('|').chain(table.doubtful.split('|')) {
                let first = word.split_whitespace().next().unwrap_or_default();
                let normal = normal(first);
                let is_known = meanings(&normal).iter().any(|meaning| meaning.language == table.language);
                assert!(word.is_empty() || is_known, "{:?} has no word {word}", table.language);
            }
        }
    }

    #[test]
    fn no_word_of_a_language_without_spaces_is_longer_than_what_is_looked_up() {
        for table in TABLES {
            if matches!(table.language, Language::Chinese | Language::Japanese) {
                for (_, phrases) in table.words {
                    assert!(phrases.split('|').all(|word| word.chars().count() <= UNSPACED_CHARS_MAX), "{phrases}");
                }
            }
        }
    }
}
