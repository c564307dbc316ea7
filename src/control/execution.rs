//! Running a command.

use std::path::Path;
use std::sync::Arc;

use cuebase_storage::{AccountId, NamespaceName};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::command::Command;
use crate::api::{keys, namespaces, queue};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::gateway::Gateway;
use crate::jobs::Workers;
use crate::maintenance::doctor::Mode;
use crate::maintenance::{Progress, backup, doctor, export, import, reextract};
use crate::service::Service;
use crate::service::accounts::NewKey;

/// Namespaces in one list.
const LISTED_MAX: usize = 100_000;
/// Namespaces that an error names.
const NAMED_MAX: usize = 5;

/// The process that runs a command.
#[derive(Clone, Copy)]
pub(super) enum Host<'a> {
    /// The server. Its gateway caches credentials, and its workers ingest.
    Server(&'a Gateway),
    /// A process without a server.
    CommandLine,
}

/// Runs commands.
pub(super) struct CommandRunner<'a> {
    pub(super) service: &'a Arc<Service>,
    pub(super) host: Host<'a>,
    /// Receives the progress of long commands.
    pub(super) report: &'a dyn Fn(Progress),
}

impl CommandRunner<'_> {
    /// Runs a command and returns its result.
    pub(super) fn run(&self, command: Command) -> Result<Value> {
        let service = self.service;
        match command {
            Command::CreateKey { account, key } => self.create_key(&account, key),
            Command::ListKeys { account } => self.list_keys(&account),
            Command::RevokeKey { account, id } => self.revoke_key(&account, &id),
            Command::Token { account } => Ok(json!(self.create_session(&account)?)),
            Command::Link { account } => self.create_link(&account),
            Command::Connect { account } => {
                let token = self.create_session(&account)?;
                Ok(json!({"url": service.address(), "token": token}))
            }
            Command::CreateNamespace { account, name } => self.create_namespace(&account, &name),
            Command::ListNamespaces { account } => self.list_namespaces(&account),
            Command::DeleteNamespace { account, name } => self.delete_namespace(&account, &name),
            Command::ListDeadLetters => self.list_dead_letters(),
            Command::RetryDeadLetter { id } => {
                service.retry_dead_letter(None, &id)?;
                Ok(json!({"id": id, "retried": true}))
            }
            Command::RetryDeadLetters { account, namespace } => {
                let retried = service.retry_dead_letters(account.as_ref(), namespace.as_ref())?;
                Ok(json!({"retried": retried}))
            }
            Command::DropDeadLetter { id } => {
                service.drop_dead_letter(None, &id)?;
                Ok(json!({"id": id, "dropped": true}))
            }
            Command::Models => self.list_models(),
            Command::Backup { folder, keep } => Ok(json!(backup::backup(service, &folder, keep, self.report)?)),
            Command::Doctor { repair } => {
                let mode = if repair { Mode::Repair } else { Mode::Examine };
                Ok(json!(doctor::examine(service, mode, self.report)?))
            }
            Command::Export { account, namespace, format, to } => {
                Ok(json!(export::export(service, &account, &namespace, format, &to, self.report)?))
            }
            Command::Import { account, namespace, from, options } => self.import(&account, &namespace, &from, options),
            Command::Reextract { account, namespace, session } => {
                self.reextract(&account, &namespace, session.as_deref())
            }
            Command::ListAccounts => Ok(json!(service.accounts()?)),
            Command::SuspendAccount { account, suspended } => {
                let record = service.suspend(&account, suspended)?;
                self.clear_cached_credentials();
                Ok(json!(record))
            }
        }
    }

    fn create_key(&self, account: &AccountId, key: NewKey) -> Result<Value> {
        if let Some(namespace) = &key.namespace {
            require_namespace(self.service, account, namespace)?;
        }
        let (record, full) = self.service.create_key(account, key)?;
        Ok(keys::new_key_json(&record, &full))
    }

    fn list_keys(&self, account: &AccountId) -> Result<Value> {
        let keys: Vec<Value> = self.service.keys(account)?.iter().map(keys::key_json).collect();
        Ok(json!(keys))
    }

    fn revoke_key(&self, account: &AccountId, id: &str) -> Result<Value> {
        self.service.revoke_key(account, id)?;
        self.clear_cached_credentials();
        Ok(json!({"id": id, "revoked": true}))
    }

    /// Makes a revocation or suspension take effect at once.
    fn clear_cached_credentials(&self) {
        if let Host::Server(gateway) = self.host {
            gateway.forget();
        }
    }

    fn create_session(&self, account: &AccountId) -> Result<String> {
        self.ensure_account(account)?;
        self.service.issuer.mint(account, Timestamp::now()).map_err(Error::internal)
    }

    fn create_link(&self, account: &AccountId) -> Result<Value> {
        self.ensure_account(account)?;
        let Some(link) = self.service.dashboard.link(account) else {
            let message =
                "no dashboard runs on this data directory: start `cuebase serve` without --dashboard-listen off";
            return Err(Error::not_found(ErrorCode::NotFound, message));
        };
        Ok(json!(link))
    }

    /// Creates the account if it does not exist.
    fn ensure_account(&self, account: &AccountId) -> Result<()> {
        self.service.ensure_account(account)?;
        Ok(())
    }

    fn create_namespace(&self, account: &AccountId, name: &NamespaceName) -> Result<Value> {
        self.ensure_account(account)?;
        let (record, _) = self.service.namespaces.create(account, name)?;
        Ok(namespaces::namespace_json(&record))
    }

    fn list_namespaces(&self, account: &AccountId) -> Result<Value> {
        let records = self.service.namespaces.list(account, None, LISTED_MAX)?;
        Ok(json!(records.iter().map(namespaces::namespace_json).collect::<Vec<_>>()))
    }

    fn delete_namespace(&self, account: &AccountId, name: &NamespaceName) -> Result<Value> {
        if !self.service.delete_namespace(account, name)? {
            let message = unknown_namespace(self.service, account, name)?;
            return Err(Error::not_found(ErrorCode::NamespaceNotFound, message));
        }
        Ok(json!({"name": name, "deleted": true}))
    }

    fn list_dead_letters(&self) -> Result<Value> {
        let mut listed = Vec::new();
        self.service.store.for_each_dead_letter(|letter| {
            let mut view = queue::dead_letter_json(&letter);
            view["account"] = json!(letter.account);
            listed.push(view);
        })?;
        listed.extend(self.service.store.unreadable()?.iter().map(queue::unreadable_json));
        Ok(json!(listed))
    }

    fn list_models(&self) -> Result<Value> {
        self.service.models.note_calls()?;
        let mut backlog = Vec::new();
        for (key, progress) in self.service.backlog.list() {
            let done = progress.map(|progress| progress.done);
            let all = progress.map(|progress| progress.all);
            backlog.push(json!({"account": key.account, "namespace": key.name, "done": done, "all": all}));
        }
        let mut calls = Map::new();
        for (model, record) in self.service.store.models()? {
            if record.calls + record.failures > 0 {
                calls.insert(model, json!(record));
            }
        }
        Ok(json!({"calls": calls, "backlog": backlog}))
    }

    fn import(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        from: &Path,
        options: import::Options,
    ) -> Result<Value> {
        let workers = self.start_workers()?;
        let report = import::import(self.service, account, namespace, from, options, self.report);
        if let Some(workers) = workers {
            workers.drain();
        }
        Ok(json!(report?))
    }

    fn reextract(&self, account: &AccountId, namespace: &NamespaceName, session: Option<&str>) -> Result<Value> {
        let workers = self.start_workers()?;
        let report = reextract::reextract(self.service, account, namespace, session, self.report);
        if let Some(workers) = workers {
            workers.drain();
        }
        Ok(json!(report?))
    }

    /// Starts workers for a command that waits for ingestion. A server has workers already.
    fn start_workers(&self) -> Result<Option<Workers>> {
        match self.host {
            Host::CommandLine => Ok(Some(Workers::start(self.service)?)),
            Host::Server(_) => Ok(None),
        }
    }
}

/// Refuses a key that is confined to a namespace that does not exist. `default` exists in every account.
fn require_namespace(service: &Service, account: &AccountId, name: &NamespaceName) -> Result<()> {
    if name.is_default() || service.store.namespace(account, name)?.is_some() {
        return Ok(());
    }
    let mut message = unknown_namespace(service, account, name)?;
    message.push_str(&format!("\nhint: create it first with `cuebase namespaces create {name}`"));
    if *account != AccountId::default() {
        message.push_str(&format!(" and --account {account:?}"));
    }
    Err(Error::not_found(ErrorCode::NamespaceNotFound, message))
}

/// Returns a message that a namespace does not exist, with the names of some that do.
fn unknown_namespace(service: &Service, account: &AccountId, name: &NamespaceName) -> Result<String> {
    let records = service.store.namespaces(account, None, NAMED_MAX + 1)?;
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
