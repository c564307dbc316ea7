//! A process that reads a file: starts it, sends the file, takes the answer.

use std::io::{BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use parking_lot::Mutex;

use super::error::DocumentError;
use super::kind::DocumentKind;
use super::limits::{SECONDS_MAX, memory_bytes_max};
use super::protocol::{Answer, COMMAND, Header};

/// Most bytes of an answer. Escaped text and the headings above each passage may take more than the file.
const ANSWER_BYTES_MAX: u64 = 160 << 20;
/// Bytes of a MiB.
const MIB: usize = 1 << 20;

/// A process that reads one file.
pub(super) struct ReaderProcess {
    child: Mutex<Child>,
}

impl ReaderProcess {
    /// Starts the program with the command that reads a file.
    pub(super) fn start(program: &Path) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        // The settings in the environment may hold secrets, which the process does not need.
        command.arg(COMMAND).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(Self { child: Mutex::new(command.spawn()?) })
    }

    /// Sends a file and returns the answer. `None` if the process ended without one.
    pub(super) fn read(&self, header: &Header, bytes: &[u8]) -> Option<Answer> {
        // Without the lock, so that the process can be killed meanwhile.
        let (input, output) = {
            let mut child = self.child.lock();
            (child.stdin.take()?, child.stdout.take()?)
        };
        // The process reads all its input before it writes. If it ended early, its status says why.
        let _ = send(input, header, bytes);
        serde_json::from_reader(BufReader::new(output.take(ANSWER_BYTES_MAX))).ok()
    }

    /// Ends the process, wherever it is.
    pub(super) fn kill(&self) {
        // Fails only if the process has ended.
        let _ = self.child.lock().kill();
    }

    /// Waits for the end of a process whose answer was read.
    pub(super) fn wait(&self) -> std::io::Result<ExitStatus> {
        self.child.lock().wait()
    }
}

/// Sends a file and closes the input.
fn send(mut input: ChildStdin, header: &Header, bytes: &[u8]) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(header)?;
    line.push(b'\n');
    input.write_all(&line)?;
    input.write_all(bytes)
}

/// Returns why a process ended without an answer.
pub(super) fn reason(status: ExitStatus, kind: &DocumentKind, file_bytes: usize) -> DocumentError {
    match status.signal() {
        // Its parser failed.
        None => DocumentError::malformed(kind.name(), "its structure is damaged"),
        Some(libc::SIGALRM | libc::SIGXCPU) => DocumentError::TooSlow { seconds: SECONDS_MAX },
        // An allocation that fails ends the process, and so does a stack that is full.
        Some(_) => DocumentError::TooMuchMemory { mebibytes: memory_bytes_max(file_bytes).div_ceil(MIB) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_process_names_the_limit_that_it_exceeded() {
        let message = |status: i32| reason(ExitStatus::from_raw(status), &DocumentKind::Html, 1 << 20).to_string();
        for signal in [libc::SIGALRM, libc::SIGXCPU] {
            assert!(message(signal).contains("10 seconds"), "{}", message(signal));
        }
        for signal in [libc::SIGABRT, libc::SIGSEGV, libc::SIGKILL] {
            assert!(message(signal).contains("24 MiB"), "{}", message(signal));
        }
        // Status 101, that of a panic.
        assert!(message(101 << 8).contains("HTML"), "{}", message(101 << 8));
    }
}
