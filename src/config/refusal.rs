//! The refusal of a value by a parser.

/// Characters of a refused value that an error shows.
const SHOWN_CHARS_MAX: usize = 60;

/// A value, or a part of one, that a parser refuses. `Values::read` adds the setting and its origin.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The refused text, shortened, on one line.
    pub(super) shown: String,
    /// The accepted form.
    pub(super) expected: String,
}

impl Refusal {
    pub(super) fn new(refused: &str, expected: impl Into<String>) -> Self {
        Self { shown: shortened(refused), expected: expected.into() }
    }
}

/// Returns the beginning of a value in quotation marks, escaped so that it stays on one line.
pub(super) fn shortened(value: &str) -> String {
    let short: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < value.len() { format!("{short:?}…") } else { format!("{short:?}") }
}
