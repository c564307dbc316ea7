//! PDF: text by page, with headings by the size of their letters.
//!
//! [`reader`] runs in a process of its own, which this program starts as [`COMMAND`]. It has limits of memory and time,
//! so a hostile file ends that process and nothing else. It prints the [`PdfLine`]s of the file, which
//! [`characters`] makes of characters with positions. [`layout`] makes headings and paragraphs of the lines.

mod characters;
mod layout;
mod process;
pub mod reader;

use serde::{Deserialize, Serialize};

use super::blocks::Block;
use super::error::DocumentError;

/// The command that reads a PDF on standard input and prints its lines as JSON. People do not call it.
pub const COMMAND: &str = "read-pdf";

/// A line of text on a page. Lengths are in points, 1/72 inch; the origin is the lower left corner of the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PdfLine {
    /// The page, from 1.
    pub page: u32,
    /// Left end of the line.
    pub x: f64,
    /// Baseline of the line.
    pub y: f64,
    /// Size of the letters.
    pub size: f64,
    /// The text.
    pub text: String,
}

/// Returns the blocks of a file.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Block>, DocumentError> {
    Ok(layout::blocks(&process::lines_of(bytes)?))
}
