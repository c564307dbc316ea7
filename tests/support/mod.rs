//! Server processes for the tests, and helpers that many tests share.

pub(crate) mod conversation_state;
pub(crate) mod disk;
pub(crate) mod fake;
pub(crate) mod mem0;
pub(crate) mod nodes;
pub(crate) mod pdf;
pub(crate) mod provider;
pub(crate) mod working_copy;

use std::collections::HashSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::blocking::Client;
use serde_json::{Value, json};

use self::nodes::LaterNodes;

/// Longest wait for a condition or a response. Few take a second, even with a slow model.
const WAIT_MAX: Duration = Duration::from_secs(180);
/// Longest sleep between two checks of a condition.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// A running server: one process, or several nodes if [`nodes::are_used`]. Killed when dropped.
pub(crate) struct Server {
    /// The process, or the first node.
    child: Child,
    later: LaterNodes,
    /// URL of the process, or of the proxy in front of the nodes.
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) data: PathBuf,
    client: Client,
}

/// A response: its status, its JSON body and its headers.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) retry_after: Option<String>,
    /// Debug output of all headers.
    pub(crate) headers: String,
}

impl Answer {
    /// Returns the code of an error in the envelope.
    pub(crate) fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or("no code")
    }

    /// Returns the hits of a retrieve; none if the field is absent.
    pub(crate) fn hits(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{self:?}");
        self.body.get("hits").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// Returns the contents of the hits, best first.
    pub(crate) fn contents(&self) -> Vec<String> {
        self.hits().iter().map(|hit| hit["content"].as_str().expect("content").to_owned()).collect()
    }
}

/// Returns a command for the binary on a data directory, with an environment that holds only `PATH` and the model
/// settings.
pub(crate) fn cuebase(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuebase"));
    command
        .args(arguments)
        .arg("--data")
        .arg(data)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(data.parent().unwrap_or(data));
    command.envs(model_settings());
    command.envs(nodes::settings(data));
    command
}

/// Model settings for the whole suite, from `CUEBASE_TEST_MODEL`: empty for the built-in table, whose vectors are there at
/// once, `hosted` for an imitated provider, or the folder of a local encoder. Tests that choose a model themselves override
/// these settings.
fn model_settings() -> Vec<(&'static str, String)> {
    match std::env::var("CUEBASE_TEST_MODEL").as_deref() {
        Err(_) | Ok("") => vec![(BUILT_IN, "table".into())],
        Ok("hosted") => vec![
            ("CUEBASE_MODEL_BASE_URL", provider::Provider::shared().url.clone()),
            ("CUEBASE_MODEL_EMBEDDING", "imitation".into()),
            ("CUEBASE_MODEL_CHAT", "imitation".into()),
        ],
        Ok(folder) => vec![("CUEBASE_MODEL_LOCAL", folder.into())],
    }
}

/// The setting of the built-in model.
pub(crate) const BUILT_IN: &str = "CUEBASE_MODEL_BUILTIN";

/// Returns a command for the binary with the settings of a file, without the suite's model settings. The built-in model is
/// the table, unless the settings name one.
pub(crate) fn with_models(data: &Path, settings: &str, arguments: &[&str]) -> Command {
    let file = data.with_extension("toml");
    std::fs::write(&file, settings).expect("writes");
    let mut command = cuebase(data, arguments);
    command.arg("--config").arg(file);
    for (name, _) in model_settings() {
        command.env_remove(name);
    }
    if !settings.contains("builtin") {
        command.env(BUILT_IN, "table");
    }
    command
}

/// Runs a command until it exits.
pub(crate) fn run(data: &Path, arguments: &[&str]) -> Output {
    cuebase(data, arguments).output().expect("the binary runs")
}

/// Runs a command that must succeed and returns what it printed.
pub(crate) fn stdout(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}

impl Server {
    /// Starts a server on a data directory with further options, and waits until it listens.
    pub(crate) fn start_with(data: &Path, options: &[&str]) -> Self {
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0"];
        arguments.extend(options);
        Self::start_command(data, cuebase(data, &arguments))
    }

    /// Starts a server with the settings of a file, without the suite's model settings.
    pub(crate) fn start_with_models(data: &Path, settings: &str) -> Self {
        Self::start_command(data, with_models(data, settings, &["serve", "--listen", "127.0.0.1:0"]))
    }

    pub(crate) fn start_command(data: &Path, command: Command) -> Self {
        let mut server = Self::try_start(data, command).unwrap_or_else(|| {
            let log = std::fs::read_to_string(data.with_extension("log")).unwrap_or_default();
            panic!("the server exited before it listened: {log}");
        });
        server.key = stdout(data, &["keys", "create"]);
        server
    }

    /// Starts a server and waits until it listens. Returns `None` if it exits before. The server has no key yet.
    pub(crate) fn try_start(data: &Path, mut command: Command) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(open_log(data)).spawn().expect("the binary starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let Some(url) = nodes::listening_url(output) else {
            child.wait().expect("ends");
            return None;
        };
        let client = Client::builder().timeout(WAIT_MAX).build().expect("a client");
        let (key, data) = (String::new(), data.to_path_buf());
        let mut server = Self { child, later: LaterNodes::none(), url, key, data, client };
        if nodes::are_used() {
            server.add_later_nodes(&command)?;
        }
        Some(server)
    }

    /// Starts the other nodes and the proxy. Returns `None` if a node exits before it listens.
    fn add_later_nodes(&mut self, first: &Command) -> Option<()> {
        self.later = LaterNodes::start(&self.data, first, &self.url)?;
        self.url = self.later.url()?;
        // Each request uses a new connection, which the proxy sends to the next node.
        let client = Client::builder().timeout(WAIT_MAX).pool_max_idle_per_host(0).build();
        self.client = client.expect("a client");
        Some(())
    }

    pub(crate) fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    /// Sends a request with a credential, or without an authorization header if there is none.
    pub(crate) fn request(&self, method: &str, path: &str, credential: Option<&str>, body: Option<Vec<u8>>) -> Answer {
        self.try_request(method, path, credential, body).expect("the server answers")
    }

    pub(crate) fn try_request(
        &self,
        method: &str,
        path: &str,
        credential: Option<&str>,
        body: Option<Vec<u8>>,
    ) -> reqwest::Result<Answer> {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some(credential) = credential {
            request = request.header("authorization", credential);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let response = request.send()?;
        let headers = format!("{:?}", response.headers());
        let retry_after = response.headers().get("retry-after").and_then(|v| v.to_str().ok()).map(str::to_owned);
        let status = response.status().as_u16();
        let bytes = response.bytes()?;
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Answer { status, body, retry_after, headers })
    }

    /// Sends a request with the account's own key.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let bearer = format!("Bearer {}", self.key);
        self.request(method, path, Some(&bearer), body.map(|body| body.to_string().into_bytes()))
    }

    /// Sends a request with a bearer credential.
    pub(crate) fn call_as(&self, token: &str, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let bearer = format!("Bearer {token}");
        self.request(method, path, Some(&bearer), body.map(|body| body.to_string().into_bytes()))
    }

    /// Starts a server with settings, which are written to a file next to the data directory.
    pub(crate) fn start_configured(data: &Path, settings: &str) -> Self {
        let file = data.with_extension("toml");
        std::fs::write(&file, settings).expect("writes");
        Self::start_with(data, &["--config", file.to_str().expect("a path")])
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, Some(body))
    }

    /// Creates a namespace.
    pub(crate) fn namespace(&self, name: &str) {
        let answer = self.post("/v1/namespaces", &json!({"name": name}));
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    }

    /// Posts a conversation of messages with the role `user` and returns the id of the queue message.
    pub(crate) fn remember(&self, namespace: &str, texts: &[&str]) -> String {
        let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        let answer = self.post("/v1/memories", &json!({"namespace": namespace, "messages": messages}));
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.body["id"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn retrieve(&self, namespace: &str, query: &str) -> Answer {
        self.get(&format!("/v1/retrieve?namespace={namespace}&{query}"))
    }

    /// Waits until everything posted to a namespace so far can be retrieved. A namespace ingests its writes in order,
    /// so a last write shows that the earlier ones are ingested.
    pub(crate) fn settle(&self, namespace: &str) {
        let token = format!("sentinel{}", SENTINELS.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
        self.remember(namespace, &[&format!("The marker of this moment is {token} exactly")]);
        wait_for("the last write to be retrievable", || {
            self.retrieve(namespace, &format!("q={token}&limit=3"))
                .contents()
                .iter()
                .any(|content| content.contains(&token))
        });
    }

    /// Waits until every accepted write is acknowledged. A memory can be retrieved shortly before that, and a write
    /// whose server is killed in between is processed again. The record of a namespace is then up to date, too.
    pub(crate) fn drain(&self) {
        wait_for("the queue to be empty", || self.get("/v1/queue").body["waiting"] == 0);
    }

    /// Returns the path of every memory of a namespace.
    pub(crate) fn memory_paths(&self, namespace: &str) -> Vec<String> {
        let mut folders = vec![String::new()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            let tree = self.get(&format!("/v1/tree?namespace={namespace}&path={folder}"));
            for entry in tree.body["entries"].as_array().into_iter().flatten() {
                let path = entry["path"].as_str().expect("a path").to_owned();
                let kind = if entry["kind"] == "directory" { &mut folders } else { &mut found };
                kind.push(path);
            }
        }
        found.sort();
        found
    }

    /// Returns whether the process, or one of the nodes, has exited.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("reads the state of the process").is_some() || self.later.has_ended()
    }

    /// Returns the id of the process, or of the first node.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process, or all nodes.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        self.later.kill();
        self.child.wait().expect("ends");
    }

    /// Sends SIGTERM and waits until the process, or every node, exits. Returns whether it exited with success.
    pub(crate) fn terminate(mut self) -> bool {
        let mut command = Command::new("kill");
        command.arg("-TERM").arg(self.child.id().to_string());
        for pid in self.later.pids() {
            command.arg(pid.to_string());
        }
        assert!(command.status().expect("kill runs").success());
        let is_successful = self.child.wait().expect("ends").success();
        self.later.wait() && is_successful
    }

    /// Returns the server's log so far, with the lines of all nodes.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.data.with_extension("log")).unwrap_or_default()
    }

    /// Returns the path of a namespace's repository, or of a new clone if the server is several nodes.
    pub(crate) fn repository(&self, namespace: &str) -> PathBuf {
        if nodes::are_used() {
            return nodes::cloned_repository(self, namespace);
        }
        repository(&self.data, namespace)
    }
}

/// Opens the log of the servers on a data directory, at its end.
fn open_log(data: &Path) -> std::fs::File {
    std::fs::File::options().create(true).append(true).open(data.with_extension("log")).expect("opens the log")
}

/// Length of a namespace id, a ULID, in folder names.
const NAMESPACE_ID_CHARS: usize = 26;

/// Returns the repository's path of a namespace of the account `default`; the path does not exist if there is none.
pub(crate) fn repository(data: &Path, namespace: &str) -> PathBuf {
    let repositories = data.join("repositories/default");
    newest_generation(&repositories, namespace, ".git").unwrap_or_else(|| repositories.join(format!("{namespace}.git")))
}

/// Returns the index's path of a namespace of the account `default`; the path does not exist if there is none.
pub(crate) fn index(data: &Path, namespace: &str) -> PathBuf {
    let indexes = data.join("indexes/default");
    newest_generation(&indexes, namespace, "").unwrap_or_else(|| indexes.join(namespace))
}

/// Returns the folder `<namespace>.<id><ending>` with the greatest id. Folders of deleted generations are removed
/// later.
fn newest_generation(folder: &Path, namespace: &str, ending: &str) -> Option<PathBuf> {
    generations(folder, namespace, ending).pop()
}

/// Returns the folders `<namespace>.<id><ending>`, oldest first.
pub(crate) fn generations(folder: &Path, namespace: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else { continue };
        let Some(rest) = name.strip_prefix(namespace).and_then(|rest| rest.strip_prefix('.')) else { continue };
        if rest.strip_suffix(ending).is_some_and(|id| id.len() == NAMESPACE_ID_CHARS) {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// Returns every file below a folder, sorted; none if the folder does not exist.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // The server may remove folders meanwhile.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Numbers the last writes of [`Server::settle`].
static SENTINELS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a temporary folder and the path of a data directory in it, which does not exist yet.
pub(crate) fn fresh() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("temporary directory");
    let data = folder.path().join("data");
    (folder, data)
}

impl Server {
    /// Peak resident memory of the process, bytes.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.memory("VmHWM:")
    }

    /// Current resident memory of the process, bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    fn memory(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("reads /proc");
        let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field of that name");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }
}

/// Checks a condition until it holds; fails the test after [`WAIT_MAX`]. Sleeps between two checks, so that the server
/// has the processor: one millisecond at first, twice as long each time, at most [`PAUSE_MAX`].
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT_MAX;
    let mut pause = Duration::from_millis(1);
    while !holds() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::sleep(pause);
        pause = PAUSE_MAX.min(pause * 2);
    }
}

/// Returns the number in an environment variable, or `None` if it is not set.
pub(crate) fn environment_number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// Runs git on a repository; it must succeed.
pub(crate) fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).output().expect("git runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !error.contains("error"), "git {arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the ids of the queue messages that the commits of a repository name. Each id may appear once only.
pub(crate) fn committed_messages(repository: &Path) -> HashSet<String> {
    let log = git(repository, &["log", "--format=%(trailers:key=Cuebase-Message,valueonly,separator=%x2C)"]);
    let mut seen = HashSet::new();
    for id in log.lines().filter(|line| !line.is_empty()) {
        assert!(seen.insert(id.to_owned()), "message {id} was committed twice in {}", repository.display());
    }
    seen
}

/// Sets a flag when it is dropped, also by a panic: threads that run until then stop after a failed assertion.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a std::sync::atomic::AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

/// Returns the number of memories in a namespace's record, or `None` if the namespace does not exist.
pub(crate) fn recorded_memories(server: &Server, namespace: &str) -> Option<u64> {
    let listed = server.get("/v1/namespaces").body["namespaces"].clone();
    let records = listed.as_array()?;
    let record = records.iter().find(|record| record["name"] == namespace)?;
    record["memories"].as_u64()
}

/// Returns a free address for the metrics listener, and the URL of the metrics on it.
pub(crate) fn metrics_address() -> (String, String) {
    let address = nodes::free_address();
    let url = format!("http://{address}/metrics");
    (address, url)
}

/// Fetches the metrics from a URL.
pub(crate) fn metrics(url: &str) -> String {
    let response = reqwest::blocking::get(url).expect("answers");
    assert_eq!(response.status().as_u16(), 200);
    response.text().expect("text")
}

/// Returns the value of the first sample whose line starts with a text.
pub(crate) fn sample(text: &str, start: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in {text}"));
    line.rsplit(' ').next().expect("a value").parse().expect("a number")
}
