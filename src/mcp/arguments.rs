//! Arguments of the tools, and the check for names that a tool does not know.
//!
//! The doc comments of the fields are their descriptions in the tools' schemas: a model reads them to choose values.

use std::collections::BTreeSet;

use rmcp::model::{JsonObject, Tool};
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::accounts::user_names::separates_users;

/// Names of the fields of [`Message`].
const MESSAGE_FIELDS: [&str; 4] = ["role", "content", "name", "occurred_at"];
/// Characters of an unknown name that are shown.
const NAME_CHARS_MAX: usize = 60;
/// Unknown names that are listed.
const NAMES_MAX: usize = 10;

/// One message of a conversation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Message {
    /// Who spoke: user, assistant, system or tool.
    role: Speaker,
    /// What was said.
    content: String,
    /// The speaker's name, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// When it was said, RFC 3339 or YYYY-MM-DD, if it differs from the conversation's occurred_at.
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred_at: Option<String>,
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
pub(super) struct Remember {
    /// The messages, in order, in the words that were used. Memories are extracted from them.
    pub(super) messages: Vec<Message>,
    /// When it was said, RFC 3339 or YYYY-MM-DD, so that "yesterday" is understood. Default: now.
    pub(super) occurred_at: Option<String>,
    /// Id of the conversation that the messages belong to.
    pub(super) session_id: Option<String>,
    /// Labels for filtering.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// Values for filtering by key, such as {"team": "blue"}: texts, numbers and booleans.
    #[serde(default)]
    pub(super) metadata: JsonObject,
    /// The namespace; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Recall {
    /// What to search for: a question or a few words, as the user would ask it.
    pub(super) query: String,
    /// Most memories to return, 1 to 200. Default: 8.
    pub(super) limit: Option<u32>,
    /// Only these kinds: facts, incidents, rules, skills.
    #[serde(default)]
    pub(super) tiers: Vec<String>,
    /// Only memories with one of these tags.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// Only memories whose metadata meets all of these: "key:value", "key!=value", "key>=number", "key<number".
    #[serde(default)]
    pub(super) r#where: Vec<String>,
    /// Answer as of this time, RFC 3339 or YYYY-MM-DD: what held then. Default: now.
    pub(super) as_of: Option<String>,
    /// Only what happened at or after this time, RFC 3339 or YYYY-MM-DD.
    pub(super) since: Option<String>,
    /// Only what happened until this time, that day included.
    pub(super) until: Option<String>,
    /// Leave out memories whose probability of being relevant is lower than this, 0 to 1. Default: 0.01.
    pub(super) min_score: Option<f64>,
    /// Most characters of the result, 1000 to 100000. Default: 8000.
    pub(super) max_characters: Option<u32>,
    /// The namespace, or up to eight separated by commas; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Read {
    /// The memory's path, as memory_recall and memory_topics return it.
    pub(super) path: String,
    /// Only the section under this heading.
    pub(super) section: Option<String>,
    /// Characters to skip, to continue a memory that was too long for one result. Default: 0.
    pub(super) offset: Option<u32>,
    /// Most characters of the result, 1000 to 100000. Default: 8000.
    pub(super) max_characters: Option<u32>,
    /// The namespace; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Write {
    /// Path of the memory: facts/, incidents/, rules/ or skills/, a topic, and a name that ends in .md, such as
    /// facts/noor/seat.md.
    pub(super) path: String,
    /// Markdown, the title as its first heading. It replaces the content that was at the path.
    pub(super) content: String,
    /// Questions that the memory answers; a search compares queries with them.
    #[serde(default)]
    pub(super) cues: Vec<String>,
    /// Labels for filtering.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// Values for filtering by key, such as {"team": "blue"}: texts, numbers and booleans.
    #[serde(default)]
    pub(super) metadata: JsonObject,
    /// Paths of memories that no longer hold because of this one.
    #[serde(default)]
    pub(super) supersedes: Vec<String>,
    /// When it begins to hold, RFC 3339 or YYYY-MM-DD. Default: now.
    pub(super) valid_from: Option<String>,
    /// The namespace; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Forget {
    /// The memory's path, as memory_recall and memory_topics return it.
    pub(super) path: String,
    /// The namespace; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Answer {
    /// The question.
    pub(super) question: String,
    /// The namespace, or up to eight separated by commas; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Explain {
    /// What was searched for.
    pub(super) query: String,
    /// The memory's path, as memory_recall and memory_topics return it.
    pub(super) path: String,
    /// The namespace; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Context {
    /// What the prompt is about: the user's message, a question, or several things separated by commas.
    pub(super) query: String,
    /// Most tokens of the text, 1 to 32000. Default: 1500.
    pub(super) max_tokens: Option<u32>,
    /// How sure the search must be: recall, balanced or strict. Default: balanced.
    pub(super) precision: Option<String>,
    /// The namespace; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Profile {
    /// Name of a person or thing. Default: the user.
    pub(super) subject: Option<String>,
    /// A time in the past, RFC 3339 or YYYY-MM-DD, to see what was true then.
    pub(super) as_of: Option<String>,
    /// The namespace; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Skills {
    /// The task to do. Without it the skills are listed by name.
    pub(super) task: Option<String>,
    /// With a task: most skills to return, 1 to 200. Default: 3.
    pub(super) limit: Option<u32>,
    /// With a task: leave out skills whose probability of being relevant is lower than this, 0 to 1. Default: 0.01.
    pub(super) min_score: Option<f64>,
    /// Without a task: skills to skip, to continue a list that was too long for one result. Default: 0.
    pub(super) offset: Option<u32>,
    /// Most characters of the result, 1000 to 100000. Default: 8000.
    pub(super) max_characters: Option<u32>,
    /// The namespace; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Topics {
    /// A directory to list, such as facts/noor. Without it all topics are listed.
    pub(super) path: Option<String>,
    /// Entries to skip, to continue a list that was too long for one result. Default: 0.
    pub(super) offset: Option<u32>,
    /// Most characters of the result, 1000 to 100000. Default: 8000.
    pub(super) max_characters: Option<u32>,
    /// The namespace; leave it out unless the user named one.
    pub(super) namespace: Option<String>,
}

/// Compares the names of a call's arguments with the tool's schema. Returns a warning for each name that the tool does
/// not know.
///
/// # Errors
///
/// The text of the tool's error for a name by which other products separate users.
pub(super) fn unknown_names(tool: &Tool, arguments: &JsonObject) -> Result<Vec<String>, String> {
    let known: Vec<&str> = match tool.input_schema.get("properties") {
        Some(Value::Object(properties)) => properties.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let mut unknown = Vec::new();
    for name in arguments.keys() {
        if !known.contains(&name.as_str()) {
            refuse_isolation_name("argument", name)?;
            unknown.push(name.as_str());
        }
    }
    let fields = match arguments.get("messages") {
        Some(Value::Array(messages)) => unknown_message_fields(messages)?,
        _ => BTreeSet::new(),
    };

    let mut warnings = Vec::new();
    for name in unknown.iter().take(NAMES_MAX) {
        let name = shortened(name);
        warnings.push(format!("unknown argument {name:?} ignored; {} takes {}", tool.name, known.join(", ")));
    }
    for name in fields.iter().take(NAMES_MAX - warnings.len()) {
        let name = shortened(name);
        warnings.push(format!("unknown field {name:?} of a message ignored; it takes {}", MESSAGE_FIELDS.join(", ")));
    }
    let more = unknown.len() + fields.len() - warnings.len();
    if more > 0 {
        warnings.push(format!("{more} more unknown names ignored"));
    }
    Ok(warnings)
}

/// Returns the names of unknown fields, each once.
fn unknown_message_fields(messages: &[Value]) -> Result<BTreeSet<&str>, String> {
    let mut unknown = BTreeSet::new();
    for message in messages {
        let Some(fields) = message.as_object() else { continue };
        for name in fields.keys() {
            if !MESSAGE_FIELDS.contains(&name.as_str()) {
                refuse_isolation_name("field of a message", name)?;
                unknown.insert(name.as_str());
            }
        }
    }
    Ok(unknown)
}

/// Refuses a name by which other products separate users. Ignored, it would put their memories into one namespace.
fn refuse_isolation_name(kind: &str, name: &str) -> Result<(), String> {
    if separates_users(name) {
        return Err(format!(
            "unknown {kind} {name:?}: memories of different users or agents are separated by namespaces; use the \
             argument \"namespace\""
        ));
    }
    Ok(())
}

fn shortened(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn check(arguments: Value) -> Result<Vec<String>, String> {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let schema = json!({"type": "object", "properties": {"messages": {}, "tags": {}, "namespace": {}}});
        let Value::Object(schema) = schema else { panic!("an object") };
        unknown_names(&Tool::new("memory_remember", "", Arc::new(schema)), &arguments)
    }

    #[test]
    fn an_unknown_argument_is_a_warning_that_lists_the_known_ones() {
        assert_eq!(check(json!({"messages": [], "namespace": "a"})), Ok(Vec::new()));
        let warnings = check(json!({"tag": ["x"]})).expect("no error");
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("unknown argument \"tag\" ignored; memory_remember takes "), "{warnings:?}");
        for known in ["messages", "tags", "namespace"] {
            assert!(warnings[0].contains(known), "{warnings:?}");
        }
    }

    #[test]
    fn an_unknown_field_of_messages_is_one_warning() {
        let message = json!({"role": "user", "content": "x", "timestamp": 1});
        let warnings = check(json!({"messages": [message, message]})).expect("no error");
        let expected = "unknown field \"timestamp\" of a message ignored; it takes role, content, name, occurred_at";
        assert_eq!(warnings, [expected]);
    }

    #[test]
    fn a_name_that_separates_users_is_an_error_that_recommends_namespace() {
        for name in ["user_id", "userId", "agent_id", "run_id", "app_id", "group_id", "container_tag", "container_tags"]
        {
            let error = check(json!({name: "ann"})).expect_err("refused");
            assert!(error.contains(name) && error.contains("\"namespace\""), "{error}");
            let message = json!({"role": "user", "content": "x", name: "ann"});
            let error = check(json!({"messages": [message]})).expect_err("refused");
            assert!(error.contains(name) && error.contains("\"namespace\""), "{error}");
        }
    }

    #[test]
    fn warnings_are_limited() {
        let mut arguments = JsonObject::new();
        for index in 0..500 {
            arguments.insert(format!("{index}{}", "x".repeat(1_000)), Value::Null);
        }
        let warnings = check(Value::Object(arguments)).expect("no error");
        assert_eq!(warnings.len(), 11);
        assert_eq!(warnings[10], "490 more unknown names ignored");
        assert!(warnings.iter().all(|warning| warning.len() < 300), "{warnings:?}");
    }
}
