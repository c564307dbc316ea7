//! A JSON value whose members keep their order, written in the style of the file that it is added to.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;

/// A JSON value with ordered members.
#[derive(Clone, Debug)]
pub(crate) enum OrderedJson {
    /// A text, a number or a boolean.
    Scalar(Value),
    /// A list.
    List(Vec<OrderedJson>),
    /// An object.
    Object(Vec<(String, OrderedJson)>),
}

impl OrderedJson {
    /// Returns a text.
    pub(crate) fn text(text: &str) -> Self {
        Self::Scalar(Value::String(text.to_owned()))
    }

    /// Returns a list of texts.
    pub(crate) fn texts(texts: &[String]) -> Self {
        Self::List(texts.iter().map(|text| Self::text(text)).collect())
    }

    /// Returns an object with one member.
    pub(crate) fn member(name: &str, value: Self) -> Self {
        Self::Object(vec![(name.to_owned(), value)])
    }

    /// Returns the value without the order.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Scalar(value) => value.clone(),
            Self::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(members) => {
                let mut object = serde_json::Map::new();
                for (name, value) in members {
                    object.insert(name.clone(), value.to_value());
                }
                Value::Object(object)
            }
        }
    }

    /// Writes the value on one line.
    pub(super) fn on_one_line(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Writes the value on several lines. `unit` indents a level, `indent` each line after the first.
    pub(super) fn on_lines(&self, unit: &str, indent: &str, newline: &str) -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(unit.as_bytes());
        self.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))?;
        // A line break in a text is escaped, so each one here is between two lines.
        Ok(String::from_utf8(bytes)?.replace('\n', &format!("{newline}{indent}")))
    }
}

impl Serialize for OrderedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Scalar(value) => value.serialize(serializer),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(members) => {
                let mut object = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    object.serialize_entry(name, value)?;
                }
                object.end()
            }
        }
    }
}
