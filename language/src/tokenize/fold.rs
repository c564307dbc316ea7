//! Forms in which words are compared: without case, accents and compatibility variants.

use unicode_normalization::UnicodeNormalization;

/// The digit zero of the scripts that have digits of their own. Their other digits follow it.
const ZEROS: [u32; 20] = [
    0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0de6, 0x0e50,
    0x0ed0, 0x0f20, 0x1040, 0x17e0, 0x1810, 0xff10,
];

/// Folds a word to the form in which names are compared: lowercase, without accents, with straight apostrophes.
pub fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(word.len());
    for letter in word.nfd() {
        if !is_accent(letter) {
            for c in letter.to_lowercase() {
                folded.push(if c == 'ı' { 'i' } else { straighten(c) });
            }
        }
    }
    folded
}

/// Folds a word to the form in which terms are compared: as [`fold`] does, and without variants of letters and digits
/// that do not distinguish words.
pub(super) fn fold_term(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(word.len());
    for letter in word.nfkd() {
        if is_accent(letter) || is_invisible(letter) {
            continue;
        }
        for c in letter.to_lowercase() {
            push_base_letter(&mut folded, c);
        }
    }
    if folded.is_ascii() { folded } else { folded.nfc().collect() }
}

/// Returns a word in lowercase with its accents, composed: the form that stemmers of accented languages read.
pub(super) fn lowercase(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut lower = String::with_capacity(word.len());
    for letter in word.nfkc() {
        if letter == 'İ' {
            // Its lowercase form would keep a combining dot.
            lower.push('i');
        } else if !is_invisible(letter) {
            lower.extend(letter.to_lowercase().map(straighten));
        }
    }
    lower
}

fn straighten(c: char) -> char {
    if matches!(c, '’' | 'ʼ') { '\'' } else { c }
}

/// Whether a character only modifies the letter before it: an accent or a vowel point, but not a vowel sign.
fn is_accent(c: char) -> bool {
    // Combining classes: the fixed positions of Hebrew and Arabic, and marks that are attached, above or below.
    matches!(unicode_normalization::char::canonical_combining_class(c), 10..=36 | 200..=240)
}

/// Whether a character is not seen: a joiner, a mark of direction, a soft hyphen, or the Arabic tatweel, which only
/// stretches a word.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{0640}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Appends a lowercase letter in its base form.
fn push_base_letter(folded: &mut String, c: char) {
    match c {
        '\0'..='\u{7f}' => folded.push(c),
        'ß' => folded.push_str("ss"),
        'æ' => folded.push_str("ae"),
        'œ' => folded.push_str("oe"),
        'þ' => folded.push_str("th"),
        'ø' => folded.push('o'),
        'đ' | 'ð' => folded.push('d'),
        'ł' => folded.push('l'),
        'ı' => folded.push('i'),
        'ς' => folded.push('σ'),
        // Hebrew letters with another form at the end of a word.
        'ך' => folded.push('כ'),
        'ם' => folded.push('מ'),
        'ן' => folded.push('נ'),
        'ף' => folded.push('פ'),
        'ץ' => folded.push('צ'),
        // Arabic letters that are interchanged, and the forms that Persian and Urdu write. The hamza above or below a
        // letter was removed as an accent.
        'ٱ' => folded.push('ا'),
        'ى' | 'ی' | 'ے' => folded.push('ي'),
        'ة' | 'ہ' | 'ھ' | 'ە' | 'ۀ' => folded.push('ه'),
        'ک' => folded.push('ك'),
        // Arabic separators of thousands and decimals.
        '٬' => folded.push(','),
        '٫' => folded.push('.'),
        // The Devanagari nasalization mark, which is also written as a dot; the nukta, which is often left out.
        'ँ' => folded.push('ं'),
        '\u{093c}' => {}
        _ => folded.push(ascii_digit(c).unwrap_or_else(|| straighten(c))),
    }
}

/// Returns the ASCII digit with the value of a digit of another script.
fn ascii_digit(c: char) -> Option<char> {
    let code = u32::from(c);
    let index = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    char::from_digit(code - ZEROS[index], 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vowel_signs_are_kept_and_accents_are_removed() {
        assert_ne!(fold("किताब"), fold("कताब"), "vowel signs distinguish Hindi words");
        assert_eq!(fold("كِتَاب"), fold("كتاب"), "vowel points do not distinguish Arabic words");
        assert_eq!(fold("Éclair"), "eclair");
    }

    #[test]
    fn the_dotted_and_the_dotless_i_are_one_letter() {
        for word in ["ISPARTA", "Isparta", "ısparta", "İsparta"] {
            assert_eq!(fold(word), "isparta", "{word}");
            assert_eq!(fold_term(word), "isparta", "{word}");
        }
        assert_eq!(lowercase("İSTANBUL"), "istanbul");
    }

    #[test]
    fn variants_of_letters_and_digits_are_one_term() {
        for (variant, plain) in [
            ("Ｃｕｅ１２", "cue12"),
            ("ﬁnance", "finance"),
            ("Straße", "strasse"),
            ("Ærø", "aero"),
            ("١٩٩٠", "1990"),
            ("۱۹۹۰", "1990"),
            ("१९९०", "1990"),
            ("co\u{ad}operate", "cooperate"),
            ("می\u{200c}روم", "ميروم"),
            ("أُسْــرة", "اسره"),
            ("ﻛﺘﺎﺏ", "كتاب"),
            ("ﾃﾞｰﾀ", "データ"),
            ("ΟΔΟΣ", "οδοσ"),
        ] {
            assert_eq!(fold_term(variant), plain, "{variant}");
        }
    }
}
