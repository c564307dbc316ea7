//! The operations of a model: their schema, and the check of each one.
//!
//! A model cannot choose the path of a new memory, and can rewrite or expire only memories that it was shown. Therefore
//! no text of a conversation can make it change a file outside the four tiers, or a memory unrelated to the
//! conversation.

use std::ops::RangeInclusive;

use cuebase_language::extract::draft::{Draft, Inferred};
use cuebase_language::standing::STANDING_TAG;
use cuebase_language::standing::statement::standing;
use cuebase_storage::memory_file::{Claim, OccurredPrecision, OccurredSource, Polarity, Relation, Tier};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::memory::conversation::{Conversation, Moment, Role};
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
/// Claims of one memory.
const CLAIMS_MAX: usize = 16;
/// Characters of a model's text in an error.
const SHOWN_CHARS_MAX: usize = 80;

/// An operation that passed the check.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Writes a new memory.
    New(Draft),
    /// Rewrites a memory.
    Rewrite {
        /// The memory's path.
        path: String,
        /// The new content.
        draft: Draft,
    },
    /// Expires an incident.
    Expire {
        /// The memory's path.
        path: String,
        /// When it expires.
        at: Timestamp,
    },
}

impl Operation {
    /// The draft that the operation writes, if any.
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            Self::New(draft) | Self::Rewrite { draft, .. } => Some(draft),
            Self::Expire { .. } => None,
        }
    }
}

/// What an operation can refer to.
pub(super) struct OperationContext<'a> {
    pub(super) conversation: &'a Conversation,
    pub(super) accepted_at: Timestamp,
    /// The messages that the model was shown.
    pub(super) messages: RangeInclusive<usize>,
    /// The paths of the memories that the model was shown.
    pub(super) known: Vec<&'a str>,
}

/// Returns the JSON schema of an answer.
pub(super) fn schema() -> Value {
    let text = json!({"type": ["string", "null"]});
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let relation = json!({
        "type": "object",
        "properties": {"to": {"type": "string"}, "kind": {"type": "string"}},
        "required": ["to", "kind"],
        "additionalProperties": false,
    });
    let claim = json!({
        "type": "object",
        "properties": {
            "subject": {"type": "string"},
            "attribute": {"type": "string"},
            "value": {"type": "string"},
            "polarity": {"type": "string", "enum": ["positive", "negative"]},
            "from": text,
        },
        "required": ["subject", "attribute", "value", "polarity", "from"],
        "additionalProperties": false,
    });
    let fields = json!({
        "op": {"type": "string", "enum": ["new", "rewrite", "expire"]},
        "path": text,
        "tier": {"type": ["string", "null"], "enum": ["facts", "incidents", "rules", "skills", null]},
        "topic": text,
        "title": text,
        "body": text,
        "cues": texts,
        "tags": texts,
        "entities": texts,
        "speaker": text,
        "occurred_at": text,
        "expires_at": text,
        "confidence": {"type": ["number", "null"]},
        "messages": {"type": "array", "items": {"type": "integer"}},
        "relations": {"type": "array", "items": relation},
        "claims": {"type": "array", "items": claim},
    });
    // Strict servers demand that every field is required.
    let names: Vec<&String> = fields.as_object().into_iter().flatten().map(|(name, _)| name).collect();
    let operation = json!({"type": "object", "properties": fields, "required": names, "additionalProperties": false});
    json!({
        "type": "object",
        "properties": {"operations": {"type": "array", "items": operation}},
        "required": ["operations"],
        "additionalProperties": false,
    })
}

/// Checks an operation. An error is one line, and begins with the name of the field.
pub(super) fn check(value: &Value, context: &OperationContext<'_>) -> Result<Operation, String> {
    if !value.is_object() {
        return Err("an operation must be an object".into());
    }
    match text(value, "op")?.as_deref() {
        Some("new") => Ok(Operation::New(draft(value, context, None)?)),
        Some("rewrite") => {
            let path = known_path(value, context)?;
            let draft = draft(value, context, Some(&path))?;
            Ok(Operation::Rewrite { path, draft })
        }
        Some("expire") => {
            let path = known_path(value, context)?;
            if !path.starts_with("incidents/") {
                return Err(format!("path: {path} is not an incident, and only incidents expire; rewrite it instead"));
            }
            let moment = moment(value, "expires_at", context)?.ok_or("expires_at: must be a time")?;
            Ok(Operation::Expire { path, at: moment.at })
        }
        other => Err(format!("op: {} is none of new, rewrite, expire", shorten(other.unwrap_or("nothing")))),
    }
}

fn draft(value: &Value, context: &OperationContext<'_>, path: Option<&str>) -> Result<Draft, String> {
    let tier = draft_tier(value, path)?;
    let title = line(value, "title", TITLE_CHARS_MAX)?.ok_or("title: must not be empty")?;
    let body = body(value, &title)?;
    let mut cues = lines(value, "cues", CUES_MAX, CUE_CHARS_MAX)?;
    // The title is a cue too.
    cues.insert(0, title.clone());
    cues.dedup();
    let tags = lines(value, "tags", TAGS_MAX, NAME_CHARS_MAX)?;
    let mut tags = tags::check_all("tags", tags).map_err(|error| error.to_string())?;
    let messages = messages(value, context)?;
    if states_what_stands(&body, &messages, context) && !tags.iter().any(|tag| tag == STANDING_TAG) {
        tags.push(STANDING_TAG.to_owned());
    }
    let (occurred, occurred_source) = match moment(value, "occurred_at", context)? {
        Some(moment) => (moment, OccurredSource::Extracted),
        None => said_at(&messages, context),
    };
    let said_at = match occurred_source {
        OccurredSource::Extracted => Some(said_at(&messages, context).0.at),
        _ => None,
    };
    let expires_at = match moment(value, "expires_at", context)? {
        Some(moment) if tier == Tier::Incidents => Some(moment.at),
        _ => None,
    };
    let confidence = confidence(value)?;
    Ok(Draft {
        before: Vec::new(),
        tier,
        topic: line(value, "topic", NAME_CHARS_MAX)?.unwrap_or_default(),
        speaker: line(value, "speaker", NAME_CHARS_MAX)?.unwrap_or_default(),
        body,
        name: title,
        cues,
        entities: lines(value, "entities", ENTITIES_MAX, NAME_CHARS_MAX)?,
        occurred,
        occurred_source,
        messages,
        links: Vec::new(),
        inferred: Inferred {
            claims: claims(value, context)?,
            relations: relations(value, context)?,
            tags,
            occurred_until: None,
            said_at,
            confidence,
            expires_at,
        },
    })
}

/// Whether a user states a condition or a rule, as the built-in extraction decides it.
fn states_what_stands(body: &str, messages: &[usize], context: &OperationContext<'_>) -> bool {
    for message in messages {
        let said = context.conversation.messages.get(*message);
        if said.is_none_or(|said| said.role != Role::User) {
            return false;
        }
    }
    !standing(body).is_nothing()
}

/// Returns the tier of a memory. A memory at a path stays in its tier.
fn draft_tier(value: &Value, path: Option<&str>) -> Result<Tier, String> {
    let tier = match path {
        Some(path) => path.split('/').next().unwrap_or(path).to_owned(),
        None => text(value, "tier")?.ok_or("tier: a new memory needs one")?,
    };
    Tier::named(&tier).ok_or_else(|| format!("tier: {} is none of facts, incidents, rules, skills", shorten(&tier)))
}

/// Returns the markdown of a memory: its title and its body.
fn body(value: &Value, title: &str) -> Result<String, String> {
    let Some(body) = text(value, "body")? else { return Ok(format!("# {title}\n")) };
    if body.chars().count() > BODY_CHARS_MAX {
        return Err(format!("body: must have at most {BODY_CHARS_MAX} characters"));
    }
    Ok(format!("# {title}\n\n{}\n", body.trim()))
}

fn confidence(value: &Value) -> Result<Option<f64>, String> {
    let number = match value.get("confidence") {
        None | Some(Value::Null) => return Ok(None),
        Some(number) => number.as_f64(),
    };
    match number {
        Some(number) if (0.0..=1.0).contains(&number) => Ok(Some(number)),
        _ => Err("confidence: must be a number from 0 to 1".into()),
    }
}

/// Returns when messages were said, and how that is known: the time of the first one, else that of the conversation,
/// else that of its acceptance.
fn said_at(messages: &[usize], context: &OperationContext<'_>) -> (Moment, OccurredSource) {
    if let Some(first) = messages.first()
        && let Some(message) = context.conversation.messages.get(*first)
        && let Some(moment) = message.occurred_at
    {
        return (moment, OccurredSource::Said);
    }
    match context.conversation.occurred_at {
        Some(moment) => (moment, OccurredSource::User),
        None => {
            let moment = Moment { at: context.accepted_at, precision: OccurredPrecision::Instant };
            (moment, OccurredSource::Written)
        }
    }
}

fn known_path(value: &Value, context: &OperationContext<'_>) -> Result<String, String> {
    let path = text(value, "path")?.ok_or("path: must be the path of a known memory")?;
    if context.known.contains(&path.as_str()) {
        return Ok(path);
    }
    Err(format!("path: {} is not among the known memories", shorten(&path)))
}

fn messages(value: &Value, context: &OperationContext<'_>) -> Result<Vec<usize>, String> {
    let range = &context.messages;
    let mut indexes = Vec::new();
    let mut is_valid = true;
    for index in value.get("messages").and_then(Value::as_array).into_iter().flatten() {
        match index.as_u64() {
            Some(index) if range.contains(&(index as usize)) => indexes.push(index as usize),
            _ => is_valid = false,
        }
    }
    if !is_valid || indexes.is_empty() {
        return Err(format!("messages: must be indexes from {} to {}", range.start(), range.end()));
    }
    indexes.sort_unstable();
    indexes.dedup();
    Ok(indexes)
}

fn relations(value: &Value, context: &OperationContext<'_>) -> Result<Vec<Relation>, String> {
    let list = match value.get("relations") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= RELATIONS_MAX => list,
        Some(_) => return Err(format!("relations: must be an array of at most {RELATIONS_MAX}")),
    };
    let mut relations = Vec::with_capacity(list.len());
    for relation in list {
        let path = text(relation, "to")?.unwrap_or_default();
        if !context.known.contains(&path.as_str()) {
            return Err(format!("relations: {} is not among the known memories", shorten(&path)));
        }
        let kind = line(relation, "kind", NAME_CHARS_MAX)?.unwrap_or_else(|| "relates".into());
        relations.push(Relation { path, kind: kind.into(), snippet: String::new() });
    }
    Ok(relations)
}

/// Checks the claims of a memory.
fn claims(value: &Value, context: &OperationContext<'_>) -> Result<Vec<Claim>, String> {
    let list = match value.get("claims") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= CLAIMS_MAX => list,
        Some(_) => return Err(format!("claims: must be an array of at most {CLAIMS_MAX}")),
    };
    let mut claims = Vec::with_capacity(list.len());
    for claim in list {
        let subject = line(claim, "subject", NAME_CHARS_MAX)?.ok_or("claims: a claim has no subject")?;
        let attribute = line(claim, "attribute", NAME_CHARS_MAX)?.ok_or("claims: a claim has no attribute")?;
        let polarity = match text(claim, "polarity")?.as_deref() {
            None | Some("positive") => Polarity::Positive,
            Some("negative") => Polarity::Negative,
            Some(other) => return Err(format!("claims: polarity {} is neither positive nor negative", shorten(other))),
        };
        let value = line(claim, "value", CUE_CHARS_MAX)?.unwrap_or_default();
        if value.is_empty() && polarity == Polarity::Positive {
            return Err("claims: a claim has no value".into());
        }
        let from = moment(claim, "from", context)?.map(|moment| moment.at);
        claims.push(Claim { subject, attribute, value, polarity, from });
    }
    Ok(claims)
}

fn moment(value: &Value, field: &str, context: &OperationContext<'_>) -> Result<Option<Moment>, String> {
    let Some(text) = text(value, field)? else { return Ok(None) };
    if let Some(time) = time::parse(&text, &context.conversation.zone())
        && let Some(moment) = time.moment()
    {
        return Ok(Some(moment));
    }
    Err(format!("{field}: {} is neither YYYY-MM-DD nor RFC 3339", shorten(&text)))
}

/// Returns the text of a field; none if it is missing, null or blank.
fn text(value: &Value, field: &str) -> Result<Option<String>, String> {
    let text = match value.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(_) => return Err(format!("{field}: must be text")),
    };
    // Git and markdown cannot hold other control characters.
    let text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    if text.trim().is_empty() {
        return Ok(None);
    }
    Ok(Some(text))
}

/// Returns the text of a field on one line; none if it is missing, null or blank.
fn line(value: &Value, field: &str, characters_max: usize) -> Result<Option<String>, String> {
    match text(value, field)? {
        Some(text) => Ok(Some(one_line(&text, field, characters_max)?)),
        None => Ok(None),
    }
}

fn one_line(text: &str, field: &str, characters_max: usize) -> Result<String, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() > characters_max {
        return Err(format!("{field}: must have at most {characters_max} characters"));
    }
    Ok(line)
}

/// Returns the texts of an array, each on one line, without empty ones.
fn lines(value: &Value, field: &str, count_max: usize, characters_max: usize) -> Result<Vec<String>, String> {
    let list = match value.get(field) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= count_max => list,
        Some(_) => return Err(format!("{field}: must be an array of at most {count_max} texts")),
    };
    let mut lines = Vec::with_capacity(list.len());
    for text in list {
        let Some(text) = text.as_str() else { return Err(format!("{field}: must be texts")) };
        let line = one_line(text, field, characters_max)?;
        if !line.is_empty() {
            lines.push(line);
        }
    }
    Ok(lines)
}

/// Quotes and shortens a text of the model for an error.
fn shorten(text: &str) -> String {
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
        let context = OperationContext {
            conversation: &conversation,
            accepted_at: Timestamp::UNIX_EPOCH,
            messages: 0..=1,
            known,
        };
        check(value, &context)
    }

    fn new() -> Value {
        json!({
            "op": "new", "path": null, "tier": "facts", "topic": "Ann", "title": "Ann sails", "body": "On Sundays.",
            "cues": ["What does Ann do?"], "tags": ["Sport"], "entities": ["Ann"], "speaker": "Ann",
            "occurred_at": null, "expires_at": null, "confidence": 0.9, "messages": [1], "relations": [],
        })
    }

    #[test]
    fn all_fields_of_a_new_memory_are_used() {
        let Ok(Operation::New(draft)) = checked(&new()) else { panic!("not accepted") };
        assert_eq!(draft.body, "# Ann sails\n\nOn Sundays.\n");
        assert_eq!(draft.cues, ["Ann sails", "What does Ann do?"]);
        assert_eq!(draft.inferred.tags, ["sport"]);
        assert_eq!((draft.occurred_source, draft.messages), (OccurredSource::User, vec![1]));
    }

    #[test]
    fn a_condition_that_the_user_states_is_tagged_as_standing() {
        let mut operation = new();
        operation["title"] = json!("Ann is allergic to penicillin");
        let Ok(Operation::New(draft)) = checked(&operation) else { panic!("not accepted") };
        assert_eq!(draft.inferred.tags, ["sport", STANDING_TAG]);
    }

    #[test]
    fn an_error_names_the_invalid_field() {
        let long = "x".repeat(9000);
        for (field, value, prefix) in [
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
            (
                "claims",
                json!([{"subject": "Ann", "attribute": "home", "value": "", "polarity": "positive"}]),
                "claims:",
            ),
            ("claims", json!([{"subject": "Ann", "attribute": "home", "value": "x", "polarity": "maybe"}]), "claims:"),
            ("claims", json!("Ann lives in Oslo"), "claims:"),
        ] {
            let mut operation = new();
            operation[field] = value;
            let reason = checked(&operation).expect_err("refused");
            assert!(reason.starts_with(prefix) && !reason.contains('\n'), "{field}: {reason}");
        }
    }

    #[test]
    fn only_shown_memories_change_and_only_incidents_expire() {
        let mut operation = new();
        operation["op"] = json!("rewrite");
        for path in ["facts/ann/other.md", "../x.md", "facts/ann/../ann/job.md", ""] {
            operation["path"] = json!(path);
            assert!(checked(&operation).is_err_and(|reason| reason.starts_with("path:")), "{path}");
        }
        operation["path"] = json!("facts/ann/job.md");
        operation["tier"] = json!("skills");
        let Ok(Operation::Rewrite { path, draft }) = checked(&operation) else { panic!("not accepted") };
        assert_eq!((path.as_str(), draft.tier), ("facts/ann/job.md", Tier::Facts));
        operation["op"] = json!("expire");
        operation["expires_at"] = json!("2026-06-01");
        assert!(checked(&operation).is_err_and(|reason| reason.contains("only incidents expire")));
        operation["path"] = json!("incidents/ann/trip.md");
        assert!(matches!(checked(&operation), Ok(Operation::Expire { .. })));
    }

    #[test]
    fn the_schema_requires_every_field() {
        let schema = schema();
        let operation = &schema["properties"]["operations"]["items"];
        let required = operation["required"].as_array().expect("a list").len();
        assert_eq!(required, operation["properties"].as_object().expect("fields").len());
    }

    proptest! {
        #[test]
        fn any_json_is_accepted_or_refused_with_one_line(
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
