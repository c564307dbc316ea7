//! Stems: by the script of a word, and by the language for words in Latin script.

use frostem::{Algorithm, Stemmer};

use super::fold::{fold_term, lowercase};
use super::language::Language;
use super::script::Script;
use super::{arabic, english, hebrew};

/// Letters that a Greek stem keeps without its last one, and a word in katakana without its long vowel.
const GREEK_KEPT_MIN: usize = 4;
const KATAKANA_KEPT_MIN: usize = 3;

/// Returns the term under which every text finds a word of a script, given the word and its folded form.
pub(super) fn stem(script: Script, word: &str, folded: &str) -> String {
    match script {
        Script::Latin => english::stem(folded).into_owned(),
        Script::Arabic => arabic::stem(folded).to_owned(),
        Script::Hebrew => hebrew::without_ending(folded).to_owned(),
        Script::Devanagari => stemmed(Algorithm::Hindi, folded),
        Script::Tamil => stemmed(Algorithm::Tamil, folded),
        // These stemmers tell endings by letters that folding changes.
        Script::Cyrillic => stemmed(Algorithm::Russian, &lowercase(word).replace('ё', "е")),
        Script::Greek => without_greek_iota(stemmed(Algorithm::Greek, &lowercase(word))),
        Script::Unspaced => without_long_vowel(folded).to_owned(),
        Script::Hangul | Script::Han | Script::Other => folded.to_owned(),
    }
}

/// Returns the term of a word in a language, given the word in lowercase with its accents.
pub(super) fn stem_in(language: Language, lowercase: &str) -> String {
    let algorithm = match language {
        Language::German => Algorithm::German,
        Language::French => Algorithm::French,
        Language::Spanish => Algorithm::Spanish,
        Language::Italian => Algorithm::Italian,
        Language::Portuguese => Algorithm::Portuguese,
        Language::Dutch => Algorithm::Dutch,
        Language::Swedish => Algorithm::Swedish,
        Language::Danish => Algorithm::Danish,
        Language::Norwegian => Algorithm::Norwegian,
        Language::Finnish => Algorithm::Finnish,
        Language::Hungarian => Algorithm::Hungarian,
        Language::Romanian => Algorithm::Romanian,
        Language::Turkish => Algorithm::Turkish,
        Language::Polish => Algorithm::Polish,
        Language::Indonesian => Algorithm::Indonesian,
        // Words do not change, and accents distinguish them.
        Language::Vietnamese => return lowercase.to_owned(),
    };
    let has_elision = matches!(language, Language::French | Language::Italian);
    stemmed(algorithm, if has_elision { without_elision(lowercase) } else { lowercase })
}

/// Returns a word without an article or pronoun that lost its vowel, as in "l'histoire".
fn without_elision(word: &str) -> &str {
    match word.split_once('\'') {
        Some((_, rest)) if !rest.is_empty() => rest,
        _ => word,
    }
}

/// Returns a Greek stem without the iota that the stemmer leaves in some forms of a noun and not in others.
fn without_greek_iota(mut stem: String) -> String {
    if stem.ends_with('ι') && stem.chars().nth(GREEK_KEPT_MIN).is_some() {
        stem.pop();
    }
    stem
}

/// Returns a word in katakana without the long vowel at its end, which is often left out.
fn without_long_vowel(word: &str) -> &str {
    match word.strip_suffix('ー') {
        Some(rest) if rest.chars().nth(KATAKANA_KEPT_MIN - 1).is_some() => rest,
        _ => word,
    }
}

fn stemmed(algorithm: Algorithm, word: &str) -> String {
    let stem = fold_term(&Stemmer::new(algorithm).stem(word));
    // A stem of one letter would stand for too many words.
    if stem.chars().nth(1).is_some() { stem } else { fold_term(word) }
}
