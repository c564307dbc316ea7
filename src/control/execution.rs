//! Running a command.

use std::path::Path;
use std::sync::Arc;

use cuebase_storage::records::ErasureSelection;
use cuebase_storage::{AccountId, NamespaceName};
use serde_json::{Map, Value, json};

use super::RunningServer;
use super::command::Command;
use super::node_row::NodeRow;
use crate::accounts::NewKey;
use crate::api::node_counters::write_at_others;
use crate::api::{keys, namespaces, queue};
use crate::app::App;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::maintenance::doctor::Mode;
use crate::maintenance::{Progress, backup, doctor, erase, export, import, reextract};
use crate::service::inspector::Inspector;
use crate::service::peers::PeerTopic;

/// Namespaces in one list.
const LISTED_MAX: usize = 100_000;
/// Namespaces that an error names.
const NAMED_MAX: usize = 5;
/// Runs of a command that meets namespaces which this process does not own yet.
const RUNS_MAX: u32 = 3;
/// Nodes that are asked to run a command. The second and third ones are asked if the namespace moves in the meantime.
const OWNERS_MAX: u32 = 3;

/// The process that runs a command.
#[derive(Clone, Copy)]
pub(super) enum Host<'a> {
    /// The server, whose jobs ingest.
    Server(&'a RunningServer),
    /// A process without a server.
    CommandLine,
}

/// Runs commands.
pub(super) struct CommandRunner<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) host: Host<'a>,
    /// Receives the progress of long commands.
    pub(super) report: &'a dyn Fn(Progress),
}

impl CommandRunner<'_> {
    /// Runs a command and returns its result. If another node owns its namespace, that node runs it, without reports of
    /// progress.
    pub(super) fn run(&self, command: Command) -> Result<Value> {
        let sent = if command.can_run_elsewhere() { Some(command.clone()) } else { None };
        let result = match (self.run_here(command), sent) {
            (Err(Error::Elsewhere { address }), Some(command)) => self.run_elsewhere(&command, address),
            (result, _) => result,
        };
        // Only at the end, because jobs cannot be started again.
        self.stop_jobs();
        result.map_err(with_place)
    }

    /// Runs a command in this process. If it fails because this process does not own a namespace, nothing has changed:
    /// the namespace is claimed, and the command runs again.
    ///
    /// # Errors
    ///
    /// [`Error::Elsewhere`] if another node owns the namespace; otherwise those of the command.
    pub(super) fn run_here(&self, command: Command) -> Result<Value> {
        let ownership = self.app.namespaces.ownership();
        if ownership.is_alone() {
            return self.run_once(command);
        }
        let mut runs = 1;
        loop {
            let namespace = match self.run_once(command.clone()) {
                Err(Error::NotOwner(namespace)) if runs < RUNS_MAX => namespace,
                result => return result,
            };
            ownership.hold(&namespace)?;
            runs += 1;
        }
    }

    /// Sends a command to the node at an address, which owns its namespace. A process without a server cannot do that.
    fn run_elsewhere(&self, command: &Command, mut address: String) -> Result<Value> {
        let peers = self.app.reads.peers();
        let command = serde_json::to_string(command).map_err(Error::internal)?;
        for _ in 0..OWNERS_MAX {
            let answer: Result<String> = peers.ask(&address, &AccountId::default(), PeerTopic::Command, &command);
            match answer {
                Ok(result) => return serde_json::from_str(&result).map_err(Error::internal),
                Err(Error::Elsewhere { address: owner }) => address = owner,
                Err(error) => return Err(error),
            }
        }
        Err(Error::Elsewhere { address })
    }

    fn run_once(&self, command: Command) -> Result<Value> {
        let app = self.app;
        match command {
            Command::CreateKey { account, key } => self.create_key(&account, key),
            Command::ListKeys { account } => self.list_keys(&account),
            Command::RevokeKey { account, id } => self.revoke_key(&account, &id),
            Command::Token { account } => Ok(json!(self.create_session(&account)?)),
            Command::Link { account } => self.create_link(&account),
            Command::Connect { account } => {
                let token = self.create_session(&account)?;
                let url = match self.host {
                    Host::Server(server) => Some(&server.url),
                    Host::CommandLine => None,
                };
                Ok(json!({"url": url, "token": token}))
            }
            Command::CreateNamespace { account, name } => self.create_namespace(&account, &name),
            Command::ListNamespaces { account } => self.list_namespaces(&account),
            Command::DeleteNamespace { account, name } => self.delete_namespace(&account, &name),
            Command::ListDeadLetters => self.list_dead_letters(),
            Command::RetryDeadLetter { id } => {
                app.intake.retry_dead_letter(None, &id)?;
                Ok(json!({"id": id, "retried": true}))
            }
            Command::RetryDeadLetters { account, namespace } => {
                self.hold_namespaces_of_letters(account.as_ref(), namespace.as_ref())?;
                let retried = app.intake.retry_dead_letters(account.as_ref(), namespace.as_ref())?;
                Ok(json!({"retried": retried}))
            }
            Command::DropDeadLetter { id } => {
                app.intake.drop_dead_letter(None, &id)?;
                Ok(json!({"id": id, "dropped": true}))
            }
            Command::Models => self.list_models(),
            Command::ChangeEmbedding(change) => Ok(json!(app.jobs.change_embedding(change)?)),
            Command::ListNodes => self.list_nodes(),
            Command::Backup { folder, keep } => Ok(json!(backup::backup(app, &folder, keep, self.report)?)),
            Command::Doctor { repair } => {
                let mode = if repair { Mode::Repair } else { Mode::Examine };
                Ok(json!(doctor::examine(app, mode, self.report)?))
            }
            Command::Export { account, namespace, format, to } => {
                Ok(json!(export::export(app, &account, &namespace, format, &to, self.report)?))
            }
            Command::Import { account, namespace, from, options } => self.import(&account, &namespace, &from, options),
            Command::ImportMem0 { account, namespace, source, memories, options } => {
                self.start_jobs()?;
                Ok(json!(import::import_mem0(app, &account, &namespace, &source, memories, options, self.report)?))
            }
            Command::Reextract { account, namespace, session, dry_run: false } => {
                self.reextract(&account, &namespace, session.as_deref())
            }
            Command::Reextract { account, namespace, session, dry_run: true } => {
                Ok(json!(reextract::preview(app, &account, &namespace, session.as_deref(), self.report)?))
            }
            Command::Erase { account, namespace, selection } => self.erase(&account, &namespace, selection),
            Command::ListAccounts => Ok(json!(app.accounts.accounts()?)),
            Command::SuspendAccount { account, suspended } => Ok(json!(app.accounts.suspend(&account, suspended)?)),
        }
    }

    fn create_key(&self, account: &AccountId, key: NewKey) -> Result<Value> {
        if let Some(namespace) = &key.namespace {
            require_namespace(&self.app.inspector, account, namespace)?;
        }
        let (record, full) = self.app.accounts.create_key(account, key)?;
        Ok(keys::new_key_json(&record, &full))
    }

    fn list_keys(&self, account: &AccountId) -> Result<Value> {
        let keys: Vec<Value> = self.app.accounts.keys(account)?.iter().map(keys::key_json).collect();
        Ok(json!(keys))
    }

    fn revoke_key(&self, account: &AccountId, id: &str) -> Result<Value> {
        self.app.accounts.revoke_key(account, id)?;
        Ok(json!({"id": id, "revoked": true}))
    }

    fn create_session(&self, account: &AccountId) -> Result<String> {
        self.ensure_account(account)?;
        self.app.accounts.create_session(account)
    }

    fn create_link(&self, account: &AccountId) -> Result<Value> {
        self.ensure_account(account)?;
        let link = match self.host {
            Host::Server(server) => server.dashboard.link(&self.app.accounts, account)?,
            Host::CommandLine => None,
        };
        let Some(link) = link else {
            let message =
                "no dashboard runs on this data directory: start `cuebase serve` without --dashboard-listen off";
            return Err(Error::not_found(ErrorCode::NotFound, message));
        };
        Ok(json!(link))
    }

    /// Creates the account if it does not exist.
    fn ensure_account(&self, account: &AccountId) -> Result<()> {
        self.app.accounts.ensure_account(account)?;
        Ok(())
    }

    fn create_namespace(&self, account: &AccountId, name: &NamespaceName) -> Result<Value> {
        self.ensure_account(account)?;
        let (record, _) = self.app.namespaces.create(account, name)?;
        Ok(namespaces::namespace_json(&record))
    }

    fn list_namespaces(&self, account: &AccountId) -> Result<Value> {
        let records = self.app.namespaces.list(account, None, LISTED_MAX)?;
        Ok(json!(records.iter().map(namespaces::namespace_json).collect::<Vec<_>>()))
    }

    fn delete_namespace(&self, account: &AccountId, name: &NamespaceName) -> Result<Value> {
        if !self.app.namespaces.delete(account, name)? {
            let message = unknown_namespace(&self.app.inspector, account, name)?;
            return Err(Error::not_found(ErrorCode::NamespaceNotFound, message));
        }
        Ok(json!({"name": name, "deleted": true}))
    }

    /// Claims the namespaces of the selected dead letters, so that either all are retried or none.
    fn hold_namespaces_of_letters(&self, account: Option<&AccountId>, namespace: Option<&NamespaceName>) -> Result<()> {
        let ownership = self.app.namespaces.ownership();
        if ownership.is_alone() {
            return Ok(());
        }
        for letter in self.app.inspector.dead_letters()? {
            let is_selected = account.is_none_or(|account| letter.account == *account)
                && namespace.is_none_or(|namespace| letter.namespace == *namespace);
            if !is_selected {
                continue;
            }
            match ownership.hold(&letter.namespace_key()) {
                // Letters of deleted namespaces stay.
                Ok(()) | Err(Error::NamespaceGone) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn list_dead_letters(&self) -> Result<Value> {
        let mut listed = Vec::new();
        for letter in self.app.inspector.dead_letters()? {
            let mut view = queue::dead_letter_json(&letter);
            view["account"] = json!(letter.account);
            listed.push(view);
        }
        listed.extend(self.app.inspector.unreadable()?.iter().map(queue::unreadable_json));
        Ok(json!(listed))
    }

    fn list_models(&self) -> Result<Value> {
        write_at_others(self.app, &AccountId::default(), PeerTopic::WriteModelCalls)?;
        self.app.reads.models().note_calls()?;
        let mut backlog = Vec::new();
        // Asked first: the listing may end before the backlog is read.
        let is_incomplete = self.app.jobs.is_backlog_incomplete();
        let listed = match self.host {
            Host::Server(_) => self.app.jobs.backlog(),
            // No job has looked for them.
            Host::CommandLine => self.app.jobs.namespaces_in_need()?.into_iter().map(|key| (key, None)).collect(),
        };
        for (key, progress) in listed {
            let done = progress.map(|progress| progress.done);
            let all = progress.map(|progress| progress.all);
            backlog.push(json!({"account": key.account, "namespace": key.name, "done": done, "all": all}));
        }
        let mut calls = Map::new();
        for (model, record) in self.app.inspector.model_calls()? {
            if record.calls + record.failures > 0 {
                calls.insert(model, json!(record));
            }
        }
        let mut memories = 0;
        for account in self.app.accounts.accounts()? {
            for namespace in self.app.namespaces.list(&account.account, None, LISTED_MAX)? {
                memories += namespace.memories;
            }
        }
        let built_in = self.app.jobs.built_in_record()?;
        Ok(json!({
            "built_in": built_in,
            "memories": memories,
            "calls": calls,
            "backlog": backlog,
            "is_backlog_incomplete": is_incomplete
        }))
    }

    fn list_nodes(&self) -> Result<Value> {
        let ownership = self.app.namespaces.ownership();
        if ownership.is_alone() {
            return Ok(Value::Null);
        }
        let own = ownership.node_id();
        let counts = self.app.namespaces.owner_counts()?;
        let mut rows = Vec::new();
        for node in ownership.live_nodes() {
            let this = Some(node.id) == own;
            // A process without a server has a session for the time of the command only.
            if this && matches!(self.host, Host::CommandLine) {
                continue;
            }
            rows.push(NodeRow {
                id: node.id.to_string(),
                namespaces: counts.get(&node.id).copied().unwrap_or(0),
                address: node.address,
                version: node.version,
                this,
            });
        }
        Ok(json!(rows))
    }

    fn import(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        from: &Path,
        options: import::Options,
    ) -> Result<Value> {
        self.start_jobs()?;
        Ok(json!(import::import(self.app, account, namespace, from, options, self.report)?))
    }

    fn reextract(&self, account: &AccountId, namespace: &NamespaceName, session: Option<&str>) -> Result<Value> {
        self.start_jobs()?;
        Ok(json!(reextract::reextract(self.app, account, namespace, session, self.report)?))
    }

    fn erase(&self, account: &AccountId, namespace: &NamespaceName, selection: ErasureSelection) -> Result<Value> {
        self.start_jobs()?;
        Ok(json!(erase::erase(self.app, account, namespace, selection, self.report)?))
    }

    /// Starts the jobs for a command that waits for ingestion. In a server they run already.
    fn start_jobs(&self) -> Result<()> {
        match self.host {
            Host::CommandLine => Ok(self.app.jobs.start()?),
            Host::Server(_) => Ok(()),
        }
    }

    fn stop_jobs(&self) {
        match self.host {
            Host::CommandLine => self.app.jobs.drain(),
            Host::Server(_) => {}
        }
    }
}

/// Adds to the error of a namespace of another node where the command can be run.
fn with_place(error: Error) -> Error {
    let address = match error {
        Error::Elsewhere { address } => address,
        other => return other,
    };
    let message = format!(
        "another node, {address}, owns the namespace: run the command on the machine of that node, or here after that \
         node has ended"
    );
    Error::Unavailable { code: ErrorCode::StorageUnavailable, message }
}

/// Refuses a key that is confined to a namespace that does not exist. `default` exists in every account.
fn require_namespace(inspector: &Inspector, account: &AccountId, name: &NamespaceName) -> Result<()> {
    if name.is_default() || inspector.namespace(account, name)?.is_some() {
        return Ok(());
    }
    let mut message = unknown_namespace(inspector, account, name)?;
    message.push_str(&format!("\nhint: create it first with `cuebase namespaces create {name}`"));
    if *account != AccountId::default() {
        message.push_str(&format!(" and --account {account:?}"));
    }
    Err(Error::not_found(ErrorCode::NamespaceNotFound, message))
}

/// Returns a message that a namespace does not exist, with the names of some that do.
fn unknown_namespace(inspector: &Inspector, account: &AccountId, name: &NamespaceName) -> Result<String> {
    let records = inspector.namespaces(account, NAMED_MAX + 1)?;
    let mut names = Vec::new();
    for record in records.iter().take(NAMED_MAX) {
        names.push(record.name.as_str());
    }
    if names.is_empty() {
        return Ok(format!("namespace {name:?} does not exist: the account {account:?} has none"));
    }
    let more = if records.len() > NAMED_MAX { " and more" } else { "" };
    Ok(format!("namespace {name:?} does not exist: the account {account:?} has {}{more}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_foreign_namespace_names_the_machine_to_use() {
        let error = with_place(Error::Elsewhere { address: "node-2:8090".to_owned() });
        assert_eq!(error.response_code(), ErrorCode::StorageUnavailable);
        assert!(error.to_string().contains("on the machine of that node"), "{error}");
        assert!(error.to_string().contains("node-2:8090"), "{error}");
        assert!(matches!(with_place(Error::NamespaceGone), Error::NamespaceGone));
    }
}
