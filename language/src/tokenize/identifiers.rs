//! Identifiers: words that are made of parts, such as `parseJson`, `snake_case`, `dotted.names` and `utf8`.

/// Letters of a part at a border of letters and digits, before the digits and after them: "utf8" and "256bit" have two
/// parts, "5th", "10am" and "b2b" have one.
const LETTERS_BEFORE_DIGITS_MIN: usize = 2;
const LETTERS_AFTER_DIGITS_MIN: usize = 3;
/// Letters of a part at a border of lowercase and uppercase letters: "iPhone" and "PhD" have one part.
const CASE_LETTERS_MIN: usize = 2;

/// Whether a word may have parts: it has more than a capital and lowercase letters.
pub(super) fn may_have_parts(word: &str) -> bool {
    if word.is_ascii() {
        return word.bytes().skip(1).any(|byte| !byte.is_ascii_lowercase() && byte != b'\'');
    }
    word.chars().skip(1).any(|c| c.is_uppercase() || c.is_numeric() || is_separator(c))
}

/// Splits a word into parts. Returns no parts if it has only one.
pub(super) fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in pieces(word) {
        add_parts_of(piece, &mut parts);
    }
    if parts.len() < 2 {
        parts.clear();
    }
    parts
}

/// Returns a word without the separators of its parts.
pub(super) fn joined(word: &str) -> String {
    pieces(word).concat()
}

/// Splits a word at its separators. A point between digits belongs to a number or a version.
fn pieces(word: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut before) = (0, None);
    for (index, c) in word.char_indices() {
        let next = index + c.len_utf8();
        let is_in_number =
            c == '.' && before.is_some_and(char::is_numeric) && word[next..].starts_with(char::is_numeric);
        if is_separator(c) && !is_in_number {
            pieces.push(&word[start..index]);
            start = next;
        }
        before = Some(c);
    }
    pieces.push(&word[start..]);
    pieces
}

fn is_separator(c: char) -> bool {
    matches!(c, '_' | '.' | ':' | '·')
}

/// Returns the number of a version that is written with a "v", as in "v1.2".
pub(super) fn version(word: &str) -> Option<&str> {
    let number = word.strip_prefix('v')?;
    if number.contains('.') && number.chars().all(|c| c.is_ascii_digit() || c == '.') { Some(number) } else { None }
}

/// Splits a word without separators where the kind of its characters changes.
fn add_parts_of<'a>(word: &'a str, parts: &mut Vec<&'a str>) {
    let mut rest = word;
    while let Some(border) = border(rest) {
        let (part, other) = rest.split_at(border);
        parts.push(part);
        rest = other;
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
}

/// A run of characters of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Other,
}

fn kind(c: char) -> Kind {
    if c.is_uppercase() {
        Kind::Upper
    } else if c.is_alphabetic() {
        Kind::Lower
    } else if c.is_numeric() {
        Kind::Digit
    } else {
        Kind::Other
    }
}

/// Returns the byte at which the first part of a word ends, if it has several.
fn border(word: &str) -> Option<usize> {
    let mut before: Option<Kind> = None;
    for (index, c) in word.char_indices() {
        let kind = kind(c);
        let (left, right) = word.split_at(index);
        let is_border = match (before, kind) {
            (Some(Kind::Lower), Kind::Upper) => {
                letters_at_end(left) >= CASE_LETTERS_MIN && letters_at_start(right) >= CASE_LETTERS_MIN
            }
            (Some(Kind::Upper), Kind::Upper) => begins_capitalized_word(left, right),
            (Some(Kind::Lower | Kind::Upper), Kind::Digit) => letters_at_end(left) >= LETTERS_BEFORE_DIGITS_MIN,
            (Some(Kind::Digit), Kind::Lower | Kind::Upper) => letters_at_start(right) >= LETTERS_AFTER_DIGITS_MIN,
            _ => false,
        };
        if is_border {
            return Some(index);
        }
        before = Some(kind);
    }
    None
}

/// Whether an acronym ends and a capitalized word begins, as in "HTTPServer", but not the plural "URLs".
fn begins_capitalized_word(left: &str, right: &str) -> bool {
    let lowercase = right.chars().skip(1).take_while(|c| kind(*c) == Kind::Lower).count();
    letters_at_end(left) >= CASE_LETTERS_MIN && lowercase >= CASE_LETTERS_MIN
}

fn letters_at_end(word: &str) -> usize {
    word.chars().rev().take_while(|c| c.is_alphabetic()).count()
}

fn letters_at_start(word: &str) -> usize {
    word.chars().take_while(|c| c.is_alphabetic()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_where_a_reader_sees_a_border() {
        for (word, expected) in [
            ("parseJson", "parse Json"),
            ("parseJSON", "parse JSON"),
            ("HTTPServer", "HTTP Server"),
            ("TermOfWord", "Term Of Word"),
            ("snake_case_name", "snake case name"),
            ("self.stream.write", "self stream write"),
            ("utf8", "utf 8"),
            ("python3.11", "python 3.11"),
            ("sha256sum", "sha 256 sum"),
            ("ÜberGröße", "Über Größe"),
        ] {
            assert_eq!(parts(word).join(" "), expected, "{word}");
        }
    }

    #[test]
    fn words_that_only_look_like_identifiers_stay_whole() {
        for word in ["iPhone", "PhD", "URLs", "NASA", "10th", "5km", "b2b", "McX", "_", "v1.2.3"] {
            assert!(parts(word).is_empty(), "{word}: {:?}", parts(word));
        }
    }
}
