//! Shared by the benches over HTTP: a real server, a minimal server as the speed floor, and a client for both.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use may_minihttp::{HttpServer, HttpService, Request, Response};

/// The server under measurement. Killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) key: String,
    #[allow(dead_code, reason = "not every bench restarts its server")]
    pub(crate) folder: PathBuf,
    /// The time from the start of the process until it listened.
    #[allow(dead_code, reason = "not every bench measures the start")]
    pub(crate) start: Duration,
}

#[allow(dead_code, reason = "each bench uses some of the methods")]
impl Server {
    /// Starts the binary that was built with the bench.
    pub(crate) fn start(folder: &Path) -> io::Result<Self> {
        Self::start_with(folder, &[])
    }

    /// Starts the binary that was built with the bench, with further options.
    pub(crate) fn start_with(folder: &Path, options: &[&str]) -> io::Result<Self> {
        Self::start_process(Path::new(env!("CARGO_BIN_EXE_cuebase")), folder, options)
    }

    /// Starts a given binary.
    pub(crate) fn start_binary(binary: &Path, folder: &Path) -> io::Result<Self> {
        Self::start_process(binary, folder, &[])
    }

    fn start_process(binary: &Path, folder: &Path, options: &[&str]) -> io::Result<Self> {
        let data = folder.join("data");
        let mut command = Command::new(binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(&data)
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let began = Instant::now();
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut address = String::new();
        for line in BufReader::new(output).lines() {
            if let Some(url) = line?.strip_prefix("listening on http://") {
                address = url.to_owned();
                break;
            }
        }
        let start = began.elapsed();
        let key = Command::new(binary).args(["keys", "create", "--data"]).arg(&data).output()?;
        let key = String::from_utf8_lossy(&key.stdout).trim().to_owned();
        Ok(Self { child, address, key, folder: folder.to_path_buf(), start })
    }

    /// Returns the resident memory in MiB; not a number on systems other than Linux.
    pub(crate) fn resident_mib(&self) -> f64 {
        self.memory_mib("VmRSS:")
    }

    /// Returns the peak of resident memory since the start or since [`Self::reset_peak`], in MiB.
    pub(crate) fn peak_mib(&self) -> f64 {
        self.memory_mib("VmHWM:")
    }

    /// Resets the peak to the present resident memory, if the system allows it.
    pub(crate) fn reset_peak(&self) {
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }

    fn memory_mib(&self, field: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let Some(value) = status.lines().find_map(|line| line.strip_prefix(field)) else { return f64::NAN };
        match value.trim().trim_end_matches(" kB").parse::<f64>() {
            Ok(kib) => kib / 1024.0,
            Err(_) => f64::NAN,
        }
    }

    /// Stops the server with SIGTERM and waits for it.
    pub(crate) fn terminate(mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client with one keep-alive connection and a minimal HTTP/1.1 implementation.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    key: String,
}

impl Client {
    pub(crate) fn connect(address: &str, key: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self { stream: BufReader::new(stream), key: key.to_owned() })
    }

    /// Sends a request and returns the status and the body of the response.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: {length}\r\n\r\n",
            self.key
        );
        self.stream.get_mut().write_all(format!("{head}{body}").as_bytes())?;
        let (mut status, mut length, mut line) = (0, 0, String::new());
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let text = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = text.strip_prefix("http/1.1 ") {
                status = rest.get(..3).and_then(|code| code.parse().ok()).unwrap_or(0);
            } else if let Some(value) = text.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
            } else if text.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, body))
    }
}

/// A server that answers every request with the same bytes.
pub(crate) struct Floor {
    pub(crate) address: String,
}

#[derive(Clone)]
struct Canned(&'static [u8]);

impl HttpService for Canned {
    fn call(&mut self, _request: Request, response: &mut Response) -> io::Result<()> {
        response.header("content-type: application/json");
        response.body_mut().extend_from_slice(self.0);
        Ok(())
    }
}

impl Floor {
    pub(crate) fn start(reply: Vec<u8>) -> io::Result<Self> {
        // Leaked, because it is served until the process ends.
        let reply: &'static [u8] = reply.leak();
        let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        // Dropping the handle does not stop the server.
        let _handle = HttpServer(Canned(reply)).start(free)?;
        Ok(Self { address: free.to_string() })
    }
}
