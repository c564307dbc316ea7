//! Function words of many languages, from `stop_words.txt`.
//!
//! Words in Latin script are removed only from texts of their language, except for the English ones, which are removed
//! from all. Words in other scripts are removed wherever they stand.

use std::sync::LazyLock;

use ahash::{AHashMap, AHashSet};

use super::fold::{fold, fold_term};
use super::language::{Language, LanguageSet};
use super::script::Script;

const LISTS: &str = include_str!("stop_words.txt");
const ENGLISH: &str = "en";
/// The list of words that English texts contain, also as parts of names.
const AMBIGUOUS: &str = "ambiguous";

/// What a word of three letters tells that English texts do not contain, and what another word tells.
const WEIGHT: u32 = 2;
const AMBIGUOUS_WEIGHT: u32 = 1;
/// Limit of the words in Latin script.
pub(super) const WORDS_MAX: usize = 4096;

/// What a word in Latin script is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StopWord {
    /// Whether it is an English function word.
    pub(super) is_english: bool,
    /// The other languages in which it is a function word.
    pub(super) languages: LanguageSet,
    /// How much it tells that a text is in one of these.
    pub(super) weight: u32,
    /// The number of the word, below [`WORDS_MAX`], if it is in a list.
    pub(super) number: usize,
}

/// The function words in Latin script.
static LATIN: LazyLock<AHashMap<&str, StopWord>> = LazyLock::new(latin_words);
/// The function words of languages in Latin script but English, folded, each with the number of its language.
static FOLDED: LazyLock<AHashSet<(usize, String)>> = LazyLock::new(folded_words);
/// The function words in other scripts, folded.
static OTHERS: LazyLock<AHashSet<String>> = LazyLock::new(other_words);

/// Whether a folded word is an English function word.
pub fn is_stop_word(word: &str) -> bool {
    latin(word).is_english
}

/// Whether a folded word is a function word of the language with a code of two letters. Of languages in other scripts than
/// Latin, the words of all of them count.
pub fn is_stop_word_in(word: &str, code: &str) -> bool {
    if code == ENGLISH {
        return is_stop_word(word);
    }
    match language(code) {
        Some(language) => FOLDED.contains(&(language as usize, word.to_owned())),
        None => is_in_other_script(&fold_term(word)),
    }
}

/// Returns what a word in Latin script is, in lowercase with its accents.
pub(super) fn latin(word: &str) -> StopWord {
    LATIN.get(word).copied().unwrap_or_default()
}

/// Whether a folded word in another script is a function word.
pub(super) fn is_in_other_script(word: &str) -> bool {
    OTHERS.contains(word)
}

/// Returns the words of the lists, each with the name of its list.
fn listed() -> Vec<(&'static str, &'static str)> {
    let mut words = Vec::new();
    let mut list = "";
    for line in LISTS.lines() {
        if line.starts_with('#') {
            continue;
        }
        for word in line.split_whitespace() {
            match word.strip_suffix(':') {
                Some(name) => list = name,
                None => words.push((list, word)),
            }
        }
    }
    words
}

fn latin_words() -> AHashMap<&'static str, StopWord> {
    let mut words: AHashMap<&str, StopWord> = AHashMap::new();
    let mut ambiguous: AHashSet<&str> = AHashSet::new();
    for (list, word) in listed() {
        if list == ENGLISH {
            words.entry(word).or_default().is_english = true;
        } else if list == AMBIGUOUS {
            ambiguous.insert(word);
        } else if let Some(language) = language(list) {
            words.entry(word).or_default().languages.insert(language);
        }
    }
    for (number, (word, stop)) in words.iter_mut().enumerate() {
        stop.number = number % WORDS_MAX;
        if !stop.is_english {
            stop.weight = if ambiguous.contains(word) { AMBIGUOUS_WEIGHT } else { weight(word) };
        }
    }
    words
}

/// Returns how much a word tells: a letter nothing, since it may be a name in code.
fn weight(word: &str) -> u32 {
    match word.chars().count() {
        0 | 1 => 0,
        2 => AMBIGUOUS_WEIGHT,
        _ => WEIGHT,
    }
}

fn folded_words() -> AHashSet<(usize, String)> {
    let mut words = AHashSet::new();
    for (list, word) in listed() {
        if let Some(language) = language(list) {
            words.insert((language as usize, fold(word)));
        }
    }
    words
}

fn other_words() -> AHashSet<String> {
    let mut words = AHashSet::new();
    for (_, word) in listed() {
        if Script::of(word) != Script::Latin {
            words.insert(fold_term(word));
        }
    }
    words
}

/// Returns the language in Latin script that a list is for.
fn language(list: &str) -> Option<Language> {
    Some(match list {
        "de" => Language::German,
        "fr" => Language::French,
        "es" => Language::Spanish,
        "it" => Language::Italian,
        "pt" => Language::Portuguese,
        "nl" => Language::Dutch,
        "sv" => Language::Swedish,
        "da" => Language::Danish,
        "no" => Language::Norwegian,
        "fi" => Language::Finnish,
        "hu" => Language::Hungarian,
        "ro" => Language::Romanian,
        "tr" => Language::Turkish,
        "pl" => Language::Polish,
        "id" => Language::Indonesian,
        "vi" => Language::Vietnamese,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_lowercase_and_name_known_languages() {
        let others = ["ru", "uk", "ar", "fa", "he", "hi", "el", "th", "zh", "ja", "ko"];
        for (list, word) in listed() {
            assert_eq!(word.to_lowercase(), word, "{list}");
            let is_latin = list == ENGLISH || list == AMBIGUOUS || language(list).is_some();
            assert!(is_latin || others.contains(&list), "{list}");
            assert_eq!(is_latin, Script::of(word) == Script::Latin, "{list}: {word}");
        }
    }

    #[test]
    fn every_word_in_latin_script_has_its_own_number() {
        let mut numbers: Vec<usize> = LATIN.values().map(|word| word.number).collect();
        numbers.sort_unstable();
        let count = numbers.len();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
    }

    #[test]
    fn a_word_that_english_texts_contain_tells_little() {
        assert!(latin("the").is_english);
        assert_eq!(latin("was").weight, 0, "English and German");
        assert_eq!(latin("war").weight, AMBIGUOUS_WEIGHT);
        assert_eq!(latin("nicht").weight, WEIGHT);
        assert_eq!(latin("harbour"), StopWord::default());
    }
}
