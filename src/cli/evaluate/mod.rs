//! `cuebase eval`: measures retrieval quality on an input, in this process.
//!
//! [`options`] are its options, [`evaluate`] chooses how the input is measured, and [`output`] prints the figures and
//! writes the files that are wanted. The other files measure one kind of input each.

mod beir;
mod index_folder;
mod labelled;
mod locomo;
mod longmemeval;
mod options;
mod output;

pub(super) use self::options::{EvaluateOptions, INPUTS};
use self::output::Output;
use crate::clock::Clock;
use crate::config::Config;
use crate::eval::input::kind::InputKind;
use crate::eval::namespace::Setup;
use crate::eval::suite::SuiteKind;
use crate::model::configured::{embedder, reader};

/// Measures retrieval quality and prints the figures.
pub(super) fn evaluate(options: &EvaluateOptions, config: &Config) -> anyhow::Result<()> {
    let embedder = embedder(&config.model.embedding)?;
    let reader = reader(&config.model.embedding)?;
    let setup = Setup { embedder: embedder.as_ref(), reader, clock: Clock::system() };
    let kind = InputKind::of(&options.input)?;
    let output = Output::create(options)?;
    match kind {
        InputKind::Beir => beir::evaluate(&options.input, &setup, output),
        InputKind::Locomo => locomo::evaluate(&options.input, &setup, output),
        InputKind::LongMemEval => longmemeval::evaluate(&options.input, &setup, output),
        InputKind::Labelled(SuiteKind::Changes) => labelled::evaluate_changes(&options.input, &setup, output),
        InputKind::Labelled(SuiteKind::Questions) => labelled::evaluate_questions(&options.input, &setup, output),
        InputKind::Labelled(SuiteKind::Parts) => labelled::evaluate_parts(&options.input, &setup, output),
    }
}
