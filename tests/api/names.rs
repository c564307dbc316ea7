//! Names for values that differ from run to run: ids, commits, keys and signatures.
//!
//! The first id of a transcript is `[id-1]`, the second one `[id-2]`. A request may contain a name in place of its
//! value.

use std::collections::HashMap;

/// Characters of a ULID.
const ULID_CHARS: usize = 26;
/// Characters of a commit id.
const COMMIT_CHARS: usize = 40;
/// Characters of a key's id.
const KEY_ID_CHARS: usize = 16;
/// An API key has more characters than this.
const KEY_CHARS_MIN: usize = 30;

/// The names of one transcript.
#[derive(Default)]
pub(crate) struct Names {
    /// Name by value.
    names: HashMap<String, String>,
    /// Number of named values by kind.
    counts: HashMap<&'static str, usize>,
}

impl Names {
    /// Replaces values by their names. New values get the next name.
    pub(crate) fn hide(&mut self, text: &str) -> String {
        let mut shown = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find(is_separator).unwrap_or(rest.len()));
            let hidden = self.hide_word(word, &shown);
            shown.push_str(&hidden);
            let (separators, next) = after.split_at(after.find(is_word).unwrap_or(after.len()));
            shown.push_str(separators);
            rest = next;
        }
        shown
    }

    /// Replaces names by their values.
    pub(crate) fn reveal(&self, text: &str) -> String {
        let mut revealed = text.to_owned();
        for (value, name) in &self.names {
            revealed = revealed.replace(name, value);
        }
        revealed
    }

    /// Replaces the values in a word. `before` is the text in front of it.
    fn hide_word(&mut self, word: &str, before: &str) -> String {
        if before.ends_with("127.0.0.1:") {
            return "[port]".to_owned();
        }
        if before.ends_with("signature=") {
            return self.name("signature", word);
        }
        if word.starts_with("svc_") && word.len() > KEY_CHARS_MIN {
            return self.name("key", word);
        }
        // Numbers can have as many digits, so the place decides too.
        if is_place_of_key_id(before) && is_key_id(word) {
            return self.name("key-id", word);
        }
        let mut hidden = String::new();
        for part in word.split_inclusive(['-', '_']) {
            let value = part.trim_end_matches(['-', '_']);
            match kind(value) {
                Some(kind) => hidden.push_str(&self.name(kind, value)),
                None => hidden.push_str(value),
            }
            hidden.push_str(&part[value.len()..]);
        }
        hidden
    }

    fn name(&mut self, kind: &'static str, value: &str) -> String {
        if let Some(name) = self.names.get(value) {
            return name.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let name = format!("[{kind}-{count}]");
        self.names.insert(value.to_owned(), name.clone());
        name
    }
}

/// Returns the kind of a value, or `None` for a word that is the same in every run.
fn kind(word: &str) -> Option<&'static str> {
    match word.len() {
        // A ULID of this millennium starts with a zero. The sandbox writes it in lower case.
        ULID_CHARS if word.starts_with('0') && word.bytes().all(|byte| byte.is_ascii_alphanumeric()) => Some("id"),
        COMMIT_CHARS if is_hex(word) => Some("commit"),
        _ => None,
    }
}

/// Returns whether a key's id may follow a text: in the field `id` and in the path of a key.
fn is_place_of_key_id(before: &str) -> bool {
    before.ends_with("\"id\": \"") || before.ends_with("/keys/")
}

fn is_key_id(word: &str) -> bool {
    word.len() == KEY_ID_CHARS && is_hex(word)
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}

fn is_separator(character: char) -> bool {
    !is_word(character)
}

#[test]
fn values_get_names_that_can_be_used_again() {
    let mut names = Names::default();
    let key = "svc_live_8f0a92a3b32b657b_Ag3fFZrtJsktXrQmTUw25AeS-u8SXMAP";
    let text =
        format!(r#"{{"id": "01M87DTKN2JH67PPTGYFAKN7X1", "key": "{key}", "note": "pay_01m87dtkn2jh67pptgyfakn7x1"}}"#);
    let hidden = names.hide(&text);
    assert_eq!(hidden, r#"{"id": "[id-1]", "key": "[key-1]", "note": "pay_[id-2]"}"#);
    assert_eq!(names.reveal(&hidden), text);
    assert_eq!(
        names.hide(r#"/v1/keys/8f0a92a3b32b657b {"id": "8f0a92a3b32b657b"}"#),
        r#"/v1/keys/[key-id-1] {"id": "[key-id-1]"}"#
    );
    assert_eq!(names.hide("a-word_with 26 characters é"), "a-word_with 26 characters é");
}

#[test]
fn a_number_is_not_taken_for_the_id_of_a_key() {
    let text = r#"{"media_bytes": 1048576000000000, "hash": "8f0a92a3b32b657b"}"#;
    assert_eq!(Names::default().hide(text), text);
}
