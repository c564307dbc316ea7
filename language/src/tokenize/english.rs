//! English words: possessive endings and irregular forms, then the stem. All words in Latin script are stemmed so.

use std::borrow::Cow;
use std::sync::LazyLock;

use ahash::AHashMap;
use frostem::{Algorithm, Stemmer};

/// English words with forms that a stemmer does not reduce to one: the base form, then the other forms.
const IRREGULAR: &str = "go went gone, buy bought, make made, run ran, teach taught, write wrote written, take took taken, \
    give gave given, get got gotten, see saw seen, feel felt, find found, tell told, say said, think thought, \
    bring brought, catch caught, come came, begin began begun, choose chose chosen, draw drew drawn, \
    drive drove driven, eat ate eaten, fall fell fallen, fly flew flown, forget forgot forgotten, grow grew grown, \
    hear heard, hold held, keep kept, know knew known, lead led, leave left, lose lost, meet met, pay paid, \
    ride rode ridden, rise rose risen, sing sang sung, sit sat, sleep slept, speak spoke spoken, spend spent, \
    stand stood, swim swam swum, throw threw thrown, understand understood, wake woke woken, wear wore worn, \
    win won, sell sold, send sent, build built, lend lent, break broke broken, steal stole stolen, shoot shot, \
    shake shook shaken, strike struck, seek sought, deal dealt, dream dreamt, fight fought, hang hung, \
    hide hid hidden, lay laid, light lit, mean meant, become became, bite bit bitten, blow blew blown, \
    child children, woman women, man men, foot feet, tooth teeth, mouse mice";

/// The base form of each irregular form.
static BASES: LazyLock<AHashMap<&str, &str>> = LazyLock::new(base_forms);

fn base_forms() -> AHashMap<&'static str, &'static str> {
    let mut bases = AHashMap::new();
    for group in IRREGULAR.split(',') {
        let mut words = group.split_whitespace();
        let Some(base) = words.next() else { continue };
        for form in words {
            bases.insert(form, base);
        }
    }
    bases
}

/// Returns the stem of a folded word.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    let word = word.strip_suffix("'s").unwrap_or(word);
    let base = BASES.get(word).copied().unwrap_or(word);
    Stemmer::new(Algorithm::English).stem(base)
}
