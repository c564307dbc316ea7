//! PDF: text by page, with headings by the size of their letters.
//!
//! [`characters`] makes lines of characters with positions, and [`layout`] makes headings and paragraphs of the lines.
//! The parser panics on many malformed files.

mod characters;
mod layout;

use cuebase_language::text::steps::Steps;
use pdf_extract::{Document, Object};

use self::characters::{KIND, LineCollector};
use super::blocks::Block;
use super::error::DocumentError;

/// Most levels of the tree of pages: as many as the parser descends.
const PAGE_LEVELS_MAX: usize = 256;

/// Returns the blocks of a file.
pub(super) fn read(bytes: &[u8], steps: &Steps<'_>) -> Result<Vec<Block>, DocumentError> {
    steps.take(bytes.len())?;
    let mut document = Document::load_mem(bytes).map_err(|error| DocumentError::malformed(KIND, error))?;
    // Many files are encrypted with an empty password, which forbids printing but not reading.
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err(DocumentError::Encrypted);
    }
    check_page_tree(&document, steps)?;
    let mut collector = LineCollector::new(steps);
    let read = pdf_extract::output_doc(&document, &mut collector);
    drop(document);
    let lines = collector.finish(read)?;
    layout::blocks(&lines, steps)
}

/// Refuses a file in which a page has too many pages above it. The parser looks for inherited properties of each page
/// upwards, and does not return if the pages above form a loop.
fn check_page_tree(document: &Document, steps: &Steps<'_>) -> Result<(), DocumentError> {
    for page in document.page_iter() {
        let mut id = Some(page);
        let mut levels = 0;
        while let Some(node) = id {
            steps.take(1)?;
            levels += 1;
            if levels > PAGE_LEVELS_MAX {
                let reason = format!("a page is below more than {PAGE_LEVELS_MAX} others, or they form a loop");
                return Err(DocumentError::malformed(KIND, reason));
            }
            id = match document.get_dictionary(node).and_then(|node| node.get(b"Parent")) {
                Ok(Object::Reference(parent)) => Some(*parent),
                _ => None,
            };
        }
    }
    Ok(())
}
