//! Commands that other nodes send to this one, because it owns their namespaces.
//!
//! A command arrives as a question between nodes, and its result is the answer. It is not sent on to a third node.

use std::sync::{Arc, Weak};

use super::RunningServer;
use super::command::Command;
use super::execution::{CommandRunner, Host};
use crate::app::App;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::service::peers::PeerCommands;

/// Runs the commands of other nodes in this server.
pub(super) struct CommandsOfPeers {
    /// Not counted, because the application holds this value.
    app: Weak<App>,
    server: Arc<RunningServer>,
}

impl CommandsOfPeers {
    pub(super) fn new(app: &Arc<App>, server: &Arc<RunningServer>) -> Self {
        Self { app: Arc::downgrade(app), server: Arc::clone(server) }
    }
}

impl PeerCommands for CommandsOfPeers {
    fn run(&self, command: &str) -> Result<String> {
        let Some(app) = self.app.upgrade() else {
            let message = "the node that owns the namespace has ended: run the command again".into();
            return Err(Error::Unavailable { code: ErrorCode::StorageUnavailable, message });
        };
        let command: Command = serde_json::from_str(command).map_err(Error::internal)?;
        if !command.can_run_elsewhere() {
            return Err(Error::internal("another node sent a command that only the node of its caller can run"));
        }
        let runner = CommandRunner { app: &app, host: Host::Server(&self.server), report: &|_| {} };
        Ok(runner.run_here(command)?.to_string())
    }
}
