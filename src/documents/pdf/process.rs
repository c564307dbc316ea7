//! Starts the process that reads a PDF, and takes its result.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cuebase_storage::AccountId;
use parking_lot::Mutex;

use super::protocol::{COMMAND, ENCRYPTED, MALFORMED, PdfLine, SECONDS_MAX};
use crate::documents::error::DocumentError;
use crate::memory_limit::reader_memory_mib;

/// Processes at the same time. An account has at most one of them, so that no account alone keeps the others waiting.
const PROCESSES_MAX: usize = 2;
/// Most bytes of a result.
const OUTPUT_BYTES_MAX: u64 = 128 << 20;
/// Most bytes of the reason that the process prints.
const REASON_BYTES_MAX: u64 = 200;
/// The running program, also after its file was replaced. Linux has this link.
const RUNNING_PROGRAM: &str = "/proc/self/exe";

/// The slots of this process.
static SLOTS: Slots = Slots { readers: Mutex::new(Vec::new()) };

/// The slots for the processes.
struct Slots {
    /// The account of each process that runs.
    readers: Mutex<Vec<AccountId>>,
}

/// A slot that an account uses. It is free again when it is dropped.
struct Slot<'a> {
    slots: &'a Slots,
    account: &'a AccountId,
}

impl Slots {
    fn take<'a>(&'a self, account: &'a AccountId) -> Result<Slot<'a>, DocumentError> {
        let mut readers = self.readers.lock();
        if readers.len() >= PROCESSES_MAX || readers.contains(account) {
            return Err(DocumentError::Busy);
        }
        readers.push(account.clone());
        Ok(Slot { slots: self, account })
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.slots.readers.lock().retain(|reader| reader != self.account);
    }
}

/// Returns the lines of a PDF of an account, read by another process.
pub(super) fn lines_of(bytes: &[u8], account: &AccountId) -> Result<Vec<PdfLine>, DocumentError> {
    let _slot = SLOTS.take(account)?;
    let mut child = start().map_err(DocumentError::NoReader)?;
    // The process reads all its input before it writes. If it ended early, its status says why.
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(bytes);
    }
    let mut output = Vec::new();
    let was_read = match child.stdout.take() {
        Some(stdout) => stdout.take(OUTPUT_BYTES_MAX).read_to_end(&mut output).is_ok(),
        None => false,
    };
    let mut reason = String::new();
    if let Some(stderr) = child.stderr.take() {
        // A reason that is not text is left out.
        let _ = stderr.take(REASON_BYTES_MAX).read_to_string(&mut reason);
    }
    let status = child.wait().map_err(DocumentError::NoReader)?;
    match status.code().map(u8::try_from) {
        Some(Ok(0)) if was_read => {
            serde_json::from_slice(&output).map_err(|error| DocumentError::malformed("PDF", error))
        }
        Some(Ok(ENCRYPTED)) => Err(DocumentError::Encrypted),
        Some(Ok(MALFORMED)) => Err(DocumentError::malformed("PDF", reason.trim())),
        Some(_) => Err(DocumentError::malformed("PDF", "its structure is damaged")),
        // Ended by a signal: that of the limit of time, or an allocation that failed.
        None => Err(DocumentError::TooExpensive { seconds: SECONDS_MAX, mebibytes: reader_memory_mib() }),
    }
}

fn start() -> std::io::Result<Child> {
    let program = match Path::new(RUNNING_PROGRAM) {
        link if link.exists() => link.to_owned(),
        _ => std::env::current_exe()?,
    };
    command(program).spawn()
}

fn command(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    // The settings in the environment may hold secrets, which the process does not need.
    command.arg(COMMAND).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_at_most_one_slot_and_leaves_the_other() {
        let slots = Slots { readers: Mutex::default() };
        let [a, b, c] = ["a", "b", "c"].map(|text| AccountId::new(text).expect("is valid"));
        let first = slots.take(&a).expect("free");
        assert!(matches!(slots.take(&a), Err(DocumentError::Busy)));
        let second = slots.take(&b).expect("left by the first account");
        assert!(matches!(slots.take(&c), Err(DocumentError::Busy)));
        drop(first);
        assert!(matches!(slots.take(&b), Err(DocumentError::Busy)));
        let third = slots.take(&c).expect("free again");
        drop((second, third));
        assert!(slots.readers.lock().is_empty());
    }
}
