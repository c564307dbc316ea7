//! From the bytes of a file to the passages that become memories.
//!
//! [`kind`] says what a file is. [`readers`] starts a process that reads the file, because a parser may fail on hostile
//! bytes in ways that no caller can catch, and may take more memory than its caller has. The process ([`reader`]) limits
//! its time and its memory; [`protocol`] is what both processes know.
//!
//! In that process [`read`] makes [`blocks`] with a parser per kind: headings and pieces of text, each with its page or
//! line. The parsers are [`markdown`], [`plain_text`], [`source_code`], [`html`], [`docx`] and [`pdf`]. [`passages`]
//! joins blocks under the same headings and divides long ones. All of them take time linear in the file; they count what
//! they examine, which `tests/linear.rs` compares.

mod blocks;
mod docx;
pub mod error;
mod html;
pub mod kind;
mod limits;
mod markdown;
mod passages;
mod pdf;
mod plain_text;
mod process;
mod protocol;
pub mod reader;
pub mod readers;
mod source_code;
mod text_encoding;

pub use self::limits::memory_bytes_max;

use cuebase_language::text::steps::Steps;
use cuebase_storage::records::PassageDraft;

use self::error::DocumentError;
use self::kind::DocumentKind;
use self::limits::{PASSAGES_MAX, TEXT_BYTES_MAX};

/// Returns the passages of a file, at least one. `name` is the name of the file. Only a process that limits itself may
/// call this with bytes of a client.
///
/// # Errors
///
/// If the bytes are not a file of the kind, if it has no text, if it is too large, or if `steps` interrupts.
pub fn read(
    kind: &DocumentKind,
    name: &str,
    bytes: &[u8],
    steps: &Steps<'_>,
) -> Result<Vec<PassageDraft>, DocumentError> {
    let blocks = match kind {
        DocumentKind::Pdf => pdf::read(bytes, steps)?,
        DocumentKind::Docx => docx::read(bytes, steps)?,
        DocumentKind::Html => html::read(bytes, steps)?,
        DocumentKind::Markdown => markdown::read(&text_encoding::decode(bytes, steps)?, steps)?,
        DocumentKind::PlainText => plain_text::read(&text_encoding::decode(bytes, steps)?),
        DocumentKind::SourceCode { language } => {
            source_code::read(name, language, &text_encoding::decode(bytes, steps)?)
        }
    };
    let text_bytes: usize = blocks.iter().map(|block| block.text.len()).sum();
    if text_bytes > TEXT_BYTES_MAX {
        return Err(DocumentError::TooMuchText);
    }
    let passages = passages::of_blocks(blocks, steps)?;
    match passages.len() {
        0 => Err(DocumentError::NoText),
        1..=PASSAGES_MAX => Ok(passages),
        _ => Err(DocumentError::TooMuchText),
    }
}
