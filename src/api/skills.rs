//! `/v1/skills`: stores, finds and lists skills.

use std::time::Instant;

use cuebase_retrieval::Filter;
use cuebase_storage::memory_file::{MemoryPath, Tier};
use cuebase_storage::records::SentTime;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::conditions::conditions;
use super::future_times::warn_of_time;
use super::limits::LINE_CHARS_MAX;
use super::query::{PageSize, QueryString};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve::search_text;
use super::schema::values;
use super::values::{directory, line, lines, memory_path, milliseconds_since};
use super::views::skills::SkillsView;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::fields::{Object, request_type};
use crate::memory::file_names::slug;
use crate::memory::request::{check_count, invalid_body, occurred};
use crate::memory::skill::SkillDraft;
use crate::memory::{metadata, tags};
use crate::service::retrieval::RetrievalRequest;
use crate::service::skills::SkillLocation;

/// Most skills of one request.
const SKILLS_MAX: usize = 100;
/// Most characters of a name.
const NAME_CHARS_MAX: usize = 200;
/// Most bytes of a procedure.
const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Most triggers of one skill.
const TRIGGERS_MAX: usize = 64;
/// Most characters of one trigger.
const TRIGGER_CHARS_MAX: usize = 1000;
/// Skills in a response.
const PAGE: PageSize = PageSize { default: 20, max: 200 };

request_type! {
    /// The body of `POST /v1/skills`.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct StoreRequest {
        #[schemars(default, with = "values::WantedName")]
        namespace: Option<String> => InvalidNamespace,
        #[schemars(with = "Vec<SkillRequest>", length(min = 1, max = SKILLS_MAX))]
        skills: Option<Vec<Object<SkillRequest>>> => InvalidSkill,
    }
}

request_type! {
    /// A skill of a request.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[schemars(
        inline,
        description = "",
        // A skill has a description, a content, or both.
        extend("anyOf" = [
            {
                "type": "object",
                "properties": {"description": {"type": "string", "minLength": 1}},
                "required": ["description"],
            },
            {"type": "object", "properties": {"content": {"type": "string", "minLength": 1}}, "required": ["content"]},
        ])
    )]
    pub(super) struct SkillRequest {
        #[schemars(with = "values::Refined<values::Line>", extend("maxLength" = NAME_CHARS_MAX))]
        name: Option<String>,
        #[schemars(default, with = "values::OrEmpty<values::Line>")]
        description: Option<String>,
        /// Markdown. Its headings become sections.
        content: Option<String>,
        /// Directory under `skills/`; `general` by default. An invalid name is converted to a valid one.
        topic: Option<String>,
        /// Path to store the skill at: under `skills/`, ending in `.md`. Overrides `topic`.
        #[schemars(default, with = "values::OrEmpty<values::NewSkillPath>")]
        path: Option<String>,
        #[schemars(default, with = "values::Tags")]
        tags: Option<Vec<String>> => InvalidTag,
        #[schemars(default, with = "values::Metadata")]
        metadata: Option<Map<String, Value>> => InvalidMetadata,
        /// Cues of the skill; its name and description by default.
        #[schemars(length(max = TRIGGERS_MAX), inner(length(max = TRIGGER_CHARS_MAX)))]
        triggers: Option<Vec<String>>,
        #[schemars(with = "Option<Number>", range(min = 0, max = 1))]
        confidence: Option<f64>,
        /// Time of the skill. Overrides `date`.
        #[schemars(default, with = "values::Refined<values::GivenTime>")]
        occurred_at: Option<SentTime>,
        #[schemars(default, with = "values::GivenTime")]
        date: Option<SentTime>,
    }
}

/// `POST /v1/skills`.
pub fn store(request: &AuthenticatedRequest) -> Result<Reply> {
    let body: StoreRequest = request.json()?;
    let skills = body.skills.unwrap_or_default();
    check_count("skills", &skills, ErrorCode::NoSkills, (SKILLS_MAX, ErrorCode::TooManySkills))?;
    let mut drafts = Vec::with_capacity(skills.len());
    for (index, Object(skill)) in skills.iter().enumerate() {
        match skill.draft() {
            Ok((location, draft)) => {
                warn_of_time(request, &format!("skills[{index}].occurred_at"), draft.occurred);
                drafts.push((location, draft));
            }
            Err(error) => return Err(error_of_skill(index, error)),
        }
    }
    let namespace = request.writable_namespace(body.namespace.as_deref())?;
    let (id, paths) = request.app.skills.accept(&namespace, drafts, &request.body, Some(request.sender()))?;
    Reply::accepted_skills(id, &namespace.name, paths)
}

/// Adds the index of the skill to an error. A skill's own fields have the code `invalid_skill`.
fn error_of_skill(index: usize, error: Error) -> Error {
    match error {
        Error::Invalid { code: ErrorCode::InvalidBody | ErrorCode::InvalidTime, message } => {
            Error::invalid(ErrorCode::InvalidSkill, format!("skills[{index}]: {message}"))
        }
        Error::Invalid { code, message } => Error::invalid(code, format!("skills[{index}]: {message}")),
        other => other,
    }
}

impl SkillRequest {
    /// Checks the skill. The path of the draft is not assigned yet.
    fn draft(&self) -> Result<(SkillLocation, SkillDraft)> {
        let Some(name) = line("name", self.name.as_deref(), NAME_CHARS_MAX)? else {
            return Err(invalid_body("name is missing"));
        };
        let description = line("description", self.description.as_deref(), LINE_CHARS_MAX)?;
        let content = self.content.as_deref().unwrap_or("").trim();
        if description.is_none() && content.is_empty() {
            return Err(invalid_body("either description or content must be present"));
        }
        if content.len() > CONTENT_BYTES_MAX {
            return Err(invalid_body(format!("content has more than {CONTENT_BYTES_MAX} bytes")));
        }
        let confidence = self.confidence()?;
        let sent = self.triggers.as_deref().unwrap_or_default();
        let mut triggers = lines("triggers", sent, TRIGGERS_MAX, TRIGGER_CHARS_MAX)?;
        if triggers.is_empty() {
            triggers.push(name.clone());
            triggers.extend(description.clone());
        }
        let location = self.location()?;
        let draft = SkillDraft {
            path: String::new(),
            name,
            description,
            content: if content.is_empty() { None } else { Some(content.to_owned()) },
            tags: tags::check("tags", self.tags.clone())?,
            triggers,
            confidence,
            occurred: occurred(self.occurred_at.as_ref(), self.date.as_ref(), &TimeZone::UTC)?,
            metadata: metadata::check(self.metadata.as_ref())?,
        };
        Ok((location, draft))
    }

    fn confidence(&self) -> Result<Option<f64>> {
        match self.confidence {
            None => Ok(None),
            Some(number) if (0.0..=1.0).contains(&number) => Ok(Some(number)),
            Some(_) => Err(invalid_body("confidence must be a number from 0 to 1")),
        }
    }

    /// Returns where to store the skill: at its `path`, else in the directory of its `topic`. Both fields are checked.
    fn location(&self) -> Result<SkillLocation> {
        let topic = match &self.topic {
            Some(text) => topic(text)?,
            None => None,
        };
        let path = self.path.as_deref().unwrap_or("");
        if path.is_empty() {
            return Ok(SkillLocation::Topic(topic));
        }
        let path = memory_path(path)?;
        if path.tier() != Tier::Skills {
            return Err(Error::invalid(ErrorCode::InvalidPath, format!("path: {path} is not under skills/")));
        }
        Ok(SkillLocation::Path(path.to_string()))
    }
}

/// Returns the directory of a topic below `skills/`; `None` where it is blank. Segments that are not valid names become
/// slugs.
fn topic(text: &str) -> Result<Option<String>> {
    let text = text.trim().trim_matches('/');
    if text.is_empty() {
        return Ok(None);
    }
    if check_topic(text).is_ok() {
        return Ok(Some(text.to_owned()));
    }
    let mut slugs = Vec::new();
    for segment in text.split('/') {
        if segment.is_empty() || segment.starts_with('.') || segment.contains('\\') {
            let message = format!("topic: {text:?} does not name a directory under skills/");
            return Err(Error::invalid(ErrorCode::InvalidPath, message));
        }
        slugs.push(slug(segment, "topic"));
    }
    let topic = slugs.join("/");
    if let Err(error) = check_topic(&topic) {
        return Err(Error::invalid(ErrorCode::InvalidPath, format!("topic: {text:?}: {error}")));
    }
    Ok(Some(topic))
}

/// Checks that a skill in the directory of a topic can have a path.
fn check_topic(topic: &str) -> cuebase_storage::Result<MemoryPath> {
    format!("skills/{topic}/skill.md").parse()
}

/// `GET /v1/skills`.
pub fn list(request: &AuthenticatedRequest) -> Result<Reply> {
    let start = Instant::now();
    let namespace = request.read_namespace()?;
    let mut search = search(&request.query)?;
    search.budget = request.reply_budget.clone();
    let skills = request.app.skills.find(request.account(), &namespace, &search)?;
    Reply::ok(&SkillsView { namespace: &namespace, skills, millis: milliseconds_since(start) })
}

/// Checks the query of `GET /v1/skills`.
fn search(query: &QueryString) -> Result<RetrievalRequest> {
    let filter = Filter {
        tiers: vec![Tier::Skills.name().into()],
        folders: folders(query)?,
        tags_any: tags::check_all("tags", query.list("tags"))?,
        conditions: conditions(query.values("where").whole())?,
        ..Filter::default()
    };
    let text = search_text(query.get("q"));
    Ok(RetrievalRequest { query: text, filter, limit: query.page_limit(PAGE)?, ..RetrievalRequest::default() })
}

/// Returns the directories of the parameter `paths`, which may omit `skills/`.
fn folders(query: &QueryString) -> Result<Vec<String>> {
    let mut folders = Vec::new();
    for topic in query.list("paths") {
        let topic = topic.strip_prefix("skills/").unwrap_or(&topic);
        folders.push(directory("paths", &format!("skills/{topic}"))?);
    }
    Ok(folders)
}
