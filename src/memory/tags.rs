//! The rules for tags: trimmed and lowercased, letters, digits, space and `- _ . : / # @`.

use serde_json::Value;

use crate::error::{Error, Result};

/// Tags of one request.
const TAGS_MAX: usize = 32;
/// Characters of one tag.
const TAG_CHARS_MAX: usize = 64;

/// The tags of a JSON field: an array of texts, or nothing. Lowercase, sorted, without repeats.
pub fn check(field: &str, value: Option<&Value>) -> Result<Vec<String>> {
    let texts = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => {
            let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>().ok_or_else(|| invalid(field, "every tag must be text"))?
        }
        Some(_) => return Err(invalid(field, "must be an array of texts")),
    };
    check_all(field, texts)
}

/// The same for tags that were already taken apart.
pub fn check_all(field: &str, texts: Vec<String>) -> Result<Vec<String>> {
    if texts.len() > TAGS_MAX {
        return Err(invalid(field, &format!("{} tags, at most {TAGS_MAX} are taken", texts.len())));
    }
    let mut tags = Vec::with_capacity(texts.len());
    for text in texts {
        let tag = text.trim().to_lowercase();
        let allowed = |c: char| c.is_alphanumeric() || " -_.:/#@".contains(c);
        if tag.is_empty() || tag.chars().count() > TAG_CHARS_MAX || !tag.chars().all(allowed) {
            let rule = "a tag is 1 to 64 letters, digits, spaces and - _ . : / # @";
            return Err(invalid(field, &format!("{tag:?}: {rule}")));
        }
        tags.push(tag);
    }
    tags.sort();
    tags.dedup();
    Ok(tags)
}

fn invalid(field: &str, reason: &str) -> Error {
    Error::invalid("invalid_tag", format!("{field}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tags_are_normalised_or_refused() {
        assert_eq!(check("tags", Some(&json!([" B ", "a:1", "b", "É#@/_.-"]))).expect("good"), ["a:1", "b", "é#@/_.-"]);
        assert!(check("tags", None).expect("good").is_empty());
        for bad in [json!(["a!"]), json!([""]), json!(["x".repeat(65)]), json!([1]), json!("a"), json!(vec!["a"; 33])] {
            assert!(check("tags", Some(&bad)).is_err(), "{bad}");
        }
    }
}
