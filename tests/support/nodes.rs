//! The suite on several nodes: a server of a test is three processes with one database and one bucket, behind a proxy
//! that sends each connection to the next node.
//!
//! `CUEBASE_TEST_CLUSTER` names a JSON file with a PostgreSQL server and an S3 service, which `scripts/test-nodes.sh`
//! writes. Without it, a server is one process. `single_process.txt` lists the tests that cannot run on several nodes.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use parking_lot::Mutex;

use super::{Server, open_log};

/// Nodes of a server.
const NODES: usize = 3;

/// Ports of listeners that need a fixed one. The system gives higher ones to sockets that ask for any port.
const FIRST_PORT: u32 = 12_000;
/// Number of these ports.
const PORTS: u32 = 8_000;

/// Options that give a node an address of its own. Only the first node gets those of a test.
const ADDRESS_OPTIONS: [&str; 3] = ["--dashboard-listen", "--pets-listen", "--metrics-listen"];

/// Settings of the nodes after the first, so that no two nodes listen on one address.
const SETTINGS_OF_LATER_NODES: [(&str, &str); 4] = [
    ("CUEBASE_DASHBOARD_LISTEN", "off"),
    ("CUEBASE_PETS_LISTEN", "off"),
    ("CUEBASE_METRICS_LISTEN", "off"),
    ("CUEBASE_PAYMENTS_SANDBOX_LISTEN", "127.0.0.1:0"),
];

/// The services that all nodes of the suite share.
#[derive(serde::Deserialize)]
struct Services {
    /// Connection string of the PostgreSQL server, without a database; its user may create databases.
    postgres: String,
    /// Path of the program `psql`.
    psql: PathBuf,
    /// Address of the bucket, for example `s3://name`.
    bucket: String,
    /// Environment of each node: credentials and endpoint of the S3 service.
    environment: BTreeMap<String, String>,
}

impl Services {
    /// Runs a statement in the database that every PostgreSQL server has.
    fn execute(&self, statement: &str) {
        let mut command = Command::new(&self.psql);
        command.args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--command", statement]);
        let output = command.arg(self.connection("postgres")).output().expect("psql runs");
        assert!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns the connection string of a database.
    fn connection(&self, database: &str) -> String {
        format!("{} dbname={database}", self.postgres)
    }
}

/// Returns the services, or `None` if a server is one process.
fn services() -> Option<&'static Services> {
    static SERVICES: OnceLock<Option<Services>> = OnceLock::new();
    SERVICES.get_or_init(read_services).as_ref()
}

fn read_services() -> Option<Services> {
    let file = std::env::var_os("CUEBASE_TEST_CLUSTER")?;
    let text = std::fs::read(file).expect("reads the file that CUEBASE_TEST_CLUSTER names");
    Some(serde_json::from_slice(&text).expect("a file that scripts/test-nodes.sh wrote"))
}

/// Returns whether a server is several nodes.
pub(crate) fn are_used() -> bool {
    services().is_some()
}

/// Databases by the data directory of the first node.
static DATABASES: LazyLock<Mutex<HashMap<PathBuf, String>>> = LazyLock::new(Mutex::default);
/// Numbers the databases.
static DATABASE_NUMBERS: AtomicU32 = AtomicU32::new(0);

/// Returns the name of the database of a data directory, which is created at the first call. Drops the databases of
/// finished tests, whose temporary folder is gone.
fn database_of(services: &'static Services, data: &Path) -> String {
    let mut databases = DATABASES.lock();
    let mut finished = Vec::new();
    for known in databases.keys() {
        if !known.parent().is_some_and(Path::exists) {
            finished.push(known.clone());
        }
    }
    for known in finished {
        if let Some(database) = databases.remove(&known) {
            // Takes seconds, as PostgreSQL writes all changes to its disk before.
            std::thread::spawn(move || services.execute(&format!("DROP DATABASE {database} WITH (FORCE)")));
        }
    }
    if let Some(database) = databases.get(data) {
        return database.clone();
    }
    let number = DATABASE_NUMBERS.fetch_add(1, Ordering::SeqCst);
    let database = format!("test_{}_{number}", std::process::id());
    // template0 accepts no connections, so none can stop the copy.
    services.execute(&format!("CREATE DATABASE {database} TEMPLATE template0"));
    databases.insert(data.to_path_buf(), database.clone());
    database
}

/// Returns the settings with which a command uses the database and the bucket of a data directory. Empty if a server is
/// one process.
pub(crate) fn settings(data: &Path) -> BTreeMap<String, String> {
    let Some(services) = services() else { return BTreeMap::new() };
    let database = database_of(services, data);
    let address = free_address();
    let mut settings = services.environment.clone();
    settings.insert("CUEBASE_STORAGE_ENGINE".into(), "postgres".into());
    settings.insert("CUEBASE_STORAGE_POSTGRES_URL".into(), services.connection(&database));
    settings.insert("CUEBASE_STORAGE_BUCKET".into(), format!("{}/{database}", services.bucket));
    // The server of the tests has no standby.
    settings.insert("CUEBASE_CLUSTER_ALLOW_UNSAFE_DATABASE".into(), "true".into());
    settings.insert("CUEBASE_CLUSTER_LISTEN".into(), address.clone());
    settings.insert("CUEBASE_CLUSTER_ADVERTISE".into(), address);
    settings
}

/// Numbers the ports of such listeners.
static PORT_NUMBERS: AtomicU32 = AtomicU32::new(0);

/// Returns an address for a listener, with a port that is free now and that no other listener of this process has got
/// recently. No socket that asks for any port takes it before the listener does.
pub(crate) fn free_address() -> String {
    // Processes that run at the same time begin at different ports.
    let first = std::process::id() % PORTS;
    loop {
        let number = first + PORT_NUMBERS.fetch_add(1, Ordering::SeqCst);
        let address = format!("127.0.0.1:{}", FIRST_PORT + number % PORTS);
        if TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

/// The nodes of a server after the first, and the proxy. Empty if a server is one process. Ended when dropped.
pub(crate) struct LaterNodes {
    children: Vec<Child>,
    proxy: Option<Proxy>,
}

impl LaterNodes {
    /// Returns the later nodes of a server that is one process.
    pub(crate) fn none() -> Self {
        Self { children: Vec::new(), proxy: None }
    }

    /// Starts the later nodes with the command of the first one, which listens at `first_url`, and waits until they
    /// listen. Returns `None` if one exits before.
    pub(crate) fn start(data: &Path, first: &Command, first_url: &str) -> Option<Self> {
        std::fs::create_dir_all(folder_of_clones(data)).expect("creates");
        let mut nodes = Self::none();
        let mut outputs = Vec::new();
        for number in 2..=NODES {
            let mut command = later_command(data, first, number);
            let mut child = command.stdout(Stdio::piped()).stderr(open_log(data)).spawn().expect("the binary starts");
            outputs.push(child.stdout.take().expect("piped"));
            nodes.children.push(child);
        }
        let mut addresses = vec![first_url.trim_start_matches("http://").to_owned()];
        for output in outputs {
            let url = listening_url(BufReader::new(output))?;
            addresses.push(url.trim_start_matches("http://").to_owned());
        }
        nodes.proxy = Some(Proxy::open(addresses));
        Some(nodes)
    }

    /// Returns the URL of the proxy, or `None` if a server is one process.
    pub(crate) fn url(&self) -> Option<String> {
        let proxy = self.proxy.as_ref()?;
        Some(format!("http://{}", proxy.address))
    }

    /// Returns whether one of the nodes has exited.
    pub(crate) fn has_ended(&mut self) -> bool {
        for child in &mut self.children {
            if child.try_wait().expect("reads the state of the process").is_some() {
                return true;
            }
        }
        false
    }

    /// Kills the nodes.
    pub(crate) fn kill(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
        }
        for child in &mut self.children {
            let _ = child.wait();
        }
    }

    /// Returns the process ids of the nodes.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }

    /// Waits until the nodes exit. Returns whether all exited with success.
    pub(crate) fn wait(&mut self) -> bool {
        let mut are_successful = true;
        for child in &mut self.children {
            are_successful &= child.wait().expect("ends").success();
        }
        are_successful
    }
}

impl Drop for LaterNodes {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the command of a later node: that of the first one with another data directory and other addresses.
fn later_command(data: &Path, first: &Command, number: usize) -> Command {
    let mut own_data = data.as_os_str().to_owned();
    own_data.push(format!("-node-{number}"));
    let mut command = Command::new(first.get_program());
    let mut arguments = first.get_args();
    while let Some(argument) = arguments.next() {
        if argument == "--data" {
            arguments.next();
            command.arg("--data").arg(&own_data);
        } else if ADDRESS_OPTIONS.iter().any(|option| argument == *option) {
            arguments.next();
        } else {
            command.arg(argument);
        }
    }
    if let Some(folder) = first.get_current_dir() {
        command.current_dir(folder);
    }
    command.env_clear();
    for (name, value) in first.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let address = free_address();
    command.env("CUEBASE_CLUSTER_LISTEN", &address).env("CUEBASE_CLUSTER_ADVERTISE", &address);
    command.envs(SETTINGS_OF_LATER_NODES);
    command
}

/// Reads what a server prints until it prints the URL at which it listens. Returns `None` if it exits before.
pub(crate) fn listening_url(output: impl BufRead) -> Option<String> {
    for line in output.lines() {
        let line = line.ok()?;
        if let Some(url) = line.strip_prefix("listening on ") {
            return Some(url.to_owned());
        }
    }
    None
}

/// A TCP proxy that sends each connection to the next node. It does not look for a node that responds: a connection to
/// a node that has ended is closed. Closed when dropped.
struct Proxy {
    address: SocketAddr,
    is_closed: Arc<AtomicBool>,
}

impl Proxy {
    fn open(nodes: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let is_closed = Arc::new(AtomicBool::new(false));
        let is_closed_too = Arc::clone(&is_closed);
        std::thread::spawn(move || accept_connections(&listener, &nodes, &is_closed_too));
        Self { address, is_closed }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept_connections(listener: &TcpListener, nodes: &[String], is_closed: &AtomicBool) {
    let mut next = 0;
    for client in listener.incoming() {
        if is_closed.load(Ordering::SeqCst) {
            return;
        }
        let Ok(client) = client else { continue };
        let node = TcpStream::connect(&nodes[next]);
        next = (next + 1) % nodes.len();
        let Ok(node) = node else { continue };
        relay(client, node);
    }
}

/// Copies between two connections, in both directions, until both are closed.
fn relay(client: TcpStream, node: TcpStream) {
    let _ = client.set_nodelay(true);
    let _ = node.set_nodelay(true);
    let (Ok(client_too), Ok(node_too)) = (client.try_clone(), node.try_clone()) else { return };
    std::thread::spawn(move || copy(&client, &node));
    std::thread::spawn(move || copy(&node_too, &client_too));
}

/// Copies from one connection to another until one of them ends. The other direction continues: a node that refuses the
/// rest of a request may have sent its response.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = from.shutdown(Shutdown::Read);
    let _ = to.shutdown(Shutdown::Write);
}

/// Returns the folder of the clones of a server. It exists since the start, as tests compare what is next to the data
/// directory before and after.
fn folder_of_clones(data: &Path) -> PathBuf {
    data.with_extension("clones")
}

/// Numbers the clones.
static CLONE_NUMBERS: AtomicU32 = AtomicU32::new(0);

/// Clones a namespace next to the data directory, since any of the nodes may have its repository. Returns the path of
/// the clone, which does not exist if the namespace has no repository.
pub(crate) fn cloned_repository(server: &Server, namespace: &str) -> PathBuf {
    let number = CLONE_NUMBERS.fetch_add(1, Ordering::SeqCst);
    let path = folder_of_clones(&server.data).join(format!("{namespace}-{number}.git"));
    let url = format!("{}/v1/git/{namespace}", server.url.replace("http://", &format!("http://git:{}@", server.key)));
    let cloned = Command::new("git")
        .args(["clone", "--quiet", "--bare", &url])
        .arg(&path)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .output()
        .expect("git runs");
    let error = String::from_utf8_lossy(&cloned.stderr);
    assert!(cloned.status.success() || error.contains("does not exist") || error.contains("not found"), "{error}");
    path
}
