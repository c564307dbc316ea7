//! The entry of the MCP server in the configuration of each agent.

use serde_json::Value;

use super::super::edit::ordered::OrderedJson;
use super::agent::Agent;
use super::setup::Setup;

/// The name of the server in every configuration.
pub(super) const SERVER: &str = "cuebase";

/// Returns the entry as JSON.
pub(super) fn json_entry(agent: Agent, setup: &Setup) -> anyhow::Result<OrderedJson> {
    let arguments = setup.server_arguments(agent)?;
    let mut members = Vec::new();
    if agent == Agent::Opencode {
        let mut command = vec![setup.command.clone()];
        command.extend(arguments);
        members.push(("type".to_owned(), OrderedJson::text("local")));
        members.push(("command".to_owned(), OrderedJson::texts(&command)));
        members.push(("enabled".to_owned(), OrderedJson::Scalar(Value::Bool(true))));
    } else {
        if matches!(agent, Agent::ClaudeCode | Agent::Cursor | Agent::VsCode) {
            members.push(("type".to_owned(), OrderedJson::text("stdio")));
        }
        members.push(("command".to_owned(), OrderedJson::text(&setup.command)));
        members.push(("args".to_owned(), OrderedJson::texts(&arguments)));
    }
    if setup.uses_key_variable() {
        let name = if agent == Agent::Opencode { "environment" } else { "env" };
        let key = OrderedJson::text(agent.key_reference());
        members.push((name.to_owned(), OrderedJson::member("CUEBASE_KEY", key)));
    }
    Ok(OrderedJson::Object(members))
}

/// Returns the entry as a table of Codex.
pub(super) fn toml_entry(agent: Agent, setup: &Setup) -> anyhow::Result<String> {
    let mut lines = vec![format!("[mcp_servers.{SERVER}]")];
    lines.push(format!("command = {}", toml::Value::from(setup.command.as_str())));
    lines.push(format!("args = {}", toml::Value::from(setup.server_arguments(agent)?)));
    if setup.uses_key_variable() {
        lines.push(format!("env_vars = {}", toml::Value::from(vec![agent.key_reference()])));
    }
    Ok(lines.join("\n"))
}
