//! Facts of other products: the path and the front matter that a fact gets, and the check of all facts of an export.

use std::collections::{BTreeMap, BTreeSet};

use cuebase_storage::NamespaceName;
use cuebase_storage::memory_file::{FrontMatter, MemoryFile, OccurredSource, Tier};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::ingest::edited;
use crate::memory::conversation::Moment;
use crate::memory::file_names::slug;
use crate::memory::tags::{TAG_CHARS_MAX, TAGS_MAX};
use crate::memory::{metadata, time};
use crate::namespace::plan::Content;
use crate::secrets::fingerprint;

/// Characters of the hash that replaces an id that a file name cannot have.
const HASH_CHARS: usize = 16;
/// Characters of a value that an error repeats.
const SHOWN_CHARS_MAX: usize = 64;
/// Owners that a warning names.
const OWNERS_NAMED_MAX: usize = 5;

/// The place of a fact in the namespace.
///
/// It depends on the id in the product and not on the text. The next import therefore finds the file even if the text
/// has changed.
pub(super) struct FactPlace<'a> {
    pub(super) tier: Tier,
    /// Whose fact it is: the first folder. Blank for the name of the product.
    pub(super) owner: &'a str,
    /// When the product created the fact: its month is the second folder.
    pub(super) created_at: Option<Timestamp>,
    /// Name of the product.
    pub(super) product: &'a str,
    /// Id of the fact in the product.
    pub(super) id: &'a str,
}

impl FactPlace<'_> {
    /// Returns the path: `TIER/OWNER/MONTH/PRODUCT-ID.md`.
    pub(super) fn path(&self) -> String {
        let month = match self.created_at {
            Some(at) => at.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string(),
            None => "undated".to_owned(),
        };
        let mut id = slug(self.id, "");
        if id != self.id {
            id = data_encoding::HEXLOWER.encode(&fingerprint(&[self.id.as_bytes()]));
            id.truncate(HASH_CHARS);
        }
        let owner = slug(self.owner, self.product);
        format!("{}/{owner}/{month}/{}-{id}.md", self.tier.name(), self.product)
    }

    /// Returns what the front matter says of the origin.
    pub(super) fn origin(&self) -> Value {
        format!("{}:{}", self.product, self.id).into()
    }
}

/// Returns the body of a fact.
pub(super) fn body(text: &str) -> String {
    format!("# {}\n", text.trim())
}

/// Reads the time of a field. `None` and blank text are no time; a time without an offset is in UTC.
pub(super) fn moment(field: &str, text: Option<&str>) -> Result<Option<Moment>, String> {
    let text = text.unwrap_or_default().trim();
    if text.is_empty() {
        return Ok(None);
    }
    match time::parse(text, &TimeZone::UTC).and_then(time::TimeInput::moment) {
        Some(moment) => Ok(Some(moment)),
        None => {
            let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
            Err(format!("{field}: {shown:?} is not a time: use RFC 3339, such as 2026-05-01T12:00:00Z"))
        }
    }
}

/// Sets when the fact happened.
pub(super) fn set_occurred(front: &mut FrontMatter, moment: Moment, source: OccurredSource) {
    front.occurred_at = Some(moment.at);
    front.occurred_precision = Some(moment.precision);
    front.occurred_source = Some(source);
}

/// Sets from when until when the fact holds. A product may say that a fact ended before it began; only the end is used.
pub(super) fn set_validity(front: &mut FrontMatter, from: Option<Moment>, until: Option<Moment>) {
    front.valid_from = from.map(|from| from.at);
    front.valid_until = until.map(|until| until.at);
    if front.valid_until.is_some() && front.valid_from >= front.valid_until {
        front.valid_from = None;
    }
}

/// Sets the metadata. Values that metadata cannot hold are kept in the front matter below `rest_key`.
pub(super) fn set_metadata(front: &mut FrontMatter, rest_key: &str, object: Map<String, Value>) {
    let (metadata, rest) = metadata::split(object);
    front.metadata = metadata;
    if !rest.is_empty() {
        front.other.insert(rest_key.to_owned(), Value::Object(rest));
    }
}

/// Converts tags of another program: lowercase, with dashes for spaces and for characters that a tag cannot have.
pub(super) fn tags(texts: &[String]) -> Vec<String> {
    let mut tags = Vec::new();
    for text in texts {
        let tag = tag(text);
        if !tag.is_empty() {
            tags.push(tag);
        }
    }
    tags.sort();
    tags.dedup();
    tags.truncate(TAGS_MAX);
    tags
}

fn tag(text: &str) -> String {
    let mut tag = String::new();
    let mut chars = 0;
    for c in text.trim().trim_start_matches('#').to_lowercase().chars() {
        let is_kept = c.is_alphanumeric() || "_./:@-".contains(c);
        if !is_kept && (tag.is_empty() || tag.ends_with('-')) {
            continue;
        }
        if chars == TAG_CHARS_MAX {
            break;
        }
        tag.push(if is_kept { c } else { '-' });
        chars += 1;
    }
    tag.trim_end_matches('-').to_owned()
}

/// Returns the owner of an entry of an export, if a field names one.
pub(super) fn owner(entry: &Value, field: &str) -> Option<String> {
    let owner = entry.get(field)?.as_str()?;
    if owner.trim().is_empty() { None } else { Some(owner.to_owned()) }
}

/// Returns a warning if an export has facts of several owners: everyone who reads the namespace reads the facts of all.
/// `what` is the plural of the kind of owner.
pub(super) fn mixed_owners(owners: &BTreeSet<String>, what: &str, namespace: &NamespaceName) -> Option<String> {
    if owners.len() < 2 {
        return None;
    }
    let mut named = Vec::new();
    for owner in owners.iter().take(OWNERS_NAMED_MAX) {
        let shown: String = owner.chars().take(SHOWN_CHARS_MAX).collect();
        named.push(format!("{shown:?}"));
    }
    if owners.len() > OWNERS_NAMED_MAX {
        named.push(format!("and {} more", owners.len() - OWNERS_NAMED_MAX));
    }
    Some(format!(
        "the file mixes {} {what} in the namespace {namespace}: {}. To separate them, export a file for each, and import \
         each file into its own --namespace",
        owners.len(),
        named.join(", ")
    ))
}

/// Checks facts like any other file, and adds what is wrong to the problems. Of two facts with the same path the last
/// one counts.
pub(super) fn check(facts: Vec<(String, MemoryFile)>, problems: &mut Vec<String>) -> Vec<(String, Content)> {
    let mut contents = BTreeMap::new();
    for (path, file) in facts {
        match content(&path, &file) {
            Ok(content) => drop(contents.insert(path, content)),
            Err(reason) => problems.push(format!("{path}: {reason}")),
        }
    }
    contents.into_iter().collect()
}

/// Returns the content of a file. It is rendered and read back, so that it is checked like any other file.
fn content(path: &str, file: &MemoryFile) -> Result<Content, String> {
    let rendered = file.render().map_err(|error| error.to_string())?;
    edited::parse(path, rendered.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_depends_on_the_id_only() {
        let place = |owner: &'static str, id: &'static str| {
            FactPlace { tier: Tier::Facts, owner, created_at: None, product: "zep", id }.path()
        };
        assert_eq!(place("Ann B", "a-1"), "facts/ann-b/undated/zep-a-1.md");
        assert_eq!(place("", "a-1"), "facts/zep/undated/zep-a-1.md");
        assert_ne!(place("", "A 1"), place("", "A+1"));
    }

    #[test]
    fn times_without_an_offset_are_in_utc() {
        let at = |text| moment("valid_at", Some(text)).expect("a time").expect("a time").at.to_string();
        assert_eq!(at("2026-03-01T09:01:00"), "2026-03-01T09:01:00Z");
        assert_eq!(at("2026-03-01T09:01:00+00:00"), "2026-03-01T09:01:00Z");
        assert_eq!(at("2026-03-01"), "2026-03-01T12:00:00Z");
        assert_eq!(moment("valid_at", Some(" ")), Ok(None));
        let error = moment("valid_at", Some("soon")).expect_err("refused");
        assert!(error.contains("valid_at") && error.contains("RFC 3339"), "{error}");
    }

    #[test]
    fn an_end_before_the_beginning_counts_alone() {
        let time = |text| moment("", Some(text)).expect("a time");
        let mut front = FrontMatter::default();
        set_validity(&mut front, time("2026-03-01"), time("2026-03-01"));
        assert_eq!((front.valid_from, front.valid_until.is_some()), (None, true));
        set_validity(&mut front, time("2026-03-01"), None);
        assert!(front.valid_from.is_some() && front.valid_until.is_none());
    }

    #[test]
    fn several_owners_of_an_export_are_named() {
        let namespace = NamespaceName::new("notes").expect("a name");
        let owners = |count: u32| (0..count).map(|number| format!("user{number}")).collect::<BTreeSet<String>>();
        assert_eq!(mixed_owners(&owners(1), "users", &namespace), None);
        let warning = mixed_owners(&owners(7), "users", &namespace).expect("a warning");
        assert!(warning.contains("7 users in the namespace notes: \"user0\""), "{warning}");
        assert!(warning.contains("and 2 more") && !warning.contains("user5"), "{warning}");
    }

    #[test]
    fn tags_are_valid_and_keep_their_letters() {
        let texts = ["Hobbies & pets", "#Projekt/Übersicht", "日本", " ", "#", "pets", "hobbies-pets", "a!"];
        let tags = tags(&texts.map(str::to_owned));
        assert_eq!(tags, ["a", "hobbies-pets", "pets", "projekt/übersicht", "日本"]);
        let hostile = format!("{} x", "ß".repeat(80));
        assert_eq!(tag(&hostile).chars().count(), TAG_CHARS_MAX);
        assert!(crate::memory::tags::check_all("tags", tags).is_ok());
    }
}
