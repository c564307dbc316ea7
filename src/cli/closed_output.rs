//! What a command does when nobody reads its output any more, as in `cuebase config | head`: it ends quietly.
//!
//! The signal for that stays ignored, because a server would be ended by it when a client closes a connection. So each
//! write to standard output returns an error, of which `println!` makes a panic. Both lead to one exit status here.

use std::io::{self, ErrorKind};
use std::panic::PanicHookInfo;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;

/// The status of a process that the signal has ended: 128 and the number of the signal.
const STATUS: u8 = 128 + 13;
/// The beginning of the message of the panic.
const PANIC_MESSAGE: &str = "failed printing to stdout";

/// Whether a thread found standard output closed.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether a panic is that of a `println!` to a closed output, and records it.
pub(super) fn is_cause_of(panic: &PanicHookInfo<'_>) -> bool {
    let Some(message) = panic.payload().downcast_ref::<String>() else { return false };
    let closed = io::Error::from(Errno::EPIPE).to_string();
    let is_cause = message.starts_with(PANIC_MESSAGE) && message.contains(&closed);
    if is_cause {
        IS_CLOSED.store(true, Ordering::SeqCst);
    }
    is_cause
}

/// Returns the exit status of a command whose output was closed; `None` if it was not.
pub(super) fn status(error: Option<&anyhow::Error>) -> Option<ExitCode> {
    let is_closed = match error {
        // An error of a connection has a context.
        Some(error) if error.chain().count() == 1 => {
            error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
        }
        _ => false,
    };
    if is_closed || IS_CLOSED.load(Ordering::SeqCst) { Some(ExitCode::from(STATUS)) } else { None }
}
