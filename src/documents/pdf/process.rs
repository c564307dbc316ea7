//! Starts the process that reads a PDF, and takes its result.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cuebase_storage::AccountId;

use super::protocol::{COMMAND, ENCRYPTED, MALFORMED, PdfLine, SECONDS_MAX, TOO_MUCH_TEXT};
use crate::account_slots::AccountSlots;
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

static SLOTS: AccountSlots = AccountSlots::new(PROCESSES_MAX);

/// Returns the lines of a PDF of an account, read by another process.
pub(super) fn lines_of(bytes: &[u8], account: &AccountId) -> Result<Vec<PdfLine>, DocumentError> {
    let Some(_slot) = SLOTS.take(account) else { return Err(DocumentError::Busy) };
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
        Some(Ok(TOO_MUCH_TEXT)) => Err(DocumentError::TooMuchText),
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
