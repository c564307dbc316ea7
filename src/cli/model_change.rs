//! `cuebase models use`, `share`, `pause` and `resume`: the change of the built-in embedding model.

use std::io::Write;
use std::time::Duration;

use clap::Subcommand;
use serde_json::Value;

use super::models::{EmbeddingTimes, built_in_of, time_embedding};
use crate::config::{BuiltInModel, Config};
use crate::control::{self, Command};
use crate::jobs::EmbeddingChange;
use crate::model::Embedder;
use crate::model::configured::built_in;
use crate::model::vectors::BATCH_TEXTS;

/// Cues of a memory: about 1.7 in conversations, more in long texts.
const CUES_PER_MEMORY: f64 = 2.0;
const MIB: f64 = 1024.0 * 1024.0;

/// A change of the built-in embedding model.
#[derive(Clone, Copy, Subcommand)]
pub(super) enum ModelsCommand {
    /// Embed with another built-in model from now on
    ///
    /// Prints what changes in milliseconds, disk space and time. The memories are embedded again in the background, and
    /// are found by their former vectors until then. The former model can be chosen again at any time.
    ///
    /// Example: cuebase models use encoder --share 25
    Use {
        /// encoder finds what is said in other words, reader also reads the best candidates; table takes microseconds
        model: BuiltInModel,
        /// How much of a processor core the change may take, in percent
        #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
        share: Option<u8>,
        /// Only print what would change
        #[arg(long)]
        dry_run: bool,
    },
    /// Set how much of a processor core a change of the model may take
    ///
    /// Example: cuebase models share 100
    Share {
        /// In percent of a core, from 1 to 100
        #[arg(value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
        percent: u8,
    },
    /// Pause a change of the model; memories are found by their former vectors meanwhile
    Pause,
    /// Go on with a change of the model
    Resume,
}

/// Runs a command and prints what it did.
pub(super) fn run(config: &Config, command: ModelsCommand) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match command {
        ModelsCommand::Use { model, share, dry_run } => {
            let change = EmbeddingChange { model: Some(model), share_percent: share, ..EmbeddingChange::default() };
            // Refused before anything is measured.
            send(config, EmbeddingChange { is_trial: true, ..change })?;
            let listed = control::run(config, Command::Models, &|_| {})?;
            if built_in_of(&listed["built_in"]) == Some(model) && share.is_none() {
                writeln!(out, "the model is {} already", model.name())?;
                return Ok(());
            }
            print_comparison(&mut out, model, share, &listed)?;
            if dry_run {
                writeln!(out, "nothing was changed")?;
                return Ok(());
            }
            let model = model.name();
            if send(config, change)?["is_paused"] == true {
                writeln!(out, "{model} is used; existing memories follow after `cuebase models resume`")?;
            } else {
                writeln!(out, "{model} is used; existing memories follow, and `cuebase models` shows how far")?;
            }
        }
        ModelsCommand::Share { percent } => {
            send(config, EmbeddingChange { share_percent: Some(percent), ..EmbeddingChange::default() })?;
            writeln!(out, "a change of the model takes at most {percent} % of a processor core")?;
        }
        ModelsCommand::Pause => {
            send(config, EmbeddingChange { is_paused: Some(true), ..EmbeddingChange::default() })?;
            writeln!(out, "changes of the model are paused until `cuebase models resume`")?;
        }
        ModelsCommand::Resume => {
            send(config, EmbeddingChange { is_paused: Some(false), ..EmbeddingChange::default() })?;
            writeln!(out, "changes of the model go on; `cuebase models` shows how far")?;
        }
    }
    Ok(())
}

/// Sends a change to the data directory. Returns the record of the model.
fn send(config: &Config, change: EmbeddingChange) -> anyhow::Result<Value> {
    control::run(config, Command::ChangeEmbedding(change), &|_| {})
}

/// Prints what another built-in model changes.
fn print_comparison(out: &mut impl Write, to: BuiltInModel, share: Option<u8>, listed: &Value) -> anyhow::Result<()> {
    let Some(from) = built_in_of(&listed["built_in"]) else {
        writeln!(out, "model      {}", to.name())?;
        return Ok(());
    };
    if from == to {
        return Ok(());
    }
    let (former, next) = (built_in(from)?, built_in(to)?);
    writeln!(out, "model      {} instead of {}", to.name(), from.name())?;
    match (from == BuiltInModel::Reader, to == BuiltInModel::Reader) {
        (false, true) => writeln!(out, "reading    a query may read candidates for model.read_budget_ms")?,
        (true, false) => writeln!(out, "reading    none")?,
        (false, false) | (true, true) => {}
    }
    if former.identity() == next.identity() {
        writeln!(out, "memories   keep their vectors")?;
        return Ok(());
    }
    let (former_times, next_times) = (time_embedding(former.as_ref())?, time_embedding(next.as_ref())?);
    let cues = listed["memories"].as_u64().unwrap_or(0) as f64 * CUES_PER_MEMORY;
    let share = share.map_or_else(|| listed["built_in"]["share_percent"].as_f64().unwrap_or(100.0), f64::from);
    let disk = cues * (bytes_per_cue(next.as_ref()) - bytes_per_cue(former.as_ref())) / MIB;
    let work = next_times.batch.div_f64(BATCH_TEXTS as f64).mul_f64(cues * 100.0 / share);
    writeln!(out, "a query    {:.1?} instead of {:.1?}, if it was not asked before", next_times.one, former_times.one)?;
    writeln!(out, "memories   {:.0} texts a second instead of {:.0}", rate(&next_times), rate(&former_times))?;
    match disk.abs() < 1.0 {
        true => writeln!(out, "disk       less than 1 MiB")?,
        false => writeln!(out, "disk       about {disk:+.0} MiB for {cues:.0} texts")?,
    }
    writeln!(out, "time       about {} at {share:.0} % of a processor core", rounded(work))?;
    Ok(())
}

/// Texts a second.
fn rate(times: &EmbeddingTimes) -> f64 {
    BATCH_TEXTS as f64 / times.batch.as_secs_f64()
}

/// Returns the bytes on disk of a cue's vector: a byte for each dimension in the index, and two in the records if the
/// vector is kept there.
fn bytes_per_cue(model: &dyn Embedder) -> f64 {
    let dimensions = model.filled_dimensions() as f64;
    if model.is_immediate() { dimensions } else { 3.0 * dimensions }
}

/// Returns a time in its largest unit.
fn rounded(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..1.0 => "1 s".to_owned(),
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_printed_in_its_largest_unit() {
        let printed = |seconds| rounded(Duration::from_secs(seconds));
        assert_eq!([printed(0), printed(2), printed(89), printed(100)], ["1 s", "2 s", "89 s", "2 min"]);
        assert_eq!(printed(9000), "2.5 h");
    }
}
