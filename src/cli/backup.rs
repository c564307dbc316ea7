//! `cuebase backup`, `restore` and `doctor`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};

use super::progress::Bar;
use crate::config::Config;
use crate::control::{self, Command};
use crate::maintenance::backup::Report;
use crate::maintenance::doctor::{Finding, Health, advice};
use crate::maintenance::restore;

/// Options of `cuebase backup`.
#[derive(clap::Args)]
pub(super) struct BackupOptions {
    /// The folder of backups; best on another disk than the data directory
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Keep so many backups in it, the newest ones [default: all]
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
}

/// Options of `cuebase restore`.
#[derive(clap::Args)]
pub(super) struct RestoreOptions {
    /// A folder of backups, or one backup in it
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Options of `cuebase doctor`.
#[derive(clap::Args)]
pub(super) struct DoctorOptions {
    /// Make anew what is derived and not as it should be
    #[arg(long)]
    repair: bool,
    /// Print a line of JSON for each finding
    #[arg(long)]
    json: bool,
}

/// Makes a backup and prints where it is.
pub(super) fn backup(config: &Config, options: &BackupOptions) -> anyhow::Result<()> {
    // The server may have been started elsewhere.
    let folder = std::path::absolute(&options.folder)?;
    let answer = {
        let bar = Bar::new()?;
        control::run(config, Command::Backup { folder, keep: options.keep }, &|progress| bar.show(progress))?
    };
    let report: Report = serde_json::from_value(answer).context("the running server is of another version")?;
    println!("{}", report.backup.display());
    eprintln!("{} files, {} bytes, {} of them written", report.files, report.bytes, report.written);
    Ok(())
}

/// Restores and prints what.
pub(super) fn restore(config: &Config, options: &RestoreOptions) -> anyhow::Result<()> {
    let report = {
        let bar = Bar::new()?;
        restore::restore(&options.folder, &config.data, &|progress| bar.show(progress))?
    };
    println!("{}", report.data.display());
    eprintln!("{} files, {} bytes, as of {}", report.files, report.bytes, report.made_at);
    Ok(())
}

/// Prints what is found; fails where something is not as it should be.
pub(super) fn doctor(config: &Config, options: &DoctorOptions) -> anyhow::Result<()> {
    let answer = {
        let bar = Bar::new()?;
        let command = Command::Doctor { repair: options.repair };
        control::run(config, command, &|progress| bar.show(progress))?
    };
    let findings: Vec<Finding> = serde_json::from_value(answer).context("the running server is of another version")?;
    let mut out = std::io::stdout().lock();
    for finding in &findings {
        if options.json {
            writeln!(out, "{}", serde_json::to_string(finding)?)?;
            continue;
        }
        let word = match finding.health {
            Health::Sound => "sound",
            Health::Mended => "mended",
            Health::Repairable => "to mend",
            Health::Damaged => "DAMAGED",
        };
        writeln!(out, "{word:<8} {}: {}", finding.subject, finding.says)?;
    }
    match advice(&config.data, &findings) {
        Some(advice) => bail!(advice),
        None => Ok(()),
    }
}
