//! From lines to headings and paragraphs.
//!
//! A PDF has letters at positions and no structure. The size of most letters is that of the text; a short line in larger
//! letters is a heading. A paragraph ends at a gap, at an indented line after the end of a sentence, and where the size
//! changes. Lines that repeat at the top or bottom of pages are left out, and so are the lines of a table of contents.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cuebase_language::text::steps::Steps;

use super::characters::PdfLine;
use crate::documents::blocks::{Block, Place};
use crate::documents::error::DocumentError;

/// Letters that are larger than those of the text by this factor are those of a heading.
const HEADING_SIZE: f64 = 1.12;
/// Most characters of a heading.
const HEADING_CHARS_MAX: usize = 150;
/// A step between lines that is larger than this, in sizes of the letters, ends a paragraph.
const PARAGRAPH_STEP: f64 = 1.6;
/// Range of the indentation of the first line of a paragraph, in sizes of the letters.
const INDENT: std::ops::Range<f64> = 0.8..4.0;
/// Fewest pages on which a line must repeat to be left out.
const REPEATED_PAGES_MIN: usize = 3;
/// Lines at each end of a page that may be a running title or a page number.
const MARGIN_LINES: usize = 2;
/// The second line at an end of a page is one of them only if it is on this share of the pages.
const SECOND_LINE_SHARE: usize = 4;
/// Dots between a heading and its page in a table of contents.
const LEADERS: [&str; 2] = [". . . .", "....."];
/// Sizes are compared in steps of this fraction of a point.
const SIZE_STEPS: f64 = 2.0;

/// Returns the headings and paragraphs of a document.
pub(super) fn blocks(lines: &[PdfLine], steps: &Steps<'_>) -> Result<Vec<Block>, DocumentError> {
    let text_size = text_size(lines);
    let lines = without_running_titles(lines, text_size);
    let levels = heading_levels(&lines, text_size, steps)?;
    let mut blocks: Vec<Block> = Vec::new();
    let mut paragraph = Paragraph::default();
    let mut heading: Option<(u8, String, &PdfLine)> = None;
    let mut last: Option<&PdfLine> = None;
    for line in lines {
        steps.take(1 + line.text.len())?;
        match (level_of(line, text_size, &levels), &mut heading) {
            // A heading of several lines.
            (Some(level), Some((above, text, first))) if *above == level && first.page == line.page => {
                text.push(' ');
                text.push_str(&line.text);
            }
            (Some(level), _) => {
                paragraph.end(&mut blocks);
                end_heading(&mut heading, &mut blocks);
                heading = Some((level, line.text.clone(), line));
            }
            (None, _) => {
                end_heading(&mut heading, &mut blocks);
                if last.is_some_and(|last| begins_paragraph(last, line)) {
                    paragraph.end(&mut blocks);
                }
                paragraph.add(line);
            }
        }
        last = Some(line);
    }
    paragraph.end(&mut blocks);
    end_heading(&mut heading, &mut blocks);
    Ok(blocks)
}

fn end_heading(heading: &mut Option<(u8, String, &PdfLine)>, blocks: &mut Vec<Block>) {
    if let Some((level, text, line)) = heading.take() {
        blocks.push(Block::heading(level, &text, Place::Page(line.page)));
    }
}

/// The paragraph that is being read.
#[derive(Default)]
struct Paragraph {
    text: String,
    page: u32,
}

impl Paragraph {
    /// Adds a line. A word that is divided at the end of the line is joined.
    fn add(&mut self, line: &PdfLine) {
        let text = line.text.trim();
        if self.text.is_empty() {
            self.page = line.page;
            self.text.push_str(text);
            return;
        }
        let is_divided = self.text.ends_with('\u{ad}')
            || (self.text.ends_with('-') && text.starts_with(char::is_lowercase) && !self.text.ends_with(" -"));
        if is_divided {
            self.text.pop();
        } else {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    fn end(&mut self, blocks: &mut Vec<Block>) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            blocks.push(Block::text(&text, Place::Page(self.page)));
        }
    }
}

/// Whether a line begins a paragraph after another line of text.
fn begins_paragraph(last: &PdfLine, line: &PdfLine) -> bool {
    let ends_sentence = last.text.trim_end().ends_with(['.', '!', '?', ':', '"', '”', ')', '。']);
    let step = last.y - line.y;
    if last.page != line.page || step < 0.0 {
        // Another page or column.
        return ends_sentence;
    }
    let indent = (line.x - last.x) / line.size.max(1.0);
    step > line.size.max(last.size) * PARAGRAPH_STEP
        || rounded(last.size) != rounded(line.size) && ends_sentence
        || ends_sentence && INDENT.contains(&indent)
}

fn rounded(size: f64) -> u32 {
    // Sizes are positive, and far below the limit.
    (size * SIZE_STEPS).round() as u32
}

/// Returns the size of most letters.
fn text_size(lines: &[PdfLine]) -> f64 {
    let mut letters: BTreeMap<u32, usize> = BTreeMap::new();
    for line in lines {
        *letters.entry(rounded(line.size)).or_default() += line.text.len();
    }
    match letters.into_iter().max_by_key(|(_, count)| *count) {
        Some((size, _)) => f64::from(size) / SIZE_STEPS,
        None => 0.0,
    }
}

/// Returns the level of each size of headings: the largest is 1.
fn heading_levels(lines: &[&PdfLine], text_size: f64, steps: &Steps<'_>) -> Result<HashMap<u32, u8>, DocumentError> {
    // A set, because each line of a file may have a size of its own.
    let mut sizes = BTreeSet::new();
    for line in lines {
        steps.take(1)?;
        if is_heading(line, text_size) {
            sizes.insert(rounded(line.size));
        }
    }
    Ok(sizes.into_iter().rev().zip(1..=u8::MAX).collect())
}

fn level_of(line: &PdfLine, text_size: f64, levels: &HashMap<u32, u8>) -> Option<u8> {
    if is_heading(line, text_size) { levels.get(&rounded(line.size)).copied() } else { None }
}

fn is_heading(line: &PdfLine, text_size: f64) -> bool {
    line.size > text_size * HEADING_SIZE
        && line.text.chars().any(char::is_alphabetic)
        && line.text.chars().count() <= HEADING_CHARS_MAX
}

/// Returns the lines without those that repeat at the ends of pages, such as running titles and page numbers, and without
/// those of a table of contents.
fn without_running_titles(lines: &[PdfLine], text_size: f64) -> Vec<&PdfLine> {
    let mut pages: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        pages.entry(line.page).or_default().push(index);
    }
    // The distance of each line at an end of a page from that end.
    let mut margins: HashMap<usize, usize> = HashMap::new();
    let mut repeated: HashMap<String, usize> = HashMap::new();
    for indexes in pages.values() {
        let mut of_page = HashSet::new();
        let (first, last) = (indexes.iter().enumerate(), indexes.iter().rev().enumerate());
        for (distance, index) in first.take(MARGIN_LINES).chain(last.take(MARGIN_LINES)) {
            let nearest = margins.entry(*index).or_insert(distance);
            *nearest = distance.min(*nearest);
            of_page.insert(repeated_text(&lines[*index], text_size));
        }
        for text in of_page {
            *repeated.entry(text).or_default() += 1;
        }
    }
    let second_line_pages_min = (pages.len() / SECOND_LINE_SHARE).max(REPEATED_PAGES_MIN);
    let mut kept = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        let pages_min = match margins.get(&index) {
            Some(0) => REPEATED_PAGES_MIN,
            Some(_) => second_line_pages_min,
            None => usize::MAX,
        };
        let is_repeated = repeated.get(&repeated_text(line, text_size)).is_some_and(|count| *count >= pages_min);
        if !is_repeated && !is_contents_entry(&line.text) {
            kept.push(line);
        }
    }
    kept
}

/// Whether a line is an entry of a table of contents: dots, then a page.
fn is_contents_entry(text: &str) -> bool {
    LEADERS.iter().any(|dots| text.contains(dots)) && text.trim_end().ends_with(char::is_alphanumeric)
}

/// Returns the text by which a line repeats on other pages. The number of a heading, such as that of a chapter, makes it
/// another line; that of a page does not.
fn repeated_text(line: &PdfLine, text_size: f64) -> String {
    if is_heading(line, text_size) { line.text.trim().to_owned() } else { without_numbers(&line.text) }
}

/// Returns a text with `#` for every number, so that page numbers are equal.
fn without_numbers(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            c if c.is_numeric() && plain.ends_with('#') => {}
            c if c.is_numeric() => plain.push('#'),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocks(lines: &[PdfLine]) -> Vec<Block> {
        super::blocks(lines, &Steps::unlimited()).expect("nothing interrupts")
    }

    fn line(page: u32, y: f64, size: f64, text: &str) -> PdfLine {
        PdfLine { page, x: 72.0, y, size, text: text.into() }
    }

    #[test]
    fn larger_lines_are_headings_and_divided_words_are_joined() {
        let lines = [
            line(1, 700.0, 18.0, "Sailing"),
            line(1, 660.0, 14.0, "The har-"),
            line(1, 640.0, 10.0, "Lock the boat in the har-"),
            line(1, 628.0, 10.0, "bour at Oban."),
            line(1, 600.0, 10.0, "Then go home - and"),
            line(2, 700.0, 10.0, "rest."),
        ];
        let expected = [
            Block::heading(1, "Sailing", Place::Page(1)),
            Block::heading(2, "The har-", Place::Page(1)),
            Block::text("Lock the boat in the harbour at Oban.", Place::Page(1)),
            Block::text("Then go home - and rest.", Place::Page(1)),
        ];
        assert_eq!(blocks(&lines), expected);
    }

    #[test]
    fn numbered_headings_on_every_page_are_kept() {
        let mut lines = Vec::new();
        for page in 1..=4 {
            lines.push(line(page, 750.0, 10.0, &format!("The boat {page}")));
            lines.push(line(page, 700.0, 18.0, &format!("Chapter {page}")));
            lines.push(line(page, 660.0, 10.0, "Text of the chapter, of one line."));
            lines.push(line(page, 640.0, 10.0, "The last line but one of the page."));
            lines.push(line(page, 620.0, 10.0, "It is long enough, though it repeats."));
        }
        let headings: Vec<String> = blocks(&lines)
            .into_iter()
            .filter(|block| block.kind != crate::documents::blocks::BlockKind::Text)
            .map(|block| block.text)
            .collect();
        assert_eq!(headings, ["Chapter 1", "Chapter 2", "Chapter 3", "Chapter 4"]);
    }

    #[test]
    fn a_table_of_contents_is_left_out() {
        let lines = [line(1, 700.0, 10.0, "1 Boats . . . . . . . 12"), line(1, 688.0, 10.0, "2 Oars.......xii")];
        assert_eq!(blocks(&lines), []);
        let ellipsis = [line(1, 700.0, 10.0, "And so on .....")];
        assert_eq!(blocks(&ellipsis).len(), 1);
    }

    #[test]
    fn running_titles_and_page_numbers_are_left_out() {
        let mut lines = Vec::new();
        for page in 1..=4 {
            lines.push(line(page, 750.0, 10.0, "The boat"));
            for (index, text) in ["One", "Two", "Three", "Four"].iter().enumerate() {
                lines.push(line(page, 700.0 - 30.0 * index as f64, 10.0, &format!("{text} of page {page}.")));
            }
            lines.push(line(page, 40.0, 10.0, &format!("{page}")));
        }
        let texts: Vec<String> = blocks(&lines).into_iter().map(|block| block.text).collect();
        assert!(!texts.iter().any(|text| text.contains("boat")), "{texts:?}");
        assert!(texts.iter().any(|text| text == "Three of page 2."), "{texts:?}");
    }

    proptest! {
        #[test]
        fn any_lines_become_blocks_of_their_pages(
            lines in prop::collection::vec((1u32..4, any::<f64>(), any::<f64>(), any::<f64>(), "\\PC{0,40}"), 0..30),
        ) {
            let mut given = Vec::new();
            for (page, x, y, size, text) in lines {
                given.push(PdfLine { page, x, y, size, text });
            }
            for block in blocks(&given) {
                prop_assert!(matches!(block.place, Place::Page(1..4)), "{block:?}");
            }
        }
    }
}
