//! `GET /v1/retrieve` and `POST /v1/retrieve`: checks the parameters and searches.

use std::time::Duration;

use cuebase_language::relevance::{Admission, asking_part};
use cuebase_retrieval::{Currency, Explain, Filter, TimeField};
use cuebase_storage::NamespaceName;
use cuebase_storage::memory_file::Tier;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Number, Value};

use super::conditions::{CONDITIONS_MAX, conditions};
use super::named_namespaces::NamedNamespaces;
use super::query::{ParameterValues, QueryString, integer};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::schema::values;
use super::values::directory;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::gateway::Principal;
use crate::memory::fields::{Field, Fields, joined, names, request_type};
use crate::memory::request::{is_short_line, zone_or_utc};
use crate::memory::tags::{self, TAGS_MAX};
use crate::memory::time::{self, TimeInput};
use crate::memory::values::{NAME_CHARS_MAX, PRINTABLE_PATTERN};
use crate::service::retrieval::{HitDetail, ReadMode, Reading, ReplyBudget, RetrievalRequest, is_user_unclear};

request_type! {
    /// What a retrieval asks for, not checked yet: the parameters of `GET /v1/retrieve`, and the fields of
    /// `POST /v1/retrieve`, `POST /v1/answer` and `POST /v1/explain`. [`RetrieveFilter`] has the filters,
    /// [`RetrieveTarget`] the namespace.
    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default)]
    #[schemars(extend("required" = ["q"]))]
    pub(super) struct RetrieveQuery {
        /// The question.
        #[schemars(required, regex(pattern = r"\S"))]
        pub(super) q: Option<String>,
        /// Name of the person who asks, for whom "I" and "my" stand.
        #[schemars(length(max = NAME_CHARS_MAX), regex(pattern = PRINTABLE_PATTERN))]
        user: Option<String>,
        #[schemars(with = "values::QueryZone")]
        timezone: ParameterValues,
        #[schemars(with = "values::QueryTime")]
        as_of: ParameterValues,
        #[schemars(with = "Value", extend("enum" = ["first", "only", "any"]))]
        current: ParameterValues,
        /// Which hits are returned: all, or those that their scores admit.
        #[schemars(with = "Value", extend("enum" = ["all", "recall", "balanced", "strict"]))]
        admit: ParameterValues,
        #[schemars(with = "Number", range(min = 0, max = 1))]
        min_score: ParameterValues,
        #[schemars(with = "values::Integer", range(min = 1, max = LIMIT_MAX))]
        limit: ParameterValues,
        /// `full` adds revisions, the last diff, relations, cues and sources to the hits.
        #[schemars(example = &"full")]
        detail: Option<String>,
        /// Whether hits come with an explanation of their score.
        #[schemars(with = "bool")]
        explain: ParameterValues,
        /// How many of the best candidates the reader reads: as many as fit `read_budget_ms`, as many as it ever reads, or none.
        #[schemars(with = "Value", extend("enum" = ["auto", "always", "off"]))]
        read: ParameterValues,
        /// How long the reader may take with `read=auto`, in milliseconds. By default the setting `model.read_budget_ms`.
        #[schemars(with = "values::Integer", range(min = 0, max = READ_BUDGET_MAX))]
        read_budget_ms: ParameterValues,
    }
}

request_type! {
    /// The filters of a retrieval. A memory must meet all of them.
    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default)]
    pub(super) struct RetrieveFilter {
        #[schemars(with = "Vec<values::Tier>")]
        tiers: ParameterValues,
        #[schemars(with = "Vec<values::Folder>")]
        paths: ParameterValues,
        #[schemars(with = "Vec<values::QueryTag>", length(max = TAGS_MAX))]
        tags: ParameterValues,
        #[schemars(with = "Vec<values::QueryTag>", length(max = TAGS_MAX))]
        tags_all: ParameterValues,
        #[schemars(with = "values::QueryTime")]
        since: ParameterValues,
        #[schemars(with = "values::QueryTime")]
        until: ParameterValues,
        #[schemars(with = "Value", extend("enum" = ["occurred", "created", "updated"]))]
        time_field: ParameterValues,
        /// Conditions on the metadata.
        #[schemars(with = "Vec<values::Condition>", length(max = CONDITIONS_MAX))]
        r#where: ParameterValues,
    }
}

request_type! {
    /// Where a retrieval searches.
    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default)]
    pub(super) struct RetrieveTarget {
        #[schemars(with = "values::WantedNames")]
        pub(super) namespace: Option<NamedNamespaces> => InvalidNamespace,
    }
}

/// All fields of a retrieval.
pub const FIELDS: [Field; RetrieveTarget::FIELDS.len() + SEARCH_FIELDS.len()] =
    joined(RetrieveTarget::FIELDS, &SEARCH_FIELDS);
/// All fields of a retrieval but its namespace.
pub(super) const SEARCH_FIELDS: [Field; RetrieveQuery::FIELDS.len() + RetrieveFilter::FIELDS.len()] =
    joined(RetrieveQuery::FIELDS, RetrieveFilter::FIELDS);
/// Names of the query parameters.
pub const PARAMETERS: &[&str] = &names::<{ FIELDS.len() }>(&FIELDS);
/// Hits when no limit is given.
const LIMIT_DEFAULT: usize = 24;
/// Most hits that a request can ask for.
const LIMIT_MAX: usize = 200;
/// Most milliseconds that a request can give the reader.
const READ_BUDGET_MAX: usize = 10_000;
/// Bytes of a query that are read, to find what it asks. A longer query is cut, not refused.
const QUERY_BYTES_MAX: usize = 64 << 10;
/// Characters of a query that are searched for. Of a longer one the beginning and the end count, where people write what
/// they want.
const SEARCHED_CHARS_MAX: usize = 8192;

/// The body of `POST /v1/retrieve`, the parameters of `GET /v1/retrieve`, and that of `POST /v1/answer`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only describes the three parts as one")]
pub(super) struct RetrieveBody {
    #[serde(flatten)]
    target: RetrieveTarget,
    #[serde(flatten)]
    query: RetrieveQuery,
    #[serde(flatten)]
    filter: RetrieveFilter,
}

/// `GET /v1/retrieve` and `POST /v1/retrieve`.
pub fn retrieve(request: &AuthenticatedRequest) -> Result<Reply> {
    let namespaces = request.read_namespaces()?;
    let mut search = self::request(&request.query)?;
    search.budget = request.reply_budget.clone();
    let found = request.app.reads.retrieve(request.account(), &namespaces, &search)?;
    warn_of_unclear_user(request, &namespaces, &search);
    Reply::ok(&found)
}

/// Adds a warning if the query speaks of the person who asks, and several people speak in the namespaces.
pub(super) fn warn_of_unclear_user(
    request: &AuthenticatedRequest,
    namespaces: &[NamespaceName],
    search: &RetrievalRequest,
) {
    if is_user_unclear(&request.app.reads, request.account(), namespaces, search) {
        let warning = "several people speak here, and it is not clear who \"I\" is: send the name of the person who \
                       asks as \"user\"";
        request.unknown.warn(warning.to_owned());
    }
}

/// Returns the namespace as the caller named it, for the bodies of errors. Several are separated by commas.
pub fn named_namespace(query: &QueryString, principal: Option<&Principal>) -> String {
    if let Some(named) = NamedNamespaces::of_query(query) {
        return named.to_string();
    }
    match principal.and_then(Principal::scope) {
        Some(scope) => scope.to_string(),
        None => NamespaceName::default().to_string(),
    }
}

/// Checks the query string.
pub fn request(query: &QueryString) -> Result<RetrievalRequest> {
    RetrieveQuery::of(query).request(&RetrieveFilter::of(query))
}

impl RetrieveQuery {
    /// Takes the parameters of a query string.
    fn of(query: &QueryString) -> Self {
        Self {
            q: query.get("q").map(str::to_owned),
            user: query.get("user").map(str::to_owned),
            timezone: query.values("timezone"),
            as_of: query.values("as_of"),
            current: query.values("current"),
            admit: query.values("admit"),
            min_score: query.values("min_score"),
            limit: query.values("limit"),
            detail: query.get("detail").map(str::to_owned),
            explain: query.values("explain"),
            read: query.values("read"),
            read_budget_ms: query.values("read_budget_ms"),
        }
    }

    /// Whether the request says which hits are admitted.
    pub(super) fn names_admission(&self) -> bool {
        self.admit.last().is_some()
    }

    /// Whether the request says what becomes of memories that no longer hold.
    pub(super) fn names_currency(&self) -> bool {
        self.current.last_sent().is_some()
    }

    /// Checks the values.
    pub(super) fn request(&self, filter: &RetrieveFilter) -> Result<RetrievalRequest> {
        let zone = zone_or_utc(self.timezone.last())?;
        let filter = filter.checked(&zone)?;
        let text = search_text(self.q.as_deref());
        if text.is_none() && filter.is_empty() {
            let message = "send q, or a filter to list by: tags, tags_all, since, until, tiers, paths, where";
            return Err(Error::invalid(ErrorCode::MissingQuery, message));
        }
        let min_score = min_score(self.min_score.last())?;
        let limit = match self.limit.last() {
            Some(limit) => integer("limit", limit, 1..=LIMIT_MAX, ErrorCode::InvalidLimit)?,
            None => LIMIT_DEFAULT,
        };
        Ok(RetrievalRequest {
            query: text,
            user: user_name(self.user.as_deref())?,
            filter,
            min_score,
            admission: admission("admit", self.admit.last())?.unwrap_or_default(),
            as_of: as_of(self.as_of.last_sent(), &zone)?,
            currency: currency(self.current.last_sent())?,
            limit,
            zone: Some(zone),
            detail: HitDetail { full: self.detail.as_deref() == Some("full"), explain: explain(self.explain.last())? },
            reading: reading(self.read.last(), self.read_budget_ms.last())?,
            budget: ReplyBudget::default(),
        })
    }
}

impl RetrieveFilter {
    /// Takes the parameters of a query string.
    pub(super) fn of(query: &QueryString) -> Self {
        Self {
            tiers: query.values("tiers"),
            paths: query.values("paths"),
            tags: query.values("tags"),
            tags_all: query.values("tags_all"),
            since: query.values("since"),
            until: query.values("until"),
            time_field: query.values("time_field"),
            r#where: query.values("where"),
        }
    }

    /// Checks the values.
    pub(super) fn checked(&self, zone: &TimeZone) -> Result<Filter> {
        let since = match time("since", self.since.last(), zone)? {
            Some(time) => Some(time.since_ms(zone).ok_or_else(out_of_range)?),
            None => None,
        };
        let until = match time("until", self.until.last(), zone)? {
            Some(time) => Some(time.until_ms(zone).ok_or_else(out_of_range)?),
            None => None,
        };
        if let (Some(first), Some(end)) = (since, until)
            && first >= end
        {
            let (since, until) = (self.since.last().unwrap_or(""), self.until.last().unwrap_or(""));
            let message = format!("since: {since:?} is after until: {until:?}; no time is within both");
            return Err(Error::invalid(ErrorCode::InvalidTime, message));
        }
        Ok(Filter {
            tiers: tiers(self.tiers.list())?,
            folders: folders(self.paths.list())?,
            time_field: time_field(self.time_field.last())?,
            tags_any: tags::check_all("tags", self.tags.list())?,
            tags_all: tags::check_all("tags_all", self.tags_all.list())?,
            since,
            until,
            conditions: conditions(self.r#where.whole())?,
        })
    }
}

fn time(name: &str, text: Option<&str>, zone: &TimeZone) -> Result<Option<TimeInput>> {
    let Some(text) = text else { return Ok(None) };
    if let Some(time) = time::parse(text, zone) {
        return Ok(Some(time));
    }
    let forms = "use RFC 3339, YYYY-MM-DD, a datetime without offset, or epoch seconds";
    Err(Error::invalid(ErrorCode::InvalidTime, format!("{name}: {text:?} is not a valid time: {forms}")))
}

/// Returns the last millisecond of the named time.
pub(super) fn as_of(text: Option<&str>, zone: &TimeZone) -> Result<Option<i64>> {
    match time("as_of", text, zone)? {
        Some(time) => Ok(Some(time.until_ms(zone).ok_or_else(out_of_range)?.saturating_sub(1))),
        None => Ok(None),
    }
}

pub(super) fn currency(name: Option<&str>) -> Result<Currency> {
    match name {
        None | Some("first") => Ok(Currency::First),
        Some("only") => Ok(Currency::Only),
        Some("any") => Ok(Currency::Any),
        Some(other) => {
            let message = format!("current: {other:?} is not one of first, only, any");
            Err(Error::invalid(ErrorCode::InvalidCurrent, message))
        }
    }
}

fn explain(text: Option<&str>) -> Result<Explain> {
    match text {
        None | Some("false") => Ok(Explain::No),
        Some("true") => Ok(Explain::Yes),
        Some(other) => {
            let message = format!("explain: {other:?} is not true or false");
            Err(Error::invalid(ErrorCode::InvalidParameter, message))
        }
    }
}

/// Returns which candidates are read.
fn reading(mode: Option<&str>, budget: Option<&str>) -> Result<Reading> {
    let mode = match mode {
        None => ReadMode::Auto,
        Some(name) => ReadMode::named(name).ok_or_else(|| {
            let message = format!("read: {name:?} is not one of auto, always, off");
            Error::invalid(ErrorCode::InvalidParameter, message)
        })?,
    };
    let budget = match budget {
        None => None,
        Some(text) => {
            let milliseconds = integer("read_budget_ms", text, 0..=READ_BUDGET_MAX, ErrorCode::InvalidParameter)?;
            Some(Duration::from_millis(milliseconds as u64))
        }
    };
    Ok(Reading { mode, budget })
}

/// Returns the level of admission with a name. `parameter` is the parameter that the error names.
pub(super) fn admission(parameter: &str, name: Option<&str>) -> Result<Option<Admission>> {
    let Some(name) = name else { return Ok(None) };
    let Some(admission) = Admission::named(name) else {
        let message = format!("{parameter}: {name:?} is not one of all, recall, balanced, strict");
        return Err(Error::invalid(ErrorCode::InvalidAdmit, message));
    };
    Ok(Some(admission))
}

fn out_of_range() -> Error {
    Error::invalid(ErrorCode::InvalidTime, "since, until or as_of is out of range")
}

fn tiers(names: Vec<String>) -> Result<Vec<String>> {
    let mut tiers = Vec::with_capacity(names.len());
    for name in names {
        let Some(tier) = Tier::named(&name) else {
            let message = format!("tiers: {name:?}: tier: must be one of facts, incidents, rules, skills");
            return Err(Error::invalid(ErrorCode::InvalidTier, message));
        };
        tiers.push(tier.name().into());
    }
    Ok(tiers)
}

fn folders(paths: Vec<String>) -> Result<Vec<String>> {
    let mut folders = Vec::with_capacity(paths.len());
    for path in paths {
        folders.push(directory("paths", &path)?);
    }
    Ok(folders)
}

fn time_field(name: Option<&str>) -> Result<TimeField> {
    match name {
        None | Some("updated") => Ok(TimeField::Updated),
        Some("occurred") => Ok(TimeField::Occurred),
        Some("created") => Ok(TimeField::Created),
        Some(other) => {
            let message = format!("time_field: {other:?} is not one of occurred, created, updated");
            Err(Error::invalid(ErrorCode::InvalidTimeField, message))
        }
    }
}

/// Returns the text that a query searches for. Of a long query this is what it asks, wherever that stands. `None` where
/// the query is blank.
pub(super) fn search_text(q: Option<&str>) -> Option<String> {
    let text = q?.trim();
    if text.is_empty() {
        return None;
    }
    if text.chars().nth(SEARCHED_CHARS_MAX).is_none() {
        return Some(text.to_owned());
    }
    let text = &text[..text.floor_char_boundary(QUERY_BYTES_MAX)];
    let asked = asking_part(text);
    let count = asked.chars().count();
    if count <= SEARCHED_CHARS_MAX {
        return Some(asked.into_owned());
    }
    let half = SEARCHED_CHARS_MAX / 2;
    let mut searched: String = asked.chars().take(half).collect();
    searched.push('\n');
    searched.extend(asked.chars().skip(count - half + 1));
    Some(searched)
}

/// Checks the name of the person who asks. `None` where it is blank.
pub(super) fn user_name(name: Option<&str>) -> Result<Option<String>> {
    let Some(name) = name else { return Ok(None) };
    let name = name.trim();
    if !is_short_line(name) {
        let message = format!("user: a name has at most {NAME_CHARS_MAX} characters on one line");
        return Err(Error::invalid(ErrorCode::InvalidParameter, message));
    }
    Ok(if name.is_empty() { None } else { Some(name.to_owned()) })
}

fn min_score(text: Option<&str>) -> Result<f32> {
    let Some(text) = text else { return Ok(0.0) };
    if let Ok(score) = text.parse::<f32>()
        && (0.0..=1.0).contains(&score)
    {
        return Ok(score);
    }
    Err(Error::invalid(ErrorCode::InvalidScore, format!("min_score: {text:?} is not a number from 0 to 1")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(query: &str) -> String {
        match request(&QueryString::parse(query)) {
            Ok(_) => "ok".into(),
            Err(Error::Invalid { code, .. }) => code.to_string(),
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn every_parameter_is_checked() {
        for (query, expected) in [
            ("q=x", "ok"),
            ("tags=a", "ok"),
            ("until=2026-01-01", "ok"),
            ("", "missing_query"),
            ("q=+", "missing_query"),
            ("limit=5", "missing_query"),
            ("q=x&tiers=facts,notes", "invalid_tier"),
            ("q=x&since=soon", "invalid_time"),
            ("q=x&timezone=Mars/Base", "invalid_timezone"),
            ("q=x&limit=0", "invalid_limit"),
            ("q=x&limit=201", "invalid_limit"),
            ("q=x&min_score=2", "invalid_score"),
            ("q=x&min_score=nan", "invalid_score"),
            ("q=x&tags=a!", "invalid_tag"),
            ("q=x&paths=../etc", "invalid_path"),
            ("q=x&time_field=when", "invalid_time_field"),
            ("q=x&as_of=soon", "invalid_time"),
            ("q=x&as_of=", "invalid_time"),
            ("q=x&current=", "invalid_current"),
            ("q=x&current=maybe", "invalid_current"),
            ("q=x&admit=balanced", "ok"),
            ("q=x&admit=most", "invalid_admit"),
            ("q=x&explain=true", "ok"),
            ("q=x&explain=yes", "invalid_parameter"),
            ("q=x&read=always", "ok"),
            ("q=x&read=some", "invalid_parameter"),
            ("q=x&read_budget_ms=0", "ok"),
            ("q=x&read_budget_ms=-1", "invalid_parameter"),
            ("q=x&user=Mara+Lind", "ok"),
            ("q=x&user=a%0Ab", "invalid_parameter"),
            ("where=team:a,b&where=size%3E=2", "ok"),
            ("where=", "missing_query"),
            ("since=2026-01-01&until=2026-01-01", "ok"),
            ("since=2026-01-01T10:00:00Z&until=2026-01-01T10:00:00Z", "ok"),
            ("since=2026-01-01T10:00:00.001Z&until=2026-01-01T10:00:00Z", "invalid_time"),
            ("q=x&since=2026-01-02&until=2026-01-01", "invalid_time"),
            ("q=x&where=a%3C1&where=a%3E2", "invalid_where"),
            ("q=x&where=team", "invalid_where"),
        ] {
            assert_eq!(code(query), expected, "{query}");
        }
    }

    #[test]
    fn a_long_query_is_searched_for_what_it_asks() {
        let log = "at java.base/java.lang.Thread.run(Thread.java:833)\n".repeat(500);
        let query = format!("{log}{log}What did I say about the boiler? {log}");
        assert!(query.len() > QUERY_BYTES_MAX);
        let searched = search_text(Some(&query)).expect("a text");
        assert!(searched.contains("What did I say about the boiler?") && searched.len() < 500, "{searched}");
    }

    #[test]
    fn the_beginning_and_the_end_of_a_long_text_that_asks_nothing_are_searched_for() {
        let query = format!("first {} last", "wörter und ".repeat(4000));
        let searched = search_text(Some(&query)).expect("a text");
        assert_eq!(searched.chars().count(), SEARCHED_CHARS_MAX);
        assert!(searched.starts_with("first wörter") && searched.ends_with("und  last"), "{searched}");
        assert_eq!(search_text(Some(" short ")).as_deref(), Some("short"));
        assert_eq!(search_text(Some("  ")), None);
    }

    proptest! {
        #[test]
        fn any_query_string_is_read_or_refused(raw in "\\PC{0,120}", named in "(q|since|until|limit|tags|paths|timezone|where)=\\PC{0,40}") {
            let _ = code(&raw);
            let _ = code(&named);
        }
    }
}
