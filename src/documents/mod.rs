//! From the bytes of a file to the passages that become memories.
//!
//! [`kind`] says what a file is. A reader per kind makes [`blocks`]: headings and pieces of text, each with its page or
//! line. The readers are [`markdown`], [`plain_text`], [`source_code`], [`html`], [`docx`] and [`pdf`]. [`passages`]
//! joins blocks under the same headings and divides long ones. A PDF is read by another process, because its parser
//! may fail on hostile bytes in ways that no caller can catch.

mod blocks;
mod docx;
pub mod error;
mod html;
pub mod kind;
mod limits;
mod markdown;
mod passages;
pub mod pdf;
mod plain_text;
mod source_code;
mod text_encoding;

use cuebase_storage::AccountId;
use cuebase_storage::records::PassageDraft;

use self::error::DocumentError;
use self::kind::DocumentKind;
use self::limits::{PASSAGES_MAX, TEXT_BYTES_MAX};

/// Returns the passages of a file, at least one. `name` is the name of the file. Of each account, one PDF and one DOCX are
/// read at a time.
///
/// # Errors
///
/// If the bytes are not a file of the kind, if it has no text, or if it is too large.
pub fn read(
    kind: &DocumentKind,
    name: &str,
    bytes: &[u8],
    account: &AccountId,
) -> Result<Vec<PassageDraft>, DocumentError> {
    let blocks = match kind {
        DocumentKind::Pdf => pdf::read(bytes, account)?,
        DocumentKind::Docx => docx::read(bytes, account)?,
        DocumentKind::Html => html::read(bytes)?,
        DocumentKind::Markdown => markdown::read(&text_encoding::decode(bytes)?),
        DocumentKind::PlainText => plain_text::read(&text_encoding::decode(bytes)?),
        DocumentKind::SourceCode { language } => source_code::read(name, language, &text_encoding::decode(bytes)?),
    };
    let text_bytes: usize = blocks.iter().map(|block| block.text.len()).sum();
    if text_bytes > TEXT_BYTES_MAX {
        return Err(DocumentError::TooMuchText);
    }
    let passages = passages::of_blocks(blocks);
    match passages.len() {
        0 => Err(DocumentError::NoText),
        1..=PASSAGES_MAX => Ok(passages),
        _ => Err(DocumentError::TooMuchText),
    }
}
