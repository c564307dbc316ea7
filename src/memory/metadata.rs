//! Checks metadata: a flat object of texts, numbers and booleans.

use cuebase_storage::memory_file::{Metadata, MetadataValue};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Keys of one object.
pub const KEYS_MAX: usize = 32;
/// Characters of a key.
pub const KEY_CHARS_MAX: usize = 64;
/// Characters of a text.
pub const TEXT_CHARS_MAX: usize = 512;

/// Checks the metadata of a request; an absent field has none.
pub fn check(sent: Option<&Map<String, Value>>) -> Result<Metadata> {
    let Some(sent) = sent else { return Ok(Metadata::new()) };
    let mut metadata = Metadata::new();
    for (key, value) in sent {
        metadata.insert(key.clone(), metadata_value(value));
    }
    check_count(&metadata)?;
    for (key, value) in &metadata {
        check_entry(key, value)?;
    }
    Ok(metadata)
}

/// Checks the number of keys.
pub fn check_count(metadata: &Metadata) -> Result<()> {
    if metadata.len() > KEYS_MAX {
        return Err(invalid(&format!("{} keys: at most {KEYS_MAX} are accepted", metadata.len())));
    }
    Ok(())
}

/// Checks a key and its value. The error names the key.
pub fn check_entry(key: &str, value: &MetadataValue) -> Result<()> {
    if key.is_empty() || key.chars().count() > KEY_CHARS_MAX || !key.chars().all(is_key_character) {
        let shown: String = key.chars().take(KEY_CHARS_MAX).collect();
        return Err(invalid(&format!("{shown:?}: a key is 1 to {KEY_CHARS_MAX} of A-Z, a-z, 0-9 and _ . -")));
    }
    let reason = match value {
        MetadataValue::Boolean(_) | MetadataValue::Number(_) => return Ok(()),
        MetadataValue::Text(text) if text.chars().count() > TEXT_CHARS_MAX => {
            format!("a text has at most {TEXT_CHARS_MAX} characters")
        }
        MetadataValue::Text(text) if text.chars().any(char::is_control) => {
            "a text must not contain control characters".to_owned()
        }
        MetadataValue::Text(_) => return Ok(()),
        MetadataValue::Other(_) => "a value is a text, a number or a boolean".to_owned(),
    };
    Err(invalid(&format!("{key:?}: {reason}")))
}

/// Splits the object of another program into what metadata can hold and the rest.
pub fn split(object: Map<String, Value>) -> (Metadata, Map<String, Value>) {
    let mut metadata = Metadata::new();
    let mut rest = Map::new();
    for (key, value) in object {
        let accepted = metadata_value(&value);
        if metadata.len() < KEYS_MAX && check_entry(&key, &accepted).is_ok() {
            metadata.insert(key, accepted);
        } else {
            rest.insert(key, value);
        }
    }
    (metadata, rest)
}

/// Whether a key can have this character. Operators of conditions are none of them.
pub fn is_key_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

fn metadata_value(value: &Value) -> MetadataValue {
    match value {
        Value::Bool(value) => MetadataValue::Boolean(*value),
        Value::Number(value) => MetadataValue::Number(value.clone()),
        Value::String(value) => MetadataValue::Text(value.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => MetadataValue::Other(value.clone()),
    }
}

fn invalid(reason: &str) -> Error {
    Error::invalid(ErrorCode::InvalidMetadata, format!("metadata: {reason}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(value: &Value) -> Result<Metadata> {
        check(value.as_object())
    }

    #[test]
    fn flat_values_are_accepted_and_all_others_are_refused_by_key() {
        let metadata = checked(&json!({"a.B-c_1": "x", "n": 1.5, "b": false, "e": ""})).expect("good");
        assert_eq!(metadata["n"], MetadataValue::Number(serde_json::Number::from_f64(1.5).expect("finite")));
        assert_eq!(metadata.len(), 4);
        assert!(check(None).expect("good").is_empty());
        for (bad, named) in [
            (json!({"ok": 1, "nested": {}}), "\"nested\""),
            (json!({"list": [1]}), "\"list\""),
            (json!({"nothing": null}), "\"nothing\""),
            (json!({"a b": 1}), "\"a b\""),
            (json!({"": 1}), "\"\""),
            (json!({"ä": 1}), "\"ä\""),
            (json!({"long": "x".repeat(513)}), "\"long\""),
            (json!({"line": "a\nb"}), "\"line\""),
        ] {
            let error = checked(&bad).expect_err("refused");
            assert!(error.to_string().contains(named), "{bad}: {error}");
            assert_eq!(error.code(), ErrorCode::InvalidMetadata.as_str(), "{bad}");
        }
        assert!(checked(&json!({"x".repeat(64): "é".repeat(512)})).is_ok());
        assert!(checked(&json!({"x".repeat(65): 1})).is_err());
    }

    #[test]
    fn an_object_has_at_most_32_keys() {
        let object = |count: usize| (0..count).map(|n| (format!("k{n}"), json!(n))).collect::<Map<_, _>>();
        assert!(check(Some(&object(32))).is_ok());
        assert!(check(Some(&object(33))).is_err());
        let (metadata, rest) = split(object(40));
        assert_eq!((metadata.len(), rest.len()), (32, 8));
    }
}
