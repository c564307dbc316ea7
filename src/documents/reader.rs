//! The process that reads a file: limits itself, reads standard input, prints passages.

use std::io::{BufRead, BufWriter, Read, Write};

use anyhow::Context;
use cuebase_language::text::steps::Steps;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::alarm;

use super::limits::{SECONDS_MAX, memory_bytes_max};
use super::protocol::Header;

/// Address space in bytes: 2 GiB. It contains the program, whose size the limit of memory leaves out.
const ADDRESS_SPACE_BYTES_MAX: u64 = 2048 << 20;
/// Memory that the program takes before it reads a file, where the system does not report it: 16 MiB.
const PROGRAM_BYTES: u64 = 16 << 20;

/// Reads a file on standard input and prints its passages as JSON.
///
/// # Errors
///
/// If the limits cannot be set, or input or output fails.
pub fn run() -> anyhow::Result<()> {
    let seconds = u64::from(SECONDS_MAX);
    // The signal of the lower limit says that time was short. The higher one ends the process without a reason.
    limit(Resource::RLIMIT_CPU, seconds, seconds + 1).context("limit of processor time")?;
    limit(Resource::RLIMIT_AS, ADDRESS_SPACE_BYTES_MAX, ADDRESS_SPACE_BYTES_MAX).context("limit of address space")?;
    limit(Resource::RLIMIT_CORE, 0, 0).context("limit of core dumps")?;
    // The signal of the alarm ends a process that waits for a processor or for its input.
    alarm::set(SECONDS_MAX);
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    input.read_line(&mut line)?;
    let header: Header = serde_json::from_str(&line).context("header of the file")?;
    let memory = program_bytes().saturating_add(memory_bytes_max(header.bytes) as u64);
    limit(Resource::RLIMIT_DATA, memory, memory).context("limit of memory")?;
    let mut bytes = Vec::with_capacity(header.bytes);
    input.read_to_end(&mut bytes)?;
    let answer = super::read(&header.kind, &header.name, &bytes, &Steps::unlimited());
    let mut output = BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer(&mut output, &answer)?;
    output.flush()?;
    Ok(())
}

/// Sets the limits of this process. Lower ones of the system stay.
fn limit(resource: Resource, soft: u64, hard: u64) -> nix::Result<()> {
    let (_, most) = getrlimit(resource)?;
    setrlimit(resource, soft.min(most), hard.min(most))
}

/// Returns the memory of this process that counts under its limit so far.
fn program_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines() {
        if let Some(size) = line.strip_prefix("VmData:")
            && let Ok(kibibytes) = size.trim().trim_end_matches(" kB").parse::<u64>()
        {
            return kibibytes << 10;
        }
    }
    PROGRAM_BYTES
}
