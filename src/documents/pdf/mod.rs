//! PDF: text by page, with headings by the size of their letters.
//!
//! [`reader`] runs in a process of its own, which [`process`] starts. It has limits of memory and time, so a hostile file
//! ends that process and nothing else. It prints the lines of the file, which [`characters`] makes of characters with
//! positions. [`protocol`] is what both processes know. [`layout`] makes headings and paragraphs of the lines.

mod characters;
mod layout;
mod process;
mod protocol;
pub mod reader;

use cuebase_storage::AccountId;

use super::blocks::Block;
use super::error::DocumentError;

/// Returns the blocks of a file of an account.
pub(super) fn read(bytes: &[u8], account: &AccountId) -> Result<Vec<Block>, DocumentError> {
    Ok(layout::blocks(&process::lines_of(bytes, account)?))
}
