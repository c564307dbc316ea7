//! Normalizes and validates tags: trimmed lowercase text of letters, digits, spaces and `- _ . : / # @`.

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Tags of one request.
pub const TAGS_MAX: usize = 32;
/// Characters of one tag.
pub const TAG_CHARS_MAX: usize = 64;

/// Normalizes and validates the tags of a field; an absent field has none.
pub fn check(field: &str, texts: Option<Vec<String>>) -> Result<Vec<String>> {
    match texts {
        Some(texts) => check_all(field, texts),
        None => Ok(Vec::new()),
    }
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

    #[test]
    fn tags_are_normalized_or_rejected() {
        let check = |tags: &[&str]| check("tags", Some(tags.iter().map(|&tag| tag.to_owned()).collect()));
        assert_eq!(check(&[" B ", "a:1", "b", "É#@/_.-"]).expect("good"), ["a:1", "b", "é#@/_.-"]);
        assert!(super::check("tags", None).expect("good").is_empty());
        let long = "x".repeat(65);
        let all_bad: [&[&str]; 4] = [&["a!"], &[""], &[&long], &["a"; 33]];
        for bad in all_bad {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
