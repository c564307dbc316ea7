//! Two builds of the server, measured alternately on one namespace, so that their ratio is valid on a machine whose
//! speed varies.
//!
//! ```sh
//! cargo bench --bench load -- --messages 58500 --data FOLDER             # fills the folder
//! cargo bench --bench turns -- --data FOLDER --against OTHER/cuebase     # this build and the other
//! ```
//!
//! The medians over all rounds are printed: the durations for one client, and the retrievals per second for twenty. If
//! the two builds have different index formats, each rebuilds the index in every round: give each a folder of its own
//! then.

#![allow(clippy::disallowed_types, reason = "benches are HTTP clients")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[allow(dead_code, reason = "the namespace is already filled")]
mod corpus;
#[allow(dead_code, reason = "the comparison is with the other build, not with the floor")]
mod loopback;
mod retrievals;

use std::io;
use std::path::{Path, PathBuf};

use clap::Parser;
use loopback::Server;
use retrievals::{Load, Percentiles};

/// Measures two builds of the server alternately on the same questions
#[derive(Parser)]
struct Options {
    /// Binary of the other build
    #[arg(long, required_unless_present = "test")]
    against: Option<PathBuf>,
    /// Data folder that `--bench load` filled
    #[arg(long, required_unless_present = "test")]
    data: Option<PathBuf>,
    /// Data folder of the other build, if it needs one of its own
    #[arg(long)]
    against_data: Option<PathBuf>,
    /// Rounds per build
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
    /// Passed by `cargo test --benches`; nothing is measured then
    #[arg(long, hide = true)]
    test: bool,
}

/// The measurements of one build, one value per round.
#[derive(Default)]
struct Rounds {
    median: Vec<f64>,
    p99: Vec<f64>,
    per_second: Vec<f64>,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let (Some(against), Some(folder)) = (&options.against, &options.data) else { return Ok(()) };
    let this = (Path::new(env!("CARGO_BIN_EXE_cuebase")), folder.as_path());
    let other = (against.as_path(), options.against_data.as_deref().unwrap_or(folder));
    for (_, folder) in [this, other] {
        if !folder.join("filled").exists() {
            let message = format!("{} is not filled: run `--bench load -- --data FOLDER` first", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
    }
    let (mut of_this, mut of_other) = (Rounds::default(), Rounds::default());
    for round in 0..options.rounds {
        // Alternates which build is measured first.
        if round % 2 == 0 {
            of_this.add(this)?;
            of_other.add(other)?;
        } else {
            of_other.add(other)?;
            of_this.add(this)?;
        }
    }
    println!("{:34}{:>10}{:>10}{:>10}", "", "this", "other", "ratio");
    for (name, this, other) in [
        ("one client, median, ms", of_this.median, of_other.median),
        ("one client, 99th percentile, ms", of_this.p99, of_other.p99),
        ("twenty clients, per second", of_this.per_second, of_other.per_second),
    ] {
        let (this, other) = (Percentiles::of(this).at(0.5), Percentiles::of(other).at(0.5));
        println!("{name:34}{this:>10.2}{other:>10.2}{:>10.2}", this / other);
    }
    Ok(())
}

impl Rounds {
    /// Starts a build on a folder and measures it once.
    fn add(&mut self, (binary, folder): (&Path, &Path)) -> io::Result<()> {
        let server = Server::start_binary(binary, folder)?;
        let alone = Load { address: &server.address, key: &server.key, clients: 1, filter: "" };
        let together = Load { clients: 20, ..alone };
        // The first run opens the namespace and warms the caches.
        let results = [alone.run()?, alone.run()?, together.run()?];
        if let Some(failed) = results.iter().find(|result| result.errors > 0) {
            return Err(io::Error::other(format!("{} does not answer: {failed}", binary.display())));
        }
        let [_, alone, together] = results;
        self.median.push(alone.times.at(0.5));
        self.p99.push(alone.times.at(0.99));
        self.per_second.push(together.per_second);
        server.terminate();
        Ok(())
    }
}
