//! The events of a coding agent, and the JSON that it sends with each.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde::Deserialize;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookEvent {
    /// A session begins or continues: prints the profile of the project
    SessionStart,
    /// The user sends a prompt: prints memories about it
    UserPrompt,
    /// The agent has answered: stores the new part of the transcript
    Stop,
    /// The agent is about to shorten its context: stores the new part of the transcript
    PreCompact,
    /// No event: prints the namespace and the server of this folder, and fails if the server refuses
    Check,
}

impl HookEvent {
    /// Returns the name of the event on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::UserPrompt => "user-prompt",
            Self::Stop => "stop",
            Self::PreCompact => "pre-compact",
            Self::Check => "check",
        }
    }

    /// Returns the longest time that a hook may take. A prompt waits for its hook, so that one has the least.
    pub fn deadline(self) -> Duration {
        Duration::from_millis(match self {
            Self::UserPrompt => 95,
            Self::SessionStart => 400,
            Self::Stop | Self::PreCompact | Self::Check => 5000,
        })
    }
}

/// What the agent sends. Fields of other events, and those that hooks do not use, are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct HookInput {
    /// Id of the session.
    pub session_id: String,
    /// The transcript of the session, a file with one JSON object per line.
    pub transcript_path: Option<PathBuf>,
    /// The current folder of the agent.
    pub cwd: Option<PathBuf>,
    /// The text of the prompt.
    pub prompt: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_names_of_the_command_line() {
        for event in HookEvent::value_variants() {
            let value = event.to_possible_value().expect("a name");
            assert_eq!(value.get_name(), event.name());
        }
    }
}
