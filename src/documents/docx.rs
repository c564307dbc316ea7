//! DOCX: the paragraphs and tables of a document of Word, with the levels of its headings.
//!
//! Format: ECMA-376, Office Open XML. `word/document.xml` has the text, `word/styles.xml` the names of the styles. The
//! names of the built-in headings, `heading 1` to `heading 9`, are the same in every language of Word. Comments,
//! footnotes and deleted text are left out.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use cuebase_storage::AccountId;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use zip::ZipArchive;
use zip::result::ZipError;

use super::blocks::{Block, Place, one_line};
use super::error::DocumentError;
use crate::account_slots::AccountSlots;

/// Name of the kind in errors.
const KIND: &str = "DOCX";
/// Most bytes of an unpacked part. An archive may claim any size.
const PART_BYTES_MAX: u64 = 64 << 20;

/// Files that are read at the same time. Two unpacked parts of one take up to 128 MiB, from a body of kilobytes.
static SLOTS: AccountSlots = AccountSlots::new(2);

/// Returns the blocks of a document of an account. Waits while the account's last one is read.
pub(super) fn read(bytes: &[u8], account: &AccountId) -> Result<Vec<Block>, DocumentError> {
    let _slot = SLOTS.wait(account);
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| DocumentError::malformed(KIND, error))?;
    let Some(document) = part(&mut archive, "word/document.xml")? else {
        return Err(DocumentError::malformed(KIND, "the archive has no word/document.xml"));
    };
    let levels = match part(&mut archive, "word/styles.xml")? {
        Some(styles) => heading_levels(&styles)?,
        None => HashMap::new(),
    };
    read_document(&document, &levels)
}

/// Returns a part of the archive as text. `None` if it has none of that name.
fn part(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<Option<String>, DocumentError> {
    let file = match archive.by_name(name) {
        Ok(file) => file,
        Err(ZipError::FileNotFound) => return Ok(None),
        Err(error) => return Err(DocumentError::malformed(KIND, error)),
    };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(PART_BYTES_MAX + 1).read_to_end(&mut bytes) {
        return Err(DocumentError::malformed(KIND, format!("{name}: {error}")));
    }
    // Before the text is decoded: the end may be within a character.
    if bytes.len() as u64 > PART_BYTES_MAX {
        return Err(DocumentError::TooMuchText);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(DocumentError::malformed(KIND, format!("{name}: {error}"))),
    }
}

/// Returns the level of each style that is a heading, by the id of the style.
fn heading_levels(styles: &str) -> Result<HashMap<String, u8>, DocumentError> {
    let mut levels = HashMap::new();
    let mut style = None;
    let mut reader = Reader::from_str(styles);
    loop {
        match reader.read_event().map_err(|error| DocumentError::malformed(KIND, error))? {
            Event::Start(tag) if tag.local_name().as_ref() == "style" => style = attribute(&tag, "w:styleId"),
            Event::Empty(tag) | Event::Start(tag) if tag.local_name().as_ref() == "name" => {
                if let (Some(id), Some(name)) = (&style, attribute(&tag, "w:val"))
                    && let Some(level) = level_of_name(&name)
                {
                    levels.insert(id.clone(), level);
                }
            }
            Event::Eof => return Ok(levels),
            _ => {}
        }
    }
}

fn level_of_name(name: &str) -> Option<u8> {
    let name = name.to_ascii_lowercase();
    if name == "title" {
        return Some(1);
    }
    let level: u8 = name.strip_prefix("heading ")?.parse().ok()?;
    if (1..=9).contains(&level) { Some(level) } else { None }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag.try_get_attribute(name).ok()??;
    Some(attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
}

/// The document so far.
#[derive(Default)]
struct Body {
    blocks: Vec<Block>,
    /// The text of the paragraph that is being read.
    paragraph: String,
    level: Option<u8>,
    is_list_item: bool,
    /// Whether the reader is in an element with text.
    is_text: bool,
    /// Depth of nested tables.
    tables: usize,
    /// The text of the table cell that is being read.
    cell: String,
    /// Cells of the table row that is being read.
    cells: Vec<String>,
    /// Lines of the list or table that is being read.
    lines: Vec<String>,
}

fn read_document(document: &str, levels: &HashMap<String, u8>) -> Result<Vec<Block>, DocumentError> {
    let mut body = Body::default();
    let mut reader = Reader::from_str(document);
    loop {
        match reader.read_event().map_err(|error| DocumentError::malformed(KIND, error))? {
            Event::Start(tag) => body.start(&tag, levels),
            Event::Empty(tag) => {
                body.start(&tag, levels);
                body.end(tag.local_name().as_ref());
            }
            Event::End(tag) => body.end(tag.local_name().as_ref()),
            Event::Text(text) if body.is_text => body.paragraph.push_str(&text.xml10_content()),
            Event::CData(text) if body.is_text => body.paragraph.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) if body.is_text => body.paragraph.push_str(&character(&reference)),
            Event::Eof => return Ok(body.finish()),
            _ => {}
        }
    }
}

/// Returns the character of a reference; nothing for a reference that XML does not define.
fn character(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(c)) = reference.resolve_char_ref() {
        return c.to_string();
    }
    quick_xml::escape::resolve_predefined_entity(reference).unwrap_or_default().to_owned()
}

impl Body {
    fn start(&mut self, tag: &BytesStart<'_>, levels: &HashMap<String, u8>) {
        match tag.local_name().as_ref() {
            "p" => {
                self.paragraph.clear();
                self.level = None;
                self.is_list_item = false;
            }
            "pStyle" => {
                if let Some(style) = attribute(tag, "w:val") {
                    self.level = levels.get(&style).copied();
                }
            }
            "numPr" => self.is_list_item = true,
            "t" => self.is_text = true,
            "tab" => self.paragraph.push(' '),
            "br" | "cr" => self.paragraph.push('\n'),
            "noBreakHyphen" => self.paragraph.push('-'),
            "tbl" => {
                self.end_lines();
                self.tables += 1;
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.is_text = false,
            "p" => self.end_paragraph(),
            "tc" => {
                let cell = std::mem::take(&mut self.cell);
                self.cells.push(one_line(&cell));
            }
            "tr" => {
                let row = std::mem::take(&mut self.cells).join(" | ");
                if !row.trim_matches([' ', '|']).is_empty() {
                    self.lines.push(row);
                }
            }
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.end_lines();
                }
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        let text = std::mem::take(&mut self.paragraph);
        if self.tables > 0 {
            self.cell.push(' ');
            self.cell.push_str(&text);
            return;
        }
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        match self.level {
            Some(level) => {
                self.end_lines();
                self.blocks.push(Block::heading(level, text, Place::Unknown));
            }
            None if self.is_list_item => self.lines.push(format!("- {text}")),
            None => {
                self.end_lines();
                self.blocks.push(Block::text(text, Place::Unknown));
            }
        }
    }

    fn end_lines(&mut self) {
        let block = Block::text(&std::mem::take(&mut self.lines).join("\n"), Place::Unknown);
        if !block.is_blank() {
            self.blocks.push(block);
        }
    }

    fn finish(mut self) -> Vec<Block> {
        self.end_lines();
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    const STYLES: &str = r#"<w:styles xmlns:w="x"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
        <w:style w:styleId="Text"><w:name w:val="Body Text"/></w:style></w:styles>"#;

    fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in parts {
            let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
            writer.start_file(*name, options).expect("starts");
            writer.write_all(content.as_bytes()).expect("writes");
        }
        writer.finish().expect("ends").into_inner()
    }

    fn document(body: &str) -> Vec<u8> {
        let document = format!(r#"<w:document xmlns:w="x"><w:body>{body}</w:body></w:document>"#);
        archive(&[("word/document.xml", &document), ("word/styles.xml", STYLES)])
    }

    fn text(text: &str) -> Block {
        Block::text(text, Place::Unknown)
    }

    #[test]
    fn paragraphs_lists_and_tables_are_read() {
        let cell = |text: &str| format!("<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>");
        let bytes = document(&format!(
            r#"<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>The </w:t></w:r><w:r><w:t>boat</w:t></w:r></w:p>
            <w:p><w:r><w:t xml:space="preserve">Lock &amp; </w:t></w:r><w:del><w:r><w:delText>no</w:delText></w:r></w:del>
            <w:r><w:t>tie&#33;</w:t></w:r></w:p><w:p/>
            <w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>Oars</w:t></w:r></w:p>
            <w:tbl><w:tr>{}{}</w:tr><w:tr>{}<w:tc><w:p><w:r><w:t>6:10</w:t></w:r></w:p><w:p><w:r><w:t>18:30</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"#,
            cell("Day"),
            cell("Tide"),
            cell("Mon")
        ));
        let expected = [
            Block::heading(1, "The boat", Place::Unknown),
            text("Lock & tie!"),
            text("- Oars"),
            text("Day | Tide\nMon | 6:10 18:30"),
        ];
        assert_eq!(read(&bytes, &AccountId::default()).expect("reads"), expected);
    }

    #[test]
    fn other_archives_and_broken_markup_are_refused() {
        for bytes in [b"no archive".to_vec(), archive(&[("a.txt", "x")]), document("<w:p></w:r>")] {
            let error = read(&bytes, &AccountId::default()).expect_err("refused");
            assert!(error.to_string().contains("DOCX"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_markup_is_read_or_refused(body in "(<w:p>|</w:p>|<w:tbl>|</w:tbl>|<w:tr>|</w:tr>|<w:t>|</w:t>|<w:tc>|</w:tc>|&amp;|&#0;|&x;|\\PC){0,60}") {
            let _ = read(&document(&body), &AccountId::default());
        }

        #[test]
        fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read(&bytes, &AccountId::default()).is_err());
        }
    }
}
