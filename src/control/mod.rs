//! Commands on the data directory: done directly when no server runs, through its [`socket`] when one does.
//!
//! [`Command`] is what can be asked for, [`execute`] does it. What takes long tells how far it is.

mod socket;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::accounts::{DEFAULT_ACCOUNT, check_account};
use crate::api::{keys, namespaces, queue};
use crate::error::{Error, Result};
use crate::gateway::Gateway;
use crate::jobs::Workers;
use crate::maintenance::export::Format;
use crate::maintenance::{Progress, backup, doctor, export, import, reextract};
use crate::namespace::names::{DEFAULT, check_name};
use crate::service::Service;
use crate::service::accounts::NewKey;

pub use self::socket::{ask_running, listen, run};
/// Namespaces told by one listing.
const LISTED_MAX: usize = 100_000;
/// Namespaces that an error names.
const NAMED_MAX: usize = 5;

/// A command on a data directory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Makes a key.
    CreateKey {
        /// Whose.
        account: String,
        /// What kind.
        key: NewKey,
    },
    /// Lists an account's keys.
    ListKeys {
        /// Whose.
        account: String,
    },
    /// Revokes a key.
    RevokeKey {
        /// Whose.
        account: String,
        /// Its id.
        id: String,
    },
    /// Mints a dashboard session.
    Token {
        /// Whose.
        account: String,
    },
    /// Makes a link that signs in at the dashboard.
    Link {
        /// Whose.
        account: String,
    },
    /// Tells where the running server's API is, with a session for it.
    Connect {
        /// Whose.
        account: String,
    },
    /// Makes a namespace.
    CreateNamespace {
        /// Whose.
        account: String,
        /// Its name.
        name: String,
    },
    /// Lists an account's namespaces.
    ListNamespaces {
        /// Whose.
        account: String,
    },
    /// Deletes a namespace for good.
    DeleteNamespace {
        /// Whose.
        account: String,
        /// Its name.
        name: String,
    },
    /// Lists the writes that failed for good.
    ListDeadLetters,
    /// Puts a dead letter back into the queue.
    RetryDeadLetter {
        /// The queue message id.
        id: String,
    },
    /// Puts all dead letters back into the queue that an account and a namespace select.
    RetryDeadLetters {
        /// One account; none selects every account.
        account: Option<String>,
        /// The name of a namespace; none selects every namespace.
        namespace: Option<String>,
    },
    /// Forgets a dead letter.
    DropDeadLetter {
        /// The queue message id.
        id: String,
    },
    /// Tells how much models were called, and what is still to be embedded.
    Models,
    /// Copies everything into a folder.
    Backup {
        /// The folder of backups, from the root of the file system.
        folder: PathBuf,
        /// So many backups are kept in it; none keeps all.
        keep: Option<usize>,
    },
    /// Checks everything, and makes anew what can be.
    Doctor {
        /// Whether to mend what is derived.
        repair: bool,
    },
    /// Writes a namespace to a file or folder.
    Export {
        /// Whose.
        account: String,
        /// Which.
        namespace: String,
        /// As what.
        format: Format,
        /// Where, from the root of the file system.
        to: PathBuf,
    },
    /// Takes a file or folder into a namespace, which is made where it is not there.
    Import {
        /// Whose.
        account: String,
        /// Which.
        namespace: String,
        /// What, from the root of the file system.
        from: PathBuf,
        /// How.
        #[serde(default)]
        options: import::Options,
    },
    /// Extracts memories again from the kept conversations of a namespace.
    Reextract {
        /// Whose.
        account: String,
        /// Which.
        namespace: String,
        /// Only those of this session.
        session: Option<String>,
    },
    /// Lists the accounts.
    ListAccounts,
    /// Suspends an account or takes it up again.
    SuspendAccount {
        /// Which.
        account: String,
        /// Refused from now on, or accepted again.
        suspended: bool,
    },
}

/// Does a command, telling how far it is where that takes long. The gate, where one stands, forgets what it remembered
/// of credentials that changed.
pub fn execute(
    service: &Arc<Service>,
    gateway: Option<&Gateway>,
    command: Command,
    tell: &dyn Fn(Progress),
) -> Result<Value> {
    let forget = || gateway.into_iter().for_each(Gateway::forget);
    match command {
        Command::CreateKey { account, key } => {
            if let Some(namespace) = &key.namespace {
                check_namespace(service, &account, namespace)?;
            }
            let (record, full) = service.create_key(&account, key)?;
            Ok(keys::new_key_json(&record, &full))
        }
        Command::ListKeys { account } => {
            let keys: Vec<Value> = service.keys(&account)?.iter().map(keys::key_json).collect();
            Ok(json!(keys))
        }
        Command::RevokeKey { account, id } => {
            service.revoke_key(&account, &id)?;
            forget();
            Ok(json!({"id": id, "revoked": true}))
        }
        Command::Token { account } => {
            check_account(&account)?;
            service.ensure_account(&account)?;
            let token = service.issuer.mint(&account, Timestamp::now()).map_err(Error::internal)?;
            Ok(json!(token))
        }
        Command::Link { account } => {
            check_account(&account)?;
            service.ensure_account(&account)?;
            let link = service.dashboard.link(&account).ok_or_else(|| {
                let message = "no dashboard runs on this data directory: start `cuebase serve`, without \
                               --dashboard-listen off";
                Error::not_found("not_found", message)
            })?;
            Ok(json!(link))
        }
        Command::Connect { account } => {
            check_account(&account)?;
            service.ensure_account(&account)?;
            let token = service.issuer.mint(&account, Timestamp::now()).map_err(Error::internal)?;
            Ok(json!({"url": service.address(), "token": token}))
        }
        Command::CreateNamespace { account, name } => {
            check_account(&account)?;
            service.ensure_account(&account)?;
            let (record, _) = service.namespaces.create(&account, &name)?;
            Ok(namespaces::namespace_json(&record))
        }
        Command::ListNamespaces { account } => {
            let records = service.namespaces.list(&account, None, LISTED_MAX)?;
            Ok(json!(records.iter().map(namespaces::namespace_json).collect::<Vec<_>>()))
        }
        Command::DeleteNamespace { account, name } => {
            if !service.delete_namespace(&account, &name)? {
                let message = unknown_namespace(service, &account, &name)?;
                return Err(Error::not_found("namespace_not_found", message));
            }
            Ok(json!({"name": name, "deleted": true}))
        }
        Command::ListDeadLetters => {
            let mut listed = Vec::new();
            service.store.for_each_dead_letter(|letter| {
                let mut view = queue::dead_letter_json(&letter);
                view["account"] = json!(letter.account);
                listed.push(view);
            })?;
            listed.extend(service.store.unreadable()?.iter().map(queue::unreadable_json));
            Ok(json!(listed))
        }
        Command::RetryDeadLetter { id } => {
            service.retry_dead_letter(None, &id)?;
            Ok(json!({"id": id, "retried": true}))
        }
        Command::RetryDeadLetters { account, namespace } => {
            let retried = service.retry_dead_letters(account.as_deref(), namespace.as_deref())?;
            Ok(json!({"retried": retried}))
        }
        Command::DropDeadLetter { id } => {
            service.drop_dead_letter(None, &id)?;
            Ok(json!({"id": id, "dropped": true}))
        }
        Command::Models => {
            service.models.note_calls()?;
            let behind = service.backlog.list().into_iter().map(|(key, progress)| {
                let (done, all) = (progress.map(|progress| progress.done), progress.map(|progress| progress.all));
                json!({"account": key.account, "namespace": key.name, "done": done, "all": all})
            });
            let behind: Vec<Value> = behind.collect();
            let calls = service.store.models()?.into_iter().filter(|(_, record)| record.calls + record.failures > 0);
            let calls: serde_json::Map<String, Value> = calls.map(|(name, record)| (name, json!(record))).collect();
            Ok(json!({"calls": calls, "backlog": behind}))
        }
        Command::Backup { folder, keep } => Ok(json!(backup::backup(service, &folder, keep, tell)?)),
        Command::Doctor { repair } => Ok(json!(doctor::examine(service, repair, tell)?)),
        Command::Export { account, namespace, format, to } => {
            check_account(&account)?;
            Ok(json!(export::export(service, (&account, &namespace), format, &to, tell)?))
        }
        Command::Import { account, namespace, from, options } => {
            check_account(&account)?;
            let workers = own_workers(service, gateway)?;
            let report = import::import(service, &account, &namespace, &from, options, tell);
            workers.into_iter().for_each(Workers::drain);
            Ok(json!(report?))
        }
        Command::Reextract { account, namespace, session } => {
            check_account(&account)?;
            let workers = own_workers(service, gateway)?;
            let report = reextract::reextract(service, (&account, &namespace), session.as_deref(), tell);
            workers.into_iter().for_each(Workers::drain);
            Ok(json!(report?))
        }
        Command::ListAccounts => Ok(json!(service.accounts()?)),
        Command::SuspendAccount { account, suspended } => {
            let record = service.suspend(&account, suspended)?;
            forget();
            Ok(json!(record))
        }
    }
}

/// Refuses a namespace that does not exist: a key to it would open nothing. `default` exists for every account.
fn check_namespace(service: &Service, account: &str, name: &str) -> Result<()> {
    check_account(account)?;
    check_name(name)?;
    if name == DEFAULT || service.store.namespace(account, name)?.is_some() {
        return Ok(());
    }
    let mut message = unknown_namespace(service, account, name)?;
    message.push_str(&format!("\nhint: create it first with `cuebase namespaces create {name}`"));
    if account != DEFAULT_ACCOUNT {
        message.push_str(&format!(" and --account {account:?}"));
    }
    Err(Error::not_found("namespace_not_found", message))
}

/// A message that a namespace does not exist, with some that do.
fn unknown_namespace(service: &Service, account: &str, name: &str) -> Result<String> {
    let records = service.store.namespaces(account, None, NAMED_MAX + 1)?;
    let mut names = Vec::new();
    for record in records.iter().take(NAMED_MAX) {
        names.push(record.name.as_str());
    }
    if names.is_empty() {
        return Ok(format!("there is no namespace {name:?}: the account {account:?} has none"));
    }
    let more = if records.len() > NAMED_MAX { " and more" } else { "" };
    Ok(format!("there is no namespace {name:?}: the account {account:?} has {}{more}", names.join(", ")))
}

/// Workers for a command that waits for ingestion; none where a server runs, whose workers ingest.
fn own_workers(service: &Arc<Service>, gateway: Option<&Gateway>) -> Result<Option<Workers>> {
    match gateway {
        None => Ok(Some(Workers::start(service)?)),
        Some(_) => Ok(None),
    }
}
