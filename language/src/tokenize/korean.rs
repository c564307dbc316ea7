//! Korean words: the particles after a word.

/// Particles of several syllables, and the copula.
const LONG_PARTICLES: [&str; 30] = [
    "에서부터",
    "으로부터",
    "에게서",
    "으로서",
    "으로써",
    "에서는",
    "에서도",
    "이라고",
    "이라는",
    "입니다",
    "까지",
    "부터",
    "에서",
    "에게",
    "한테",
    "께서",
    "처럼",
    "보다",
    "마다",
    "조차",
    "마저",
    "밖에",
    "이나",
    "이며",
    "이고",
    "으로",
    "에는",
    "에도",
    "라고",
    "이다",
];
/// Particles that follow a syllable with a final consonant, and those that follow one without.
const AFTER_CONSONANT: [char; 4] = ['은', '이', '을', '과'];
const AFTER_VOWEL: [char; 5] = ['는', '가', '를', '와', '로'];
const AFTER_ANY: [char; 5] = ['의', '에', '도', '만', '들'];

const FIRST_SYLLABLE: u32 = 0xac00;
/// Syllables with the same first consonant and vowel; the first of them has no final consonant.
const FINALS: u32 = 28;

/// Returns a word without the particle at its end, which may also be part of the word.
pub(super) fn without_particle(word: &str) -> Option<&str> {
    for particle in LONG_PARTICLES {
        if let Some(rest) = word.strip_suffix(particle)
            && !rest.is_empty()
        {
            return Some(rest);
        }
    }
    let last = word.chars().next_back()?;
    let rest = word.strip_suffix(last)?;
    let before = rest.chars().next_back()?;
    let is_particle = AFTER_ANY.contains(&last)
        || if ends_in_consonant(before) { AFTER_CONSONANT.contains(&last) } else { AFTER_VOWEL.contains(&last) };
    if is_particle { Some(rest) } else { None }
}

/// Whether a syllable has a final consonant.
fn ends_in_consonant(syllable: char) -> bool {
    match u32::from(syllable).checked_sub(FIRST_SYLLABLE) {
        Some(index) => index % FINALS != 0,
        None => false,
    }
}
