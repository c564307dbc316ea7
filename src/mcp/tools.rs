//! The tools. Their descriptions are written for whoever has to choose between them without knowing the service.
//!
//! Every name begins with `memory_`: a host lists the tools of all its servers together, and other servers have a `read`
//! and a `write` too.

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
use serde_json::{Value, json};

use super::api::{Api, ApiRequest};
use super::arguments::{Answer, Forget, Read, Recall, Remember, Skills, Topics, Write, unknown};
use super::budget::{CHARACTERS_DEFAULT, CHARACTERS_RANGE};
use super::render::{self, HitsView, Page, Refusal, add_warning, with_warnings};

/// Hits when a call gives no limit: an agent's context is small.
const HITS_DEFAULT: u32 = 8;
/// Skills for a task when a call gives no limit; each is a whole procedure.
const SKILLS_DEFAULT: u32 = 3;
/// Accepted limits, those of the API.
const LIMIT_RANGE: RangeInclusive<u32> = 1..=200;
/// Hits that the API is asked for beyond the limit, so that the text can say how many more there are.
const HITS_COUNTED: u32 = 16;
/// Skills of a list without a task.
const SKILLS_LISTED: usize = 100;
/// Lowest score when a call gives none. A score is a calibrated probability, so of the hits that this leaves out fewer than
/// one in a hundred is relevant. It halves the hits and cuts 6 % of the right ones; 0.02 would cut 12 %
/// (docs/evaluation.md).
const MIN_SCORE_DEFAULT: f64 = 0.01;
/// What stays as it is in a path.
const PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

static ROUTER: LazyLock<ToolRouter<Tools>> = LazyLock::new(Tools::tool_router);

/// The tools over an API.
#[derive(Clone)]
pub struct Tools {
    api: Arc<dyn Api>,
    /// The namespace that is meant where a call names none.
    namespace: Option<String>,
}

/// A query of an address, empty values left out.
fn query(parameters: &[(&str, Option<String>)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            query.append_pair(name, value);
        }
    }
    query.finish()
}

fn memory_address(path: &str) -> String {
    format!("/v1/memories/{}", utf8_percent_encode(path.trim_start_matches('/'), &PATH))
}

/// Checks the arguments that decide which hits are shown.
fn hits_view(limit: u32, min_score: Option<f64>, max_characters: Option<u32>) -> Result<HitsView, String> {
    if !LIMIT_RANGE.contains(&limit) {
        let (least, most) = LIMIT_RANGE.into_inner();
        return Err(format!("invalid_limit: limit must be from {least} to {most}, not {limit}"));
    }
    let min_score = min_score.unwrap_or(MIN_SCORE_DEFAULT);
    if !(0.0..=1.0).contains(&min_score) {
        return Err(format!("invalid_score: min_score must be from 0 to 1, not {min_score}"));
    }
    let requested = (limit + HITS_COUNTED).min(*LIMIT_RANGE.end());
    Ok(HitsView {
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

impl Tools {
    /// Tools over an API; `namespace` is the one that is meant where a call names none.
    pub fn new(api: Arc<dyn Api>, namespace: Option<String>) -> Self {
        Self { api, namespace }
    }

    fn meant(&self, named: Option<String>) -> Option<String> {
        named.filter(|name| !name.is_empty()).or_else(|| self.namespace.clone())
    }

    /// Makes a request of the API and returns the body of its response.
    ///
    /// # Errors
    ///
    /// A refusal by the API, or a server that cannot be reached; an agent can act on either.
    async fn send(&self, method: Method, target: String, body: Option<Value>) -> Result<Value, Refusal> {
        match self.api.ask(ApiRequest { method, target, body }).await {
            Ok(answered) if answered.status < 300 => Ok(answered.body),
            Ok(answered) => Err(render::refusal(&answered)),
            Err(error) => Err(Refusal {
                code: "unreachable".into(),
                text: format!("unreachable: {error:#}. The user has to see whether `cuebase serve` runs."),
            }),
        }
    }

    async fn get(&self, path: &str, query: &str) -> Result<Value, Refusal> {
        self.send(Method::GET, format!("{path}?{query}"), None).await
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
    async fn remember(&self, Parameters(wanted): Parameters<Remember>) -> Result<String, String> {
        let mut body = json!({"messages": wanted.messages, "tags": wanted.tags});
        let fields = [
            ("occurred_at", wanted.occurred_at),
            ("session_id", wanted.session_id),
            ("namespace", self.meant(wanted.namespace)),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        let response = self.send(Method::POST, "/v1/memories".into(), Some(body)).await?;
        Ok(with_warnings("Accepted; it can be recalled in a moment.".into(), &response))
    }

    #[tool(
        name = "memory_recall",
        description = "Search long-term memory. Use it before answering whenever earlier conversations may matter. Each \
                       hit starts with the probability that it is relevant and the path of the memory; hits below \
                       min_score are left out, and a long memory is shortened (memory_read returns all of it).",
        annotations(read_only_hint = true)
    )]
    async fn recall(&self, Parameters(wanted): Parameters<Recall>) -> Result<String, String> {
        let view = hits_view(wanted.limit.unwrap_or(HITS_DEFAULT), wanted.min_score, wanted.max_characters)?;
        let timed = wanted.since.is_some() || wanted.until.is_some();
        // No min_score: hits below it are counted here.
        let parameters = query(&[
            ("q", Some(wanted.query)),
            ("limit", Some(view.requested.to_string())),
            ("tiers", Some(wanted.tiers.join(","))),
            ("tags", Some(wanted.tags.join(","))),
            ("since", wanted.since),
            ("until", wanted.until),
            ("time_field", timed.then(|| "occurred".to_owned())),
            ("namespace", self.meant(wanted.namespace)),
        ]);
        let response = self.get("/v1/retrieve", &parameters).await?;
        Ok(with_warnings(render::hits(&response, &view), &response))
    }

    #[tool(
        name = "memory_read",
        description = "Read one memory by its path, or one section of it. A memory longer than max_characters is \
                       returned in parts: the last line names the offset of the next part.",
        annotations(read_only_hint = true)
    )]
    async fn read(&self, Parameters(wanted): Parameters<Read>) -> Result<String, String> {
        let page = page(wanted.offset, wanted.max_characters)?;
        let parameters = query(&[("section", wanted.section), ("namespace", self.meant(wanted.namespace))]);
        match self.get(&memory_address(&wanted.path), &parameters).await {
            Ok(response) => Ok(with_warnings(render::memory(&response, &page), &response)),
            // An answer to the question whether it exists, and no fault of the tool.
            Err(refusal) if refusal.code == "not_found" => {
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
    async fn write(&self, Parameters(wanted): Parameters<Write>) -> Result<String, String> {
        let mut body = json!({"content": wanted.content, "cues": wanted.cues, "tags": wanted.tags});
        if let Some(namespace) = self.meant(wanted.namespace) {
            body["namespace"] = json!(namespace);
        }
        let response = self.send(Method::POST, memory_address(&wanted.path), Some(body)).await?;
        let written = format!("Written: {}", response["path"].as_str().unwrap_or_default());
        Ok(with_warnings(written, &response))
    }

    #[tool(
        name = "memory_forget",
        description = "Forget one memory by its path, when the user asks for that or it is wrong. Its history stays.",
        annotations(destructive_hint = true, idempotent_hint = true)
    )]
    async fn forget(&self, Parameters(wanted): Parameters<Forget>) -> Result<String, String> {
        let parameters = query(&[("namespace", self.meant(wanted.namespace))]);
        let target = format!("{}?{parameters}", memory_address(&wanted.path));
        let response = self.send(Method::DELETE, target, None).await?;
        Ok(with_warnings("Accepted; in a moment it is not recalled any more.".into(), &response))
    }

    #[tool(
        name = "memory_answer",
        description = "Answer a question from memory alone, with quotations and their paths. For material to think about \
                       use memory_recall instead.",
        annotations(read_only_hint = true)
    )]
    async fn answer(&self, Parameters(wanted): Parameters<Answer>) -> Result<String, String> {
        let mut body = json!({"q": wanted.question});
        if let Some(namespace) = self.meant(wanted.namespace) {
            body["namespace"] = json!(namespace);
        }
        match self.send(Method::POST, "/v1/answer".into(), Some(body)).await {
            Ok(response) => Ok(with_warnings(render::answer(&response), &response)),
            Err(refusal) if refusal.code == "no_answer" => {
                Ok("The memories hold no answer to this. memory_recall with \
                                                               other words may find something related."
                    .into())
            }
            Err(refusal) => Err(refusal.text),
        }
    }

    #[tool(
        name = "memory_skills",
        description = "Find procedures (skills) that were learned for a task. Use it before doing something that may have \
                       been done before. Without a task it lists the skills by name.",
        annotations(read_only_hint = true)
    )]
    async fn skills(&self, Parameters(wanted): Parameters<Skills>) -> Result<String, String> {
        let namespace = self.meant(wanted.namespace);
        let Some(task) = wanted.task.filter(|task| !task.trim().is_empty()) else {
            let page = page(wanted.offset, wanted.max_characters)?;
            let parameters = query(&[("limit", Some(SKILLS_LISTED.to_string())), ("namespace", namespace)]);
            let response = self.get("/v1/skills", &parameters).await?;
            return Ok(with_warnings(render::skills(&response, &page, SKILLS_LISTED), &response));
        };
        let view = hits_view(wanted.limit.unwrap_or(SKILLS_DEFAULT), wanted.min_score, wanted.max_characters)?;
        let limit = view.requested.to_string();
        let parameters = query(&[("q", Some(task)), ("limit", Some(limit)), ("namespace", namespace)]);
        let response = self.get("/v1/skills", &parameters).await?;
        Ok(with_warnings(render::skills_for_task(&response, &view), &response))
    }

    #[tool(
        name = "memory_topics",
        description = "List what is remembered: all topics with the number of memories in each, or a directory's entries. \
                       A long list is returned in parts: the last line names the offset of the next part.",
        annotations(read_only_hint = true)
    )]
    async fn topics(&self, Parameters(wanted): Parameters<Topics>) -> Result<String, String> {
        let page = page(wanted.offset, wanted.max_characters)?;
        let namespace = self.meant(wanted.namespace);
        let Some(path) = wanted.path.filter(|path| !path.is_empty()) else {
            let response = self.get("/v1/topics", &query(&[("namespace", namespace)])).await?;
            return Ok(with_warnings(render::topics(&response, &page), &response));
        };
        let parameters = query(&[("path", Some(path)), ("namespace", namespace)]);
        let response = self.get("/v1/tree", &parameters).await?;
        Ok(with_warnings(render::tree(&response, &page), &response))
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
    /// Calls a tool. Arguments that it does not take are named in its text, so that a misspelt one is noticed.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut warnings = Vec::new();
        if let (Some(tool), Some(arguments)) = (ROUTER.get(&request.name), &request.arguments) {
            match unknown(tool, arguments) {
                Ok(found) => warnings = found,
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
