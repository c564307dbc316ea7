//! DOCX: the paragraphs and tables of a document of Word, with the levels of its headings.
//!
//! Format: ECMA-376, Office Open XML. `word/document.xml` has the text, `word/styles.xml` the names of the styles. The
//! names of the built-in headings, `heading 1` to `heading 9`, are the same in every language of Word. Comments,
//! footnotes and deleted text are left out. A part is read while it is unpacked, so it is never in memory as a whole.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use cuebase_language::text::steps::Steps;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use zip::ZipArchive;
use zip::result::ZipError;

use super::blocks::{Block, Place, one_line};
use super::error::DocumentError;

/// Name of the kind in errors.
const KIND: &str = "DOCX";
/// Most bytes of an unpacked part. An archive may claim any size.
const PART_BYTES_MAX: u64 = 64 << 20;

/// Returns the blocks of a document.
pub(super) fn read(bytes: &[u8], steps: &Steps<'_>) -> Result<Vec<Block>, DocumentError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| DocumentError::malformed(KIND, error))?;
    let levels = match part(&mut archive, "word/styles.xml")? {
        Some(styles) => heading_levels(styles, steps)?,
        None => HashMap::new(),
    };
    match part(&mut archive, "word/document.xml")? {
        Some(document) => read_document(document, &levels, steps),
        None => Err(DocumentError::malformed(KIND, "the archive has no word/document.xml")),
    }
}

/// A part of an archive while it is unpacked. Reading beyond its limit fails with [`ErrorKind::FileTooLarge`].
struct LimitedPart<R> {
    part: R,
    /// Bytes that may still be read.
    left: u64,
}

impl<R: Read> Read for LimitedPart<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.part.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(ErrorKind::FileTooLarge.into()),
        }
        Ok(read)
    }
}

/// Opens a part of the archive. `None` if it has none of that name.
fn part<'a>(
    archive: &'a mut ZipArchive<Cursor<&[u8]>>,
    name: &str,
) -> Result<Option<Box<dyn BufRead + 'a>>, DocumentError> {
    match archive.by_name(name) {
        Ok(part) => Ok(Some(Box::new(BufReader::new(LimitedPart { part, left: PART_BYTES_MAX })))),
        Err(ZipError::FileNotFound) => Ok(None),
        Err(error) => Err(DocumentError::malformed(KIND, error)),
    }
}

/// Reads the markup of a part.
struct Markup<'a> {
    reader: Reader<Box<dyn BufRead + 'a>>,
    /// The bytes of the last event.
    buffer: Vec<u8>,
    steps: &'a Steps<'a>,
}

impl<'a> Markup<'a> {
    fn new(part: Box<dyn BufRead + 'a>, steps: &'a Steps<'a>) -> Self {
        Self { reader: Reader::from_reader(part), buffer: Vec::new(), steps }
    }

    /// Reads the next event. The document is at its end with [`Event::Eof`].
    fn next_event(&mut self) -> Result<Event<'_>, DocumentError> {
        self.buffer.clear();
        let start = self.reader.buffer_position();
        let event = match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => event,
            Err(quick_xml::Error::Io(error)) if error.kind() == ErrorKind::FileTooLarge => {
                return Err(DocumentError::TooMuchText);
            }
            Err(error) => return Err(DocumentError::malformed(KIND, error)),
        };
        let bytes = self.reader.buffer_position().saturating_sub(start);
        self.steps.take(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        Ok(event)
    }
}

/// Returns the level of each style that is a heading, by the id of the style.
fn heading_levels(styles: Box<dyn BufRead + '_>, steps: &Steps<'_>) -> Result<HashMap<String, u8>, DocumentError> {
    let mut levels = HashMap::new();
    let mut style = None;
    let mut markup = Markup::new(styles, steps);
    loop {
        match markup.next_event()? {
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

fn read_document(
    document: Box<dyn BufRead + '_>,
    levels: &HashMap<String, u8>,
    steps: &Steps<'_>,
) -> Result<Vec<Block>, DocumentError> {
    let mut body = Body::default();
    let mut markup = Markup::new(document, steps);
    loop {
        match markup.next_event()? {
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
        assert_eq!(read(&bytes, &Steps::unlimited()).expect("reads"), expected);
    }

    #[test]
    fn other_archives_and_broken_markup_are_refused() {
        for bytes in [b"no archive".to_vec(), archive(&[("a.txt", "x")]), document("<w:p></w:r>")] {
            let error = read(&bytes, &Steps::unlimited()).expect_err("refused");
            assert!(error.to_string().contains("DOCX"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_markup_is_read_or_refused(body in "(<w:p>|</w:p>|<w:tbl>|</w:tbl>|<w:tr>|</w:tr>|<w:t>|</w:t>|<w:tc>|</w:tc>|&amp;|&#0;|&x;|\\PC){0,60}") {
            let _ = read(&document(&body), &Steps::unlimited());
        }

        #[test]
        fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read(&bytes, &Steps::unlimited()).is_err());
        }
    }
}
