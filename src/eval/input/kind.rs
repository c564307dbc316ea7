//! What a path holds, recognised by its first value.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::elements::{Elements, first_byte};
use super::error::InputError;
use super::lines::Lines;
use crate::eval::suite::SuiteKind;

/// The inputs that can be measured.
const ACCEPTED: &str = "a folder in the BEIR format, a JSON array of LoCoMo conversations or LongMemEval questions, or \
    one labelled JSON object per line";

/// What a path holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A folder with documents, queries and judgements ([`beir`](super::beir)).
    Beir,
    /// Conversations with questions ([`locomo`](crate::eval::locomo)).
    Locomo,
    /// Questions with a haystack each ([`longmemeval`](super::longmemeval)).
    LongMemEval,
    /// One labelled object per line ([`suite`](crate::eval::suite)).
    Labelled(SuiteKind),
}

/// The fields by which a question of LongMemEval is recognised.
#[derive(Deserialize)]
struct FirstElement {
    question_id: Option<IgnoredAny>,
    haystack_sessions: Option<IgnoredAny>,
}

impl InputKind {
    /// Recognises what a path holds.
    ///
    /// # Errors
    ///
    /// If the path cannot be read, or if its text does not begin as any accepted input does. What is wrong further on
    /// is reported when the input is read.
    pub fn of(path: &Path) -> Result<Self, InputError> {
        if path.is_dir() {
            return Ok(Self::Beir);
        }
        match first_byte(path)? {
            Some(b'{') => {
                let line = Lines::open(path)?.next_line()?.unwrap_or_default();
                Ok(Self::Labelled(SuiteKind::of(&line)))
            }
            Some(b'[') => Self::of_array(path),
            Some(_) => Err(InputError::content(path, "the file does not begin with { or [", ACCEPTED)),
            None => Err(InputError::content(path, "the file is empty", ACCEPTED)),
        }
    }

    /// Recognises the format of an array by its first element.
    fn of_array(path: &Path) -> Result<Self, InputError> {
        match Elements::open(path)?.next_element::<FirstElement>()? {
            Some(FirstElement { question_id: Some(_), haystack_sessions: Some(_) }) => Ok(Self::LongMemEval),
            Some(_) => Ok(Self::Locomo),
            None => Err(InputError::content(path, "the array is empty", ACCEPTED)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_recognised_by_its_first_value() {
        let folder = tempfile::tempdir().expect("temporary directory");
        assert_eq!(InputKind::of(folder.path()).expect("a folder"), InputKind::Beir);
        let path = folder.path().join("input");
        for (text, expected) in [
            (r#"[{"question_id": "1", "haystack_sessions": []}, 7"#, InputKind::LongMemEval),
            (r#"[{"sample_id": "1", "conversation": {}}]"#, InputKind::Locomo),
            ("\n{\"id\": \"a\", \"queries\": []}\n", InputKind::Labelled(SuiteKind::Parts)),
        ] {
            std::fs::write(&path, text).expect("writes");
            assert_eq!(InputKind::of(&path).expect(text), expected, "{text}");
        }
    }

    #[test]
    fn an_input_of_another_form_is_refused_with_the_accepted_ones() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("input");
        let missing = InputKind::of(&path).expect_err("missing").to_string();
        assert!(missing.contains("cannot read"), "{missing}");
        for (text, says) in [
            ("", "the file is empty"),
            ("[]", "the array is empty"),
            ("id,text", "does not begin with { or ["),
            ("[7]", ":1: element 1: an element is not an object"),
        ] {
            std::fs::write(&path, text).expect("writes");
            let error = InputKind::of(&path).expect_err(text).to_string();
            assert!(error.contains(says) && error.contains("expected"), "{text:?}: {error}");
        }
    }
}
