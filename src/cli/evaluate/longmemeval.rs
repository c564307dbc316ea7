//! Files of LongMemEval.

use std::path::Path;

use anyhow::Context;

use super::index_folder::IndexFolder;
use super::output::{Measured, Output};
use crate::cli::progress::Bar;
use crate::eval::input::longmemeval::LongMemEvalFile;
use crate::eval::longmemeval::{self, Figures};
use crate::eval::namespace::Setup;
use crate::eval::report::Wrong;
use crate::maintenance::Progress;

/// Measures a file, one question with its haystack at a time. The whole file is checked before.
pub(super) fn evaluate(input: &Path, setup: &Setup<'_>, mut output: Output<'_>) -> anyhow::Result<()> {
    let count = LongMemEvalFile::count(input)?;
    let mut file = LongMemEvalFile::open(input)?;
    let mut figures = Figures::default();
    let bar = Bar::new()?;
    let mut number = 0;
    while let Some(haystack) = file.next_haystack()? {
        bar.show(Progress::new("questions", number as u64, count as u64));
        let folder = IndexFolder::new(number);
        longmemeval::measure(&haystack, folder.path(), setup, &mut figures, &mut output.files())
            .with_context(|| format!("question {}", haystack.space.id))?;
        number += 1;
    }
    drop(bar);
    let measured = Measured {
        figures: figures.report(),
        scored: &figures.questions.scored,
        lines: &figures.questions.admission.misses,
        wrong: Wrong::Misses(&figures.questions.misses),
    };
    output.finish(&measured, setup)
}
