//! Values that the bodies of several requests have, by the names that the OpenAPI document gives them.
//!
//! A field names its value's schema with `#[schemars(with = "values::Tags")]`, because its own type belongs to another
//! crate or is text that is not checked yet.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::fields::PART_TYPES;
use super::metadata::{KEYS_MAX, TEXT_CHARS_MAX};
use super::tags::{TAG_CHARS_MAX, TAGS_MAX};

/// Characters of a session id or a speaker's name.
pub const NAME_CHARS_MAX: usize = 256;
/// Text without control characters.
pub const PRINTABLE_PATTERN: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
const TAG_PATTERN: &str = "^[A-Za-z0-9_.:/#@-]([A-Za-z0-9 _.:/#@-]*[A-Za-z0-9_.:/#@-])?$";
const KEY_PATTERN: &str = "^[A-Za-z0-9_.-]{1,64}$";
/// Forms of a time in a body.
const TIME_PATTERN: &str = concat!(
    "^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
    "(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-](0[0-9]|1[0-2]):[0-5][0-9])?)?$"
);
/// Epoch seconds of the years 1 to 9999.
const EPOCH_SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_207_200;

/// Declares types that only stand for a schema with a name. The doc comment is its description.
macro_rules! named_values {
    ($($(#[doc = $about:literal])+ $name:ident($generator:tt) => $schema:expr;)+) => {$(
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name;

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::memory::values::described($schema, concat!($($about),+))
            }
        }
    )+};
}

pub(crate) use named_values;

named_values! {
    /// Name of a namespace.
    Name(_) => json_schema!({"type": "string", "pattern": "^[a-z0-9-]{1,64}$", "examples": ["default"]});

    /// Namespace of a write; by default that of the key, otherwise `default`.
    WantedName(generator) => json_schema!({"anyOf": [generator.subschema_for::<Name>(), {"type": "null"}]});

    /// Who wrote a message.
    Role(_) => json_schema!({"enum": ["user", "assistant", "system", "tool"]});

    /// RFC 3339, a calendar date, a datetime without offset (read in `timezone`), or epoch seconds.
    GivenTime(_) => json_schema!({"anyOf": [
        epoch_seconds(),
        {"type": "string", "pattern": TIME_PATTERN},
        {"type": "null"},
    ]});

    /// IANA time zone, such as Europe/Paris.
    Zone(_) => json_schema!({
        "type": ["string", "null"],
        "enum": [null, "UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "Asia/Tokyo"],
        "x-extensible-enum": true,
    });

    /// Letters of any script, digits, space and `- _ . : / # @`. Stored in lower case.
    Tag(_) => json_schema!({"type": "string", "minLength": 1, "maxLength": TAG_CHARS_MAX, "pattern": TAG_PATTERN});

    /// Tags of a memory.
    Tags(generator) => json_schema!({
        "type": ["array", "null"],
        "maxItems": TAGS_MAX,
        "items": generator.subschema_for::<Tag>(),
    });

    /// Values to filter by with `where`: a flat object of texts, numbers and booleans.
    Metadata(_) => json_schema!({
        "type": ["object", "null"],
        "maxProperties": KEYS_MAX,
        "propertyNames": {"pattern": KEY_PATTERN},
        "additionalProperties": {"anyOf": [
            {"type": "string", "maxLength": TEXT_CHARS_MAX, "pattern": PRINTABLE_PATTERN},
            {"type": "number", "minimum": f64::MIN, "maximum": f64::MAX},
            {"type": "boolean"},
        ]},
    });

    /// Values to filter by with `where`.
    StoredMetadata(_) => json_schema!({
        "type": "object",
        "additionalProperties": {"type": ["string", "number", "boolean"]},
    });

    /// Text, or a list of parts. Parts of a type other than `text` are kept by reference.
    Content(_) => json_schema!({"anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"anyOf": [text_part(), media_part(), other_part()]}},
    ]});

    /// A message of a conversation.
    Message(generator) => json_schema!({
        "type": "object",
        "properties": {
            "role": generator.subschema_for::<Role>(),
            "content": generator.subschema_for::<Content>(),
            "name": {"type": ["string", "null"], "maxLength": NAME_CHARS_MAX, "pattern": PRINTABLE_PATTERN},
            "occurred_at": generator.subschema_for::<GivenTime>(),
            "store": {
                "type": ["boolean", "null"],
                "description": "With `false`, the message is only read to understand the others: no memory has its text.",
            },
        },
        "required": ["role", "content"],
    });
}

/// A value of a type within `allOf`, so that a field can add to its schema.
#[derive(Debug)]
pub struct Refined<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Refined<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Refined_{}", T::schema_name()))
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"allOf": [generator.subschema_for::<T>()]})
    }
}

/// Adds a description to a schema.
pub(crate) fn described(mut schema: Schema, description: &str) -> Schema {
    schema.insert("description".to_owned(), Value::from(description.trim()));
    schema
}

/// Returns the schema of epoch seconds.
pub(crate) fn epoch_seconds() -> Schema {
    json_schema!({"type": "number", "minimum": EPOCH_SECONDS.start(), "maximum": EPOCH_SECONDS.end()})
}

fn text_part() -> Schema {
    json_schema!({
        "type": "object",
        "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
        "required": ["type", "text"],
    })
}

fn media_part() -> Schema {
    json_schema!({
        "type": "object",
        "properties": {"type": {"const": "media"}, "id": {"type": "string"}},
        "required": ["type", "id"],
    })
}

fn other_part() -> Schema {
    json_schema!({
        "type": "object",
        "properties": {"type": {"type": "string", "not": {"enum": PART_TYPES}}},
        "required": ["type"],
    })
}
