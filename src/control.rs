//! Commands on the data directory: done directly when no server runs, through its socket when one does.
//!
//! The socket is a file in the data directory that only its owner can open. One connection carries one command and one
//! answer, each a line of JSON.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use cuebase_storage::records::DeadLetter;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ulid::Ulid;

use crate::api::{keys, namespaces};
use crate::config::Config;
use crate::gateway::Gateway;
use crate::service::accounts::{NewKey, check_account};
use crate::service::{Failure, Outcome, Service};
use crate::time::format_ms;

/// Longest command line that the socket takes.
const COMMAND_BYTES_MAX: u64 = 1 << 20;
/// Longest path of a socket that is used as it is.
const SOCKET_PATH_BYTES_MAX: usize = 100;
/// Namespaces told by one listing.
const LISTED_MAX: usize = 100_000;

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
    /// Forgets a dead letter.
    DropDeadLetter {
        /// The queue message id.
        id: String,
    },
    /// Tells how much models were called, and what is still to be embedded.
    Models,
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

/// Does a command. The gate, where one stands, forgets what it remembered of credentials that changed.
pub fn execute(service: &Service, gateway: Option<&Gateway>, command: Command) -> Outcome<Value> {
    let forget = || gateway.into_iter().for_each(Gateway::forget);
    match command {
        Command::CreateKey { account, key } => {
            let (record, full) = service.create_key(&account, key)?;
            Ok(keys::created(&record, &full))
        }
        Command::ListKeys { account } => {
            let keys: Vec<Value> = service.keys(&account)?.iter().map(keys::listed).collect();
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
            let token = service.issuer.mint(&account, Timestamp::now()).map_err(Failure::internal)?;
            Ok(json!(token))
        }
        Command::CreateNamespace { account, name } => {
            check_account(&account)?;
            service.ensure_account(&account)?;
            let (record, _) = service.namespaces.create(&account, &name)?;
            Ok(namespaces::listed(&record))
        }
        Command::ListNamespaces { account } => {
            let records = service.namespaces.list(&account, None, LISTED_MAX)?;
            Ok(json!(records.iter().map(namespaces::listed).collect::<Vec<_>>()))
        }
        Command::DeleteNamespace { account, name } => {
            Ok(json!({"name": name, "deleted": service.delete_namespace(&account, &name)?}))
        }
        Command::ListDeadLetters => {
            let letter = |letter: &DeadLetter| {
                json!({
                    "id": letter.entry.id.to_string(),
                    "account": letter.entry.account,
                    "namespace": letter.entry.namespace,
                    "accepted_at": format_ms(letter.entry.accepted_at_ms),
                    "died_at": format_ms(letter.died_at_ms),
                    "failures": letter.entry.failures,
                    "reason": letter.reason,
                })
            };
            Ok(json!(service.store.dead_letters()?.iter().map(letter).collect::<Vec<_>>()))
        }
        Command::RetryDeadLetter { id } => {
            let entry = service.store.revive(message_id(&id)?)?.ok_or_else(|| no_letter(&id))?;
            service.promises.note(&entry);
            service.queue.add(&entry);
            Ok(json!({"id": id, "retried": true}))
        }
        Command::DropDeadLetter { id } => {
            let dropped = service.store.drop_dead_letter(message_id(&id)?)?;
            if dropped { Ok(json!({"id": id, "dropped": true})) } else { Err(no_letter(&id)) }
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
        Command::ListAccounts => Ok(json!(service.accounts()?)),
        Command::SuspendAccount { account, suspended } => {
            let record = service.suspend(&account, suspended)?;
            forget();
            Ok(json!(record))
        }
    }
}

fn message_id(text: &str) -> Outcome<Ulid> {
    text.parse().map_err(|_| Failure::invalid("invalid_id", format!("{text:?} is no queue message id")))
}

fn no_letter(id: &str) -> Failure {
    Failure::not_found("not_found", format!("there is no dead letter {id}"))
}

/// Has a command done, by the running server or here.
pub fn run(config: Config, command: Command) -> anyhow::Result<Value> {
    match with_socket_path(&config.data, |path| UnixStream::connect(path)) {
        Ok(stream) => ask(stream, &command),
        // No socket, or one that a dead server left behind.
        Err(_) => {
            let service = Service::open(config)?;
            let answer = execute(&service, None, command)?;
            service.store.sync()?;
            Ok(answer)
        }
    }
}

#[derive(Serialize, Deserialize)]
enum Answer {
    #[serde(rename = "ok")]
    Ok(Value),
    #[serde(rename = "error")]
    Error(String),
}

fn ask(mut stream: UnixStream, command: &Command) -> anyhow::Result<Value> {
    let mut line = serde_json::to_string(command)?;
    line.push('\n');
    stream.write_all(line.as_bytes()).context("cannot speak to the running server")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).context("the running server did not answer")?;
    match serde_json::from_str(&answer).context("the running server did not answer")? {
        Answer::Ok(value) => Ok(value),
        Answer::Error(message) => bail!(message),
    }
}

const SOCKET: &str = "control.sock";

/// Does something with the socket's path. A socket's address has room for about a hundred bytes, so a longer path goes
/// through the directory's descriptor, which is held open meanwhile.
fn with_socket_path<T>(data: &Path, act: impl FnOnce(&Path) -> std::io::Result<T>) -> std::io::Result<T> {
    let path = data.join(SOCKET);
    if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return act(&path);
    }
    let folder = std::fs::File::open(data)?;
    act(&PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())))
}

/// Opens the socket and serves it on a thread of its own until the process ends.
pub fn listen(service: Arc<Service>, gateway: Arc<Gateway>) -> anyhow::Result<()> {
    let path = service.config.data.join(SOCKET);
    // The database's lock is held, so a socket that is there belongs to nobody.
    if path.exists() {
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    let listener = with_socket_path(&service.config.data, |path| UnixListener::bind(path));
    let listener = listener.with_context(|| format!("cannot open {}", path.display()))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    std::thread::Builder::new().name("control".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            if let Err(error) = serve(&service, &gateway, &stream) {
                tracing::warn!(%error, "a command through the socket failed");
            }
        }
    })?;
    Ok(())
}

fn serve(service: &Service, gateway: &Gateway, stream: &UnixStream) -> anyhow::Result<()> {
    use std::io::Read;
    stream.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
    let mut line = String::new();
    BufReader::new(stream.try_clone()?.take(COMMAND_BYTES_MAX)).read_line(&mut line)?;
    let answer = match serde_json::from_str(&line) {
        Ok(command) => match execute(service, Some(gateway), command) {
            Ok(value) => Answer::Ok(value),
            Err(failure) => Answer::Error(failure.to_string()),
        },
        Err(error) => Answer::Error(format!("not a command: {error}")),
    };
    let mut text = serde_json::to_string(&answer)?;
    text.push('\n');
    (&mut &*stream).write_all(text.as_bytes())?;
    Ok(())
}
