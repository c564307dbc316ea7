//! Normalizes and validates tags: trimmed lowercase text of letters, digits, spaces and `- _ . : / # @`.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Tags of one request.
const TAGS_MAX: usize = 32;
/// Characters of one tag.
const TAG_CHARS_MAX: usize = 64;

/// Reads tags from a JSON field, an array of texts. Returns them in lowercase, sorted, without repeats.
pub fn check(field: &str, value: Option<&Value>) -> Result<Vec<String>> {
    let values = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(values)) => values,
        Some(_) => return Err(invalid(field, "must be an array of texts")),
    };
    let mut texts = Vec::with_capacity(values.len());
    for value in values {
        let Some(text) = value.as_str() else { return Err(invalid(field, "every tag must be text")) };
        texts.push(text.to_owned());
    }
    check_all(field, texts)
}

/// Normalizes and validates tags. Returns them in lowercase, sorted, without repeats.
pub fn check_all(field: &str, texts: Vec<String>) -> Result<Vec<String>> {
    if texts.len() > TAGS_MAX {
        return Err(invalid(field, &format!("{} tags: at most {TAGS_MAX} are accepted", texts.len())));
    }
    let mut tags = Vec::with_capacity(texts.len());
    for text in texts {
        let tag = text.trim().to_lowercase();
        if tag.is_empty() || tag.chars().count() > TAG_CHARS_MAX || !tag.chars().all(is_tag_character) {
            let rule = "a tag is 1 to 64 letters, digits, spaces and - _ . : / # @";
            return Err(invalid(field, &format!("{tag:?}: {rule}")));
        }
        tags.push(tag);
    }
    tags.sort();
    tags.dedup();
    Ok(tags)
}

fn is_tag_character(c: char) -> bool {
    c.is_alphanumeric() || " -_.:/#@".contains(c)
}

fn invalid(field: &str, reason: &str) -> Error {
    Error::invalid(ErrorCode::InvalidTag, format!("{field}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tags_are_normalized_or_rejected() {
        assert_eq!(check("tags", Some(&json!([" B ", "a:1", "b", "É#@/_.-"]))).expect("good"), ["a:1", "b", "é#@/_.-"]);
        assert!(check("tags", None).expect("good").is_empty());
        for bad in [json!(["a!"]), json!([""]), json!(["x".repeat(65)]), json!([1]), json!("a"), json!(vec!["a"; 33])] {
            assert!(check("tags", Some(&bad)).is_err(), "{bad}");
        }
    }
}
