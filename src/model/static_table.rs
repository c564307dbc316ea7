//! The built-in embedding: WordPiece tokens, one vector each, summed and normalised.
//!
//! The table is made by `model/static-table/make_table.py`, which says how. Its file, little-endian:
//!
//! ```text
//! "CBTABLE1" | u32 tokens | u32 dimensions | u32 bytes of vocabulary
//! vocabulary, one token a line          padded with zeros to a multiple of 64
//! tokens × f32, the scale of each row   padded likewise
//! tokens × dimensions × i8
//! ```

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use cuebase_retrieval::kernels::dot;
use cuebase_retrieval::{TokenVectors, is_stop_word};

use tokenizers::TokenizerImpl;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;

use super::{Deadline, Embedder, ModelError};

/// The compiled-in table. A page of it is read from the binary when a token on it is first met.
static TABLE: &[u8] = include_bytes!("../../model/static-table/table.bin");

const MAGIC: &[u8] = b"CBTABLE1";
const ALIGNMENT: usize = 64;
/// Longest text that is looked at, in bytes: what follows hardly moves the sum.
const TEXT_BYTES_MAX: usize = 16 << 10;

const UNKNOWN: u8 = 0;
const TELLS: u8 = 1;
const TELLS_NOTHING: u8 = 2;

type WordPieceTokenizer = TokenizerImpl<
    WordPiece,
    BertNormalizer,
    BertPreTokenizer,
    tokenizers::PostProcessorWrapper,
    tokenizers::DecoderWrapper,
>;

/// The built-in model.
pub struct StaticTable {
    identity: String,
    dimensions: usize,
    tokenizer: WordPieceTokenizer,
    scales: &'static [u8],
    values: &'static [i8],
    /// The bits of each token's length before scaling, worked out when first asked for; zero until then.
    lengths: Vec<AtomicU32>,
    /// Whether each token tells something, likewise; [`UNKNOWN`] until then.
    telling: Vec<AtomicU8>,
}

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("embedding table: {0}")]
pub struct TableError(String);

impl StaticTable {
    /// The table that this binary carries, opened once.
    pub fn built_in() -> Result<&'static Self, TableError> {
        static OPENED: OnceLock<Result<StaticTable, String>> = OnceLock::new();
        let opened = OPENED.get_or_init(|| Self::read(TABLE).map_err(|error| error.0));
        opened.as_ref().map_err(|error| TableError(error.clone()))
    }

    /// Has the table unpacked on another thread, so that it is at hand when it is first asked for.
    pub fn unpack_ahead() {
        // Where there is no thread to be had, whoever asks first unpacks it.
        let _ = std::thread::Builder::new().name("table".into()).spawn(|| drop(Self::built_in()));
    }

    fn read(file: &'static [u8]) -> Result<Self, TableError> {
        let short = || TableError("the file is cut short".into());
        let rest = file.strip_prefix(MAGIC).ok_or_else(|| TableError("not a table of this format".into()))?;
        let number = |n: usize| -> Result<usize, TableError> {
            let bytes = rest.get(4 * n..4 * n + 4).and_then(|b| b.try_into().ok()).ok_or_else(short)?;
            Ok(u32::from_le_bytes(bytes) as usize)
        };
        let (tokens, dimensions, vocabulary_bytes) = (number(0)?, number(1)?, number(2)?);
        let start = MAGIC.len() + 12;
        let vocabulary = file.get(start..start + vocabulary_bytes).ok_or_else(short)?;
        let vocabulary = std::str::from_utf8(vocabulary).map_err(|e| TableError(e.to_string()))?;
        let scales_at = (start + vocabulary_bytes).next_multiple_of(ALIGNMENT);
        let scales = file.get(scales_at..scales_at + tokens * 4).ok_or_else(short)?;
        let values_at = (scales_at + tokens * 4).next_multiple_of(ALIGNMENT);
        let values = bytemuck::cast_slice(file.get(values_at..values_at + tokens * dimensions).ok_or_else(short)?);
        if tokens > usize::from(u16::MAX) {
            return Err(TableError("more tokens than 16 bits can number".into()));
        }
        let lengths = (0..tokens).map(|_| AtomicU32::new(0)).collect();
        let telling = (0..tokens).map(|_| AtomicU8::new(UNKNOWN)).collect();

        let ids: ahash::AHashMap<String, u32> =
            vocabulary.lines().zip(0u32..).map(|(token, id)| (token.to_owned(), id)).collect();
        let model = WordPiece::builder().vocab(ids).build().map_err(|e| TableError(e.to_string()))?;
        let mut tokenizer = WordPieceTokenizer::new(model);
        tokenizer.with_normalizer(Some(BertNormalizer::default())).map_err(|e| TableError(e.to_string()))?;
        tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
        // Another table is another model, whatever it is called.
        let identity = format!("static-table:{dimensions}:{:016x}", fingerprint(&file[..values_at]));
        Ok(Self { identity, dimensions, tokenizer, scales, values, lengths, telling })
    }

    fn row(&self, token: usize) -> &'static [i8] {
        self.values.get(token * self.dimensions..(token + 1) * self.dimensions).unwrap_or_default()
    }

    fn ids(&self, text: &str) -> Vec<u32> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        // The tokenizer fails on nothing that is text; a text it cannot read has no tokens.
        self.tokenizer.encode_fast(text, false).map(|encoding| encoding.get_ids().to_vec()).unwrap_or_default()
    }

    /// The length of a token's integers.
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

    fn add(&self, token: u32, sum: &mut [f32]) {
        let token = token as usize;
        let scale = self.scales.get(token * 4..token * 4 + 4).and_then(|b| b.try_into().ok()).map(f32::from_le_bytes);
        if let Some(scale) = scale {
            for (total, value) in sum.iter_mut().zip(self.row(token)) {
                *total += f32::from(*value) * scale;
            }
        }
    }
}

impl StaticTable {
    /// A text's vector, of unit length; all zero for a text that holds no token.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.dimensions];
        self.ids(text).into_iter().for_each(|token| self.add(token, &mut sum));
        let norm = sum.iter().map(|v| v * v).sum::<f32>().sqrt();
        if norm > 0.0 {
            sum.iter_mut().for_each(|v| *v /= norm);
        }
        sum
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
        // No table holds more than 16 bits can number.
        self.ids(text).into_iter().filter_map(|token| u16::try_from(token).ok()).collect()
    }

    fn is_content(&self, token: u16) -> bool {
        let Some(known) = self.telling.get(usize::from(token)) else { return false };
        if known.load(Ordering::Relaxed) == UNKNOWN {
            let text = self.tokenizer.id_to_token(u32::from(token)).unwrap_or_default();
            let tells = text.chars().any(char::is_alphanumeric) && !is_stop_word(&text);
            known.store(if tells { TELLS } else { TELLS_NOTHING }, Ordering::Relaxed);
        }
        known.load(Ordering::Relaxed) == TELLS
    }

    fn cosine(&self, a: u16, b: u16) -> f32 {
        let lengths = self.length(a) * self.length(b);
        if lengths > 0.0 { dot(self.row(usize::from(a)), self.row(usize::from(b))) / lengths } else { 0.0 }
    }
}

/// FNV-1a. Over all but the values it tells two builds of the table apart, since every row's scale changes with its
/// values, and no page of the values is read for it.
fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let table = StaticTable::built_in().expect("the table is whole");
        table.vector(a).iter().zip(table.vector(b)).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn like_texts_are_near_and_unlike_ones_are_not() {
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
        let table = StaticTable::built_in().expect("the table is whole");
        let token = |word: &str| table.tokens(word)[0];
        assert!((table.cosine(token("dog"), token("dog")) - 1.0).abs() < 1e-5);
        assert!(table.cosine(token("dog"), token("puppy")) > table.cosine(token("dog"), token("tax")) + 0.2);
        assert!(table.is_content(token("dog")) && !table.is_content(token("the")) && !table.is_content(token("?")));
        assert_eq!(table.cosine(u16::MAX, token("dog")), 0.0);
    }

    #[test]
    fn vectors_have_unit_length_or_are_zero() {
        let table = StaticTable::built_in().expect("the table is whole");
        let norm = |text: &str| table.vector(text).iter().map(|v| v * v).sum::<f32>().sqrt();
        assert!((norm("hello world") - 1.0).abs() < 1e-5);
        assert_eq!(norm(""), 0.0);
        assert!(norm(&"long text ".repeat(10_000)).is_finite());
        assert!(norm("日本語 🦀 مرحبا").is_finite());
    }
}
