//! Files of every kind but PDF: HTML, DOCX, Markdown, plain text, source code. The passages of a file that is read have
//! text, and none is longer than a passage may be. The parser of PDF files panics on malformed ones, which ends only the
//! process that reads the file: `tests/document_files.rs` sends such files.

use std::io::{Cursor, Write};

use cuebase::documents::kind::DocumentKind;
use cuebase::documents::read;
use cuebase_language::text::steps::Steps;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Longest passage in characters: that of a divided text, and the fence of a code block.
const PASSAGE_CHARS_MAX: usize = 1500;

pub(super) fn enter(bytes: &[u8]) {
    for kind in [
        DocumentKind::Html,
        DocumentKind::Docx,
        DocumentKind::Markdown,
        DocumentKind::PlainText,
        DocumentKind::SourceCode { language: "rust".into() },
    ] {
        let Ok(passages) = read(&kind, "name", bytes, &Steps::unlimited()) else { continue };
        assert!(!passages.is_empty(), "{kind:?}");
        for passage in passages {
            assert!(!passage.text.trim().is_empty(), "{kind:?}: {passage:?}");
            assert!(passage.text.chars().count() <= PASSAGE_CHARS_MAX, "{kind:?}: {}", passage.text);
        }
    }
}

/// Returns a document of Word, as an archive without compression, so that changed bytes are changed markup.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let document = "<w:document xmlns:w=\"x\"><w:body><w:p><w:pPr><w:pStyle w:val=\"H1\"/></w:pPr><w:r><w:t>Boat</w:t>\
        </w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>Tide &amp; wind</w:t></w:r></w:p></w:tc></w:tr></w:tbl>\
        </w:body></w:document>";
    let styles = "<w:styles><w:style w:styleId=\"H1\"><w:name w:val=\"heading 1\"/></w:style></w:styles>";
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [("word/document.xml", document), ("word/styles.xml", styles)] {
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        writer.start_file(name, options).expect("starts a part");
        writer.write_all(content.as_bytes()).expect("writes a part");
    }
    vec![writer.finish().expect("ends the archive").into_inner()]
}
