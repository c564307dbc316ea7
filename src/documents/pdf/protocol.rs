//! What the process that reads a PDF and the process that starts it agree on.

use serde::{Deserialize, Serialize};

/// The command that reads a PDF on standard input and prints its lines as JSON. People do not call it.
pub(super) const COMMAND: &str = "read-pdf";

/// Processor time of the process, in seconds.
pub(super) const SECONDS_MAX: u64 = 60;
/// Address space of the process, in MiB. It contains the program, so it is not lowered with the memory.
pub(super) const ADDRESS_SPACE_MIB_MAX: u64 = 2048;
/// Exit status for a file that is protected by a password.
pub(super) const ENCRYPTED: u8 = 3;
/// Exit status for a file that is not a PDF.
pub(super) const MALFORMED: u8 = 4;
/// Exit status for a file with more text than the process collects.
pub(super) const TOO_MUCH_TEXT: u8 = 5;

/// A line of text on a page. Lengths are in points, 1/72 inch; the origin is the lower left corner of the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PdfLine {
    /// The page, from 1.
    pub(super) page: u32,
    /// Left end of the line.
    pub(super) x: f64,
    /// Baseline of the line.
    pub(super) y: f64,
    /// Size of the letters.
    pub(super) size: f64,
    /// The text.
    pub(super) text: String,
}
