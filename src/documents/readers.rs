//! The processes that read files for a server or an import: how many run, for which account, and their end at a stop.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cuebase_storage::AccountId;
use cuebase_storage::records::PassageDraft;
use parking_lot::Mutex;

use super::error::DocumentError;
use super::kind::DocumentKind;
use super::process::{self, ReaderProcess};
use super::protocol::Header;
use crate::account_slots::AccountSlots;

/// Processes at the same time. An account has at most one of them, so that no account alone keeps the others waiting.
const PROCESSES_MAX: usize = 4;
/// How long a file waits for a process. Most files are read within milliseconds.
const SLOT_WAIT: Duration = Duration::from_secs(1);
/// The running program, also after its file was replaced. Linux has this link.
const RUNNING_PROGRAM: &str = "/proc/self/exe";

/// Reads files in processes of their own.
pub struct DocumentReaders {
    slots: AccountSlots,
    /// The program to start, if it is not the running one.
    program: OnceLock<PathBuf>,
    processes: Mutex<Processes>,
}

/// The processes that run.
#[derive(Default)]
struct Processes {
    running: Vec<Arc<ReaderProcess>>,
    /// Whether no more of them may start.
    is_stopped: bool,
}

impl Default for DocumentReaders {
    fn default() -> Self {
        Self {
            slots: AccountSlots::new(PROCESSES_MAX),
            program: OnceLock::new(),
            processes: Mutex::new(Processes::default()),
        }
    }
}

impl DocumentReaders {
    /// Sets the program of the processes. For callers that are not the program themselves, such as tests.
    pub fn use_program(&self, program: PathBuf) {
        // The first one stays.
        let _ = self.program.set(program);
    }

    /// Returns the passages of a file of an account, at least one. `name` is the name of the file.
    ///
    /// # Errors
    ///
    /// If the bytes are not a file of the kind, if it has no text, or if it is beyond a limit. If other files are read,
    /// or the server stops.
    pub fn read(
        &self,
        kind: &DocumentKind,
        name: &str,
        bytes: &[u8],
        account: &AccountId,
    ) -> Result<Vec<PassageDraft>, DocumentError> {
        let Some(_slot) = self.slots.wait_for(account, SLOT_WAIT) else { return Err(DocumentError::Busy) };
        let process = self.start()?;
        let header = Header { kind: kind.clone(), name: name.to_owned(), bytes: bytes.len() };
        let answer = process.read(&header, bytes);
        let status = process.wait();
        let is_stopped = self.end(&process);
        match answer {
            Some(answer) => answer,
            None if is_stopped => Err(DocumentError::Stopped),
            None => Err(process::reason(status.map_err(no_reader)?, kind, bytes.len())),
        }
    }

    /// Ends all processes and starts no more, because the server stops. Their files are refused.
    pub fn stop(&self) {
        let mut processes = self.processes.lock();
        processes.is_stopped = true;
        for process in &processes.running {
            process.kill();
        }
    }

    fn start(&self) -> Result<Arc<ReaderProcess>, DocumentError> {
        let mut processes = self.processes.lock();
        if processes.is_stopped {
            return Err(DocumentError::Stopped);
        }
        let program = self.program().map_err(no_reader)?;
        let process = Arc::new(ReaderProcess::start(&program).map_err(no_reader)?);
        processes.running.push(Arc::clone(&process));
        Ok(process)
    }

    /// Forgets a process that has ended. Returns whether the server stops.
    fn end(&self, ended: &Arc<ReaderProcess>) -> bool {
        let mut processes = self.processes.lock();
        processes.running.retain(|process| !Arc::ptr_eq(process, ended));
        processes.is_stopped
    }

    fn program(&self) -> std::io::Result<PathBuf> {
        if let Some(program) = self.program.get() {
            return Ok(program.clone());
        }
        match Path::new(RUNNING_PROGRAM) {
            link if link.exists() => Ok(link.to_owned()),
            _ => std::env::current_exe(),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn no_reader(error: std::io::Error) -> DocumentError {
    DocumentError::NoReader(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_file_takes_the_slot_of_its_account() {
        let readers = DocumentReaders::default();
        // Not a program that reads files: a file that got a slot is refused in another way.
        readers.use_program("/absent".into());
        let (account, other) = (AccountId::default(), AccountId::new("other").expect("is valid"));
        let _slot = readers.slots.wait_for(&account, Duration::ZERO).expect("free");
        for kind in [DocumentKind::Markdown, DocumentKind::Html] {
            let refused = readers.read(&kind, "a", b"Some text.", &account);
            assert!(matches!(refused, Err(DocumentError::Busy)), "{refused:?}");
            let refused = readers.read(&kind, "a", b"Some text.", &other);
            assert!(matches!(refused, Err(DocumentError::NoReader(_))), "{refused:?}");
        }
    }

    #[test]
    fn no_file_is_read_after_a_stop() {
        let readers = DocumentReaders::default();
        readers.stop();
        let refused = readers.read(&DocumentKind::PlainText, "a.txt", b"Some text.", &AccountId::default());
        assert!(matches!(refused, Err(DocumentError::Stopped)), "{refused:?}");
    }
}
