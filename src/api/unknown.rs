//! Names in a request that its route does not know.
//!
//! An unknown parameter or field is ignored, and the response names it in `warnings` with the nearest known name. Names
//! by which other products separate users are refused instead: a write that ignored one would put the data of all users
//! into one namespace.
//!
//! Other warnings about a request are added with [`UnknownNames::warn`].
//!
//! Each route declares its names in the route table. The server checks the query before the handler runs,
//! `RouteRequest::json` checks the body, and the server adds the warnings to the response.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::CONTENT_TYPE;
use parking_lot::Mutex;

use super::names::{self, ObjectNames};
use super::query::QueryString;
use super::reply::{Reply, ReplyBody};
use crate::accounts::user_names::{same_letters, separates_users};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::fields::Field;
use crate::memory::request::{invalid_body, invalid_json};

/// Unknown names that a response lists; the others are counted.
const LISTED_MAX: usize = 10;
/// Characters of an unknown name that are shown. Longer names get no suggestion.
const NAME_CHARS_MAX: usize = 64;
/// Most edits between an unknown name and the suggested one. Short names allow fewer: a third of their length.
const EDITS_MAX: usize = 2;
/// The query parameter of an upload that has the time of its event.
pub(super) const OCCURRED_AT: &str = "occurred_at";
/// The query parameter with the name of the person who asks.
pub(super) const USER: &str = "user";

/// The names that a route knows.
#[derive(Clone, Copy, Debug)]
pub struct KnownNames {
    /// Parameters of the query.
    pub parameters: &'static [&'static str],
    /// Fields of the JSON body; `None` where the route reads no JSON body.
    pub fields: Option<&'static [Field]>,
}

/// The unknown names of one request, shared by its handler, which reads the body, and the server, which responds.
#[derive(Clone)]
pub struct UnknownNames {
    fields: &'static [Field],
    /// `None` where no warning can arise: the query has no unknown name, and the route reads neither a JSON body nor a
    /// time of an event nor a user.
    warnings: Option<Arc<Mutex<Warnings>>>,
}

#[derive(Default)]
struct Warnings {
    listed: Vec<String>,
    /// Number of further names.
    unlisted: usize,
}

impl UnknownNames {
    /// Checks the names of a query.
    ///
    /// # Errors
    ///
    /// A name by which other products separate users: `invalid_body` where the route takes a JSON body, else
    /// `invalid_parameter`.
    pub fn in_query(known: &KnownNames, query: &QueryString) -> Result<Self> {
        let mut warnings = Warnings::default();
        for name in query.names() {
            if known.parameters.contains(&name) {
                continue;
            }
            if separates_users(name) {
                let message = separation_message(&quoted_with_location("parameter", name, NameLocation::Body));
                return match known.fields {
                    Some(_) => Err(invalid_body(message)),
                    None => Err(Error::invalid(ErrorCode::InvalidParameter, message)),
                };
            }
            if warnings.reserve_line() {
                warnings.listed.push(parameter_warning(known, name));
            }
        }
        let fields = known.fields.unwrap_or(&[]);
        let can_warn = known.parameters.iter().any(|name| [OCCURRED_AT, USER].contains(name));
        let is_without_warnings = known.fields.is_none() && !can_warn;
        if warnings.listed.is_empty() && is_without_warnings {
            return Ok(Self { fields, warnings: None });
        }
        Ok(Self { fields, warnings: Some(Arc::new(Mutex::new(warnings))) })
    }

    /// Checks the names of a body, before anything in it is used.
    ///
    /// # Errors
    ///
    /// `invalid_body` for a name by which other products separate users, and for a body that is not JSON.
    pub fn check_body(&self, body: &[u8]) -> Result<()> {
        let unknown = names::unknown_names(body, self.fields).map_err(|error| invalid_json(body, 1, &error))?;
        let mut body_warnings = Warnings::default();
        check_object(&unknown, NameLocation::Body, &mut body_warnings)?;
        if let Some(warnings) = &self.warnings {
            warnings.lock().append(body_warnings);
        }
        Ok(())
    }

    /// Adds a warning that is not about a name. Only the response of a route with a JSON body, a time or a user can have one.
    pub(super) fn warn(&self, warning: String) {
        let Some(warnings) = &self.warnings else { return };
        let mut warnings = warnings.lock();
        if warnings.reserve_line() {
            warnings.listed.push(warning);
        }
    }

    /// Adds the warnings to a reply. A reply that is not a JSON object, or that sets its own content type, is returned
    /// unchanged.
    pub fn add_to(&self, reply: Reply) -> Reply {
        let Some(warnings) = &self.warnings else { return reply };
        let lines = warnings.lock().lines();
        if lines.is_empty() || reply.headers.iter().any(|(name, _)| name == CONTENT_TYPE) {
            return reply;
        }
        let body = match reply.body {
            ReplyBody::Bytes(bytes) => ReplyBody::Bytes(append(bytes, &lines)),
            ReplyBody::File(file) => ReplyBody::File(file),
        };
        Reply { body, ..reply }
    }
}

impl Warnings {
    /// Returns whether there is room to list one more name. If not, counts the name as unlisted.
    fn reserve_line(&mut self) -> bool {
        if self.listed.len() < LISTED_MAX {
            return true;
        }
        self.unlisted += 1;
        false
    }

    fn append(&mut self, later: Self) {
        for line in later.listed {
            if self.reserve_line() {
                self.listed.push(line);
            }
        }
        self.unlisted += later.unlisted;
    }

    /// Returns the value of `warnings`.
    fn lines(&self) -> Vec<String> {
        let mut lines = self.listed.clone();
        if self.unlisted > 0 {
            lines.push(format!("and {} more", self.unlisted));
        }
        lines
    }
}

/// Appends `"warnings":[…]` to a serialized JSON object before its closing brace, so that a large response is not
/// parsed again. Any other body is returned unchanged.
fn append(body: Bytes, lines: &[String]) -> Bytes {
    if !body.starts_with(b"{") || !body.ends_with(b"}") {
        return body;
    }
    let Ok(list) = serde_json::to_vec(lines) else { return body };
    let key = b"\"warnings\":";
    let mut text = Vec::from(body);
    text.reserve_exact(key.len() + list.len() + 1);
    text.pop();
    if text != b"{" {
        text.push(b',');
    }
    text.extend_from_slice(key);
    text.extend_from_slice(&list);
    text.push(b'}');
    text.into()
}

/// The location of an object in a body.
#[derive(Clone, Copy)]
enum NameLocation<'a> {
    /// The body itself.
    Body,
    /// An entry of an array in an object.
    Entry { object: &'a NameLocation<'a>, field: &'static str, index: usize },
}

impl fmt::Display for NameLocation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => Ok(()),
            Self::Entry { object: Self::Body, field, index } => write!(formatter, "{field}[{index}]"),
            Self::Entry { object, field, index } => write!(formatter, "{object}.{field}[{index}]"),
        }
    }
}

/// Checks the unknown names of an object, then those of the objects in it: misspelt fields of the body are listed first.
fn check_object(object: &ObjectNames, location: NameLocation<'_>, warnings: &mut Warnings) -> Result<()> {
    for name in &object.unknown {
        if separates_users(name) {
            return Err(invalid_body(separation_message(&quoted_with_location("field", name, location))));
        }
        if warnings.reserve_line() {
            warnings.listed.push(field_warning(name, object.fields, location));
        }
    }
    for field in object.fields {
        for entry in &object.entries {
            if entry.field == field.name {
                let entry_location = NameLocation::Entry { object: &location, field: field.name, index: entry.index };
                check_object(&entry.names, entry_location, warnings)?;
            }
        }
    }
    Ok(())
}

/// Quotes a name, with the location of its object.
fn quoted_with_location(kind: &str, name: &str, location: NameLocation<'_>) -> String {
    let name = shortened(name);
    match location {
        NameLocation::Body => format!("{kind} \"{name}\""),
        NameLocation::Entry { .. } => format!("{kind} \"{name}\" in {location}"),
    }
}

fn field_warning(name: &str, fields: &[Field], location: NameLocation<'_>) -> String {
    let warning = format!("unknown {} ignored", quoted_with_location("field", name, location));
    let names = fields.iter().map(|field| field.name);
    with_suggestion(warning, nearest(name, names))
}

fn parameter_warning(known: &KnownNames, name: &str) -> String {
    let warning = format!("unknown {} ignored", quoted_with_location("parameter", name, NameLocation::Body));
    // For example a namespace in the query of a write, which then goes to a different namespace.
    if known.fields.unwrap_or(&[]).iter().any(|field| field.name == name) {
        return format!("{warning}; send \"{name}\" in the body");
    }
    with_suggestion(warning, nearest(name, known.parameters.iter().copied()))
}

fn with_suggestion(warning: String, suggestion: Option<&str>) -> String {
    match suggestion {
        Some(known) => format!("{warning}; did you mean \"{known}\"?"),
        None => warning,
    }
}

/// Returns a name, cut if it is long.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Returns the known name with the fewest edits to an unknown one, the first of several. `None` if all need too many.
fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    if name.char_indices().nth(NAME_CHARS_MAX).is_some() {
        return None;
    }
    let edits_max = EDITS_MAX.min(name.chars().count() / 3);
    let mut best: Option<(usize, &'static str)> = None;
    for candidate in known {
        let edits = match same_letters(name, candidate) {
            true => 0,
            false => strsim::damerau_levenshtein(name, candidate),
        };
        let is_fewer = match best {
            Some((fewest, _)) => edits < fewest,
            None => true,
        };
        if edits <= edits_max && is_fewer {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn separation_message(what: &str) -> String {
    format!(
        "{what} does not separate users here; use one namespace per user: create it with POST /v1/namespaces and send its \
         name as \"namespace\""
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn the_nearest_name_within_the_edit_limit_is_suggested() {
        let known = ["q", "limit", "namespace", "tags", "tags_all", "occurred_at", "content"];
        for (name, expected) in [
            ("limt", Some("limit")),
            ("lmiit", Some("limit")),
            ("Limit", Some("limit")),
            ("occured_at", Some("occurred_at")),
            ("occurredAt", Some("occurred_at")),
            ("tag", Some("tags")),
            ("tagsall", Some("tags_all")),
            ("contnet", Some("content")),
            ("name_space", Some("namespace")),
            ("Q", Some("q")),
            ("x", None),
            ("qq", None),
            ("query", None),
            ("lit", None),
            ("namespaces_of_mine", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known.into_iter()), expected, "{name}");
        }
    }

    #[test]
    fn a_long_name_is_cut_and_suggests_nothing() {
        let long = "é".repeat(NAME_CHARS_MAX + 1);
        assert_eq!(shortened(&long), format!("{}…", "é".repeat(NAME_CHARS_MAX)));
        assert_eq!(shortened(&"é".repeat(NAME_CHARS_MAX)), "é".repeat(NAME_CHARS_MAX));
        assert_eq!(nearest(&format!("limit{}", "_".repeat(100)), ["limit"].into_iter()), None);
    }

    #[test]
    fn every_spelling_of_a_users_name_is_recognized() {
        for name in ["user_id", "userId", "UserID", "user-id", "agentId", "run_id", "appId", "groupId", "containerTags"]
        {
            assert!(separates_users(name), "{name}");
        }
        for name in ["user", "id", "users_id", "session_id", "tags", "container", ""] {
            assert!(!separates_users(name), "{name}");
        }
    }

    #[test]
    fn only_objects_take_warnings() {
        let lines = ["a \"b\"".to_owned()];
        for (body, expected) in [
            ("{}", r#"{"warnings":["a \"b\""]}"#),
            (r#"{"a":1}"#, r#"{"a":1,"warnings":["a \"b\""]}"#),
            ("[1]", "[1]"),
            ("", ""),
            ("{", "{"),
        ] {
            assert_eq!(append(Bytes::from(body), &lines), expected, "{body}");
        }
    }

    #[test]
    fn ten_names_are_listed_and_the_others_are_counted() {
        let mut warnings = Warnings::default();
        for part in 0..2 {
            let mut part_warnings = Warnings::default();
            for number in 0..12 {
                if part_warnings.reserve_line() {
                    part_warnings.listed.push(format!("{part} {number}"));
                }
            }
            warnings.append(part_warnings);
        }
        let lines = warnings.lines();
        assert_eq!((lines.len(), lines[0].as_str(), lines[10].as_str()), (11, "0 0", "and 14 more"));
    }

    proptest! {
        #[test]
        fn an_object_with_warnings_is_the_object_and_its_warnings(
            names in prop::collection::btree_set("[a-v]{1,4}", 0..5),
            lines in prop::collection::vec(".{0,20}", 1..4),
        ) {
            let mut object: Map<String, Value> = names.into_iter().map(|name| (name, Value::from(1))).collect();
            let body = serde_json::to_vec(&object).expect("JSON");
            object.insert("warnings".into(), Value::from(lines.clone()));
            let read: Value = serde_json::from_slice(&append(body.into(), &lines)).expect("JSON");
            prop_assert_eq!(read, Value::Object(object));
        }
    }
}
