//! Values that several requests and responses have, by the name that the document gives them.
//!
//! A field names its value's schema with `#[schemars(with = "values::Id")]`, because its own type belongs to another
//! crate, or is text that is not checked yet or on its way to the client. [`crate::memory::values`] has the values of a
//! conversation.

use std::borrow::Cow;
use std::marker::PhantomData;

use cuebase_storage::memory_file::path::PATH_BYTES_MAX;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::objects::{object, optional, required};
use crate::api::limits::{LINE_CHARS_MAX, NAMESPACES_MAX, TERM_CHARS_MAX, TITLE_CHARS_MAX};
use crate::error_codes::ErrorCode;
use crate::memory::tags::TAG_CHARS_MAX;
pub use crate::memory::values::{Content, GivenTime, Message, Metadata, Name, Refined, Role, Tags, WantedName, Zone};
use crate::memory::values::{PRINTABLE_PATTERN, described, epoch_seconds, named_values};

/// One line of text: no control characters, and at least one letter or digit.
const LINE_PATTERN: &str =
    r"^[^\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]*[A-Za-z0-9][^\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]*$";
// A directory has no dot, or does not end in `d`: its name must not end in `.md`.
const FOLDER_PATTERN: &str = concat!(
    "^(facts|incidents|rules|skills)",
    "(/([A-Za-z0-9_-]{1,31}|[A-Za-z0-9_-][A-Za-z0-9._-]{0,29}[A-Za-ce-z0-9_-])){0,3}$"
);
const PATH_PATTERN: &str = concat!(
    "^(facts|incidents|rules|skills)",
    "(/([A-Za-z0-9_-]{1,31}|[A-Za-z0-9_-][A-Za-z0-9._-]{0,29}[A-Za-ce-z0-9_-])){0,3}",
    r"/[A-Za-z0-9_-][A-Za-z0-9_-]{0,30}\.md$"
);
/// Paths at which a skill can be stored.
const NEW_SKILL_PATH_PATTERN: &str = concat!(
    "^skills(/([A-Za-z0-9_-]{1,31}|[A-Za-z0-9_-][A-Za-z0-9._-]{0,29}[A-Za-ce-z0-9_-])){0,3}",
    r"/[A-Za-z0-9_-]{1,30}\.md$"
);
/// Forms of a time in a query, where a plus sign means a space.
const QUERY_TIME_PATTERN: &str =
    concat!("^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])", "(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z?)?$");

named_values! {
    /// Id of an API key.
    KeyId(_) => json_schema!({"type": "string", "pattern": "^[0-9a-f]{16}$"});

    /// ULID. Ids sort by creation time.
    Id(_) => json_schema!({"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"});

    /// RFC 3339 in UTC.
    Time(_) => json_schema!({"type": "string", "format": "date-time"});

    /// Environment of an API key.
    Environment(_) => json_schema!({"enum": ["live", "test"]});

    /// RFC 3339, a calendar date, a datetime without offset, or epoch seconds.
    QueryTime(_) => json_schema!({"anyOf": [epoch_seconds(), {"type": "string", "pattern": QUERY_TIME_PATTERN}]});

    /// IANA time zone, such as Europe/Paris.
    QueryZone(_) => json_schema!({
        "type": "string",
        "enum": ["UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "Asia/Tokyo"],
        "x-extensible-enum": true,
    });

    /// Namespaces of a search: one, or up to eight as an array or separated by commas. By default that of the key,
    /// otherwise `default`.
    WantedNames(generator) => json_schema!({"anyOf": [
        generator.subschema_for::<Name>(),
        {"type": "string", "pattern": "^[a-z0-9-]{1,64}(,[a-z0-9-]{1,64}){1,7}$"},
        names(generator),
        {"type": "null"},
    ]});

    /// Top directory of a memory's path.
    Tier(_) => json_schema!({"enum": ["facts", "incidents", "rules", "skills"]});

    /// Path of a memory.
    Path(_) => json_schema!({
        "type": "string",
        "maxLength": PATH_BYTES_MAX,
        "pattern": PATH_PATTERN,
        "examples": ["facts/ann/likes-tea.md"],
    });

    /// Path of a directory of memories.
    Folder(_) => json_schema!({"type": "string", "maxLength": PATH_BYTES_MAX, "pattern": FOLDER_PATTERN});

    /// Path of a skill.
    SkillPath(_) => json_schema!({"type": "string", "pattern": r"^skills/.+\.md$"});

    /// Id of a document.
    DocumentId(_) => json_schema!({"type": "string", "pattern": "^[a-z0-9-]{1,80}$", "examples": ["handbook-pdf"]});

    /// A tag in a query.
    QueryTag(_) => json_schema!({"type": "string", "maxLength": TAG_CHARS_MAX, "pattern": "^[A-Za-z0-9_.:/@-]+$"});

    /// Condition on a key of the metadata: `key:value` or `key=value` (equal), `key!=value`, `key>=number`,
    /// `key>number`, `key<=number`, `key<number`. A memory without the key meets `key!=value` only.
    Condition(_) => json_schema!({
        "type": "string",
        "pattern": "^[A-Za-z0-9_.-]{1,64}((:|=|!=)[A-Za-z0-9 _.-]{0,64}|[<>]=?-?[0-9]{1,6}(\\.[0-9]{1,6})?)$",
        "examples": ["team:blue", "priority>=3"],
    });

    /// Text with at least one letter or digit, without control characters. White space becomes single spaces.
    Line(_) => json_schema!({"type": "string", "pattern": LINE_PATTERN, "maxLength": LINE_CHARS_MAX});

    /// Text with at least one letter or digit of any script.
    Surface(_) => json_schema!({"type": "string", "pattern": LINE_PATTERN, "maxLength": TERM_CHARS_MAX});

    /// Title of a conversation.
    Title(_) => json_schema!({"type": ["string", "null"], "maxLength": TITLE_CHARS_MAX, "pattern": PRINTABLE_PATTERN});

    /// A message as it was accepted, with its text parts joined.
    SourceMessage(generator) => object([
        required("role", generator.subschema_for::<Role>()),
        required("content", generator.subschema_for::<Content>()),
        optional("name", json_schema!({"type": "string"})),
        optional("occurred_at", given_time()),
        optional("store", json_schema!({"type": "boolean"})),
    ]);

    /// The fields of `POST /v1/memories` as they were accepted.
    AcceptedConversation(generator) => object([
        required("accepted_at", generator.subschema_for::<Time>()),
        required("messages", json_schema!({
            "type": "array",
            "minItems": 1,
            "items": generator.subschema_for::<SourceMessage>(),
        })),
        optional("session_id", json_schema!({"type": "string"})),
        optional("tags", json_schema!({"type": "array", "items": {"type": "string"}})),
        optional("metadata", json_schema!({"type": "object"})),
        optional("occurred_at", given_time()),
        optional("timezone", json_schema!({"type": "string"})),
    ]);

    /// Names in the query and in the body that the route does not know, each with the nearest known name. Absent when
    /// empty. Up to ten are listed; a last entry counts the others.
    Warnings(_) => json_schema!({"type": "array", "minItems": 1, "maxItems": 11, "items": {"type": "string"}});
}

/// A value of a type that counts as absent where it is null or empty.
#[derive(Debug)]
pub struct OrEmpty<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OrEmpty<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("OrEmpty_{}", T::schema_name()))
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [generator.subschema_for::<T>(), {"type": "null"}, {"const": ""}]})
    }
}

/// Path at which a skill is to be stored.
#[derive(Debug)]
pub struct NewSkillPath;

impl JsonSchema for NewSkillPath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("NewSkillPath")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "maxLength": PATH_BYTES_MAX, "pattern": NEW_SKILL_PATH_PATTERN})
    }
}

/// An integer of any size.
#[derive(Debug)]
pub struct Integer;

impl JsonSchema for Integer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Integer")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer"})
    }
}

impl JsonSchema for ErrorCode {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("ErrorCode")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about = "The error codes of this version, which `docs/reference/errors.md` explains. A later version may \
                     add codes.";
        described(json_schema!({"type": "string", "enum": Self::ALL}), about)
    }
}

/// Names of namespaces.
fn names(generator: &mut SchemaGenerator) -> Schema {
    let name = generator.subschema_for::<Name>();
    json_schema!({"type": "array", "minItems": 1, "maxItems": NAMESPACES_MAX, "items": name})
}

/// A time as the caller sent it.
fn given_time() -> Schema {
    json_schema!({"type": "string", "description": "RFC 3339 or a calendar date."})
}
