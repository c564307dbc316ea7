//! From characters with positions to lines.

use cuebase_language::text::steps::{Interrupted, Steps};
use pdf_extract::{MediaBox, OutputDev, OutputError, Transform};

use crate::documents::error::DocumentError;

/// Name of the kind in errors.
pub(super) const KIND: &str = "PDF";

/// Most bytes of text. A file that has more ends the reading.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// A larger step between baselines, in sizes of the letters, begins another line.
const BASELINE_STEP: f64 = 0.5;
/// A larger step begins another line also to the right of the last character.
const LINE_STEP: f64 = 1.5;
/// A larger gap between characters, in sizes of the letters, is a space.
const SPACE: f64 = 0.1;

/// A line of text on a page. Lengths are in points, 1/72 inch; the origin is the lower left corner of the page.
#[derive(Clone, Debug, Default, PartialEq)]
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

/// Collects the lines of a document.
pub(super) struct LineCollector<'a> {
    lines: Vec<PdfLine>,
    line: PdfLine,
    page: u32,
    /// Right end of the last character.
    end: f64,
    /// Whether the next character begins a string of the page's instructions. Only there is a gap a space.
    begins_string: bool,
    bytes: usize,
    steps: &'a Steps<'a>,
    /// Why the steps ended the reading.
    interrupted: Option<Interrupted>,
}

impl<'a> LineCollector<'a> {
    pub(super) fn new(steps: &'a Steps<'a>) -> Self {
        Self {
            lines: Vec::new(),
            line: PdfLine::default(),
            page: 0,
            end: 0.0,
            begins_string: false,
            bytes: 0,
            steps,
            interrupted: None,
        }
    }

    /// Returns the lines of a document, or why it was not read to its end.
    pub(super) fn finish(self, read: Result<(), OutputError>) -> Result<Vec<PdfLine>, DocumentError> {
        if let Some(interrupted) = self.interrupted {
            return Err(interrupted.into());
        }
        if self.bytes > TEXT_BYTES_MAX {
            return Err(DocumentError::TooMuchText);
        }
        match read {
            Ok(()) => Ok(self.lines),
            Err(error) => Err(DocumentError::malformed(KIND, error)),
        }
    }

    /// Ends the line that is being read.
    fn end_line_of_text(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.text.trim().is_empty() {
            self.lines.push(line);
        }
    }
}

impl OutputDev for LineCollector<'_> {
    fn begin_page(&mut self, page: u32, _: &MediaBox, _: Option<(f64, f64, f64, f64)>) -> Result<(), OutputError> {
        self.end_line_of_text();
        self.page = page;
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        self.end_line_of_text();
        Ok(())
    }

    fn output_character(
        &mut self,
        transform: &Transform,
        width: f64,
        _spacing: f64,
        font_size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        let size = font_size * (transform.m11 * transform.m22 - transform.m12 * transform.m21).abs().sqrt();
        let (x, y) = (transform.m31, transform.m32);
        if self.begins_string && !self.line.text.is_empty() {
            let step = (y - self.line.y).abs();
            if step > size * LINE_STEP || (step > size * BASELINE_STEP && x < self.end) {
                self.end_line_of_text();
            } else if x > self.end + size * SPACE && !self.line.text.ends_with(' ') {
                self.line.text.push(' ');
            }
        }
        if self.line.text.is_empty() {
            self.line = PdfLine { page: self.page, x, y, size, text: String::new() };
        }
        self.line.text.push_str(text);
        self.line.size = self.line.size.max(size);
        self.bytes += text.len();
        self.interrupted = self.steps.take(1 + text.len()).err();
        if self.bytes > TEXT_BYTES_MAX || self.interrupted.is_some() {
            return Err(OutputError::FormatError(std::fmt::Error));
        }
        self.begins_string = false;
        self.end = x + width * size;
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.begins_string = true;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}
