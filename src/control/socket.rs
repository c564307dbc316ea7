//! How a command reaches a running server: a file in the data directory that only its owner can open.
//!
//! One connection carries one command, then lines of progress where it takes long, then one answer; each a line of JSON.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Command, execute};
use crate::config::Config;
use crate::file_errors::explained;
use crate::gateway::Gateway;
use crate::maintenance::Progress;
use crate::service::Service;

const SOCKET: &str = "control.sock";
/// Longest command line that the socket takes.
const COMMAND_BYTES_MAX: u64 = 1 << 20;
/// Longest path of a socket that is used as it is.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// A server that starts is waited for so long.
const START_TIME: Duration = Duration::from_secs(5);
/// How often it is looked whether it listens.
const POLL: Duration = Duration::from_millis(50);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Progress(Progress),
    Ok(Value),
    Error(String),
}

/// Has a command done, by the running server or here. `show` is told how far it is.
pub fn run(config: &Config, command: Command, show: &dyn Fn(Progress)) -> anyhow::Result<Value> {
    let began = Instant::now();
    let service = loop {
        match with_path(&config.data, |path| UnixStream::connect(path)) {
            Ok(stream) => return ask(stream, &command, show),
            // The socket of another user's server.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(explained("connect to", &config.data.join(SOCKET))(error));
            }
            // No socket, or one that a dead server left behind.
            Err(_) => {}
        }
        match Service::open_for_command(config.clone()) {
            // A server that has just been started holds the records before it listens.
            Err(error) if is_locked(&error) && began.elapsed() < START_TIME => std::thread::sleep(POLL),
            opened => break opened?,
        }
    };
    let answer = execute(&service, None, command, show)?;
    service.store.sync()?;
    Ok(answer)
}

fn is_locked(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(cuebase_storage::Error::Locked(_)))
}

/// Has a command done by the server that runs on the data directory; none where none does.
pub fn ask_running(config: &Config, command: &Command) -> anyhow::Result<Option<Value>> {
    match with_path(&config.data, |path| UnixStream::connect(path)) {
        Ok(stream) => ask(stream, command, &|_| {}).map(Some),
        Err(_) => Ok(None),
    }
}

fn ask(mut stream: UnixStream, command: &Command, show: &dyn Fn(Progress)) -> anyhow::Result<Value> {
    let mut line = serde_json::to_string(command)?;
    line.push('\n');
    stream.write_all(line.as_bytes()).context("cannot speak to the running server")?;
    for said in BufReader::new(stream).lines() {
        let said = said.context("the running server did not answer")?;
        match serde_json::from_str(&said).context("the running server answered with something else")? {
            Said::Progress(progress) => show(progress),
            Said::Ok(value) => return Ok(value),
            Said::Error(message) => bail!(message),
        }
    }
    bail!("the running server did not answer")
}

/// Does something with the socket's path. A socket's address has room for about a hundred bytes, so a longer path goes
/// through the directory's descriptor, which is held open meanwhile.
fn with_path<T>(data: &Path, act: impl FnOnce(&Path) -> std::io::Result<T>) -> std::io::Result<T> {
    let path = data.join(SOCKET);
    if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return act(&path);
    }
    let folder = std::fs::File::open(data)?;
    act(&PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())))
}

/// Opens the socket and serves it until the process ends, each connection on a thread of its own.
pub fn listen(service: Arc<Service>, gateway: Arc<Gateway>) -> anyhow::Result<()> {
    let path = service.config.data.join(SOCKET);
    // The database's lock is held, so a socket that is there belongs to nobody.
    if path.exists() {
        std::fs::remove_file(&path).map_err(explained("remove", &path))?;
    }
    let listener = with_path(&service.config.data, |path| UnixListener::bind(path));
    let listener = listener.map_err(explained("open", &path))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
        .map_err(explained("change the mode of", &path))?;
    std::thread::Builder::new().name("control".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let (service, gateway) = (Arc::clone(&service), Arc::clone(&gateway));
            let served = std::thread::Builder::new().name("command".into()).spawn(move || {
                if let Err(error) = serve(&service, &gateway, &stream) {
                    tracing::warn!(%error, "a command through the socket failed");
                }
            });
            if let Err(error) = served {
                tracing::warn!(%error, "no thread for a command through the socket");
            }
        }
    })?;
    Ok(())
}

fn serve(service: &Arc<Service>, gateway: &Gateway, stream: &UnixStream) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
    let mut line = String::new();
    BufReader::new(stream.try_clone()?.take(COMMAND_BYTES_MAX)).read_line(&mut line)?;
    // Whoever asked may have gone; the command is carried out all the same.
    let tell = |progress| drop(say(stream, &Said::Progress(progress)));
    let said = match serde_json::from_str(&line) {
        Ok(command) => match execute(service, Some(gateway), command, &tell) {
            Ok(value) => Said::Ok(value),
            Err(failure) => Said::Error(failure.to_string()),
        },
        Err(error) => Said::Error(format!("not a command: {error}")),
    };
    say(stream, &said)
}

fn say(mut stream: &UnixStream, said: &Said) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(said)?;
    text.push('\n');
    Ok(stream.write_all(text.as_bytes())?)
}
