//! Arabic words: a light stemmer after Larkey, Ballesteros and Connell (2007), "Light stemming for Arabic information
//! retrieval". It also serves Persian and Urdu, whose plurals end alike.

/// The conjunction "and", which is written as one word with the next.
const AND: char = 'و';
/// The article, also with a preposition before it.
const ARTICLES: [&str; 5] = ["بال", "كال", "فال", "ال", "لل"];
/// Endings of folded words: plurals, the feminine, and possessive pronouns.
const ENDINGS: [&str; 9] = ["ها", "ان", "ات", "ون", "ين", "يه", "هم", "ه", "ي"];
/// Prepositions and conjunctions of one letter, which are written as one word with the next.
const PREFIXES: [char; 4] = ['ب', 'ل', 'ك', 'ف'];
/// Letters that a word keeps without "and" or a prefix, and without an article or an ending.
const KEPT_MIN: usize = 3;
const KEPT_BY_ENDING_MIN: usize = 2;

/// Returns the stem of a folded word.
pub(super) fn stem(word: &str) -> &str {
    without_ending(without_article(without_and(word)))
}

/// Returns the stem of a word that may begin with a preposition of one letter. The letter is as often part of the word.
pub(super) fn stem_without_prefix(word: &str) -> Option<&str> {
    let word = without_and(word);
    if without_article(word) != word {
        return None;
    }
    let rest = word.strip_prefix(PREFIXES)?;
    if has_letters(rest, KEPT_MIN) { Some(without_ending(rest)) } else { None }
}

fn without_and(word: &str) -> &str {
    match word.strip_prefix(AND) {
        Some(rest) if has_letters(rest, KEPT_MIN) => rest,
        _ => word,
    }
}

fn without_article(word: &str) -> &str {
    for article in ARTICLES {
        if let Some(rest) = word.strip_prefix(article)
            && has_letters(rest, KEPT_BY_ENDING_MIN)
        {
            return rest;
        }
    }
    word
}

fn without_ending(mut word: &str) -> &str {
    for ending in ENDINGS {
        if let Some(rest) = word.strip_suffix(ending)
            && has_letters(rest, KEPT_BY_ENDING_MIN)
        {
            word = rest;
        }
    }
    word
}

fn has_letters(word: &str, count: usize) -> bool {
    word.chars().nth(count - 1).is_some()
}
