//! `/v1/vocab`: teaching, listing, resolving and forgetting terms.

use std::time::Instant;

use cuebase_storage::records::{FingerprintSubject, QueuedWork, TermRecord};
use serde_json::{Map, Value, json};

use super::{AuthenticatedRequest, Reply};
use crate::error::{Error, Result};
use crate::memory::request::{entries, text};
use crate::memory::terms::{TermDraft, identity};

/// Terms of one request.
const TERMS_MAX: usize = 200;
/// Characters of a term or an alias.
const TERM_CHARS_MAX: usize = 120;
/// Aliases of one term.
const ALIASES_MAX: usize = 100;
/// Characters of a definition.
const DEFINITION_CHARS_MAX: usize = 2000;
/// Terms of a listing when no limit is given, and at most.
const LISTED: (usize, usize) = (200, 1000);

/// `POST /v1/vocab`.
pub fn teach(call: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = call.json()?;
    let terms = entries(&body, "terms", "no_terms", (TERMS_MAX, "too_many_terms"))?;
    let drafts = terms.iter().enumerate().map(|(index, value)| {
        draft(value).map_err(|reason| Error::invalid("invalid_term", format!("terms[{index}]: {reason}")))
    });
    let drafts = drafts.collect::<Result<Vec<TermDraft>>>()?;
    let namespace = call.writable(text(&body, "namespace")?)?;
    let subjects: Vec<FingerprintSubject> =
        drafts.iter().map(|draft| FingerprintSubject::term(&identity(&draft.term))).collect();
    let work = QueuedWork::Teach { request: serde_json::to_value(drafts).map_err(Error::internal)? };
    let id = call.service.accept(&namespace, work, Some(&call.body), &subjects)?;
    Reply::accepted(&id.to_string(), &namespace.name)
}

fn draft(value: &Value) -> Result<TermDraft, String> {
    let fields = value.as_object().ok_or("must be an object")?;
    let term = surface(fields.get("term")).map_err(|reason| format!("term {reason}"))?;
    let aliases = match fields.get("aliases") {
        None | Some(Value::Null) => &Vec::new(),
        Some(Value::Array(aliases)) if aliases.len() <= ALIASES_MAX => aliases,
        Some(_) => return Err(format!("aliases must be an array of at most {ALIASES_MAX} texts")),
    };
    let mut kept: Vec<String> = Vec::new();
    for (index, alias) in aliases.iter().enumerate() {
        let alias = surface(Some(alias)).map_err(|reason| format!("aliases[{index}] {reason}"))?;
        if alias != term && !kept.contains(&alias) {
            kept.push(alias);
        }
    }
    let definition = match fields.get("definition") {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text.trim(),
        Some(_) => return Err("definition must be text".into()),
    };
    if definition.chars().count() > DEFINITION_CHARS_MAX {
        return Err(format!("definition is longer than {DEFINITION_CHARS_MAX} characters"));
    }
    let definition = definition.replace("\r\n", "\n");
    Ok(TermDraft { term, aliases: kept, definition })
}

/// A surface form: one line, a letter or digit in it, white space as single spaces.
fn surface(value: Option<&Value>) -> Result<String, String> {
    let text = value.and_then(Value::as_str).ok_or("must be text")?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() > TERM_CHARS_MAX {
        return Err(format!("is longer than {TERM_CHARS_MAX} characters"));
    }
    if !text.chars().any(char::is_alphanumeric) {
        return Err("must contain a letter or digit".into());
    }
    if text.chars().any(char::is_control) {
        return Err("must not contain control characters".into());
    }
    Ok(text)
}

/// `GET /v1/vocab`.
pub fn list(call: &AuthenticatedRequest) -> Result<Reply> {
    let began = Instant::now();
    let namespace = call.read_namespace()?;
    if let Some(word) = call.query.get("word") {
        let term = call.service.resolve_term(call.account(), &namespace, word)?;
        let mut body = json!({
            "namespace": namespace,
            "word": word,
            "found": term.is_some(),
            "millis": millis(began),
        });
        if let Some(TermRecord { path, term, aliases, definition, .. }) = term {
            body["term"] = json!({"path": path, "term": term, "aliases": aliases, "definition": definition});
        }
        return Reply::ok(&body);
    }
    let limit = call.query.capped("limit", LISTED)?;
    let terms = call.service.terms(call.account(), &namespace, call.query.get("like"), limit)?;
    let listed = |record: &TermRecord| {
        let TermRecord { path, term, aliases, definition, .. } = record;
        json!({"path": path, "term": term, "aliases": aliases, "definition": definition})
    };
    let terms: Vec<Value> = terms.iter().map(listed).collect();
    Reply::ok(&json!({"namespace": namespace, "terms": terms, "millis": millis(began)}))
}

/// Whole milliseconds since then.
pub(super) fn millis(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// `DELETE /v1/vocab`.
pub fn forget(call: &AuthenticatedRequest) -> Result<Reply> {
    let terms = call.query.list("term");
    if terms.is_empty() {
        return Err(Error::invalid("missing_term", "term is empty: name the terms to forget, comma-separated"));
    }
    if terms.len() > TERMS_MAX {
        let message = format!("{} terms, at most {TERMS_MAX} are taken at once", terms.len());
        return Err(Error::TooLarge { code: "too_many_terms", message });
    }
    let namespace = call.write_namespace()?;
    let subjects: Vec<FingerprintSubject> =
        terms.iter().map(|term| FingerprintSubject::term(&identity(term))).collect();
    let id = call.service.accept(&namespace, QueuedWork::ForgetTerms { terms }, None, &subjects)?;
    Reply::accepted(&id.to_string(), &namespace.name)
}
