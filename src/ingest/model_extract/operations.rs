//! What a model may ask for, and whether what it asked for may be done.
//!
//! A model names no path of its own: a new memory is put where the service puts it, and what is rewritten or expired
//! must be among the memories that it was shown. So whatever the conversation talked it into, nothing outside the four
//! tiers is touched, and no memory that has nothing to do with the conversation.

use std::ops::RangeInclusive;
use std::str::FromStr;

use cuebase_storage::memory_file::{OccurredPrecision, OccurredSource, Relation, Tier};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::memory::conversation::{Conversation, Moment};
use crate::memory::draft::Draft;
use crate::memory::{tags, time};

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 300;
/// Characters of a body.
const BODY_CHARS_MAX: usize = 8000;
/// Characters of a topic, a speaker or an entity.
const NAME_CHARS_MAX: usize = 100;
/// Characters of a cue.
const CUE_CHARS_MAX: usize = 400;
/// Cues of one memory.
const CUES_MAX: usize = 12;
/// Entities of one memory.
const ENTITIES_MAX: usize = 32;
/// Tags of one memory.
const TAGS_MAX: usize = 16;
/// Relations of one memory.
const RELATIONS_MAX: usize = 8;
/// Characters of what was wrong, in a reason.
const SHOWN_CHARS_MAX: usize = 80;

/// Something to do, checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A memory that was not there.
    New(Draft),
    /// A memory that is to say something else from now on.
    Rewrite {
        /// Where it is.
        path: String,
        /// What it is to say.
        draft: Draft,
    },
    /// An incident that is over.
    Expire {
        /// Where it is.
        path: String,
        /// From when on.
        at: Timestamp,
    },
}

impl Operation {
    /// The text that it writes, if it does.
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            Self::New(draft) | Self::Rewrite { draft, .. } => Some(draft),
            Self::Expire { .. } => None,
        }
    }
}

/// What an operation may refer to.
pub(super) struct Bounds<'a> {
    pub(super) conversation: &'a Conversation,
    pub(super) accepted_at: Timestamp,
    /// The messages that were read.
    pub(super) messages: RangeInclusive<usize>,
    /// The paths of the memories that were shown.
    pub(super) known: Vec<&'a str>,
}

/// The schema of an answer.
pub(super) fn schema() -> Value {
    let nullable = |kind: &str| json!({"type": [kind, "null"]});
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let relation = json!({
        "type": "object",
        "properties": {"to": {"type": "string"}, "kind": {"type": "string"}},
        "required": ["to", "kind"],
        "additionalProperties": false,
    });
    let fields = json!({
        "op": {"type": "string", "enum": ["new", "rewrite", "expire"]},
        "path": nullable("string"),
        "tier": {"type": ["string", "null"], "enum": ["facts", "incidents", "rules", "skills", null]},
        "topic": nullable("string"),
        "title": nullable("string"),
        "body": nullable("string"),
        "cues": texts,
        "tags": texts,
        "entities": texts,
        "speaker": nullable("string"),
        "occurred_at": nullable("string"),
        "expires_at": nullable("string"),
        "confidence": nullable("number"),
        "messages": {"type": "array", "items": {"type": "integer"}},
        "relations": {"type": "array", "items": relation},
    });
    let names: Vec<&String> = fields.as_object().into_iter().flat_map(|fields| fields.keys()).collect();
    let operation = json!({"type": "object", "properties": fields, "required": names, "additionalProperties": false});
    json!({
        "type": "object",
        "properties": {"operations": {"type": "array", "items": operation}},
        "required": ["operations"],
        "additionalProperties": false,
    })
}

/// An operation as it may be done, or what is wrong with it, on one line.
pub(super) fn check(value: &Value, bounds: &Bounds<'_>) -> Result<Operation, String> {
    if !value.is_object() {
        return Err("an operation must be an object".into());
    }
    match text(value, "op")?.as_deref() {
        Some("new") => Ok(Operation::New(draft(value, bounds, None)?)),
        Some("rewrite") => {
            let path = known(value, bounds)?;
            let draft = draft(value, bounds, Some(&path))?;
            Ok(Operation::Rewrite { path, draft })
        }
        Some("expire") => {
            let path = known(value, bounds)?;
            if !path.starts_with("incidents/") {
                return Err(format!("path: {path} is no incident, and only incidents expire; rewrite it instead"));
            }
            let at = moment(value, "expires_at", bounds)?.ok_or("expires_at: an expiry needs a time")?;
            Ok(Operation::Expire { path, at: at.at })
        }
        other => Err(format!("op: {} is none of new, rewrite, expire", shown(other.unwrap_or("nothing")))),
    }
}

fn draft(value: &Value, bounds: &Bounds<'_>, path: Option<&str>) -> Result<Draft, String> {
    let tier = match path.and_then(|path| path.split('/').next()) {
        // A memory stays in its tier.
        Some(tier) => tier.to_owned(),
        None => text(value, "tier")?.ok_or("tier: a new memory needs one")?,
    };
    let tier = Tier::from_str(&tier)
        .map_err(|_| format!("tier: {} is none of facts, incidents, rules, skills", shown(&tier)))?;
    let title = line(value, "title", TITLE_CHARS_MAX)?.ok_or("title: it needs one")?;
    let body = text(value, "body")?.unwrap_or_default();
    if body.chars().count() > BODY_CHARS_MAX {
        return Err(format!("body: at most {BODY_CHARS_MAX} characters are taken"));
    }
    let mut cues = lines(value, "cues", CUES_MAX, CUE_CHARS_MAX)?;
    // The title brings it to mind too.
    cues.insert(0, title.clone());
    cues.dedup();
    let tags = lines(value, "tags", TAGS_MAX, NAME_CHARS_MAX)?;
    let tags = tags::check_all("tags", tags).map_err(|failure| failure.to_string())?;
    let messages = messages(value, bounds)?;
    let (said, source) = said(&messages, bounds);
    let (occurred, occurred_source) = match moment(value, "occurred_at", bounds)? {
        Some(at) => (at, OccurredSource::Extracted),
        None => (said, source),
    };
    let expires_at = moment(value, "expires_at", bounds)?.map(|at| at.at).filter(|_| tier == Tier::Incidents);
    let confidence = match value.get("confidence") {
        None | Some(Value::Null) => None,
        Some(number) => {
            let number = number.as_f64().filter(|number| (0.0..=1.0).contains(number));
            Some(number.ok_or("confidence: must be a number from 0 to 1")?)
        }
    };
    let body = body.trim();
    Ok(Draft {
        tier,
        topic: line(value, "topic", NAME_CHARS_MAX)?.unwrap_or_default(),
        speaker: line(value, "speaker", NAME_CHARS_MAX)?.unwrap_or_default(),
        body: if body.is_empty() { format!("# {title}\n") } else { format!("# {title}\n\n{body}\n") },
        name: title,
        cues,
        entities: lines(value, "entities", ENTITIES_MAX, NAME_CHARS_MAX)?,
        occurred,
        occurred_source,
        messages,
        links: Vec::new(),
        relations: relations(value, bounds)?,
        inferred_tags: tags,
        confidence,
        expires_at,
    })
}

/// When the messages were said, and how that is known: the first one's own time, else the conversation's.
fn said(messages: &[usize], bounds: &Bounds<'_>) -> (Moment, OccurredSource) {
    let own = messages.first().and_then(|first| bounds.conversation.messages.get(*first)?.occurred_at);
    match (own, bounds.conversation.occurred_at) {
        (Some(at), _) => (at, OccurredSource::Said),
        (None, Some(at)) => (at, OccurredSource::User),
        (None, None) => {
            let at = Moment { at: bounds.accepted_at, precision: OccurredPrecision::Instant };
            (at, OccurredSource::Written)
        }
    }
}

fn known(value: &Value, bounds: &Bounds<'_>) -> Result<String, String> {
    let path = text(value, "path")?.ok_or("path: it needs the path of a known memory")?;
    match bounds.known.contains(&path.as_str()) {
        true => Ok(path),
        false => Err(format!("path: {} is not among the known memories", shown(&path))),
    }
}

fn messages(value: &Value, bounds: &Bounds<'_>) -> Result<Vec<usize>, String> {
    let wrong = || format!("messages: must be indexes from {} to {}", bounds.messages.start(), bounds.messages.end());
    let indexes = value.get("messages").and_then(Value::as_array).ok_or_else(wrong)?;
    let index = |index: &Value| Some(index.as_u64()? as usize).filter(|index| bounds.messages.contains(index));
    let mut indexes = indexes.iter().map(index).collect::<Option<Vec<usize>>>().ok_or_else(wrong)?;
    indexes.sort_unstable();
    indexes.dedup();
    if indexes.is_empty() { Err(wrong()) } else { Ok(indexes) }
}

fn relations(value: &Value, bounds: &Bounds<'_>) -> Result<Vec<Relation>, String> {
    let listed = match value.get("relations") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(listed)) if listed.len() <= RELATIONS_MAX => listed,
        Some(_) => return Err(format!("relations: must be an array of at most {RELATIONS_MAX}")),
    };
    let relation = |relation: &Value| {
        let to = text(relation, "to")?.unwrap_or_default();
        if !bounds.known.contains(&to.as_str()) {
            return Err(format!("relations: {} is not among the known memories", shown(&to)));
        }
        let kind = line(relation, "kind", NAME_CHARS_MAX)?.unwrap_or_else(|| "relates".into());
        Ok(Relation { path: to, kind, snippet: String::new() })
    };
    listed.iter().map(relation).collect()
}

fn moment(value: &Value, field: &str, bounds: &Bounds<'_>) -> Result<Option<Moment>, String> {
    let Some(text) = text(value, field)? else { return Ok(None) };
    let moment = time::parse(&text, &bounds.conversation.zone()).and_then(time::TimeInput::moment);
    moment.map(Some).ok_or_else(|| format!("{field}: {} is neither YYYY-MM-DD nor RFC 3339", shown(&text)))
}

/// A field's text; none where it is missing, null or blank.
fn text(value: &Value, field: &str) -> Result<Option<String>, String> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            // What git and markdown cannot hold.
            let text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
            Ok(Some(text).filter(|text| !text.trim().is_empty()))
        }
        Some(_) => Err(format!("{field}: must be text")),
    }
}

/// The same on one line.
fn line(value: &Value, field: &str, characters_max: usize) -> Result<Option<String>, String> {
    let Some(text) = text(value, field)? else { return Ok(None) };
    one_line(&text, field, characters_max).map(Some)
}

fn one_line(text: &str, field: &str, characters_max: usize) -> Result<String, String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() <= characters_max {
        true => Ok(line),
        false => Err(format!("{field}: at most {characters_max} characters are taken")),
    }
}

fn lines(value: &Value, field: &str, count_max: usize, characters_max: usize) -> Result<Vec<String>, String> {
    let listed = match value.get(field) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(listed)) if listed.len() <= count_max => listed,
        Some(_) => return Err(format!("{field}: must be an array of at most {count_max} texts")),
    };
    let line = |text: &Value| {
        let text = text.as_str().ok_or_else(|| format!("{field}: must be texts"))?;
        one_line(text, field, characters_max)
    };
    let mut lines = listed.iter().map(line).collect::<Result<Vec<String>, String>>()?;
    lines.retain(|line| !line.is_empty());
    Ok(lines)
}

/// What a model wrote, fit for a reason.
fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(SHOWN_CHARS_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn conversation() -> Conversation {
        let body = json!({
            "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
            "occurred_at": "2026-05-01",
            "timezone": "Asia/Tokyo",
        });
        crate::memory::request::conversation(body.as_object().expect("an object")).expect("valid")
    }

    fn checked(value: &Value) -> Result<Operation, String> {
        let conversation = conversation();
        let known = vec!["facts/ann/job.md", "incidents/ann/trip.md"];
        let bounds = Bounds { conversation: &conversation, accepted_at: Timestamp::UNIX_EPOCH, messages: 0..=1, known };
        check(value, &bounds)
    }

    fn new() -> Value {
        json!({
            "op": "new", "path": null, "tier": "facts", "topic": "Ann", "title": "Ann sails", "body": "On Sundays.",
            "cues": ["What does Ann do?"], "tags": ["Sport"], "entities": ["Ann"], "speaker": "Ann",
            "occurred_at": null, "expires_at": null, "confidence": 0.9, "messages": [1], "relations": [],
        })
    }

    #[test]
    fn a_new_memory_is_taken_over_whole() {
        let Ok(Operation::New(draft)) = checked(&new()) else { panic!("not taken") };
        assert_eq!(draft.body, "# Ann sails\n\nOn Sundays.\n");
        assert_eq!(draft.cues, ["Ann sails", "What does Ann do?"]);
        assert_eq!(draft.inferred_tags, ["sport"]);
        assert_eq!((draft.occurred_source, draft.messages), (OccurredSource::User, vec![1]));
    }

    #[test]
    fn whatever_breaks_a_rule_is_refused_with_its_field() {
        let long = "x".repeat(9000);
        for (field, value, told) in [
            ("op", json!("delete"), "op:"),
            ("tier", json!("../../etc"), "tier:"),
            ("tier", json!(null), "tier:"),
            ("title", json!(""), "title:"),
            ("title", json!(long), "title:"),
            ("title", json!(7), "title:"),
            ("body", json!(long), "body:"),
            ("cues", json!(vec!["x"; 13]), "cues:"),
            ("cues", json!("x"), "cues:"),
            ("tags", json!(["<b>"]), "tags:"),
            ("occurred_at", json!("last week"), "occurred_at:"),
            ("confidence", json!(1.5), "confidence:"),
            ("messages", json!([2]), "messages:"),
            ("messages", json!([]), "messages:"),
            ("messages", json!(["1"]), "messages:"),
            ("relations", json!([{"to": "facts/other.md", "kind": "x"}]), "relations:"),
        ] {
            let mut operation = new();
            operation[field] = value;
            let reason = checked(&operation).expect_err("refused");
            assert!(reason.starts_with(told) && !reason.contains('\n'), "{field}: {reason}");
        }
    }

    #[test]
    fn only_memories_that_were_shown_are_changed_and_only_incidents_expire() {
        let mut operation = new();
        operation["op"] = json!("rewrite");
        for path in ["facts/ann/other.md", "../x.md", "facts/ann/../ann/job.md", ""] {
            operation["path"] = json!(path);
            assert!(checked(&operation).is_err_and(|reason| reason.starts_with("path:")), "{path}");
        }
        operation["path"] = json!("facts/ann/job.md");
        operation["tier"] = json!("skills");
        let Ok(Operation::Rewrite { path, draft }) = checked(&operation) else { panic!("not taken") };
        assert_eq!((path.as_str(), draft.tier), ("facts/ann/job.md", Tier::Facts));
        operation["op"] = json!("expire");
        operation["expires_at"] = json!("2026-06-01");
        assert!(checked(&operation).is_err_and(|reason| reason.contains("only incidents expire")));
        operation["path"] = json!("incidents/ann/trip.md");
        assert!(matches!(checked(&operation), Ok(Operation::Expire { .. })));
    }

    #[test]
    fn the_schema_asks_for_every_field_as_strict_servers_want_it() {
        let schema = schema();
        let operation = &schema["properties"]["operations"]["items"];
        let required = operation["required"].as_array().expect("a list").len();
        assert_eq!(required, operation["properties"].as_object().expect("fields").len());
    }

    proptest! {
        #[test]
        fn any_json_is_taken_or_refused_on_one_line(
            field in "(op|path|tier|topic|title|body|cues|tags|entities|speaker|occurred_at|confidence|messages|relations)",
            text in "\\PC{0,40}",
            number in any::<f64>(),
        ) {
            for value in [json!(text), json!(number), json!([text]), json!({"to": text}), json!([{"to": text}])] {
                let mut operation = new();
                operation[&field] = value;
                if let Err(reason) = checked(&operation) {
                    prop_assert!(!reason.contains('\n'));
                }
            }
        }
    }
}
