//! The process that reads a PDF: limits itself, reads standard input, prints lines.

use std::io::{Read, Write};

use anyhow::Context;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use pdf_extract::Document;

use super::characters::LineCollector;
use super::protocol::{ADDRESS_SPACE_MIB_MAX, ENCRYPTED, MALFORMED, SECONDS_MAX, TOO_MUCH_TEXT};
use crate::memory_limit::reader_memory_mib;

/// Reads a PDF on standard input and prints its lines as JSON. Returns the exit status.
///
/// # Errors
///
/// If the limits cannot be set, or input or output fails.
pub fn run() -> anyhow::Result<u8> {
    limit(Resource::RLIMIT_CPU, SECONDS_MAX).context("limit of processor time")?;
    limit(Resource::RLIMIT_AS, ADDRESS_SPACE_MIB_MAX << 20).context("limit of address space")?;
    limit(Resource::RLIMIT_DATA, reader_memory_mib() << 20).context("limit of memory")?;
    limit(Resource::RLIMIT_CORE, 0).context("limit of core dumps")?;
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let mut document = match Document::load_mem(&bytes) {
        Ok(document) => document,
        Err(error) => {
            eprint!("{error}");
            return Ok(MALFORMED);
        }
    };
    // Many files are encrypted with an empty password, which forbids printing but not reading.
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Ok(ENCRYPTED);
    }
    let mut collector = LineCollector::default();
    if let Err(error) = pdf_extract::output_doc(&document, &mut collector) {
        if collector.has_too_much_text() {
            return Ok(TOO_MUCH_TEXT);
        }
        eprint!("{error}");
        return Ok(MALFORMED);
    }
    let mut output = std::io::stdout().lock();
    serde_json::to_writer(&mut output, &collector.lines)?;
    output.flush()?;
    Ok(0)
}

/// Sets a limit of this process. A lower one of the system stays.
fn limit(resource: Resource, most: u64) -> nix::Result<()> {
    let (_, hard) = getrlimit(resource)?;
    let most = most.min(hard);
    setrlimit(resource, most, most)
}
