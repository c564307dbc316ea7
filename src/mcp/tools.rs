//! The tools. Their descriptions are written for a model that has to choose between tools without knowing the service.
//!
//! Every name begins with `memory_`: a host lists the tools of all its servers together, and other servers also have a
//! `read` and a `write`.

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value, json};

use super::api::{Api, ApiRequest};
use super::arguments::{
    Answer, Context, Explain, Forget, Profile, Read, Recall, Remember, Skills, Topics, Write, unknown_names,
};
use super::budget::{CHARACTERS_DEFAULT, CHARACTERS_RANGE};
use super::render::{self, HitSelection, Page, Refusal, add_warning, with_warnings};
use super::responses::{MemoryWritten, Received};
use crate::agent_text::escape_strings;
use crate::error_codes::ErrorCode;
use crate::service::context::ContextResponse;
use crate::service::profile::ProfileResponse;
use crate::service::retrieval::ExplainResponse;

/// Hits when a call gives no limit: an agent's context is small.
const HITS_DEFAULT: u32 = 8;
/// Skills for a task when a call gives no limit; each is a whole procedure.
const SKILLS_DEFAULT: u32 = 3;
/// Valid limits, the same as those of the API.
const LIMIT_RANGE: RangeInclusive<u32> = 1..=200;
/// Hits requested from the API beyond the limit, so that the text can count the hits that it leaves out.
const HITS_COUNTED: u32 = 16;
/// Most skills of a list without a task.
const SKILLS_LISTED: usize = 100;
/// Lowest score when a call gives none. A score is a calibrated probability, so fewer than one in a hundred of the hits
/// Bytes of a query that are sent in the address. Servers and proxies limit its length.
const ADDRESS_QUERY_BYTES_MAX: usize = 2000;
/// below it is relevant. It halves the hits and drops 6 % of the right ones; 0.02 would drop 12 % (docs/evaluation.md).
const MIN_SCORE_DEFAULT: f64 = 0.01;
/// Characters that are percent-encoded in a path.
const PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

static ROUTER: LazyLock<ToolRouter<Tools>> = LazyLock::new(Tools::tool_router);

/// The tools, and the API that they call.
#[derive(Clone)]
pub struct Tools {
    api: Arc<dyn Api>,
    /// The namespace of calls that name none; `None` for the credential's own.
    namespace: Option<String>,
}

/// Encodes the query of a URL. Empty values are left out.
fn query(parameters: &[(&str, Option<String>)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value
            && !value.is_empty()
        {
            query.append_pair(name, value);
        }
    }
    query.finish()
}

/// Returns parameters as the fields of a body. A repeated one is an array.
fn fields(parameters: &[(&str, Option<String>)]) -> Value {
    let mut fields: Map<String, Value> = Map::new();
    for (name, value) in parameters {
        let Some(value) = value else { continue };
        if value.is_empty() {
            continue;
        }
        if let Value::Array(values) = fields.entry((*name).to_owned()).or_insert_with(|| json!([])) {
            values.push(json!(value));
        }
    }
    Value::Object(fields)
}

fn memory_target(path: &str) -> String {
    format!("/v1/memories/{}", utf8_percent_encode(path.trim_start_matches('/'), &PATH))
}

/// Checks the arguments that decide which hits are shown.
fn hit_selection(limit: u32, min_score: Option<f64>, max_characters: Option<u32>) -> Result<HitSelection, String> {
    if !LIMIT_RANGE.contains(&limit) {
        let (least, most) = LIMIT_RANGE.into_inner();
        return Err(format!("invalid_limit: limit must be from {least} to {most}, not {limit}"));
    }
    let min_score = min_score.unwrap_or(MIN_SCORE_DEFAULT);
    if !(0.0..=1.0).contains(&min_score) {
        return Err(format!("invalid_score: min_score must be from 0 to 1, not {min_score}"));
    }
    let requested = (limit + HITS_COUNTED).min(*LIMIT_RANGE.end());
    Ok(HitSelection {
        limit: limit as usize,
        requested: requested as usize,
        min_score,
        max_characters: characters(max_characters)?,
    })
}

fn page(offset: Option<u32>, max_characters: Option<u32>) -> Result<Page, String> {
    Ok(Page { offset: offset.unwrap_or(0) as usize, max_characters: characters(max_characters)? })
}

fn characters(max_characters: Option<u32>) -> Result<usize, String> {
    let Some(characters) = max_characters else { return Ok(CHARACTERS_DEFAULT) };
    let characters = characters as usize;
    if !CHARACTERS_RANGE.contains(&characters) {
        let (least, most) = CHARACTERS_RANGE.into_inner();
        return Err(format!("invalid_max_characters: max_characters must be from {least} to {most}, not {characters}"));
    }
    Ok(characters)
}

/// Returns the refusal for a response that cannot be decoded.
fn unreadable(error: &serde_json::Error) -> Refusal {
    Refusal {
        code: "unreadable".into(),
        text: format!(
            "unreadable: the response cannot be decoded: {error}. Ask the user to check the server's address."
        ),
    }
}

impl Tools {
    /// Makes the tools of an API. `namespace` is the namespace of calls that name none.
    pub fn new(api: Arc<dyn Api>, namespace: Option<String>) -> Self {
        Self { api, namespace }
    }

    /// Returns the namespace of a call: the argument, else the default of the tools.
    fn namespace_of(&self, argument: Option<String>) -> Option<String> {
        match argument {
            Some(name) if !name.is_empty() => Some(name),
            _ => self.namespace.clone(),
        }
    }

    /// Sends a request to the API and returns the body of the response, with texts that an agent cannot take for turns.
    ///
    /// # Errors
    ///
    /// An error response of the API, a response that cannot be decoded, or a server that cannot be reached.
    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        target: String,
        body: Option<Value>,
    ) -> Result<Received<T>, Refusal> {
        let mut response = match self.api.send(ApiRequest { method, target, body }).await {
            Ok(response) => response,
            Err(error) => {
                return Err(Refusal {
                    code: "unreachable".into(),
                    text: format!("unreachable: {error:#}. Ask the user to check that `cuebase serve` is running."),
                });
            }
        };
        // Before the text is laid out, so that it stays within its budget.
        escape_strings(&mut response.body);
        if response.status >= 300 {
            return Err(render::refusal(&response));
        }
        Received::decode(response.body).map_err(|error| unreadable(&error))
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, query: &str) -> Result<Received<T>, Refusal> {
        self.send(Method::GET, format!("{path}?{query}"), None).await
    }

    /// Sends a query with its other parameters. A long one goes into a body.
    async fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        asked: String,
        mut parameters: Vec<(&str, Option<String>)>,
    ) -> Result<Received<T>, Refusal> {
        let is_long = asked.len() > ADDRESS_QUERY_BYTES_MAX;
        parameters.push(("q", Some(asked)));
        if is_long {
            return self.send(Method::POST, path.to_owned(), Some(fields(&parameters))).await;
        }
        self.get(path, &query(&parameters)).await
    }
}

#[tool_router]
impl Tools {
    #[tool(
        name = "memory_remember",
        description = "Store what was said so that it can be recalled in later conversations. Use it when the user \
                       states something lasting (facts about them, preferences, decisions, events), or asks to \
                       remember. memory_recall finds it a moment later."
    )]
    async fn remember(&self, Parameters(arguments): Parameters<Remember>) -> Result<String, String> {
        let mut body = json!({"messages": arguments.messages, "tags": arguments.tags});
        if !arguments.metadata.is_empty() {
            body["metadata"] = json!(arguments.metadata);
        }
        let fields = [
            ("occurred_at", arguments.occurred_at),
            ("session_id", arguments.session_id),
            ("namespace", self.namespace_of(arguments.namespace)),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        let response: Received<IgnoredAny> = self.send(Method::POST, "/v1/memories".into(), Some(body)).await?;
        Ok(with_warnings("Accepted; it can be recalled in a moment.".into(), &response.warnings))
    }

    #[tool(
        name = "memory_recall",
        description = "Search long-term memory. Use it before answering whenever earlier conversations may matter. Each \
                       hit starts with the probability that it is relevant and the path of the memory; hits below \
                       min_score are left out, and a long memory is shortened (memory_read returns all of it).",
        annotations(read_only_hint = true)
    )]
    async fn recall(&self, Parameters(arguments): Parameters<Recall>) -> Result<String, String> {
        let selection =
            hit_selection(arguments.limit.unwrap_or(HITS_DEFAULT), arguments.min_score, arguments.max_characters)?;
        let time_field = match (&arguments.since, &arguments.until) {
            (None, None) => None,
            _ => Some("occurred".to_owned()),
        };
        // min_score is not sent: the hits below it are counted here.
        let mut parameters = vec![
            ("limit", Some(selection.requested.to_string())),
            ("tiers", Some(arguments.tiers.join(","))),
            ("tags", Some(arguments.tags.join(","))),
            ("since", arguments.since),
            ("until", arguments.until),
            ("time_field", time_field),
            ("as_of", arguments.as_of),
            ("namespace", self.namespace_of(arguments.namespace)),
        ];
        for condition in arguments.r#where {
            parameters.push(("where", Some(condition)));
        }
        let response = self.ask("/v1/retrieve", arguments.query, parameters).await?;
        Ok(with_warnings(render::hits(&response.body, &selection), &response.warnings))
    }

    #[tool(
        name = "memory_read",
        description = "Read one memory by its path, or one section of it. A memory longer than max_characters is \
                       returned in parts: the last line names the offset of the next part.",
        annotations(read_only_hint = true)
    )]
    async fn read(&self, Parameters(arguments): Parameters<Read>) -> Result<String, String> {
        let page = page(arguments.offset, arguments.max_characters)?;
        let parameters =
            query(&[("section", arguments.section), ("namespace", self.namespace_of(arguments.namespace))]);
        match self.get(&memory_target(&arguments.path), &parameters).await {
            Ok(response) => Ok(with_warnings(render::memory(&response.body, &page), &response.warnings)),
            // That a memory does not exist is a result, not an error of the tool.
            Err(refusal) if refusal.code == ErrorCode::NotFound.as_str() => {
                Ok(format!("{}. memory_recall and memory_topics return paths.", refusal.text))
            }
            Err(refusal) => Err(refusal.text),
        }
    }

    #[tool(
        name = "memory_write",
        description = "Write or replace one memory at a path. Use it to correct a memory, or to keep a text exactly as it \
                       is; for what was said in conversation use memory_remember.",
        annotations(idempotent_hint = true)
    )]
    async fn write(&self, Parameters(arguments): Parameters<Write>) -> Result<String, String> {
        let mut body = json!({"content": arguments.content, "cues": arguments.cues, "tags": arguments.tags});
        if !arguments.metadata.is_empty() {
            body["metadata"] = json!(arguments.metadata);
        }
        if !arguments.supersedes.is_empty() {
            body["supersedes"] = json!(arguments.supersedes);
        }
        let fields = [("valid_from", arguments.valid_from), ("namespace", self.namespace_of(arguments.namespace))];
        for (name, value) in fields {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        let response: Received<MemoryWritten> =
            self.send(Method::POST, memory_target(&arguments.path), Some(body)).await?;
        Ok(with_warnings(format!("Written: {}", response.body.path), &response.warnings))
    }

    #[tool(
        name = "memory_forget",
        description = "Forget one memory by its path, when the user asks for that or it is wrong. Its history stays.",
        annotations(destructive_hint = true, idempotent_hint = true)
    )]
    async fn forget(&self, Parameters(arguments): Parameters<Forget>) -> Result<String, String> {
        let parameters = query(&[("namespace", self.namespace_of(arguments.namespace))]);
        let target = format!("{}?{parameters}", memory_target(&arguments.path));
        let response: Received<IgnoredAny> = self.send(Method::DELETE, target, None).await?;
        Ok(with_warnings("Accepted; it will be forgotten in a moment.".into(), &response.warnings))
    }

    #[tool(
        name = "memory_answer",
        description = "Answer a question from memory alone, with quotations and their paths. For material to think about \
                       use memory_recall instead.",
        annotations(read_only_hint = true)
    )]
    async fn answer(&self, Parameters(arguments): Parameters<Answer>) -> Result<String, String> {
        let mut body = json!({"q": arguments.question});
        if let Some(namespace) = self.namespace_of(arguments.namespace) {
            body["namespace"] = json!(namespace);
        }
        match self.send(Method::POST, "/v1/answer".into(), Some(body)).await {
            Ok(response) => Ok(with_warnings(render::answer(&response.body), &response.warnings)),
            Err(refusal) if refusal.code == ErrorCode::NoAnswer.as_str() => {
                let text = "The memories hold no answer to this. memory_recall with other words may find something \
                            related.";
                Ok(text.into())
            }
            Err(refusal) => Err(refusal.text),
        }
    }

    #[tool(
        name = "memory_context",
        description = "Return everything in memory that is relevant to a message, as text with dates and paths. It is \
                       short and may be empty. Use it at the beginning of a task; for single hits with scores use \
                       memory_recall.",
        annotations(read_only_hint = true)
    )]
    async fn context(&self, Parameters(arguments): Parameters<Context>) -> Result<String, String> {
        // Whoever asks for more tokens has room for them.
        let characters = match arguments.max_tokens {
            Some(_) => *CHARACTERS_RANGE.end(),
            None => CHARACTERS_DEFAULT,
        };
        let parameters = vec![
            ("max_tokens", arguments.max_tokens.map(|tokens| tokens.to_string())),
            ("precision", arguments.precision),
            ("namespace", self.namespace_of(arguments.namespace)),
        ];
        let response: Received<ContextResponse> = self.ask("/v1/context", arguments.query, parameters).await?;
        Ok(with_warnings(render::context(&response.body, characters), &response.warnings))
    }

    #[tool(
        name = "memory_profile",
        description = "List what is known about the user, or about another person or thing: home, employer and the \
                       like, with former values.",
        annotations(read_only_hint = true)
    )]
    async fn profile(&self, Parameters(arguments): Parameters<Profile>) -> Result<String, String> {
        let parameters = query(&[
            ("subject", arguments.subject),
            ("as_of", arguments.as_of),
            ("namespace", self.namespace_of(arguments.namespace)),
        ]);
        let response: Received<ProfileResponse> = self.get("/v1/profile", &parameters).await?;
        Ok(with_warnings(render::profile(&response.body), &response.warnings))
    }

    #[tool(
        name = "memory_explain",
        description = "Explain why memory_recall, with its default limit and min_score, finds a memory for a query or does \
                       not find it. Use it when the user asks why, or when a memory that should come up does not.",
        annotations(read_only_hint = true)
    )]
    async fn explain(&self, Parameters(arguments): Parameters<Explain>) -> Result<String, String> {
        let mut body = json!({
            "q": arguments.query,
            "path": arguments.path,
            "limit": HITS_DEFAULT,
            "min_score": MIN_SCORE_DEFAULT,
        });
        if let Some(namespace) = self.namespace_of(arguments.namespace) {
            body["namespace"] = json!(namespace);
        }
        let response: Received<ExplainResponse> = self.send(Method::POST, "/v1/explain".into(), Some(body)).await?;
        Ok(with_warnings(render::explanation(&response.body), &response.warnings))
    }

    #[tool(
        name = "memory_skills",
        description = "Find procedures (skills) that were learned for a task. Use it before doing something that may have \
                       been done before. Without a task it lists the skills by name.",
        annotations(read_only_hint = true)
    )]
    async fn skills(&self, Parameters(arguments): Parameters<Skills>) -> Result<String, String> {
        let namespace = self.namespace_of(arguments.namespace);
        let Some(task) = arguments.task.filter(|task| !task.trim().is_empty()) else {
            let page = page(arguments.offset, arguments.max_characters)?;
            let parameters = query(&[("limit", Some(SKILLS_LISTED.to_string())), ("namespace", namespace)]);
            let response = self.get("/v1/skills", &parameters).await?;
            return Ok(with_warnings(render::skills(&response.body, &page, SKILLS_LISTED), &response.warnings));
        };
        let selection =
            hit_selection(arguments.limit.unwrap_or(SKILLS_DEFAULT), arguments.min_score, arguments.max_characters)?;
        let limit = selection.requested.to_string();
        let parameters = query(&[("q", Some(task)), ("limit", Some(limit)), ("namespace", namespace)]);
        let response = self.get("/v1/skills", &parameters).await?;
        Ok(with_warnings(render::skills_for_task(&response.body, &selection), &response.warnings))
    }

    #[tool(
        name = "memory_topics",
        description = "List what is remembered: all topics with the number of memories in each, or a directory's entries. \
                       A long list is returned in parts: the last line names the offset of the next part.",
        annotations(read_only_hint = true)
    )]
    async fn topics(&self, Parameters(arguments): Parameters<Topics>) -> Result<String, String> {
        let page = page(arguments.offset, arguments.max_characters)?;
        let namespace = self.namespace_of(arguments.namespace);
        let Some(path) = arguments.path.filter(|path| !path.is_empty()) else {
            let response = self.get("/v1/topics", &query(&[("namespace", namespace)])).await?;
            return Ok(with_warnings(render::topics(&response.body, &page), &response.warnings));
        };
        let parameters = query(&[("path", Some(path)), ("namespace", namespace)]);
        let response = self.get("/v1/tree", &parameters).await?;
        Ok(with_warnings(render::tree(&response.body, &page), &response.warnings))
    }
}

#[tool_handler(
    router = ROUTER,
    name = "cuebase",
    instructions = "Long-term memory. Call memory_recall before answering where earlier conversations may matter, and \
                    memory_remember for what is lasting. Paths name memories: facts, incidents (dated happenings), rules \
                    (preferences and decisions), skills (procedures)."
)]
impl ServerHandler for Tools {
    /// Calls a tool. Its text names unknown arguments, so that a misspelt one is noticed.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut warnings = Vec::new();
        if let (Some(tool), Some(arguments)) = (ROUTER.get(&request.name), &request.arguments) {
            match unknown_names(tool, arguments) {
                Ok(unknown) => warnings = unknown,
                Err(error) => return Ok(CallToolResult::error(vec![ContentBlock::text(error)]).into()),
            }
        }
        let mut response = ROUTER.call(ToolCallContext::new(self, request, context)).await?;
        if let CallToolResponse::Complete(result) = &mut response
            && let Some(ContentBlock::Text(content)) = result.content.first_mut()
        {
            for warning in &warnings {
                add_warning(&mut content.text, warning);
            }
        }
        Ok(response)
    }
}
