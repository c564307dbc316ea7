//! The reader in the binary: an encoder that reads two texts together, and has a head for each question about them.
//!
//! - relevance: does this memory answer this question?
//! - change: does this statement replace, correct, end or restate that one?
//! - keeping: which kind of memory is this turn of a conversation, or none?
//!
//! `models/reader/train.py` trains it, and `model/reader/make_reader.py` makes the file. The vectors of tokens are those of
//! the built-in encoder.

use std::sync::OnceLock;
use std::time::Instant;

use ndarray::{Array1, Array2, ArrayView1};
use safetensors::SafeTensors;

use super::built_in::{ENCODER_FILE, SETTINGS, damaged};
use super::embeddings::Embeddings;
use super::network::Network;
use super::tokens::Tokens;
use super::weights::{Weights, WeightsError};
use crate::config::Precision;
use crate::model::error::ModelError;
use crate::model::static_table::StaticTable;

/// The file in the binary.
pub(super) static READER_FILE: &[u8] = include_bytes!("../../../model/reader/reader.safetensors");

/// Word pieces of a question that are read.
const QUESTION_MAX: usize = 40;
/// Word pieces of a memory that are read with a question.
pub const MEMORY_PIECES_MAX: usize = 96;
/// Word pieces of a statement that are compared with another one.
const STATEMENT_MAX: usize = 60;
/// Characters at the end of the turn before a turn that are read with it.
const BEFORE_CHARACTERS: usize = 200;
/// Word pieces of these.
const BEFORE_MAX: usize = 48;
/// Word pieces of a turn that are read.
const TURN_MAX: usize = 80;
/// Tokens of a pair that no word piece stands for: the first one, and the end of each text.
const PAIR_TOKENS: usize = 3;

/// Pairs that are read to measure the speed; the fastest counts.
const SPEED_PAIRS: usize = 5;
/// Word pieces of each text of such a pair.
const SPEED_PIECES: usize = 24;
/// A measured speed counts as the highest of these that it reaches, in tokens a second, so that it is mostly the same
/// after a restart.
const SPEEDS: [u32; 13] = [250, 500, 1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 11_000, 16_000, 22_000, 32_000, 45_000];

/// The built-in reader.
pub struct Reader {
    table: &'static StaticTable,
    /// Packed at the first use, which takes some milliseconds.
    parts: OnceLock<Result<Parts, String>>,
}

struct Parts {
    network: Network,
    relevance: Head,
    change: Head,
    keeping: Head,
    tokens_per_second: u32,
}

/// A linear layer from the vector of a pair to the log-odds or logits of its classes.
struct Head {
    /// Shape: classes × dimensions.
    weights: Array2<f32>,
    bias: Array1<f32>,
}

/// How likely each relation of a later statement to an earlier one is. They sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// Both can hold.
    pub compatible: f32,
    /// The later one has a new value.
    pub replaces: f32,
    /// The earlier one was wrong.
    pub corrects: f32,
    /// The earlier one holds no more, and has no successor.
    pub ends: f32,
    /// Both say the same.
    pub restates: f32,
}

/// What a turn of a conversation is, as a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnKind {
    /// Nothing to keep.
    Drop,
    /// Something that holds.
    Fact,
    /// Something that happened.
    Incident,
    /// How the assistant is to behave, or what always matters.
    Rule,
    /// How something is done.
    Skill,
    /// Something to do.
    Task,
}

impl TurnKind {
    /// The kinds, in the order of the head's classes.
    const ALL: [Self; 6] = [Self::Drop, Self::Fact, Self::Incident, Self::Rule, Self::Skill, Self::Task];
}

impl Relation {
    /// How likely the later statement replaces, corrects or ends the earlier one.
    pub fn supersedes(&self) -> f32 {
        self.replaces + self.corrects + self.ends
    }
}

impl Head {
    fn read(weights: &Weights<'_>, name: &str, classes: usize) -> Result<Self, WeightsError> {
        let table = weights.numbers(&format!("{name}.weight"), [classes, SETTINGS.hidden_size])?;
        let bias = weights.vector(&format!("{name}.bias"), classes)?;
        Ok(Self { weights: table, bias: Array1::from_vec(bias) })
    }

    fn logits(&self, vector: &[f32]) -> Vec<f32> {
        (self.weights.dot(&ArrayView1::from(vector)) + &self.bias).to_vec()
    }
}

impl Parts {
    fn read(table: &StaticTable) -> Result<Self, WeightsError> {
        let weights = Weights::read(READER_FILE, Precision::Int8)?;
        let of_encoder = Weights::read(ENCODER_FILE, Precision::Int8)?;
        let words = of_encoder.quantised_words(SETTINGS.hidden_size)?;
        let embeddings = Embeddings::new(&SETTINGS, &of_encoder, words)?;
        let mut parts = Self {
            network: Network::new(&SETTINGS, &weights, embeddings)?,
            relevance: Head::read(&weights, "relevance", 1)?,
            change: Head::read(&weights, "change", 5)?,
            keeping: Head::read(&weights, "keeping", TurnKind::ALL.len())?,
            tokens_per_second: 0,
        };
        parts.tokens_per_second = parts.measure_speed(table);
        Ok(parts)
    }

    /// Returns how many tokens a second one thread reads, as one of [`SPEEDS`].
    fn measure_speed(&self, table: &StaticTable) -> u32 {
        let text = "she keeps the spare key of the boat in a tin behind the third shelf of the shed ".repeat(2);
        let pieces = table.ids(&text);
        let pair = Tokens::pair(&pieces, SPEED_PIECES, &pieces, SPEED_PIECES);
        let mut fastest = f64::INFINITY;
        for _ in 0..SPEED_PAIRS {
            let began = Instant::now();
            if self.network.vectors(&[&pair]).is_ok() {
                fastest = fastest.min(began.elapsed().as_secs_f64());
            }
        }
        let measured = pair.ids().len() as f64 / fastest;
        let mut speed = SPEEDS[0];
        for known in SPEEDS {
            if f64::from(known) <= measured {
                speed = known;
            }
        }
        speed
    }

    fn logits(&self, head: &Head, pair: &Tokens) -> Result<Vec<f32>, ModelError> {
        let vectors = self.network.vectors(&[pair]).map_err(|error| ModelError::Unusable(error.to_string()))?;
        let Some(vector) = vectors.first() else { return Err(damaged("no vector")) };
        Ok(head.logits(vector))
    }
}

impl Reader {
    /// Returns the reader in the binary.
    pub fn get() -> Result<&'static Self, ModelError> {
        static OPENED: OnceLock<Result<Reader, ModelError>> = OnceLock::new();
        OPENED.get_or_init(Self::open).as_ref().map_err(ModelError::clone)
    }

    /// Packs the network and measures its speed on another thread, so that its first use does not wait.
    pub fn pack_in_background(&'static self) {
        // If no thread can be started, the first use packs it.
        let _ = std::thread::Builder::new().name("reader".into()).spawn(|| drop(self.parts()));
    }

    fn open() -> Result<Self, ModelError> {
        SafeTensors::read_metadata(READER_FILE).map_err(damaged)?;
        Ok(Self { table: StaticTable::built_in().map_err(damaged)?, parts: OnceLock::new() })
    }

    fn parts(&self) -> Result<&Parts, ModelError> {
        self.parts.get_or_init(|| Parts::read(self.table).map_err(|error| error.to_string())).as_ref().map_err(damaged)
    }

    /// Returns how many tokens a second one thread reads, measured once in a process.
    pub fn tokens_per_second(&self) -> Result<u32, ModelError> {
        Ok(self.parts()?.tokens_per_second)
    }

    /// Returns the word pieces of a text.
    pub fn pieces(&self, text: &str) -> Vec<u32> {
        self.table.ids(text)
    }

    /// Returns how many tokens it takes to read a memory with a question.
    pub fn tokens(question: &[u32], memory: &[u32]) -> usize {
        question.len().min(QUESTION_MAX) + memory.len().min(MEMORY_PIECES_MAX) + PAIR_TOKENS
    }

    /// Returns the log-odds that a memory answers a question. Both are word pieces.
    pub fn relevance(&self, question: &[u32], memory: &[u32]) -> Result<f32, ModelError> {
        let parts = self.parts()?;
        let pair = Tokens::pair(question, QUESTION_MAX, memory, MEMORY_PIECES_MAX);
        Ok(parts.logits(&parts.relevance, &pair)?.first().copied().unwrap_or(f32::NEG_INFINITY))
    }

    /// Returns the relation of a later statement to an earlier one.
    pub fn relation(&self, earlier: &str, later: &str) -> Result<Relation, ModelError> {
        let parts = self.parts()?;
        let pair = Tokens::pair(&self.pieces(earlier), STATEMENT_MAX, &self.pieces(later), STATEMENT_MAX);
        let shares = softmax(&parts.logits(&parts.change, &pair)?);
        let &[compatible, replaces, corrects, ends, restates] = shares.as_slice() else {
            return Err(damaged("not five relations"));
        };
        Ok(Relation { compatible, replaces, corrects, ends, restates })
    }

    /// Returns how likely a turn of a conversation is of each kind. `before` is the turn before it, or empty.
    pub fn kinds(&self, before: &str, turn: &str) -> Result<Vec<(TurnKind, f32)>, ModelError> {
        let parts = self.parts()?;
        let (before, turn) = (self.pieces(end_of(before, BEFORE_CHARACTERS)), self.pieces(turn));
        let pair = Tokens::pair(&before, BEFORE_MAX, &turn, TURN_MAX);
        let shares = softmax(&parts.logits(&parts.keeping, &pair)?);
        Ok(TurnKind::ALL.into_iter().zip(shares).collect())
    }
}

/// Returns the last characters of a text.
fn end_of(text: &str, characters: usize) -> &str {
    match text.char_indices().rev().nth(characters.saturating_sub(1)) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}

fn softmax(logits: &[f32]) -> Vec<f32> {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = logits.iter().map(|logit| (logit - highest).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}
