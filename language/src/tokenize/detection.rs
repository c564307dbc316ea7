//! The language of a text in Latin script, told by its function words and by letters that few languages use.
//!
//! A short text shows its language or not by chance: a question has function words, the memory that answers it may have
//! none. So the language only adds to the terms of a text. Each text yields the terms of an English one, and in a text
//! of another language each word also yields its stem in that language. Two texts meet at the English stems if the
//! language of either is unknown.

use super::language::{LANGUAGES, Language, LanguageSet};
use super::stop_words::{StopWord, WORDS_MAX};

/// Evidence from which a text is stemmed in a language: a function word that English texts do not contain, or a letter
/// that few languages have. Of 37,262 English questions, messages and functions, 18 reach it.
const STEMMED_FROM: u32 = 2;
/// Evidence from which the function words of a language are removed. None of these texts reaches it.
const STOPPED_FROM: u32 = 4;
/// Evidence of a function word that only English has.
const ENGLISH_WORD: u32 = 2;

/// The languages in which a text may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextLanguages {
    /// The likeliest languages other than English, in whose stems the words are found too.
    stemmed: [Option<Language>; 2],
    /// The languages whose function words are removed.
    pub(super) stopped: LanguageSet,
}

impl TextLanguages {
    /// Returns the languages in which words are stemmed in addition to English.
    pub(super) fn stemmed(&self) -> impl Iterator<Item = Language> + use<> {
        self.stemmed.into_iter().flatten()
    }

    pub(super) fn is_english(&self) -> bool {
        self.stemmed[0].is_none()
    }
}

/// What the words of a text tell about its language. Each function word counts once: names in code are often repeated.
pub(super) struct Evidence {
    scores: [u32; LANGUAGES.len()],
    english: u32,
    /// A bit for each function word that was counted.
    counted: [u64; WORDS_MAX / 64],
}

impl Evidence {
    pub(super) fn new() -> Self {
        Self { scores: [0; LANGUAGES.len()], english: 0, counted: [0; WORDS_MAX / 64] }
    }

    /// Counts a word.
    pub(super) fn add_word(&mut self, word: StopWord) {
        let is_only_english = word.is_english && word.languages.is_empty();
        if !is_only_english && word.weight == 0 {
            return;
        }
        let (block, bit) = (word.number / 64, 1 << (word.number % 64));
        if self.counted[block] & bit != 0 {
            return;
        }
        self.counted[block] |= bit;
        if is_only_english {
            self.english += ENGLISH_WORD;
        } else {
            self.add(word.languages, word.weight);
        }
    }

    /// Counts the letters of a word in lowercase that is not ASCII, each kind once.
    pub(super) fn add_letters(&mut self, lowercase: &str) {
        let mut told = LanguageSet::default();
        let mut hinted = LanguageSet::default();
        for c in lowercase.chars() {
            if !c.is_ascii() {
                let (tells, hints) = languages_with(c);
                told = told.union(tells);
                hinted = hinted.union(hints);
            }
        }
        self.add(told, 2);
        self.add(hinted, 1);
    }

    fn add(&mut self, languages: LanguageSet, weight: u32) {
        for (language, score) in LANGUAGES.iter().zip(&mut self.scores) {
            if languages.intersects(LanguageSet::of(&[*language])) {
                *score += weight;
            }
        }
    }

    /// Returns the likeliest languages. A second one counts if it is nearly as likely as the first.
    pub(super) fn languages(&self) -> TextLanguages {
        let mut languages = TextLanguages::default();
        let best = self.scores.iter().copied().max().unwrap_or_default();
        if best < STEMMED_FROM || best <= self.english {
            return languages;
        }
        let Some(first) = self.scores.iter().position(|score| *score == best) else { return languages };
        languages.stemmed[0] = Some(LANGUAGES[first]);
        if best >= STOPPED_FROM {
            languages.stopped.insert(LANGUAGES[first]);
        }
        let mut second: Option<usize> = None;
        for (index, score) in self.scores.iter().enumerate() {
            let is_near = index != first && score * 4 >= best * 3;
            if is_near && second.is_none_or(|other| self.scores[other] < *score) {
                second = Some(index);
            }
        }
        languages.stemmed[1] = second.map(|index| LANGUAGES[index]);
        languages
    }
}

/// Returns the languages that a letter tells, and those of which it is only one of the usual letters.
fn languages_with(c: char) -> (LanguageSet, LanguageSet) {
    use Language::{
        Danish, Finnish, French, German, Hungarian, Italian, Norwegian, Polish, Portuguese, Romanian, Spanish, Swedish,
        Turkish, Vietnamese,
    };
    let (tells, hints): (&[Language], &[Language]) = match c {
        'ß' => (&[German], &[]),
        'ü' => (&[German, Turkish], &[Hungarian, Spanish]),
        'ä' => (&[German, Swedish, Finnish], &[]),
        'ö' => (&[German, Swedish, Finnish, Turkish], &[Hungarian]),
        'å' => (&[Swedish, Danish, Norwegian], &[Finnish]),
        'æ' | 'ø' => (&[Danish, Norwegian], &[]),
        'ñ' => (&[Spanish], &[]),
        'ã' | 'õ' => (&[Portuguese], &[Vietnamese]),
        'ç' => (&[French, Portuguese, Turkish], &[]),
        'ê' | 'ô' => (&[French], &[Portuguese, Vietnamese]),
        'ë' | 'ï' | 'û' | 'œ' => (&[French], &[]),
        'î' => (&[French, Romanian], &[]),
        'â' => (&[Romanian], &[French, Portuguese, Turkish, Vietnamese]),
        'è' | 'ù' => (&[French, Italian], &[Vietnamese]),
        'ì' | 'ò' => (&[Italian], &[Vietnamese]),
        'à' => (&[French, Italian], &[Portuguese, Vietnamese]),
        'é' => (&[], &[French, Spanish, Portuguese, Hungarian, Italian, Vietnamese]),
        'á' | 'í' | 'ó' | 'ú' => (&[], &[Spanish, Portuguese, Hungarian, Vietnamese]),
        'ğ' | 'ı' => (&[Turkish], &[]),
        'ş' => (&[Turkish], &[Romanian]),
        'ő' | 'ű' => (&[Hungarian], &[]),
        'ă' => (&[Romanian, Vietnamese], &[]),
        'ș' | 'ț' => (&[Romanian], &[]),
        'ą' | 'ę' | 'ł' | 'ń' | 'ś' | 'ź' | 'ż' | 'ć' => (&[Polish], &[]),
        'đ' | 'ơ' | 'ư' | 'ĩ' | 'ũ' | '\u{1ea0}'..='\u{1ef9}' => (&[Vietnamese], &[]),
        _ => (&[], &[]),
    };
    (LanguageSet::of(tells), LanguageSet::of(hints))
}

#[cfg(test)]
mod tests {
    use super::super::fold::lowercase;
    use super::super::stop_words;
    use super::*;

    fn languages(text: &str) -> Vec<Language> {
        let mut evidence = Evidence::new();
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '\'') {
            let lowercase = lowercase(word);
            evidence.add_word(stop_words::latin(&lowercase));
            evidence.add_letters(&lowercase);
        }
        evidence.languages().stemmed().collect()
    }

    #[test]
    fn a_question_tells_its_language() {
        for (text, language) in [
            ("Wann wurde die Brücke gebaut?", Language::German),
            ("Où est-ce que tu travailles ?", Language::French),
            ("¿Dónde viven tus abuelos?", Language::Spanish),
            ("Dove lavora mia sorella adesso, perché?", Language::Italian),
            ("Onde é que você mora?", Language::Portuguese),
            ("Waarom heeft hij het huis gekocht?", Language::Dutch),
            ("Vad heter hennes hund och var bor ni?", Language::Swedish),
            ("Hvad hedder din hund, og hvornår?", Language::Danish),
            ("Hva heter hunden deres, og hvor mye?", Language::Norwegian),
            ("Missä hän asuu ja mikä on osoite?", Language::Finnish),
            ("Hol lakik a nővérem, és miért?", Language::Hungarian),
            ("Unde locuiește sora mea și de ce?", Language::Romanian),
            ("Kız kardeşim nerede çalışıyor?", Language::Turkish),
            ("Gdzie mieszka moja siostra?", Language::Polish),
            ("Di mana kakak saya bekerja sekarang, dan mengapa?", Language::Indonesian),
            ("Bà ngoại tôi sống ở đâu?", Language::Vietnamese),
        ] {
            assert_eq!(languages(text).first(), Some(&language), "{text}: {:?}", languages(text));
        }
    }

    #[test]
    fn an_english_text_with_foreign_names_is_english() {
        for text in [
            "Where did Les buy the Gibson in La Jolla?",
            "She met Müller at the station in Zürich",
            "What is the size of the font?",
            "def get(self, y, e, io, size)",
            "Jordan 42",
        ] {
            assert!(languages(text).is_empty(), "{text}: {:?}", languages(text));
        }
    }
}
