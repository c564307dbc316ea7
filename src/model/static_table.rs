//! The built-in embedding: WordPiece tokens with one vector each, which are summed and normalised.
//!
//! `model/static-table/make_table.py` makes the table. Format of the file, little-endian:
//!
//! ```text
//! "CBTABLE1" | u32 tokens | u32 dimensions | u32 bytes of vocabulary
//! vocabulary, one token per line        padded with zeros to a multiple of 64
//! tokens × f32, the scale of each row   padded with zeros to a multiple of 64
//! tokens × dimensions × i8
//! ```

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use cuebase_language::tokenize::is_stop_word;
use cuebase_retrieval::TokenVectors;
use cuebase_retrieval::kernels::{dot, prefetch};

use super::deadline::Deadline;
use super::embedder::Embedder;
use super::error::ModelError;
use super::word_pieces::WordPieces;

/// The table in the binary. The system reads a page of it when a token on that page is first used.
static TABLE: &[u8] = include_bytes!("../../model/static-table/table.bin");

const MAGIC: &[u8] = b"CBTABLE1";
const ALIGNMENT: usize = 64;
/// Maximum length of a text in bytes. The rest of a longer text is ignored, since it hardly changes the sum.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Length of a word in bytes beyond which its tokens are estimated. The tokenizer does not split much longer ones.
const WORD_BYTES_MAX: usize = 100;
/// Bytes of such a word that count as one token: a character of a script without spaces.
const LONG_WORD_BYTES_PER_TOKEN: usize = 3;

// Values of `StaticTable::content`.
const UNKNOWN: u8 = 0;
const CONTENT: u8 = 1;
const NO_CONTENT: u8 = 2;

/// The built-in model.
pub struct StaticTable {
    identity: String,
    dimensions: usize,
    pieces: WordPieces,
    scales: &'static [u8],
    values: &'static [i8],
    /// The bits of each token's length before scaling, computed at the first use; zero until then.
    lengths: Vec<AtomicU32>,
    /// Whether each token carries a subject, computed at the first use; [`UNKNOWN`] until then.
    content: Vec<AtomicU8>,
}

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("embedding table: {0}")]
pub struct TableError(String);

impl StaticTable {
    /// Returns the table in the binary, opened at the first use.
    pub fn built_in() -> Result<&'static Self, TableError> {
        static OPENED: OnceLock<Result<StaticTable, String>> = OnceLock::new();
        let opened = OPENED.get_or_init(|| Self::read(TABLE).map_err(|error| error.0));
        opened.as_ref().map_err(|error| TableError(error.clone()))
    }

    /// Opens the table on another thread, so that its first use does not wait.
    pub fn open_in_background() {
        // If no thread can be started, the first use opens the table.
        let _ = std::thread::Builder::new().name("table".into()).spawn(|| drop(Self::built_in()));
    }

    fn read(file: &'static [u8]) -> Result<Self, TableError> {
        if !file.starts_with(MAGIC) {
            return Err(TableError("not a table of this format".into()));
        }
        let tokens = number_at(file, MAGIC.len())?;
        let dimensions = number_at(file, MAGIC.len() + 4)?;
        let vocabulary_bytes = number_at(file, MAGIC.len() + 8)?;
        if tokens > usize::from(u16::MAX) {
            return Err(TableError("more tokens than a 16-bit number can count".into()));
        }
        let vocabulary_at = MAGIC.len() + 12;
        let vocabulary = part(file, vocabulary_at, vocabulary_bytes)?;
        let vocabulary = std::str::from_utf8(vocabulary).map_err(|error| TableError(error.to_string()))?;
        let scales_at = (vocabulary_at + vocabulary_bytes).next_multiple_of(ALIGNMENT);
        let scales = part(file, scales_at, tokens * 4)?;
        let values_at = (scales_at + tokens * 4).next_multiple_of(ALIGNMENT);
        let values = bytemuck::cast_slice(part(file, values_at, tokens * dimensions)?);
        Ok(Self {
            // The hash makes another table another model, whatever its name.
            identity: format!("static-table:{dimensions}:{:016x}", fingerprint(&file[..values_at])),
            dimensions,
            pieces: WordPieces::read(vocabulary).map_err(TableError)?,
            scales,
            values,
            lengths: (0..tokens).map(|_| AtomicU32::new(0)).collect(),
            content: (0..tokens).map(|_| AtomicU8::new(UNKNOWN)).collect(),
        })
    }

    #[cfg(test)]
    pub(super) fn word_pieces(&self) -> &WordPieces {
        &self.pieces
    }

    fn row(&self, token: usize) -> &'static [i8] {
        self.values.get(token * self.dimensions..(token + 1) * self.dimensions).unwrap_or_default()
    }

    /// Returns the word pieces of a text, without those of its end if it is very long.
    pub(super) fn ids(&self, text: &str) -> Vec<u32> {
        self.pieces.tokens(&text[..text.floor_char_boundary(TEXT_BYTES_MAX)])
    }

    /// Returns the length of a token's vector before scaling.
    fn length(&self, token: u16) -> f32 {
        let Some(known) = self.lengths.get(usize::from(token)) else { return 0.0 };
        let bits = known.load(Ordering::Relaxed);
        if bits != 0 {
            return f32::from_bits(bits);
        }
        let row = self.row(usize::from(token));
        let length = dot(row, row).sqrt();
        known.store(length.to_bits(), Ordering::Relaxed);
        length
    }

    /// Adds the vector of a token to a sum.
    fn add(&self, token: u32, sum: &mut [f32]) {
        let token = token as usize;
        let Some(scale) = self.scales.get(token * 4..token * 4 + 4) else { return };
        let Ok(scale) = <[u8; 4]>::try_from(scale) else { return };
        let scale = f32::from_le_bytes(scale);
        for (total, value) in sum.iter_mut().zip(self.row(token)) {
            *total += f32::from(*value) * scale;
        }
    }
}

impl StaticTable {
    /// Returns the vector of a text, of unit length; all zero for a text without a token.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.dimensions];
        for token in self.ids(text) {
            self.add(token, &mut sum);
        }
        let norm = sum.iter().map(|v| v * v).sum::<f32>().sqrt();
        if norm > 0.0 {
            for value in &mut sum {
                *value /= norm;
            }
        }
        sum
    }
}

impl StaticTable {
    /// Returns the number of tokens of a text of any length. A word of more than 100 bytes counts as one token for
    /// every three bytes. Texts joined by white space have as many tokens as both together.
    pub fn count_tokens(&self, text: &str) -> usize {
        let mut count = 0;
        let mut chunk = String::new();
        for word in text.split_whitespace() {
            if word.len() > WORD_BYTES_MAX {
                count += word.len().div_ceil(LONG_WORD_BYTES_PER_TOKEN);
                continue;
            }
            if chunk.len() + word.len() >= TEXT_BYTES_MAX {
                count += self.ids(&chunk).len();
                chunk.clear();
            }
            chunk.push_str(word);
            chunk.push(' ');
        }
        count + self.ids(&chunk).len()
    }
}

impl Embedder for StaticTable {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn filled_dimensions(&self) -> usize {
        self.dimensions
    }

    fn is_immediate(&self) -> bool {
        true
    }

    fn embed(&self, texts: &[&str], _: Deadline) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

impl TokenVectors for StaticTable {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn token_count(&self) -> usize {
        self.lengths.len()
    }

    fn tokens(&self, text: &str) -> Vec<u16> {
        let ids = self.ids(text);
        let mut tokens = Vec::with_capacity(ids.len());
        for id in ids {
            // `read` refuses a table with more tokens than 16 bits can number.
            if let Ok(token) = u16::try_from(id) {
                tokens.push(token);
            }
        }
        tokens
    }

    fn is_content(&self, token: u16) -> bool {
        let Some(known) = self.content.get(usize::from(token)) else { return false };
        if known.load(Ordering::Relaxed) == UNKNOWN {
            let text = self.pieces.text_of(u32::from(token)).unwrap_or_default();
            let is_content = text.chars().any(char::is_alphanumeric) && !is_stop_word(&text);
            known.store(if is_content { CONTENT } else { NO_CONTENT }, Ordering::Relaxed);
        }
        known.load(Ordering::Relaxed) == CONTENT
    }

    fn prefetch(&self, token: u16) {
        prefetch(self.row(usize::from(token)));
    }

    fn cosine(&self, a: u16, b: u16) -> f32 {
        let lengths = self.length(a) * self.length(b);
        if lengths > 0.0 { dot(self.row(usize::from(a)), self.row(usize::from(b))) / lengths } else { 0.0 }
    }
}

/// Returns a part of the file.
fn part(file: &'static [u8], start: usize, length: usize) -> Result<&'static [u8], TableError> {
    match file.get(start..start + length) {
        Some(bytes) => Ok(bytes),
        None => Err(TableError("the file is truncated".into())),
    }
}

/// Reads a number of the header.
fn number_at(file: &'static [u8], start: usize) -> Result<usize, TableError> {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(part(file, start, 4)?);
    Ok(u32::from_le_bytes(bytes) as usize)
}

/// Returns the FNV-1a hash of the file without its values. It distinguishes two tables, since the scale of each row
/// depends on the row's values, and it reads no page of the values.
fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let table = StaticTable::built_in().expect("a valid table");
        table.vector(a).iter().zip(table.vector(b)).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn similar_texts_have_similar_vectors() {
        assert!(
            cosine("My dog is ill", "The puppy went to the vet") > cosine("My dog is ill", "Stock prices fell") + 0.2
        );
        assert!(
            cosine("When is the wedding?", "They got married in June")
                > cosine("When is the wedding?", "Rust compiles slowly")
        );
    }

    #[test]
    fn tokens_are_compared_by_their_vectors() {
        let table = StaticTable::built_in().expect("a valid table");
        let token = |word: &str| table.tokens(word)[0];
        assert!((table.cosine(token("dog"), token("dog")) - 1.0).abs() < 1e-5);
        assert!(table.cosine(token("dog"), token("puppy")) > table.cosine(token("dog"), token("tax")) + 0.2);
        assert!(table.is_content(token("dog")) && !table.is_content(token("the")) && !table.is_content(token("?")));
        assert_eq!(table.cosine(u16::MAX, token("dog")), 0.0);
    }

    #[test]
    fn tokens_of_joined_texts_add_up() {
        let table = StaticTable::built_in().expect("a valid table");
        let (a, b) = ("The ferry leaves at nine, isn't it?", "我们昨天去了海边。 https://example.org/a/b");
        assert_eq!(table.count_tokens("The ferry"), 2);
        assert_eq!(table.count_tokens(""), 0);
        assert_eq!(table.count_tokens(&format!("{a}\n\n  {b}")), table.count_tokens(a) + table.count_tokens(b));
        assert_eq!(table.count_tokens(&"ferry ".repeat(20_000)), 20_000);
        assert_eq!(table.count_tokens(&"x".repeat(3_000)), 1_000);
    }

    #[test]
    fn vectors_have_unit_length_or_are_zero() {
        let table = StaticTable::built_in().expect("a valid table");
        let norm = |text: &str| table.vector(text).iter().map(|v| v * v).sum::<f32>().sqrt();
        assert!((norm("hello world") - 1.0).abs() < 1e-5);
        assert_eq!(norm(""), 0.0);
        assert!(norm(&"long text ".repeat(10_000)).is_finite());
        assert!(norm("日本語 🦀 مرحبا").is_finite());
    }
}
