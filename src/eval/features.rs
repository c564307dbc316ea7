//! The features file, from which the coefficients of the ranking are fitted: one line per candidate of a question.

use std::io::Write;

use cuebase_retrieval::{FEATURE_NAMES, Hit, ReadScore};

/// The evidence column of a question without an answer.
const NO_EVIDENCE: &str = "-";

/// The question that lines belong to.
pub(super) struct FeaturePlace<'a> {
    /// Where it is asked: what a fit leaves out together.
    pub(super) sample: &'a str,
    /// Number of sessions in the namespace.
    pub(super) sessions: usize,
    /// The question, or its number.
    pub(super) question: &'a str,
}

/// Returns the first line of the file.
pub fn header() -> String {
    format!("sample\tsessions\tquestion\twords\tfound\tbefore\treader\tparts\t{}", FEATURE_NAMES.join("\t"))
}

/// Writes the line of a candidate. `held` is which evidence it contains; `None` for a question without an answer.
pub(super) fn write(
    out: &mut dyn Write,
    place: &FeaturePlace<'_>,
    hit: &Hit,
    held: Option<&[bool]>,
) -> std::io::Result<()> {
    let mut evidence = String::new();
    for held in held.unwrap_or_default() {
        evidence.push(if *held { '1' } else { '0' });
    }
    if held.is_none() {
        evidence.push_str(NO_EVIDENCE);
    }
    // The log-odds before the reading, those of the reader, and whether only parts of the memory were read.
    let read = match hit.read {
        Some(ReadScore { before, reader, is_in_parts }) => format!("{before}\t{reader}\t{}", u8::from(is_in_parts)),
        None => "\t\t".to_owned(),
    };
    let values: Vec<String> = hit.features.values().iter().map(f32::to_string).collect();
    let words = hit.memory.content.split_whitespace().count();
    let FeaturePlace { sample, sessions, question } = place;
    writeln!(out, "{sample}\t{sessions}\t{question}\t{words}\t{evidence}\t{read}\t{}", values.join("\t"))
}
