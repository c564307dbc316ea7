//! Structs of `src` with too many fields, and types of `src` with too many public methods.
//!
//! A file is split into tokens, without comments, texts, tests and definitions of macros. Structs that `settings!`
//! declares count as well. The methods of a type are added up over its `impl` blocks in all files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{root, sources};

const FIELDS_MAX: usize = 12;
const PUBLIC_METHODS_MAX: usize = 25;

/// A type and the number of its fields or methods.
#[derive(Debug, PartialEq)]
struct Counted {
    name: String,
    count: usize,
}

#[test]
fn no_struct_has_more_than_12_fields() {
    let mut found = 0;
    let mut faults = Vec::new();
    for (path, tokens) in source_tokens() {
        for Counted { name, count } in structs(&tokens) {
            found += 1;
            if count > FIELDS_MAX {
                faults.push(format!("{}: {name} has {count} fields", path.display()));
            }
        }
    }
    assert!(found > 300, "only {found} structs were found");
    assert!(faults.is_empty(), "group fields of one subject in a struct:\n{}", faults.join("\n"));
}

#[test]
fn no_type_has_more_than_25_public_methods() {
    let files = source_tokens();
    let mut definitions: BTreeMap<&str, BTreeSet<&PathBuf>> = BTreeMap::new();
    for (path, tokens) in &files {
        for pair in tokens.windows(2) {
            if matches!(pair[0].as_str(), "struct" | "enum") {
                definitions.entry(pair[1].as_str()).or_default().insert(path);
            }
        }
    }
    let mut totals: BTreeMap<(&PathBuf, String), usize> = BTreeMap::new();
    for (path, tokens) in &files {
        for Counted { name, count } in public_methods(tokens) {
            // A name that several files define means the type of the same file.
            let home = match definitions.get(name.as_str()) {
                Some(paths) if paths.len() == 1 => paths.first().copied().unwrap_or(path),
                _ => path,
            };
            *totals.entry((home, name)).or_default() += count;
        }
    }
    assert!(totals.len() > 150, "only {} types were found", totals.len());
    let mut faults = Vec::new();
    for ((path, name), count) in totals {
        if count > PUBLIC_METHODS_MAX {
            faults.push(format!("{}: {name} has {count} public methods", path.display()));
        }
    }
    assert!(faults.is_empty(), "divide the type by subject:\n{}", faults.join("\n"));
}

#[test]
fn fields_and_public_methods_are_counted_as_declared() {
    let text = r##"
        macro_rules! ignored { ($name:ident) => { pub struct $name { a: u8, b: u8 } }; }
        // struct Comment { a: u8 }
        /* struct Outer { /* nested */ a: u8 } */
        const TEXT: &str = r#"struct Text { "a": u8 }"#;
        const QUOTE: char = '"';
        struct Unit;
        struct Pair<'a>(&'a [(u8, u8)], pub BTreeMap<String, fn(u8) -> u8>,);
        struct Named<T: Into<String>, const N: usize> where T: Clone {
            /// A field, with: a colon.
            #[serde(default = "a::b")]
            pub(crate) map: std::collections::BTreeMap<T, Box<dyn Fn(u8, u8) -> [u8; N]>>,
            list: Vec<T>,
        }
        impl<T: Into<String>, const N: usize> crate::inner::Named<T, N> where T: Clone {
            pub fn one(&self) -> u8 { fn local() {} 1 }
            pub const fn two() {}
            pub(crate) fn hidden() {}
            fn private(given: impl Fn(u8)) {}
            #[cfg(test)]
            pub fn of_tests(list: [u8; 2]) { }
        }
        impl<T> From<u8> for Named<T, 2> { fn from(_: u8) -> Self { todo() } }
        settings! {
            /// A group.
            general: GeneralSettings {
                /// A setting.
                "a" = "1" => a: u8, number(0..=1), option("a", "A", "a: b");
                "b" = "2" => b: Option<u8>, optional(|text| match text { x => x });
            }
        }
        #[cfg(test)]
        mod tests { struct OfTests { a: u8 } }
    "##;
    let tokens = without_tests(&tokens_of(text));
    let expected = [counted("Unit", 0), counted("Pair", 2), counted("Named", 2), counted("GeneralSettings", 2)];
    assert_eq!(structs(&tokens), expected);
    assert_eq!(public_methods(&tokens), [counted("Named", 2), counted("Named", 0)]);
}

fn counted(name: &str, count: usize) -> Counted {
    Counted { name: name.to_owned(), count }
}

/// Returns the tokens of every file of `src`, with its path below the root.
fn source_tokens() -> Vec<(PathBuf, Vec<String>)> {
    let mut files = Vec::new();
    for path in sources() {
        let Ok(below) = path.strip_prefix(root()) else { continue };
        if below.starts_with("src") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            files.push((below.to_path_buf(), without_tests(&tokens_of(&text))));
        }
    }
    files
}

/// Returns the words and symbols of a source.
fn tokens_of(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let (character, next) = (characters[at], characters.get(at + 1).copied().unwrap_or(' '));
        match (character, next) {
            ('/', '/') => at = end_of_line(&characters, at),
            ('/', '*') => at = end_of_comment(&characters, at),
            ('"', _) => at = end_of_string(&characters, at),
            ('\'', _) => at = end_of_character(&characters, at),
            (':', ':') | ('-' | '=', '>') => {
                tokens.push(String::from_iter([character, next]));
                at += 2;
            }
            _ if is_of_word(character) => {
                let begin = at;
                while at < characters.len() && is_of_word(characters[at]) {
                    at += 1;
                }
                let word = String::from_iter(&characters[begin..at]);
                match end_of_raw_string(&word, &characters, at) {
                    Some(end) => at = end,
                    None => tokens.push(word),
                }
            }
            _ => {
                if !character.is_whitespace() {
                    tokens.push(character.to_string());
                }
                at += 1;
            }
        }
    }
    tokens
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn end_of_line(characters: &[char], mut at: usize) -> usize {
    while at < characters.len() && characters[at] != '\n' {
        at += 1;
    }
    at
}

/// Returns the end of a comment, which may contain others.
fn end_of_comment(characters: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at + 1 < characters.len() {
        match (characters[at], characters[at + 1]) {
            ('/', '*') => {
                depth += 1;
                at += 2;
            }
            ('*', '/') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    characters.len()
}

fn end_of_string(characters: &[char], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < characters.len() && characters[at] != '"' {
        at += if characters[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns the end of a character in quotation marks, or that of the mark if a lifetime follows.
fn end_of_character(characters: &[char], begin: usize) -> usize {
    if characters.get(begin + 1) == Some(&'\\') {
        let mut at = begin + 3;
        while at < characters.len() && characters[at] != '\'' {
            at += 1;
        }
        return at + 1;
    }
    if characters.get(begin + 2) == Some(&'\'') { begin + 3 } else { begin + 1 }
}

/// Returns the end of a raw string whose prefix, such as `r` or `br`, ends at `at`; `None` if no raw string follows.
fn end_of_raw_string(prefix: &str, characters: &[char], at: usize) -> Option<usize> {
    if !matches!(prefix, "r" | "br" | "cr") {
        return None;
    }
    let mut hashes = 0;
    while characters.get(at + hashes) == Some(&'#') {
        hashes += 1;
    }
    if characters.get(at + hashes) != Some(&'"') {
        return None;
    }
    let mut end = vec!['"'];
    end.extend(std::iter::repeat_n('#', hashes));
    let mut last = at + hashes + 1;
    while !characters[last..].starts_with(&end) {
        last += 1;
    }
    Some(last + end.len())
}

/// Returns the tokens without items for tests and without definitions of macros.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if begins_with(&tokens[at..], &["#", "[", "cfg", "(", "test", ")", "]"]) {
            at = end_of_item(tokens, at + 7);
        } else if tokens[at] == "macro_rules" {
            at = end_of_item(tokens, at);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

fn begins_with(tokens: &[String], words: &[&str]) -> bool {
    tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| token == word)
}

/// Returns the end of the item that begins at `at`: after its block or its semicolon.
fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    while at < tokens.len() {
        match tokens[at].as_str() {
            ";" => return at + 1,
            "{" => return closing(tokens, at) + 1,
            "(" | "[" => at = closing(tokens, at) + 1,
            _ => at += 1,
        }
    }
    at
}

/// Returns the index of the bracket that closes the one at `open`.
fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    panic!("a bracket is not closed")
}

/// Returns the index after the generic parameters at `at`, or `at` if there are none.
fn after_generics(tokens: &[String], at: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
            "<" => depth += 1,
            ">" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if index == at { at } else { index + 1 };
        }
    }
    panic!("generic parameters are not closed")
}

/// Returns the structs of a file with the numbers of their fields.
fn structs(tokens: &[String]) -> Vec<Counted> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at] == "struct" {
            let name = tokens[at + 1].clone();
            let mut open = after_generics(tokens, at + 2);
            if tokens[open] == "(" {
                found.push(Counted { name, count: unnamed_fields(&tokens[open + 1..closing(tokens, open)]) });
                continue;
            }
            while tokens[open] != "{" && tokens[open] != ";" {
                open += 1;
            }
            let count =
                if tokens[open] == "{" { count_outside(":", &tokens[open + 1..closing(tokens, open)]) } else { 0 };
            found.push(Counted { name, count });
        }
        if begins_with(&tokens[at..], &["settings", "!", "{"]) {
            found.extend(setting_structs(&tokens[at + 3..closing(tokens, at + 2)]));
        }
    }
    found
}

/// Returns the structs that `settings!` declares: `group: Struct { "key" = "default" => field: Type, parser; }`.
fn setting_structs(tokens: &[String]) -> Vec<Counted> {
    let mut found = Vec::new();
    let mut at = 0;
    while at + 3 < tokens.len() {
        if tokens[at + 1] == ":" && tokens[at + 3] == "{" {
            let close = closing(tokens, at + 3);
            found.push(Counted { name: tokens[at + 2].clone(), count: count_outside("=>", &tokens[at + 4..close]) });
            at = close;
        }
        at += 1;
    }
    found
}

/// Counts the fields of a tuple struct, which commas separate.
fn unnamed_fields(tokens: &[String]) -> usize {
    let (mut count, mut depth) = (0, 0);
    let mut is_field_begun = false;
    for token in tokens {
        match token.as_str() {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            "," if depth == 0 => {
                is_field_begun = false;
                continue;
            }
            _ => {}
        }
        if !is_field_begun {
            count += 1;
            is_field_begun = true;
        }
    }
    count
}

/// Counts a token outside of brackets.
fn count_outside(wanted: &str, tokens: &[String]) -> usize {
    let (mut count, mut depth) = (0, 0);
    for token in tokens {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            token if token == wanted && depth == 0 => count += 1,
            _ => {}
        }
    }
    count
}

/// Returns the types of the `impl` blocks of a file, with the number of public methods in each block.
fn public_methods(tokens: &[String]) -> Vec<Counted> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        // `impl` in a signature follows another token.
        let begins_item = at == 0 || matches!(tokens[at - 1].as_str(), "}" | ";" | "]" | "{" | "unsafe");
        if tokens[at] == "impl" && begins_item {
            let (name, open) = implemented_type(tokens, after_generics(tokens, at + 1));
            let count = count_public_functions(&tokens[open + 1..closing(tokens, open)]);
            found.push(Counted { name, count });
        }
    }
    found
}

/// Returns the name of the type of an `impl` block, and the index of the block's bracket.
fn implemented_type(tokens: &[String], mut at: usize) -> (String, usize) {
    let mut name = String::new();
    while tokens[at] != "{" && tokens[at] != "where" {
        if tokens[at] == "<" {
            at = after_generics(tokens, at);
            continue;
        }
        // The last word of the path; after `for`, that of the type which implements the trait.
        if tokens[at] != "for" && tokens[at].starts_with(is_of_word) {
            name.clone_from(&tokens[at]);
        }
        at += 1;
    }
    while tokens[at] != "{" {
        at += 1;
    }
    (name, at)
}

fn count_public_functions(tokens: &[String]) -> usize {
    let (mut count, mut depth) = (0, 0);
    for (index, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "pub" if depth == 0 => {
                let mut rest = tokens[index + 1..].iter();
                let first = rest.find(|token| !matches!(token.as_str(), "const" | "async" | "unsafe" | "extern"));
                count += usize::from(first.is_some_and(|token| token == "fn"));
            }
            _ => {}
        }
    }
    count
}
