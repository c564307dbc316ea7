//! Folders in the BEIR format.

use std::path::Path;

use super::index_folder::IndexFolder;
use super::output::{Measured, Output};
use crate::cli::progress::Bar;
use crate::eval::input::beir::BeirFolder;
use crate::eval::namespace::{DOCUMENTS_PER_CHANGE, Setup};
use crate::eval::open_space::OpenSpace;
use crate::eval::questions::Figures;
use crate::eval::report::Wrong;
use crate::maintenance::Progress;

/// Measures a folder: writes its documents in batches, then asks its queries.
pub(super) fn evaluate(input: &Path, setup: &Setup<'_>, mut output: Output<'_>) -> anyhow::Result<()> {
    let beir = BeirFolder::open(input)?;
    let mut corpus = beir.corpus()?;
    let folder = IndexFolder::new(0);
    let mut space = OpenSpace::empty(&beir.name, beir.expected(), folder.path(), setup)?;
    let bar = Bar::new()?;
    let mut written = 0;
    loop {
        let batch = corpus.next_batch(DOCUMENTS_PER_CHANGE)?;
        if batch.is_empty() {
            break;
        }
        space.write(&batch, setup)?;
        written += batch.len();
        // The number of all documents is not known before they are read.
        bar.show(Progress::new("documents", written as u64, 0));
    }
    let questions = beir.questions(&corpus);
    let mut figures = Figures::default();
    for (number, question) in questions.iter().enumerate() {
        bar.show(Progress::new("questions", number as u64, questions.len() as u64));
        space.ask(number, question, setup, &mut figures, &mut output.files())?;
    }
    drop(bar);
    let measured = Measured {
        figures: figures.report(),
        scored: &figures.scored,
        lines: &figures.admission.misses,
        wrong: Wrong::Misses(&figures.misses),
    };
    output.finish(&measured, setup)
}
