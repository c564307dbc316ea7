//! `/v1/vocab`: teaches, lists, resolves and forgets terms.

use std::time::Instant;

use cuebase_storage::records::{FingerprintSubject, QueuedWork};
use schemars::JsonSchema;
use serde::Deserialize;

use super::limits::TERM_CHARS_MAX;
use super::query::PageSize;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::schema::values;
use super::values::{milliseconds_since, on_one_line};
use super::views::vocabulary::{ResolvedTermView, TermView, TermsView};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::fields::{Object, request_type};
use crate::memory::request::check_count;
use crate::memory::terms::{TermDraft, identity};

/// Most terms of one request.
const TERMS_MAX: usize = 200;
/// Most aliases of one term.
const ALIASES_MAX: usize = 100;
/// Most characters of a definition.
const DEFINITION_CHARS_MAX: usize = 2000;
/// Terms in a page.
const PAGE: PageSize = PageSize { default: 200, max: 1000 };

request_type! {
    /// The body of `POST /v1/vocab`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct TeachRequest {
        #[schemars(default, with = "values::WantedName")]
        namespace: Option<String> => InvalidNamespace,
        #[schemars(with = "Vec<TermRequest>", length(min = 1, max = TERMS_MAX))]
        terms: Option<Vec<Object<TermRequest>>> => InvalidTerm,
    }
}

request_type! {
    /// A term of a request.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[schemars(inline, description = "")]
    pub(super) struct TermRequest {
        #[schemars(with = "values::Surface")]
        term: Option<String>,
        /// Other surface forms of the term.
        #[schemars(with = "Option<Vec<values::Surface>>", length(max = ALIASES_MAX))]
        aliases: Option<Vec<String>>,
        #[schemars(length(max = DEFINITION_CHARS_MAX))]
        definition: Option<String>,
    }
}

/// `POST /v1/vocab`.
pub fn teach(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: TeachRequest = request.json()?;
    let terms = body.terms.unwrap_or_default();
    check_count("terms", &terms, ErrorCode::NoTerms, (TERMS_MAX, ErrorCode::TooManyTerms))?;
    let mut drafts = Vec::with_capacity(terms.len());
    let mut subjects = Vec::with_capacity(terms.len());
    for (index, Object(term)) in terms.iter().enumerate() {
        match term.draft() {
            Ok(draft) => {
                subjects.push(FingerprintSubject::term(&identity(&draft.term)));
                drafts.push(draft);
            }
            Err(reason) => return Err(Error::invalid(ErrorCode::InvalidTerm, format!("terms[{index}]: {reason}"))),
        }
    }
    let namespace = request.writable_namespace(body.namespace.as_deref())?;
    let work = QueuedWork::Teach { request: drafts };
    let id = request.app.intake.accept(&namespace, request.sent(work), Some(&request.body), &subjects)?;
    Reply::accepted(id, &namespace.name)
}

impl TermRequest {
    /// Checks the term.
    fn draft(&self) -> Result<TermDraft, String> {
        let Some(term) = &self.term else { return Err("term must be a string".into()) };
        let term = surface_form(term).map_err(|reason| format!("term {reason}"))?;
        let aliases = aliases(self.aliases.as_deref().unwrap_or_default(), &term)?;
        Ok(TermDraft { aliases, definition: definition(self.definition.as_deref().unwrap_or(""))?, term })
    }
}

/// Returns the aliases of a term, without repeats and without the term itself.
fn aliases(sent: &[String], term: &str) -> Result<Vec<String>, String> {
    if sent.len() > ALIASES_MAX {
        return Err(format!("aliases must be an array of at most {ALIASES_MAX} strings"));
    }
    let mut aliases: Vec<String> = Vec::new();
    for (index, alias) in sent.iter().enumerate() {
        let alias = surface_form(alias).map_err(|reason| format!("aliases[{index}] {reason}"))?;
        if alias != term && !aliases.contains(&alias) {
            aliases.push(alias);
        }
    }
    Ok(aliases)
}

fn definition(text: &str) -> Result<String, String> {
    let definition = text.trim();
    if definition.chars().count() > DEFINITION_CHARS_MAX {
        return Err(format!("definition is longer than {DEFINITION_CHARS_MAX} characters"));
    }
    Ok(definition.replace("\r\n", "\n"))
}

/// Returns a surface form: one line with at least one letter or digit.
fn surface_form(text: &str) -> Result<String, String> {
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
        let term = request.app.reads.resolve_term(request.account(), &namespace, word)?;
        return Reply::ok(&ResolvedTermView {
            namespace: &namespace,
            word,
            found: term.is_some(),
            term: term.as_ref().map(TermView::of),
            millis: milliseconds_since(start),
        });
    }
    let limit = request.query.page_limit(PAGE)?;
    let records = request.app.reads.terms(request.account(), &namespace, request.query.get("like"), limit)?;
    let terms = records.iter().map(TermView::of).collect();
    Reply::ok(&TermsView { namespace: &namespace, terms, millis: milliseconds_since(start) })
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
    let work = request.sent(QueuedWork::ForgetTerms { terms });
    let id = request.app.intake.accept(&namespace, work, None, &subjects)?;
    Reply::accepted(id, &namespace.name)
}
