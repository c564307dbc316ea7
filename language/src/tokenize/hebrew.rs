//! Hebrew words: the particles before a word, and the endings of number and gender.

/// Particles that are written as one word with the next: and, the, in, to, from, as, that.
const PREFIXES: [char; 7] = ['ו', 'ה', 'ב', 'ל', 'מ', 'כ', 'ש'];
/// Particles before a word: "and" or "that", and "in the" and the like.
const PREFIXES_MAX: usize = 2;
/// The plurals and the endings of feminine words, in the form of folded words.
const ENDINGS: [&str; 4] = ["ימ", "ות", "ה", "ת"];
/// Letters that a word keeps.
const KEPT_MIN: usize = 3;

/// Returns a folded word without an ending of number or gender.
pub(super) fn without_ending(word: &str) -> &str {
    for ending in ENDINGS {
        if let Some(rest) = word.strip_suffix(ending)
            && has_enough_letters(rest)
        {
            return rest;
        }
    }
    word
}

/// Returns the words that are left without one and without two particles. Each letter may also be part of the word.
pub(super) fn without_prefixes(word: &str) -> Vec<&str> {
    let mut rests = Vec::new();
    let mut rest = word;
    for _ in 0..PREFIXES_MAX {
        match rest.strip_prefix(PREFIXES) {
            Some(shorter) if has_enough_letters(shorter) => rest = shorter,
            _ => break,
        }
        rests.push(rest);
    }
    rests
}

fn has_enough_letters(word: &str) -> bool {
    word.chars().nth(KEPT_MIN - 1).is_some()
}
