//! `cuebase backup`, `restore` and `doctor`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;

use super::progress::{Bar, run_with_bar};
use crate::config::{Config, StorageSettings};
use crate::control::Command;
use crate::maintenance::backup::BackupReport;
use crate::maintenance::doctor::{Finding, Health, advice, cluster_advice};
use crate::maintenance::restore;

/// Options of `cuebase backup`.
#[derive(clap::Args)]
pub(super) struct BackupOptions {
    /// Folder of backups, preferably on another disk than the data directory
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Number of newest backups to keep in the folder [default: all]
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
}

/// Options of `cuebase restore`.
#[derive(clap::Args)]
pub(super) struct RestoreOptions {
    /// Folder of backups, or one backup in it
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Options of `cuebase doctor`.
#[derive(clap::Args)]
pub(super) struct DoctorOptions {
    /// Rebuild damaged indexes and restore missing branches
    #[arg(long)]
    repair: bool,
    /// Print each finding as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Creates a backup and prints its path.
pub(super) fn backup(config: &Config, options: &BackupOptions) -> anyhow::Result<()> {
    // A running server may have another working directory.
    let folder = std::path::absolute(&options.folder)?;
    let report: BackupReport = run_with_bar(config, Command::Backup { folder, keep: options.keep })?;
    println!("{}", report.backup.display());
    eprintln!("{} files, {} bytes, {} of them written", report.files, report.bytes, report.written);
    Ok(())
}

/// Restores a backup and prints the path of the data directory.
pub(super) fn restore(config: &Config, options: &RestoreOptions) -> anyhow::Result<()> {
    let report = {
        let bar = Bar::new()?;
        restore::restore(&options.folder, &config.data, &|progress| bar.show(progress))?
    };
    println!("{}", report.data.display());
    eprintln!("{} files, {} bytes, backup of {}", report.files, report.bytes, report.made_at);
    Ok(())
}

/// Checks all data and prints the findings. Fails if there is a problem.
pub(super) fn doctor(config: &Config, options: &DoctorOptions) -> anyhow::Result<()> {
    let findings: Vec<Finding> = run_with_bar(config, Command::Doctor { repair: options.repair })?;
    let mut out = std::io::stdout().lock();
    for finding in &findings {
        if options.json {
            writeln!(out, "{}", serde_json::to_string(finding)?)?;
            continue;
        }
        let word = match finding.health {
            Health::Sound => "sound",
            Health::Repaired => "repaired",
            Health::Repairable => "to repair",
            Health::Damaged => "DAMAGED",
        };
        writeln!(out, "{word:<9} {}: {}", finding.subject, finding.description)?;
    }
    let advice = match &config.storage {
        StorageSettings::Directory => advice(&config.data, &findings),
        StorageSettings::Shared(_) => cluster_advice(&findings),
    };
    match advice {
        Some(advice) => bail!(advice),
        None => Ok(()),
    }
}
