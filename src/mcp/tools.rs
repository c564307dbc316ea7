//! The tools. Their descriptions are written for whoever has to choose between them without knowing the service.

use std::sync::{Arc, LazyLock};

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::schemars::JsonSchema;
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::{Api, Asked};
use super::told;

/// Hits when an agent does not say how many: its context is dear.
const HITS_DEFAULT: u32 = 8;
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

/// One message of a conversation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Message {
    /// Who spoke: user, assistant, system or tool.
    role: Speaker,
    /// What was said.
    content: String,
    /// The speaker's name, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(rename_all = "lowercase")]
enum Speaker {
    User,
    Assistant,
    System,
    Tool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Remember {
    /// The messages, in order, in the words that were used. Whatever is worth keeping is picked out of them.
    messages: Vec<Message>,
    /// When it was said, RFC 3339 or YYYY-MM-DD, so that "yesterday" is understood; now, where it is left out.
    occurred_at: Option<String>,
    /// What all of it belongs to, such as an id of the conversation.
    session_id: Option<String>,
    /// Labels to find it by.
    #[serde(default)]
    tags: Vec<String>,
    /// The namespace; leave it out unless the user named one.
    namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Recall {
    /// What to bring to mind: a question or a few words, as the user would ask it.
    query: String,
    /// At most so many memories, 1 to 200; 8 where it is left out.
    limit: Option<u32>,
    /// Only these kinds: facts, incidents, rules, skills.
    #[serde(default)]
    tiers: Vec<String>,
    /// Only with one of these tags.
    #[serde(default)]
    tags: Vec<String>,
    /// Only what happened at or after this time, RFC 3339 or YYYY-MM-DD.
    since: Option<String>,
    /// Only what happened until this time, that day included.
    until: Option<String>,
    /// Only at least as likely to be right as this, 0 to 1.
    min_score: Option<f64>,
    /// The namespace; leave it out unless the user named one.
    namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Read {
    /// The memory's path, as recall and topics tell it.
    path: String,
    /// Only the section under this heading.
    section: Option<String>,
    /// The namespace; leave it out unless the user named one.
    namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Write {
    /// Where: facts/, incidents/, rules/ or skills/, a topic, and a name that ends in .md, such as facts/noor/seat.md.
    path: String,
    /// Markdown, the title as its first heading. What was there before is replaced.
    content: String,
    /// Questions that it answers; they bring it back.
    #[serde(default)]
    cues: Vec<String>,
    /// Labels to find it by.
    #[serde(default)]
    tags: Vec<String>,
    /// The namespace; leave it out unless the user named one.
    namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Forget {
    /// The memory's path, as recall and topics tell it.
    path: String,
    /// The namespace; leave it out unless the user named one.
    namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Answer {
    /// The question.
    question: String,
    /// The namespace; leave it out unless the user named one.
    namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Skills {
    /// What is to be done. Without it all skills are listed by name.
    task: Option<String>,
    /// The namespace; leave it out unless the user named one.
    namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Topics {
    /// A directory to list, such as facts/noor. Without it all topics are listed.
    path: Option<String>,
    /// The namespace; leave it out unless the user named one.
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

impl Tools {
    /// Tools over an API; `namespace` is the one that is meant where a call names none.
    pub fn new(api: Arc<dyn Api>, namespace: Option<String>) -> Self {
        Self { api, namespace }
    }

    fn meant(&self, named: Option<String>) -> Option<String> {
        named.filter(|name| !name.is_empty()).or_else(|| self.namespace.clone())
    }

    /// Asks the API and tells its answer; a refusal is an error of the tool, which an agent can act on.
    async fn tell(
        &self,
        method: Method,
        target: String,
        body: Option<Value>,
        told: impl Fn(&Value) -> String,
    ) -> CallToolResult {
        match self.api.ask(Asked { method, target, body }).await {
            Ok(answered) if answered.status < 300 => {
                CallToolResult::success(vec![ContentBlock::text(told(&answered.body))])
            }
            Ok(answered) => CallToolResult::error(vec![ContentBlock::text(told::failure(&answered))]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(format!(
                "unreachable: {error:#}. The user has to see whether `cuebase serve` runs."
            ))]),
        }
    }
}

#[tool_router]
impl Tools {
    #[tool(
        description = "Store what was said so that it can be recalled in later conversations. Use it when the user \
                          tells something lasting (facts about them, preferences, decisions, events), or asks to \
                          remember. It is there a moment later."
    )]
    async fn remember(&self, Parameters(wanted): Parameters<Remember>) -> CallToolResult {
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
        let told = |_: &Value| "Accepted; it can be recalled in a moment.".to_owned();
        self.tell(Method::POST, "/v1/memories".into(), Some(body), told).await
    }

    #[tool(
        description = "Search long-term memory. Use it before answering whenever earlier conversations may matter. Each \
                       hit starts with the probability that it is relevant and the path of the memory.",
        annotations(read_only_hint = true)
    )]
    async fn recall(&self, Parameters(wanted): Parameters<Recall>) -> CallToolResult {
        let timed = wanted.since.is_some() || wanted.until.is_some();
        let parameters = query(&[
            ("q", Some(wanted.query)),
            ("limit", Some(wanted.limit.unwrap_or(HITS_DEFAULT).to_string())),
            ("tiers", Some(wanted.tiers.join(","))),
            ("tags", Some(wanted.tags.join(","))),
            ("since", wanted.since),
            ("until", wanted.until),
            ("time_field", timed.then(|| "occurred".to_owned())),
            ("min_score", wanted.min_score.map(|score| score.to_string())),
            ("namespace", self.meant(wanted.namespace)),
        ]);
        self.tell(Method::GET, format!("/v1/retrieve?{parameters}"), None, told::hits).await
    }

    #[tool(
        description = "Read one memory in full by its path, or one section of it.",
        annotations(read_only_hint = true)
    )]
    async fn read(&self, Parameters(wanted): Parameters<Read>) -> CallToolResult {
        let parameters = query(&[("section", wanted.section), ("namespace", self.meant(wanted.namespace))]);
        let target = format!("{}?{parameters}", memory_address(&wanted.path));
        self.tell(Method::GET, target, None, told::memory).await
    }

    #[tool(
        description = "Write or replace one memory at a path. Use it to correct a memory, or to keep a text exactly as it \
                       is; for what was said in conversation use remember.",
        annotations(idempotent_hint = true)
    )]
    async fn write(&self, Parameters(wanted): Parameters<Write>) -> CallToolResult {
        let mut body = json!({"content": wanted.content, "cues": wanted.cues, "tags": wanted.tags});
        if let Some(namespace) = self.meant(wanted.namespace) {
            body["namespace"] = json!(namespace);
        }
        let told = |answer: &Value| format!("Written: {}", answer["path"].as_str().unwrap_or_default());
        self.tell(Method::POST, memory_address(&wanted.path), Some(body), told).await
    }

    #[tool(
        description = "Forget one memory by its path, when the user asks for that or it is wrong. Its history stays.",
        annotations(destructive_hint = true, idempotent_hint = true)
    )]
    async fn forget(&self, Parameters(wanted): Parameters<Forget>) -> CallToolResult {
        let parameters = query(&[("namespace", self.meant(wanted.namespace))]);
        let target = format!("{}?{parameters}", memory_address(&wanted.path));
        let told = |_: &Value| "Accepted; it will not be recalled any more in a moment.".to_owned();
        self.tell(Method::DELETE, target, None, told).await
    }

    #[tool(
        description = "Answer a question from memory alone, with quotations and their paths. For material to think about \
                       use recall instead.",
        annotations(read_only_hint = true)
    )]
    async fn answer(&self, Parameters(wanted): Parameters<Answer>) -> CallToolResult {
        let mut body = json!({"q": wanted.question});
        if let Some(namespace) = self.meant(wanted.namespace) {
            body["namespace"] = json!(namespace);
        }
        self.tell(Method::POST, "/v1/answer".into(), Some(body), told::answer).await
    }

    #[tool(
        description = "Find procedures (skills) that were learned for a task. Use it before doing something that may have \
                       been done before.",
        annotations(read_only_hint = true)
    )]
    async fn skills(&self, Parameters(wanted): Parameters<Skills>) -> CallToolResult {
        let limit = wanted.task.as_ref().map(|_| "3".to_owned());
        let parameters = query(&[("q", wanted.task), ("limit", limit), ("namespace", self.meant(wanted.namespace))]);
        self.tell(Method::GET, format!("/v1/skills?{parameters}"), None, told::skills).await
    }

    #[tool(
        description = "List what is remembered: all topics with the number of memories in each, or a directory's entries.",
        annotations(read_only_hint = true)
    )]
    async fn topics(&self, Parameters(wanted): Parameters<Topics>) -> CallToolResult {
        let namespace = self.meant(wanted.namespace);
        match wanted.path.filter(|path| !path.is_empty()) {
            Some(path) => {
                let parameters = query(&[("path", Some(path)), ("namespace", namespace)]);
                self.tell(Method::GET, format!("/v1/tree?{parameters}"), None, told::tree).await
            }
            None => {
                let target = format!("/v1/topics?{}", query(&[("namespace", namespace)]));
                self.tell(Method::GET, target, None, told::topics).await
            }
        }
    }
}

#[tool_handler(
    router = ROUTER,
    name = "cuebase",
    instructions = "Long-term memory. Recall before answering where earlier conversations may matter; remember what is \
                    lasting. Paths name memories: facts, incidents (dated happenings), rules (preferences and decisions), \
                    skills (procedures)."
)]
impl ServerHandler for Tools {}
