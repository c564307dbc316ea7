//! Files with one labelled namespace or dialogue per line.

use std::path::Path;

use super::index_folder::IndexFolder;
use super::output::{Measured, Output};
use crate::cli::progress::Bar;
use crate::eval::namespace::Setup;
use crate::eval::report::Wrong;
use crate::eval::{changes, open_space, parts, questions, suite};
use crate::file_errors::explained;
use crate::maintenance::Progress;

/// What the progress bar counts.
const NAMESPACES: &str = "namespaces";

/// Measures a file of namespaces with questions of which some may have no answer.
pub(super) fn evaluate_questions(input: &Path, setup: &Setup<'_>, mut output: Output<'_>) -> anyhow::Result<()> {
    let spaces: Vec<questions::Space> = suite::read(&text_of(input)?)?;
    let mut figures = questions::Figures::default();
    let bar = Bar::new()?;
    for (number, space) in spaces.iter().enumerate() {
        bar.show(Progress::new(NAMESPACES, number as u64, spaces.len() as u64));
        let folder = IndexFolder::new(number);
        open_space::measure(space, folder.path(), setup, &mut figures, &mut output.files())?;
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

/// Measures a file of dialogues in which facts change.
pub(super) fn evaluate_changes(input: &Path, setup: &Setup<'_>, mut output: Output<'_>) -> anyhow::Result<()> {
    let dialogues: Vec<changes::Dialogue> = suite::read(&text_of(input)?)?;
    let mut figures = changes::Figures::default();
    let bar = Bar::new()?;
    for (number, dialogue) in dialogues.iter().enumerate() {
        bar.show(Progress::new(NAMESPACES, number as u64, dialogues.len() as u64));
        let folder = IndexFolder::new(number);
        changes::measure(dialogue, folder.path(), setup, &mut figures, output.features())?;
    }
    drop(bar);
    let mut named = Vec::new();
    for (name, value) in figures.report() {
        named.push((name.to_owned(), value));
    }
    output.finish(&described(named, &figures.misses), setup)
}

/// Measures a file of dialogues with queries that ask for several things.
pub(super) fn evaluate_parts(input: &Path, setup: &Setup<'_>, mut output: Output<'_>) -> anyhow::Result<()> {
    let dialogues: Vec<parts::Dialogue> = suite::read(&text_of(input)?)?;
    let mut figures = parts::Figures::default();
    let bar = Bar::new()?;
    for (number, dialogue) in dialogues.iter().enumerate() {
        bar.show(Progress::new(NAMESPACES, number as u64, dialogues.len() as u64));
        let folder = IndexFolder::new(number);
        parts::measure(dialogue, folder.path(), setup, &mut figures, output.scores())?;
    }
    drop(bar);
    output.finish(&described(figures.report(), &figures.misses), setup)
}

/// Returns results whose faults are described by lines.
fn described(figures: Vec<(String, f64)>, lines: &[String]) -> Measured<'_> {
    Measured { figures, scored: &[], lines, wrong: Wrong::Lines(lines) }
}

fn text_of(input: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(input).map_err(explained("read", input))
}
