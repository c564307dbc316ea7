//! The value of `namespace` where a request can name several namespaces.

use std::fmt;

use serde::Deserialize;

use super::limits::NAMESPACES_MAX;
use super::query::QueryString;
use crate::memory::fields::FieldType;

/// The namespaces that a request names, each once, not checked yet.
///
/// In a query, a comma and a repeated parameter both separate names. In a body, the value is a text with commas or an
/// array of texts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "SentNames")]
pub(super) struct NamedNamespaces(Vec<String>);

impl FieldType for NamedNamespaces {}

impl NamedNamespaces {
    /// Returns the values of `namespace` in a query; `None` where it is absent.
    pub(super) fn of_query(query: &QueryString) -> Option<Self> {
        let values = query.all("namespace");
        if values.is_empty() {
            return None;
        }
        Some(Self::new(values))
    }

    /// Splits values at commas. White space around a name is dropped, unless the name is the only one. An empty name
    /// stays and is refused later: an application that forgot to fill it in must not search fewer namespaces than it
    /// wants to. No more than one name above the limit is kept.
    fn new(values: Vec<String>) -> Self {
        if let [value] = values.as_slice()
            && !value.contains(',')
        {
            return Self(values);
        }
        let mut names: Vec<String> = Vec::new();
        for value in &values {
            for name in value.split(',') {
                let name = name.trim();
                if names.len() <= NAMESPACES_MAX && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        Self(names)
    }

    /// Returns the names.
    pub(super) fn names(&self) -> &[String] {
        &self.0
    }
}

/// The names, separated by commas.
impl fmt::Display for NamedNamespaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join(","))
    }
}

/// The names in a JSON body.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a string or an array of strings")]
enum SentNames {
    One(String),
    Several(Vec<String>),
}

impl From<SentNames> for NamedNamespaces {
    fn from(sent: SentNames) -> Self {
        match sent {
            SentNames::One(value) => Self::new(vec![value]),
            SentNames::Several(values) => Self::new(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(query: &str) -> Option<Vec<String>> {
        Some(NamedNamespaces::of_query(&QueryString::parse(query))?.names().to_vec())
    }

    #[test]
    fn names_are_separated_by_commas_and_repetition_and_each_counts_once() {
        assert_eq!(named("q=x"), None);
        for (query, expected) in [
            ("namespace=a", vec!["a"]),
            ("namespace=", vec![""]),
            ("namespace=+a", vec![" a"]),
            ("namespace=a,b", vec!["a", "b"]),
            ("namespace=b,+a,b&namespace=c&namespace=a", vec!["b", "a", "c"]),
            ("namespace=a,", vec!["a", ""]),
            ("namespace=a,a", vec!["a"]),
        ] {
            assert_eq!(named(query).expect("names"), expected, "{query}");
        }
        let many: Vec<String> = (0..1000).map(|number| format!("n{number}")).collect();
        let names = named(&format!("namespace={}", many.join(","))).expect("names");
        assert_eq!(names, many[..=NAMESPACES_MAX]);
    }

    #[test]
    fn a_body_has_a_text_or_an_array_of_texts() {
        let names = |json: &str| serde_json::from_str::<NamedNamespaces>(json).map(|named| named.to_string());
        for (json, expected) in [(r#""a""#, "a"), (r#""a, b""#, "a,b"), (r#"["b", "a", "b"]"#, "b,a"), ("[]", "")] {
            assert_eq!(names(json).expect("names"), expected, "{json}");
        }
        for bad in ["5", "{}", r#"["a", 5]"#, r#"[["a"]]"#] {
            let error = names(bad).expect_err("refused").to_string();
            assert!(error.starts_with("must be a string or an array of strings"), "{error}");
        }
    }
}
