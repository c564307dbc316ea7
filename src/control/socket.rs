//! The socket between commands and a running server. It is a file in the data directory that only its owner can open.
//!
//! A connection carries one command, then progress messages if the command is long, then one result. Each message is a
//! line of JSON.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RunningServer;
use super::command::Command;
use super::execution::{CommandRunner, Host};
use super::peers::CommandsOfPeers;
use crate::app::App;
use crate::config::Config;
use crate::file_errors::explained;
use crate::maintenance::Progress;

const SOCKET: &str = "control.sock";
/// Bytes of a command, at most. An import of fetched memories carries all of them.
const COMMAND_BYTES_MAX: u64 = 64 << 20;
/// The longest path that is used as the address of the socket.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// Time that a starting server has until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two attempts to connect to a starting server.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A message of the server.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SocketMessage {
    Progress(Progress),
    Ok(Value),
    Error(String),
}

/// Runs a command in the server if one is running, otherwise in this process. `show` receives the progress.
pub fn run(config: &Config, command: Command, show: &dyn Fn(Progress)) -> anyhow::Result<Value> {
    let started = Instant::now();
    let app = loop {
        match with_path(&config.data, |path| UnixStream::connect(path)) {
            Ok(stream) => return ask(stream, &command, show),
            // The server runs as another user.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(explained("connect to", &config.data.join(SOCKET))(error));
            }
            // No server, or only the socket of a crashed one.
            Err(_) => {}
        }
        match App::open_for_command(config) {
            // A starting server locks the records before it listens.
            Err(error) if is_locked(&error) && started.elapsed() < START_TIMEOUT => std::thread::sleep(POLL_INTERVAL),
            opened => break opened?,
        }
    };
    let runner = CommandRunner { app: &app, host: Host::CommandLine, report: show };
    let result = runner.run(command)?;
    app.close()?;
    Ok(result)
}

fn is_locked(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(cuebase_storage::Error::Locked(_)))
}

/// Runs a command in the server on the data directory. Returns none if no server is running.
pub fn ask_running(config: &Config, command: &Command) -> anyhow::Result<Option<Value>> {
    match with_path(&config.data, |path| UnixStream::connect(path)) {
        Ok(stream) => ask(stream, command, &|_| {}).map(Some),
        Err(_) => Ok(None),
    }
}

fn ask(mut stream: UnixStream, command: &Command, show: &dyn Fn(Progress)) -> anyhow::Result<Value> {
    let mut line = serde_json::to_string(command)?;
    line.push('\n');
    ensure!(
        line.len() as u64 <= COMMAND_BYTES_MAX,
        "the command has {} bytes, and a running server accepts {COMMAND_BYTES_MAX}: import less at once, or stop the \
         server first",
        line.len()
    );
    stream.write_all(line.as_bytes()).context("cannot send the command to the running server")?;
    for line in BufReader::new(stream).lines() {
        let line = line.context("the running server did not answer")?;
        match serde_json::from_str(&line).context("the running server sent an unknown message")? {
            SocketMessage::Progress(progress) => show(progress),
            SocketMessage::Ok(value) => return Ok(value),
            SocketMessage::Error(message) => bail!(message),
        }
    }
    bail!("the running server did not answer")
}

/// Calls `action` with the path of the socket. The address of a socket has room for about a hundred bytes, so a longer
/// path is replaced by one through the descriptor of the directory, which stays open meanwhile.
fn with_path<T>(data: &Path, action: impl FnOnce(&Path) -> std::io::Result<T>) -> std::io::Result<T> {
    let path = data.join(SOCKET);
    if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return action(&path);
    }
    let folder = std::fs::File::open(data)?;
    action(&PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())))
}

/// Opens the socket and serves it until the process ends, with one thread per connection.
pub fn listen(app: Arc<App>, server: RunningServer) -> anyhow::Result<()> {
    let data = app.inspector.data();
    let path = data.join(SOCKET);
    // This process holds the lock of the records, so no other server uses the socket.
    if path.exists() {
        std::fs::remove_file(&path).map_err(explained("remove", &path))?;
    }
    let listener = match with_path(data, |path| UnixListener::bind(path)) {
        Err(error) if error.kind() == ErrorKind::StorageFull => {
            // A full disk must not keep the server from serving reads and deletions.
            tracing::warn!(path = %path.display(), "the disk is full: the server takes no commands until it is restarted");
            return Ok(());
        }
        bound => bound.map_err(explained("open", &path))?,
    };
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
        .map_err(explained("change the mode of", &path))?;
    let server = Arc::new(server);
    if !app.namespaces.ownership().is_alone() {
        app.reads.peers().accept_commands(Arc::new(CommandsOfPeers::new(&app, &server)));
    }
    std::thread::Builder::new().name("control".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let app = Arc::clone(&app);
            let server = Arc::clone(&server);
            let thread = std::thread::Builder::new().name("command".into()).spawn(move || {
                if let Err(error) = serve(&app, &server, &stream) {
                    tracing::warn!(%error, "a command through the socket failed");
                }
            });
            if let Err(error) = thread {
                tracing::warn!(%error, "the thread for a command through the socket could not start");
            }
        }
    })?;
    Ok(())
}

fn serve(app: &Arc<App>, server: &RunningServer, stream: &UnixStream) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut line = String::new();
    BufReader::new(stream.try_clone()?.take(COMMAND_BYTES_MAX)).read_line(&mut line)?;
    let command = match serde_json::from_str(&line) {
        Ok(command) => command,
        Err(error) => return send(stream, &SocketMessage::Error(format!("invalid command: {error}"))),
    };
    // The command continues even if the client has left.
    let report = &|progress| drop(send(stream, &SocketMessage::Progress(progress)));
    let runner = CommandRunner { app, host: Host::Server(server), report };
    match runner.run(command) {
        Ok(value) => send(stream, &SocketMessage::Ok(value)),
        Err(error) => send(stream, &SocketMessage::Error(error.to_string())),
    }
}

fn send(mut stream: &UnixStream, message: &SocketMessage) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(message)?;
    text.push('\n');
    Ok(stream.write_all(text.as_bytes())?)
}
