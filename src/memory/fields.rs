//! The fields of the JSON objects in requests. A field is declared once, in the struct that requests are decoded into:
//! `request_type!` derives the list of its names from the same declaration, as `JsonSchema` does the description of the
//! body in the OpenAPI document.

use std::fmt;
use std::marker::PhantomData;

use cuebase_storage::records::{MessageContent, SentTime};
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error_codes::ErrorCode;

/// A field of a JSON object in a request.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name of the field.
    pub name: &'static str,
    /// Which names its value may contain.
    pub contents: Contents,
    /// The error code of a value of the wrong type; for an array of objects, that of the objects in it. `None` for the
    /// code of the enclosing object, which is `invalid_body` for the body itself.
    pub code: Option<ErrorCode>,
}

/// The names that the value of a field may contain.
#[derive(Clone, Copy, Debug)]
pub enum Contents {
    /// Any: the names in the value are not checked.
    Opaque,
    /// The value is an array of objects with these fields.
    Objects(&'static [Field]),
    /// The value is text, or an array of content parts ([`part_fields`]).
    Parts,
}

/// A struct that a JSON object of a request is decoded into.
pub trait Fields {
    /// The fields, in the order of their declaration.
    const FIELDS: &'static [Field];
}

/// The type of a field.
pub trait FieldType {
    /// Which names the value may contain.
    const CONTENTS: Contents = Contents::Opaque;
}

impl FieldType for String {}
impl FieldType for f64 {}
impl FieldType for Vec<String> {}
impl FieldType for SentTime {}
impl FieldType for Map<String, Value> {}

impl FieldType for MessageContent {
    const CONTENTS: Contents = Contents::Parts;
}

impl<T: Fields> FieldType for Vec<Object<T>> {
    const CONTENTS: Contents = Contents::Objects(T::FIELDS);
}

impl<T> FieldType for Lenient<T> {}

impl<T: FieldType> FieldType for Option<T> {
    const CONTENTS: Contents = T::CONTENTS;
}

/// Declares a struct for a JSON object of a request, and implements [`Fields`] for it.
///
/// A field may have the error code for values of the wrong type: `tags: Option<Vec<String>> => InvalidTag`. A field whose
/// name is a keyword of Rust is a raw identifier: `r#where`.
macro_rules! request_type {
    (@code $code:ident) => {
        Some($crate::error_codes::ErrorCode::$code)
    };
    (@code) => {
        None
    };
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $type:ty $(=> $code:ident)?,)*
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $type,)*
        }

        impl $crate::memory::fields::Fields for $name {
            const FIELDS: &'static [$crate::memory::fields::Field] = &[
                $($crate::memory::fields::Field {
                    name: $crate::memory::fields::plain_name(stringify!($field)),
                    contents: <$type as $crate::memory::fields::FieldType>::CONTENTS,
                    code: $crate::memory::fields::request_type!(@code $($code)?),
                },)*
            ];
        }
    };
}

pub(crate) use request_type;

/// Returns the name of an identifier without the mark of a raw one.
pub const fn plain_name(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

/// Returns the fields of two structs that one body or query has, `N` in all.
pub const fn joined<const N: usize>(first: &[Field], second: &[Field]) -> [Field; N] {
    let mut fields = [first[0]; N];
    let mut index = 0;
    while index < N {
        fields[index] = if index < first.len() { first[index] } else { second[index - first.len()] };
        index += 1;
    }
    fields
}

/// Returns the names of `N` fields.
pub const fn names<const N: usize>(fields: &[Field]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = fields[index].name;
        index += 1;
    }
    names
}

/// Types of content parts with fixed fields.
pub const PART_TYPES: [&str; 2] = ["text", "media"];
const TEXT_PART: &[Field] = &[part_field("type"), part_field("text")];
const MEDIA_PART: &[Field] = &[part_field("type"), part_field("id")];

const fn part_field(name: &'static str) -> Field {
    Field { name, contents: Contents::Opaque, code: None }
}

/// Returns the fields of a type of content part. `None` for other types, which are stored unchanged.
pub fn part_fields(part_type: &str) -> Option<&'static [Field]> {
    match part_type {
        "text" => Some(TEXT_PART),
        "media" => Some(MEDIA_PART),
        _ => None,
    }
}

/// A value that must be a JSON object. Serde alone would also decode a struct from an array.
#[derive(Debug)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Ok(Object(T::deserialize(MapAccessDeserializer::new(map))?))
    }
}

/// A value that counts as absent if it has a different type.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Lenient<T> {
    /// A value of the type.
    Valid(T),
    /// A value of any other type.
    Other(IgnoredAny),
}
