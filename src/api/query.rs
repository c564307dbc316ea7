//! The query string: repeated and comma-separated lists, numbers, time zones. The fields of a JSON body can take its place.

use std::ops::RangeInclusive;

use cuebase_storage::MessageId;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::fields::{Field, FieldType, Fields};
use crate::memory::request::{decode, invalid_body};

/// A number of this many digits fits into `usize`.
const DIGITS_MAX: usize = 18;
/// Absolute values below this are exact integers in a JSON number's floating-point form.
const EXACT_BELOW: f64 = 1e15;

/// Parameters in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct QueryString {
    pairs: Vec<(String, String)>,
}

/// The number of entries in a page of a list.
#[derive(Clone, Copy, Debug)]
pub struct PageSize {
    /// Entries when the request gives no limit.
    pub default: usize,
    /// Most entries that a request can ask for.
    pub max: usize,
}

impl QueryString {
    /// Parses a query string. Percent-encoding and `+` are decoded, and bytes that are not UTF-8 are replaced.
    pub fn parse(raw: &str) -> Self {
        Self { pairs: form_urlencoded::parse(raw.as_bytes()).into_owned().collect() }
    }

    /// Takes the known fields of a JSON body as parameters. An array is a repeated parameter, an empty one an empty
    /// parameter.
    ///
    /// # Errors
    ///
    /// `invalid_body` for anything but a JSON object, and for a known field that is not a string, a number, a boolean or an
    /// array of them.
    pub fn of_body(body: &[u8], known: &[Field]) -> Result<Self> {
        let BodyParameters(fields) = decode(body)?;
        let mut query = Self::default();
        for (name, value) in fields {
            // A route may be sent fields that it does not know.
            if !known.iter().any(|field| field.name == name) || value.is_null() {
                continue;
            }
            let values = match serde_json::from_value(value) {
                Ok(ParameterValues(values)) if values.is_empty() => vec![String::new()],
                Ok(ParameterValues(values)) => values,
                Err(error) => return Err(invalid_body(format!("body: {name}: {error}"))),
            };
            for value in values {
                query.pairs.push((name.clone(), value));
            }
        }
        Ok(query)
    }

    /// Returns the names of all parameters; a repeated name is repeated.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(name, _)| name.as_str())
    }

    /// Returns an integer within a range, or `None` where the parameter is absent or empty.
    ///
    /// # Errors
    ///
    /// `code` for any other value.
    pub fn number(&self, name: &str, range: RangeInclusive<usize>, code: ErrorCode) -> Result<Option<usize>> {
        match self.get(name) {
            Some(text) => Ok(Some(integer(name, text, range, code)?)),
            None => Ok(None),
        }
    }

    /// Returns the parameter `limit`, reduced to the most that a page can have.
    ///
    /// # Errors
    ///
    /// `invalid_limit` for zero and for anything that is not an integer.
    pub fn page_limit(&self, size: PageSize) -> Result<usize> {
        // Such a number may not fit into `usize`.
        if let Some(text) = self.get("limit")
            && text.len() > DIGITS_MAX
            && text.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Ok(size.max);
        }
        let limit = self.number("limit", 1..=usize::MAX, ErrorCode::InvalidLimit)?;
        Ok(limit.unwrap_or(size.default).min(size.max))
    }

    /// Returns the parameter `before` of a list: the id at which the previous page ended. `listed` names what the id is
    /// of.
    ///
    /// # Errors
    ///
    /// `invalid_id` for anything that is not an id.
    pub fn before(&self, listed: &str) -> Result<Option<MessageId>> {
        let Some(text) = self.last("before") else { return Ok(None) };
        match text.parse() {
            Ok(id) => Ok(Some(id)),
            Err(_) => {
                let message = format!("before: {text:?} is not the id of a {listed}");
                Err(Error::invalid(ErrorCode::InvalidId, message))
            }
        }
    }

    /// Returns the last value of a parameter that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut backwards = self.pairs.iter().rev();
        let (_, value) = backwards.find(|(key, value)| key == name && !value.is_empty())?;
        Some(value.as_str())
    }

    /// Returns the last value of a parameter, which may be empty.
    pub fn last(&self, name: &str) -> Option<&str> {
        let (_, value) = self.pairs.iter().rev().find(|(key, _)| key == name)?;
        Some(value.as_str())
    }

    /// Returns the values of a list. A comma and a repeated parameter both separate values; blank ones are left out.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.values(name).list()
    }

    /// Returns the values of a parameter.
    pub fn values(&self, name: &str) -> ParameterValues {
        ParameterValues(self.all(name))
    }

    /// Returns the values of a parameter as they were sent, also empty ones.
    pub fn all(&self, name: &str) -> Vec<String> {
        let mut values = Vec::new();
        for (key, value) in &self.pairs {
            if key == name {
                values.push(value.clone());
            }
        }
        values
    }
}

/// The values of a parameter, in the order in which they were sent.
///
/// A field of a body with the same meaning is a string, a number, a boolean, or an array of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "SentValues")]
pub struct ParameterValues(Vec<String>);

impl FieldType for ParameterValues {}

impl ParameterValues {
    /// Returns the last value that is not empty.
    pub fn last(&self) -> Option<&str> {
        let value = self.0.iter().rev().find(|value| !value.is_empty())?;
        Some(value.as_str())
    }

    /// Returns the last value, also an empty one.
    pub fn last_sent(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }

    /// Returns the values that are not empty, as they were sent.
    pub fn whole(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the values as a list. A comma separates values as well; blank ones are left out.
    pub fn list(&self) -> Vec<String> {
        let mut list = Vec::new();
        for value in &self.0 {
            for part in value.split(',') {
                let part = part.trim();
                if !part.is_empty() {
                    list.push(part.to_owned());
                }
            }
        }
        list
    }
}

/// A JSON object whose fields are parameters.
#[derive(Deserialize)]
struct BodyParameters(Map<String, Value>);

impl Fields for BodyParameters {
    // Any name is taken: a route checks the names by its own list.
    const FIELDS: &'static [Field] = &[];
}

/// The values of a parameter in a JSON body.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a string, a number, or an array of them")]
enum SentValues {
    One(SentValue),
    Several(Vec<SentValue>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SentValue {
    Text(String),
    Number(Number),
    Flag(bool),
    Null(()),
}

impl From<SentValues> for ParameterValues {
    fn from(sent: SentValues) -> Self {
        let sent = match sent {
            SentValues::One(value) => vec![value],
            SentValues::Several(values) => values,
        };
        let mut values = Vec::with_capacity(sent.len());
        for value in sent {
            match value {
                SentValue::Text(text) => values.push(text),
                SentValue::Number(number) => values.push(number_text(&number)),
                SentValue::Flag(flag) => values.push(flag.to_string()),
                SentValue::Null(()) => {}
            }
        }
        Self(values)
    }
}

/// Writes a number as a parameter has it: 26.0 is the integer 26.
fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() < EXACT_BELOW => format!("{float:.0}"),
        _ => number.to_string(),
    }
}

/// Reads an integer within a range. `name` is the parameter that the error names.
pub fn integer(name: &str, text: &str, range: RangeInclusive<usize>, code: ErrorCode) -> Result<usize> {
    if let Ok(number) = text.parse::<usize>()
        && range.contains(&number)
    {
        return Ok(number);
    }
    let (min, max) = range.into_inner();
    Err(Error::invalid(code, format!("{name}: {text:?} is not an integer from {min} to {max}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fields::Contents;

    #[test]
    fn a_list_is_separated_by_commas_and_repetition() {
        let query = QueryString::parse("tags=a,b&tags=c%20d&x=1&x=&y=%ff&q=a+b");
        assert_eq!(query.list("tags"), ["a", "b", "c d"]);
        assert_eq!(query.get("x"), Some("1"));
        assert_eq!(query.get("q"), Some("a b"));
        assert_eq!(query.get("none"), None);
        assert!(query.get("y").is_some());
    }

    #[test]
    fn the_fields_of_a_body_are_parameters() {
        let known = ["q", "tags", "limit", "explain", "as_of", "paths"];
        let known = known.map(|name| Field { name, contents: Contents::Opaque, code: None });
        let body = br#"{"q": "a, b & c", "tags": ["x", "y,z"], "limit": 5, "explain": true, "as_of": null, "paths": [],
            "other": {"a": [1]}}"#;
        let query = QueryString::of_body(body, &known).expect("an object");
        assert_eq!(
            (query.get("q"), query.get("limit"), query.get("explain")),
            (Some("a, b & c"), Some("5"), Some("true"))
        );
        assert_eq!((query.list("tags"), query.last("as_of")), (vec!["x".into(), "y".into(), "z".into()], None));
        assert_eq!((query.last("other"), query.last("paths")), (None, Some("")));
        for bad in ["", "[]", "{\"q\": {}}", "{\"q\": [[1]]}", "{\"q\": 1"] {
            assert!(QueryString::of_body(bad.as_bytes(), &known).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_field_of_a_body_has_the_values_of_a_parameter() {
        let values = |json: &str| serde_json::from_str::<ParameterValues>(json).map(|values| values.0);
        for (json, expected) in [
            (r#""a,b""#, vec!["a,b"]),
            (r#"["a", null, 26.0, 0.5, 7, true]"#, vec!["a", "26", "0.5", "7", "true"]),
            ("null", vec![]),
            ("[]", vec![]),
            ("-1e20", vec!["-1e+20"]),
        ] {
            assert_eq!(values(json).expect("values"), expected, "{json}");
        }
        for bad in ["{}", "[[1]]", r#"["a", {}]"#] {
            let error = values(bad).expect_err("refused").to_string();
            assert!(error.starts_with("must be a string, a number, or an array of them"), "{error}");
        }
        let sent = ParameterValues(values(r#"["a, b", "", "c"]"#).expect("values"));
        assert_eq!(sent.list(), ["a", "b", "c"]);
        assert_eq!(sent.whole().collect::<Vec<_>>(), ["a, b", "c"]);
    }
}
