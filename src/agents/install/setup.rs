//! What an agent is to run: the command, and the options that name the server and the namespace.

use std::path::{Path, PathBuf};

use anyhow::Context;
use cuebase_storage::NamespaceName;

use super::agent::Agent;

/// The server whose memories an agent gets.
#[derive(Clone, Debug)]
pub enum ServerSource {
    /// The server that runs on a data directory, an absolute path.
    DataDirectory(PathBuf),
    /// A server at a URL.
    Url {
        /// The URL.
        url: String,
        /// The file that holds the key, an absolute path. Without it the key is the variable `CUEBASE_KEY`.
        key_file: Option<PathBuf>,
    },
}

/// What an agent is to run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Name or path of the program.
    pub command: String,
    /// The server.
    pub source: ServerSource,
    /// The namespace of every project, if a person chose one.
    pub namespace: Option<NamespaceName>,
    /// The namespace of the project, in the scope of a project.
    pub project_namespace: Option<NamespaceName>,
    /// Whether the agent gets hooks, where it has them.
    pub uses_hooks: bool,
}

impl Setup {
    /// Returns the arguments of the MCP server.
    pub(super) fn server_arguments(&self, agent: Agent) -> anyhow::Result<Vec<String>> {
        let mut arguments = vec!["mcp".to_owned()];
        arguments.extend(self.source_arguments()?);
        let fixed = match &self.namespace {
            // An agent with windows starts the server somewhere else, so it needs the name.
            None if !agent.starts_server_in_project() => self.project_namespace.as_ref(),
            chosen => chosen.as_ref(),
        };
        match fixed {
            Some(name) => arguments.extend(["--namespace".to_owned(), name.to_string()]),
            None if agent.starts_server_in_project() => arguments.push("--project".to_owned()),
            None => {}
        }
        Ok(arguments)
    }

    /// Returns the command line of a hook, for a shell. The agent continues if the program is missing.
    pub(super) fn hook_command(&self, event: &str) -> anyhow::Result<String> {
        let mut words = vec![quoted(&self.command), "hook".to_owned(), event.to_owned()];
        for argument in self.source_arguments()? {
            words.push(quoted(&argument));
        }
        if let Some(name) = &self.namespace {
            words.extend(["--namespace".to_owned(), name.to_string()]);
        }
        words.push("|| true".to_owned());
        Ok(words.join(" "))
    }

    /// Returns whether the key comes from the environment of the agent.
    pub fn uses_key_variable(&self) -> bool {
        matches!(self.source, ServerSource::Url { key_file: None, .. })
    }

    fn source_arguments(&self) -> anyhow::Result<Vec<String>> {
        Ok(match &self.source {
            ServerSource::DataDirectory(folder) => vec!["--data".to_owned(), text(folder)?],
            ServerSource::Url { url, key_file: None } => vec!["--url".to_owned(), url.clone()],
            ServerSource::Url { url, key_file: Some(file) } => {
                vec!["--url".to_owned(), url.clone(), "--key-file".to_owned(), text(file)?]
            }
        })
    }
}

fn text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8: use another path", path.display()))?;
    Ok(text.to_owned())
}

/// Returns a word for a shell, in quotation marks if it has other characters than those of a plain path or URL.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/.:_-=@%+,".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        Setup {
            command: "/opt/my tools/cuebase".into(),
            source: ServerSource::DataDirectory("/home/ada/it's".into()),
            namespace: None,
            project_namespace: NamespaceName::new("acme"),
            uses_hooks: true,
        }
    }

    #[test]
    fn a_hook_is_a_command_line_for_a_shell() {
        let command = setup().hook_command("stop").expect("a command");
        assert_eq!(command, r"'/opt/my tools/cuebase' hook stop --data '/home/ada/it'\''s' || true");
    }

    #[test]
    fn only_an_agent_in_the_folder_of_the_project_finds_its_namespace() {
        let mut setup = setup();
        setup.source = ServerSource::Url { url: "https://m.example".into(), key_file: None };
        let arguments = |setup: &Setup, agent| setup.server_arguments(agent).expect("arguments").join(" ");
        assert_eq!(arguments(&setup, Agent::ClaudeCode), "mcp --url https://m.example --project");
        assert_eq!(arguments(&setup, Agent::Cursor), "mcp --url https://m.example --namespace acme");
        setup.project_namespace = None;
        assert_eq!(arguments(&setup, Agent::Cursor), "mcp --url https://m.example");
        setup.namespace = NamespaceName::new("all");
        assert_eq!(arguments(&setup, Agent::Codex), "mcp --url https://m.example --namespace all");
        assert!(setup.uses_key_variable());
    }
}
