//! Two builds of the server in turns on one namespace, so that their ratio holds on a machine whose speed moves.
//!
//! ```sh
//! cargo bench --bench load -- --messages 58500 --data FOLDER             # fills the folder
//! cargo bench --bench turns -- --data FOLDER --against OTHER/cuebase     # this build and the other
//! ```
//!
//! Printed are the medians of all rounds: of one client's times, and of what twenty get in a second. A build that keeps
//! its indexes in another form makes them anew each time: give each a folder of its own then.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[allow(dead_code, reason = "the namespace is filled already")]
mod corpus;
#[allow(dead_code, reason = "the other build is what is compared with, not the floor")]
mod loopback;
mod retrievals;

use std::io;
use std::path::{Path, PathBuf};

use clap::Parser;
use loopback::Server;
use retrievals::{Load, Spread};

/// Lets two builds of the server answer the same questions in turns
#[derive(Parser)]
struct Options {
    /// The other build's binary
    #[arg(long, required_unless_present = "test")]
    against: Option<PathBuf>,
    /// A folder that `--bench load` has filled
    #[arg(long, required_unless_present = "test")]
    data: Option<PathBuf>,
    /// The other build's folder, where it needs one of its own
    #[arg(long)]
    against_data: Option<PathBuf>,
    /// Turns of each build
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
    /// Given by `cargo test --benches`: nothing is measured then
    #[arg(long, hide = true)]
    test: bool,
}

/// What a build took, a value for each round.
#[derive(Default)]
struct Rounds {
    median: Vec<f64>,
    slowest: Vec<f64>,
    a_second: Vec<f64>,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let (Some(against), Some(folder)) = (&options.against, &options.data) else { return Ok(()) };
    let this = (Path::new(env!("CARGO_BIN_EXE_cuebase")), folder.as_path());
    let other = (against.as_path(), options.against_data.as_deref().unwrap_or(folder));
    for (_, folder) in [this, other] {
        if !folder.join("filled").exists() {
            let message = format!("{} was not filled: run --bench load with --data first", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
    }
    let (mut of_this, mut of_other) = (Rounds::default(), Rounds::default());
    for round in 0..options.rounds {
        // Neither is always the first.
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
        ("one client, 99th percentile, ms", of_this.slowest, of_other.slowest),
        ("twenty clients, a second", of_this.a_second, of_other.a_second),
    ] {
        let (this, other) = (Spread::of(this).at(0.5), Spread::of(other).at(0.5));
        println!("{name:34}{this:>10.2}{other:>10.2}{:>10.2}", this / other);
    }
    Ok(())
}

impl Rounds {
    /// Starts a build on a folder and asks it.
    fn add(&mut self, (binary, folder): (&Path, &Path)) -> io::Result<()> {
        let server = Server::start_binary(binary, folder)?;
        let load = |clients| Load { address: &server.address, key: &server.key, clients, filter: "" };
        // The first load opens the namespace and warms the caches.
        let loads = [load(1).run()?, load(1).run()?, load(20).run()?];
        if let Some(failed) = loads.iter().find(|load| load.errors > 0) {
            return Err(io::Error::other(format!("{} does not answer: {failed}", binary.display())));
        }
        let [_, alone, together] = loads;
        self.median.push(alone.times.at(0.5));
        self.slowest.push(alone.times.at(0.99));
        self.a_second.push(together.a_second);
        server.terminate();
        Ok(())
    }
}
