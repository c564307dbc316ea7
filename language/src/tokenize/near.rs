//! Words that differ from a word by one letter: what a misspelt word may have meant.

use super::fold::fold_term;
use super::script::Script;
use super::stems::stem;

/// Letters of a word that may be misspelt: in a shorter one a letter makes another word, and a longer one is rarely typed.
const LETTERS: std::ops::RangeInclusive<usize> = 5..=24;

/// Calls a function with the term of every word that differs from a word in one letter: it is missing, added, replaced,
/// or swapped with the next. The first letter stays, since it is rarely wrong. Does nothing for a word with digits, or of
/// a script without an alphabet of its own here.
pub fn for_each_near_term(word: &str, mut on_term: impl FnMut(&str)) {
    let script = Script::of(word);
    let letters: Vec<char> = fold_term(word).chars().collect();
    let alphabet = alphabet(script);
    if alphabet.is_empty() || !LETTERS.contains(&letters.len()) || !letters.iter().all(|c| c.is_alphabetic()) {
        return;
    }
    let mut near = String::with_capacity(word.len() + 4);
    let mut visit = |edited: &[char]| {
        near.clear();
        near.extend(edited);
        on_term(&stem(script, &near, &near));
    };
    let mut edited = letters.clone();
    for at in 1..letters.len() {
        if at + 1 < letters.len() && letters[at] != letters[at + 1] {
            edited.swap(at, at + 1);
            visit(&edited);
            edited.swap(at, at + 1);
        }
        for letter in alphabet.clone() {
            if letter != letters[at] {
                edited[at] = letter;
                visit(&edited);
            }
        }
        edited[at] = letters[at];
        edited.remove(at);
        visit(&edited);
        edited.insert(at, letters[at]);
    }
    for at in 1..=letters.len() {
        edited.insert(at, 'a');
        for letter in alphabet.clone() {
            edited[at] = letter;
            visit(&edited);
        }
        edited.remove(at);
    }
}

/// Returns the letters of a script after folding; none if words are not misspelt letter by letter, or if not supported.
fn alphabet(script: Script) -> std::ops::RangeInclusive<char> {
    match script {
        Script::Latin => 'a'..='z',
        Script::Cyrillic => 'а'..='я',
        Script::Greek => 'α'..='ω',
        _ => 'b'..='a',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenize::content_terms;

    fn near_terms(word: &str) -> Vec<String> {
        let mut terms = Vec::new();
        for_each_near_term(word, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn a_word_with_one_wrong_letter_is_near_the_right_one() {
        for (misspelt, right) in [
            ("harbuor", "harbour"),
            ("harbor", "harbour"),
            ("harbouur", "harbour"),
            ("harbovr", "harbour"),
            ("Barresl", "barrels"),
            ("молотак", "молоток"),
            ("θάλασα", "θάλασσα"),
        ] {
            let (near, right) = (near_terms(misspelt), content_terms(right));
            assert!(near.contains(&right[0]), "{misspelt}: {right:?} is not in {near:?}");
        }
    }

    #[test]
    fn short_words_numbers_and_words_without_an_alphabet_have_none() {
        for word in ["ship", "k8s-1234", "talk34899k1z", "港口港口港口", "مدرسةمدرسة", ""] {
            assert!(near_terms(word).is_empty(), "{word}");
        }
    }

    #[test]
    fn the_first_letter_stays() {
        assert!(near_terms("harbour").iter().all(|term| term.starts_with('h')));
    }
}
