//! `/v1/vocab`: teaches, lists, resolves and forgets terms.

use std::time::Instant;

use cuebase_storage::records::{FingerprintSubject, QueuedWork, TermRecord};
use serde_json::{Map, Value, json};

use super::query::PageSize;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::values::{milliseconds_since, on_one_line};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::request::{entries, text};
use crate::memory::terms::{TermDraft, identity};

/// Most terms of one request.
const TERMS_MAX: usize = 200;
/// Most characters of a term or an alias.
const TERM_CHARS_MAX: usize = 120;
/// Most aliases of one term.
const ALIASES_MAX: usize = 100;
/// Most characters of a definition.
const DEFINITION_CHARS_MAX: usize = 2000;
/// Terms in a page.
const PAGE: PageSize = PageSize { default: 200, max: 1000 };

/// `POST /v1/vocab`.
pub fn teach(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: Map<String, Value> = request.json()?;
    let mut drafts = Vec::new();
    let mut subjects = Vec::new();
    let entries = entries(&body, "terms", ErrorCode::NoTerms, (TERMS_MAX, ErrorCode::TooManyTerms))?;
    for (index, value) in entries.iter().enumerate() {
        match draft(value) {
            Ok(draft) => {
                subjects.push(FingerprintSubject::term(&identity(&draft.term)));
                drafts.push(draft);
            }
            Err(reason) => return Err(Error::invalid(ErrorCode::InvalidTerm, format!("terms[{index}]: {reason}"))),
        }
    }
    let namespace = request.writable_namespace(text(&body, "namespace")?)?;
    let work = QueuedWork::Teach { request: serde_json::to_value(drafts).map_err(Error::internal)? };
    let id = request.service.accept(&namespace, work, Some(&request.body), &subjects)?;
    Reply::accepted(id, &namespace.name)
}

fn draft(value: &Value) -> Result<TermDraft, String> {
    let Some(fields) = value.as_object() else { return Err("must be an object".into()) };
    let term = surface_form(fields.get("term")).map_err(|reason| format!("term {reason}"))?;
    Ok(TermDraft { aliases: aliases(fields, &term)?, definition: definition(fields)?, term })
}

/// Returns the aliases of a term, without repeats and without the term itself.
fn aliases(fields: &Map<String, Value>, term: &str) -> Result<Vec<String>, String> {
    let sent = match fields.get("aliases") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(sent)) if sent.len() <= ALIASES_MAX => sent,
        Some(_) => return Err(format!("aliases must be an array of at most {ALIASES_MAX} strings")),
    };
    let mut aliases: Vec<String> = Vec::new();
    for (index, alias) in sent.iter().enumerate() {
        let alias = surface_form(Some(alias)).map_err(|reason| format!("aliases[{index}] {reason}"))?;
        if alias != term && !aliases.contains(&alias) {
            aliases.push(alias);
        }
    }
    Ok(aliases)
}

fn definition(fields: &Map<String, Value>) -> Result<String, String> {
    let definition = match fields.get("definition") {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text.trim(),
        Some(_) => return Err("definition must be a string".into()),
    };
    if definition.chars().count() > DEFINITION_CHARS_MAX {
        return Err(format!("definition is longer than {DEFINITION_CHARS_MAX} characters"));
    }
    Ok(definition.replace("\r\n", "\n"))
}

/// Returns a surface form: one line with at least one letter or digit.
fn surface_form(value: Option<&Value>) -> Result<String, String> {
    let Some(Value::String(text)) = value else { return Err("must be a string".into()) };
    let text = on_one_line(text);
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
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let start = Instant::now();
    let namespace = request.read_namespace()?;
    if let Some(word) = request.query.get("word") {
        let term = request.service.resolve_term(request.account(), &namespace, word)?;
        let mut body = json!({
            "namespace": namespace,
            "word": word,
            "found": term.is_some(),
            "millis": milliseconds_since(start),
        });
        if let Some(record) = &term {
            body["term"] = term_json(record);
        }
        return Reply::ok(&body);
    }
    let limit = request.query.page_limit(PAGE)?;
    let records = request.service.terms(request.account(), &namespace, request.query.get("like"), limit)?;
    let terms: Vec<Value> = records.iter().map(term_json).collect();
    Reply::ok(&json!({"namespace": namespace, "terms": terms, "millis": milliseconds_since(start)}))
}

fn term_json(record: &TermRecord) -> Value {
    let TermRecord { path, term, aliases, definition, .. } = record;
    json!({"path": path, "term": term, "aliases": aliases, "definition": definition})
}

/// `DELETE /v1/vocab`.
pub fn forget(request: &AuthenticatedRequest) -> Result<Reply> {
    let terms = request.query.list("term");
    if terms.is_empty() {
        return Err(Error::invalid(
            ErrorCode::MissingTerm,
            "term is empty: send the terms to forget, separated by commas",
        ));
    }
    if terms.len() > TERMS_MAX {
        let message = format!("{} terms, the maximum per request is {TERMS_MAX}", terms.len());
        return Err(Error::TooLarge { code: ErrorCode::TooManyTerms, message });
    }
    let namespace = request.write_namespace()?;
    let subjects: Vec<FingerprintSubject> =
        terms.iter().map(|term| FingerprintSubject::term(&identity(term))).collect();
    let id = request.service.accept(&namespace, QueuedWork::ForgetTerms { terms }, None, &subjects)?;
    Reply::accepted(id, &namespace.name)
}
