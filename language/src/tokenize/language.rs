//! The languages in Latin script that are told apart.

/// A language in Latin script, in the order that decides between equally likely ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Danish,
    Norwegian,
    Finnish,
    Hungarian,
    Romanian,
    Turkish,
    Polish,
    Indonesian,
    Vietnamese,
}

/// The languages, in order.
pub(super) const LANGUAGES: [Language; 16] = [
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Italian,
    Language::Portuguese,
    Language::Dutch,
    Language::Swedish,
    Language::Danish,
    Language::Norwegian,
    Language::Finnish,
    Language::Hungarian,
    Language::Romanian,
    Language::Turkish,
    Language::Polish,
    Language::Indonesian,
    Language::Vietnamese,
];

/// A set of languages, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LanguageSet(u16);

impl LanguageSet {
    pub(super) const fn of(languages: &[Language]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < languages.len() {
            bits |= 1 << languages[index] as u16;
            index += 1;
        }
        Self(bits)
    }

    pub(super) fn insert(&mut self, language: Language) {
        *self = self.union(Self::of(&[language]));
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
