//! Metadata: values by key that a caller stores with a memory, and the conditions of filters on them.

use serde::{Deserialize, Serialize};

/// From this absolute value on, a float may be too large for an `i128`.
const FLOAT_INTEGER_MAX: f64 = 1e38;

/// A value of the metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MetadataValue {
    /// `true` or `false`.
    Boolean(bool),
    /// An integer.
    Integer(i128),
    /// Any other finite number.
    Float(f64),
    /// A text.
    Text(String),
}

/// A condition on the value of one key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The key.
    pub key: String,
    /// What the value of the key must be.
    pub comparison: Comparison,
}

/// What the value of a key must be.
///
/// A text is equal to the same text. `true` and `false` are also equal to that boolean, and a text that spells a number
/// is equal to that number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Comparison {
    /// Equal to this.
    Equal(String),
    /// Not equal to this. A memory without the key meets the condition.
    NotEqual(String),
    /// A number within this bound.
    Number(NumberBound),
}

/// One bound of a number. Integers are compared as 64-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum NumberBound {
    /// This number or a larger one.
    AtLeast(f64),
    /// A larger number.
    Above(f64),
    /// This number or a smaller one.
    AtMost(f64),
    /// A smaller number.
    Below(f64),
}

impl MetadataValue {
    /// Returns the text that is the same for equal values and for no others: 1 and 1.0 are equal.
    pub(crate) fn canonical(&self) -> String {
        match self {
            Self::Boolean(value) => format!("boolean {value}"),
            Self::Integer(value) => format!("number {value}"),
            Self::Float(value) if value.fract() == 0.0 && value.abs() < FLOAT_INTEGER_MAX => {
                // Exact, because the number is an integer and within the range.
                let integer = *value as i128;
                format!("number {integer}")
            }
            Self::Float(value) => format!("number {value}"),
            Self::Text(value) => format!("text {value}"),
        }
    }

    /// Returns the value as a number, rounded to a 64-bit float; `None` for any other value.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            // Bounds are floats, so rounding is as exact as the comparison.
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Boolean(_) | Self::Text(_) => None,
        }
    }

    /// Returns the values that are equal to a text of a condition.
    pub(crate) fn spelled(text: &str) -> Vec<Self> {
        let mut values = vec![Self::Text(text.to_owned())];
        match text {
            "true" => values.push(Self::Boolean(true)),
            "false" => values.push(Self::Boolean(false)),
            _ => values.extend(spelled_number(text)),
        }
        values
    }
}

/// Returns the number that a text spells.
fn spelled_number(text: &str) -> Option<MetadataValue> {
    if let Ok(integer) = text.parse::<i128>() {
        return Some(MetadataValue::Integer(integer));
    }
    let float: f64 = text.parse().ok()?;
    // "nan" and "infinity" are texts.
    if float.is_finite() { Some(MetadataValue::Float(float)) } else { None }
}

impl Condition {
    /// Whether a memory's metadata meets the condition.
    pub fn accepts(&self, metadata: &[(String, MetadataValue)]) -> bool {
        let value = value_of(metadata, &self.key);
        match &self.comparison {
            Comparison::Equal(text) => value.is_some_and(|value| is_spelled(value, text)),
            Comparison::NotEqual(text) => !value.is_some_and(|value| is_spelled(value, text)),
            Comparison::Number(bound) => match value.and_then(MetadataValue::number) {
                Some(number) => bound.contains(number),
                None => false,
            },
        }
    }
}

impl Condition {
    /// Whether no metadata can meet both conditions.
    pub fn excludes(&self, other: &Self) -> bool {
        if self.key != other.key {
            return false;
        }
        match (&self.comparison, &other.comparison) {
            (Comparison::Equal(text), _) => !other.accepts_any(MetadataValue::spelled(text)),
            (_, Comparison::Equal(text)) => !self.accepts_any(MetadataValue::spelled(text)),
            (Comparison::Number(first), Comparison::Number(second)) => first.excludes(*second),
            (Comparison::NotEqual(_), _) | (_, Comparison::NotEqual(_)) => false,
        }
    }

    /// Whether any of these values of the key meets the condition.
    fn accepts_any(&self, values: Vec<MetadataValue>) -> bool {
        values.into_iter().any(|value| self.accepts(&[(self.key.clone(), value)]))
    }
}

fn value_of<'a>(metadata: &'a [(String, MetadataValue)], key: &str) -> Option<&'a MetadataValue> {
    let (_, value) = metadata.iter().find(|(other, _)| other == key)?;
    Some(value)
}

/// Whether a value is equal to a text of a condition.
fn is_spelled(value: &MetadataValue, text: &str) -> bool {
    let canonical = value.canonical();
    MetadataValue::spelled(text).iter().any(|spelled| spelled.canonical() == canonical)
}

impl NumberBound {
    /// Whether a number is within the bound.
    pub fn contains(self, number: f64) -> bool {
        match self {
            Self::AtLeast(bound) => number >= bound,
            Self::Above(bound) => number > bound,
            Self::AtMost(bound) => number <= bound,
            Self::Below(bound) => number < bound,
        }
    }

    /// Whether no number is within both bounds.
    fn excludes(self, other: Self) -> bool {
        match (self.smallest(), other.smallest()) {
            (Some(smallest), None) => !other.contains(smallest),
            (None, Some(smallest)) => !self.contains(smallest),
            // Large numbers are within two lower bounds, and small ones within two upper bounds.
            (Some(_), Some(_)) | (None, None) => false,
        }
    }

    /// Returns the smallest number within a lower bound; `None` for an upper bound.
    fn smallest(self) -> Option<f64> {
        match self {
            Self::AtLeast(bound) => Some(bound),
            Self::Above(bound) => Some(bound.next_up()),
            Self::AtMost(_) | Self::Below(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_equal(value: &MetadataValue, text: &str) -> bool {
        let metadata = [("k".to_owned(), value.clone())];
        let equal = Condition { key: "k".into(), comparison: Comparison::Equal(text.into()) };
        let unequal = Condition { key: "k".into(), comparison: Comparison::NotEqual(text.into()) };
        assert_ne!(equal.accepts(&metadata), unequal.accepts(&metadata), "{value:?} {text}");
        equal.accepts(&metadata)
    }

    #[test]
    fn a_text_is_equal_to_itself_and_to_what_it_spells() {
        let text = |text: &str| MetadataValue::Text(text.into());
        assert!(is_equal(&text("Berlin"), "Berlin") && !is_equal(&text("Berlin"), "berlin"));
        assert!(is_equal(&text("true"), "true") && is_equal(&MetadataValue::Boolean(true), "true"));
        assert!(!is_equal(&MetadataValue::Boolean(true), "True") && !is_equal(&MetadataValue::Boolean(false), "0"));
        assert!(is_equal(&text("7"), "7") && !is_equal(&text("7"), "7.0"));
        assert!(is_equal(&text("nan"), "nan") && is_equal(&text(""), ""));
    }

    #[test]
    fn numbers_are_equal_whatever_their_form() {
        for number in [MetadataValue::Integer(1), MetadataValue::Float(1.0)] {
            assert!(is_equal(&number, "1") && is_equal(&number, "1.0") && is_equal(&number, "10e-1"));
            assert!(!is_equal(&number, "1.5") && !is_equal(&number, "one"));
        }
        assert!(is_equal(&MetadataValue::Float(-0.0), "0") && is_equal(&MetadataValue::Float(0.5), ".5"));
        assert!(is_equal(&MetadataValue::Float(1e300), "1e300"));
        let id = MetadataValue::Integer(1_234_567_890_123_456_789);
        assert!(is_equal(&id, "1234567890123456789") && !is_equal(&id, "1234567890123456788"));
    }

    #[test]
    fn only_an_unequal_condition_accepts_a_memory_without_the_key() {
        for (comparison, expected) in [
            (Comparison::Equal("x".into()), false),
            (Comparison::NotEqual("x".into()), true),
            (Comparison::Number(NumberBound::AtLeast(0.0)), false),
            (Comparison::Number(NumberBound::Below(9.0)), false),
        ] {
            let condition = Condition { key: "k".into(), comparison };
            assert_eq!(condition.accepts(&[]), expected, "{condition:?}");
            let text = [("k".to_owned(), MetadataValue::Text("5".into()))];
            assert_eq!(condition.accepts(&text), expected, "a text is not a number: {condition:?}");
        }
    }

    #[test]
    fn bounds_include_or_exclude_their_number() {
        for (bound, expected) in [
            (NumberBound::AtLeast(2.0), [false, true, true]),
            (NumberBound::Above(2.0), [false, false, true]),
            (NumberBound::AtMost(2.0), [true, true, false]),
            (NumberBound::Below(2.0), [true, false, false]),
        ] {
            assert_eq!([1.0, 2.0, 3.0].map(|number| bound.contains(number)), expected, "{bound:?}");
        }
    }

    fn condition(key: &str, comparison: &Comparison) -> Condition {
        Condition { key: key.into(), comparison: comparison.clone() }
    }

    #[test]
    fn conditions_that_no_value_meets_exclude_each_other() {
        let equal = |text: &str| Comparison::Equal(text.into());
        let unequal = |text: &str| Comparison::NotEqual(text.into());
        let (at_least, above) = (NumberBound::AtLeast, NumberBound::Above);
        let (at_most, below) = (NumberBound::AtMost, NumberBound::Below);
        for (first, second, expected) in [
            (equal("x"), equal("y"), true),
            (equal("x"), equal("x"), false),
            (equal("1"), equal("1.0"), false),
            (equal("true"), equal("1"), true),
            (equal("x"), unequal("x"), true),
            // The text "1" is not equal to 1.0.
            (equal("1"), unequal("1.0"), false),
            (unequal("x"), unequal("y"), false),
            (equal("x"), Comparison::Number(at_least(0.0)), true),
            (equal("3"), Comparison::Number(above(2.0)), false),
            (equal("2"), Comparison::Number(above(2.0)), true),
            (unequal("3"), Comparison::Number(above(2.0)), false),
            (Comparison::Number(below(1.0)), Comparison::Number(above(2.0)), true),
            (Comparison::Number(at_most(2.0)), Comparison::Number(at_least(2.0)), false),
            (Comparison::Number(at_most(2.0)), Comparison::Number(above(2.0)), true),
            (Comparison::Number(below(2.0)), Comparison::Number(at_least(2.0)), true),
            (Comparison::Number(above(1.0)), Comparison::Number(below(2.0)), false),
            (Comparison::Number(above(1.0)), Comparison::Number(at_least(5.0)), false),
            (Comparison::Number(below(1.0)), Comparison::Number(at_most(5.0)), false),
        ] {
            assert_eq!(condition("k", &first).excludes(&condition("k", &second)), expected, "{first:?} {second:?}");
            assert_eq!(condition("k", &second).excludes(&condition("k", &first)), expected, "{second:?} {first:?}");
            assert!(!condition("k", &first).excludes(&condition("other", &second)));
        }
    }
}
