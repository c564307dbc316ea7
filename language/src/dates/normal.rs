//! The form in which words are compared: lowercase, with ASCII digits, without marks that writers leave out or encode
//! in several ways. Accents of Latin letters stay.

use std::borrow::Cow;

/// The first digits of scripts that have digits of their own: Arabic, Persian, Devanagari, Bengali, full-width.
const ZEROS: [char; 5] = ['\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{ff10}'];

/// Returns a word in the form in which words are compared.
pub(crate) fn normal(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(word);
    }
    if word.is_ascii() {
        return Cow::Owned(word.to_ascii_lowercase());
    }
    let mut normal = String::with_capacity(word.len());
    for c in word.chars() {
        if is_dropped(c) {
            continue;
        }
        match digit(c).or_else(|| base(c)) {
            Some(c) => normal.push(c),
            None => normal.extend(c.to_lowercase()),
        }
    }
    Cow::Owned(normal)
}

/// Whether a character continues a word and never begins one: signs of Devanagari and Bengali, and joiners.
pub(crate) fn continues_word(c: char) -> bool {
    matches!(c, '\u{93c}' | '\u{94d}' | '\u{9bc}' | '\u{9cd}' | '\u{200c}' | '\u{200d}')
}

/// Whether words are compared without a character: Arabic vowel signs and tatweel, the nukta, joiners.
fn is_dropped(c: char) -> bool {
    matches!(c, '\u{640}' | '\u{64b}'..='\u{652}' | '\u{670}' | '\u{93c}' | '\u{9bc}' | '\u{200c}' | '\u{200d}')
}

/// Returns the ASCII digit of a digit in another script.
fn digit(c: char) -> Option<char> {
    for zero in ZEROS {
        let distance = u32::from(c).wrapping_sub(u32::from(zero));
        if distance < 10 {
            return char::from_digit(distance, 10);
        }
    }
    None
}

/// Returns the letter as which a variant of it is compared.
fn base(c: char) -> Option<char> {
    Some(match c {
        'أ' | 'إ' | 'آ' | 'ٱ' => 'ا',
        'ى' | 'ی' => 'ي',
        'ة' => 'ه',
        'ё' | 'Ё' => 'е',
        '\u{901}' => '\u{902}',
        '\u{958}' => '\u{915}',
        '\u{959}' => '\u{916}',
        '\u{95a}' => '\u{917}',
        '\u{95b}' => '\u{91c}',
        '\u{95c}' => '\u{921}',
        '\u{95d}' => '\u{922}',
        '\u{95e}' => '\u{92b}',
        '\u{95f}' => '\u{92f}',
        '\u{9dc}' => '\u{9a1}',
        '\u{9dd}' => '\u{9a2}',
        '\u{9df}' => '\u{9af}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_other_scripts_are_digits() {
        for digits in ["٢٠٢٣", "۲۰۲۳", "२०२३", "২০২৩", "２０２３", "2023"] {
            assert_eq!(normal(digits), "2023", "{digits}");
        }
    }

    #[test]
    fn variants_of_a_letter_are_one_letter() {
        assert_eq!(normal("Mañana"), "mañana");
        assert_eq!(normal("غدًا"), normal("غدا"));
        assert_eq!(normal("أُسبوع"), "اسبوع");
        assert_eq!(normal("फ़रवरी"), normal("फरवरी"));
        assert_eq!(normal("हफ\u{93c}्ते"), normal("ह\u{95e}्ते"));
        assert_eq!(normal("জানুয\u{9bc}ারি"), normal("জানু\u{9df}ারি"));
    }
}
