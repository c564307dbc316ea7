//! Stems: by the script of a word, and by the language for words in Latin script.

use frostem::{Algorithm, Stemmer};

use super::fold::{fold_term, lowercase};
use super::language::Language;
use super::script::Script;
use super::{arabic, english, hebrew};

/// Returns the term under which every text finds a word of a script, given the word and its folded form.
pub(super) fn stem(script: Script, word: &str, folded: &str) -> String {
    match script {
        Script::Latin => english::stem(folded).into_owned(),
        Script::Arabic => arabic::stem(folded).to_owned(),
        Script::Hebrew => hebrew::singular(folded).to_owned(),
        Script::Devanagari => stemmed(Algorithm::Hindi, folded),
        Script::Tamil => stemmed(Algorithm::Tamil, folded),
        // These stemmers tell endings by letters that folding changes.
        Script::Cyrillic => stemmed(Algorithm::Russian, &lowercase(word).replace('ё', "е")),
        Script::Greek => stemmed(Algorithm::Greek, &lowercase(word)),
        Script::Hangul | Script::Han | Script::Unspaced | Script::Other => folded.to_owned(),
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

fn stemmed(algorithm: Algorithm, word: &str) -> String {
    fold_term(&Stemmer::new(algorithm).stem(word))
}
