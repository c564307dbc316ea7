//! Conditions on metadata in the form that requests have: `key:value`, `key>=number` and so on.

use cuebase_retrieval::{Comparison, Condition, NumberBound};

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::metadata::{KEY_CHARS_MAX, is_key_character};

/// Conditions of one request.
pub(super) const CONDITIONS_MAX: usize = 32;
/// The accepted forms, for errors.
const FORMS: &str = "key:value, key=value, key!=value, key>=number, key>number, key<=number or key<number";
/// Characters of a condition that an error shows.
const SHOWN_CHARS_MAX: usize = 80;
/// The operators. One that begins with another one stands before it.
const OPERATORS: [&str; 7] = ["!=", ">=", "<=", ":", "=", ">", "<"];

/// Reads the conditions of `where`, all of which a memory must meet.
///
/// # Errors
///
/// `invalid_where` for a text of another form, for too many conditions, and for two conditions on one key that no value
/// meets.
pub(super) fn conditions<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<Condition>> {
    let texts: Vec<&str> = texts.collect();
    let mut conditions = Vec::new();
    for text in &texts {
        conditions.push(condition(text)?);
    }
    if conditions.len() > CONDITIONS_MAX {
        let reason = format!("{} conditions: at most {CONDITIONS_MAX} are accepted", conditions.len());
        return Err(invalid(&reason));
    }
    for (first_text, first) in texts.iter().zip(&conditions) {
        for (second_text, second) in texts.iter().zip(&conditions) {
            if first.excludes(second) {
                let (first, second) = (shown(first_text), shown(second_text));
                return Err(invalid(&format!("{first:?} and {second:?} contradict each other: no memory meets both")));
            }
        }
    }
    Ok(conditions)
}

fn condition(text: &str) -> Result<Condition> {
    let rest = text.trim_start_matches(is_key_character);
    let key = &text[..text.len() - rest.len()];
    let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) else {
        return Err(unknown_form(text));
    };
    if key.is_empty() || key.len() > KEY_CHARS_MAX {
        return Err(unknown_form(text));
    }
    let value = &rest[operator.len()..];
    let comparison = match *operator {
        ":" | "=" => Comparison::Equal(value.to_owned()),
        "!=" => Comparison::NotEqual(value.to_owned()),
        operator => {
            let Some(number) = finite_number(value) else {
                let reason = format!("{:?}: {operator} needs a number, such as priority{operator}3", shown(text));
                return Err(invalid(&reason));
            };
            Comparison::Number(match operator {
                ">=" => NumberBound::AtLeast(number),
                ">" => NumberBound::Above(number),
                "<=" => NumberBound::AtMost(number),
                _ => NumberBound::Below(number),
            })
        }
    };
    Ok(Condition { key: key.to_owned(), comparison })
}

fn finite_number(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    if number.is_finite() { Some(number) } else { None }
}

fn unknown_form(text: &str) -> Error {
    invalid(&format!("{:?} is not a condition: use {FORMS}", shown(text)))
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

fn invalid(reason: &str) -> Error {
    Error::invalid(ErrorCode::InvalidWhere, format!("where: {reason}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_is_read() {
        let equal = |text: &str| Comparison::Equal(text.into());
        for (text, key, comparison) in [
            ("team:blue", "team", equal("blue")),
            ("team=blue", "team", equal("blue")),
            ("team:a,b: c=d", "team", equal("a,b: c=d")),
            ("a.b-c_1:", "a.b-c_1", equal("")),
            ("team!=blue", "team", Comparison::NotEqual("blue".into())),
            ("size>=2.5", "size", Comparison::Number(NumberBound::AtLeast(2.5))),
            ("size>-1", "size", Comparison::Number(NumberBound::Above(-1.0))),
            ("size<=1e3", "size", Comparison::Number(NumberBound::AtMost(1000.0))),
            ("size<7", "size", Comparison::Number(NumberBound::Below(7.0))),
        ] {
            let expected = Condition { key: key.into(), comparison };
            assert_eq!(condition(text).expect("a condition"), expected, "{text}");
        }
    }

    #[test]
    fn other_forms_are_refused_with_the_accepted_ones() {
        for bad in ["", "team", ":blue", "a b:c", "ä:1", "team!blue", "=", &format!("{}:1", "k".repeat(65))] {
            let error = condition(bad).expect_err("refused");
            assert_eq!(error.code(), ErrorCode::InvalidWhere.as_str());
            assert!(error.to_string().contains("key!=value"), "{error}");
        }
        for bad in ["size>=large", "size<", "size>nan", "size<=inf", "size>=1,5"] {
            let error = condition(bad).expect_err("refused").to_string();
            assert!(error.contains("needs a number"), "{error}");
        }
        assert!(conditions(std::iter::repeat_n("a:b", CONDITIONS_MAX)).is_ok());
        assert!(conditions(std::iter::repeat_n("a:b", CONDITIONS_MAX + 1)).is_err());
    }

    #[test]
    fn contradictory_conditions_are_refused_with_both_named() {
        for (first, second) in [("a<1", "a>2"), ("a:x", "a:y"), ("a:x", "a!=x"), ("a:x", "a>=0"), ("a>1", "a<=1")] {
            for texts in [[first, "b:z", second], [second, first, "b:z"]] {
                let error = conditions(texts.into_iter()).expect_err("refused");
                assert_eq!(error.code(), ErrorCode::InvalidWhere.as_str());
                let message = error.to_string();
                assert!(
                    message.contains(&format!("{first:?}")) && message.contains(&format!("{second:?}")),
                    "{message}"
                );
            }
        }
        for texts in [["a:x", "b:y"], ["a>=1", "a<=1"], ["a!=x", "a!=y"], ["a:3", "a>2"], ["a:x", "a:x"]] {
            assert!(conditions(texts.into_iter()).is_ok(), "{texts:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}", value in "\\PC{0,20}") {
            let _ = condition(&text);
            let read = condition(&format!("key:{value}")).expect("a condition");
            prop_assert_eq!(read.comparison, Comparison::Equal(value));
        }
    }
}
