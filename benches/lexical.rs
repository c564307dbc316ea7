//! The lexical arm compared with tantivy, on the same memories: latency of the best 200 with and without a filter, the
//! time from an insert until the memory is found, and resident memory.
//!
//! ```sh
//! cargo bench --bench lexical                              # 100,000 cues
//! cargo bench --bench lexical -- --cues 100000,1000000     # several sizes
//! ```
//!
//! A process per arm opens the files that were written before. The figures are printed as rows of a table.
//!
//! Both arms index the same terms. The index of Cuebase has no vectors, word pieces or relations here, but it has the
//! columns that ranking reads. tantivy stores no texts, its segments are merged into one, and its files are in memory, so
//! that its commits sync nothing. Cuebase does not sync its index either, which is derived from git.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod corpus;
#[allow(dead_code, reason = "the index of this bench has no vectors")]
mod indexed;
mod lexical_arms;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use corpus::Corpus;
use cuebase::model::StaticTable;
use cuebase_language::tokenize::content_terms;
use cuebase_retrieval::Memory;
use indexed::{conversation, memories_of};
use lexical_arms::{ArmKind, BEST, CuebaseArm, LexicalArm, Scope, TantivyFiller, open};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Questions of the corpus.
const QUESTIONS: usize = 200;
/// Searches for each question.
const ROUNDS: usize = 5;
/// Memories that are inserted one by one.
const INSERTS: usize = 200;
/// About the number of cues of a conversation.
const CUES_PER_CONVERSATION: usize = 40;
/// Conversations that are extracted at once.
const CONVERSATIONS_MAX: usize = 1000;
/// The number of the first conversation that is not part of any corpus.
const NEW_CONVERSATIONS: usize = 10_000_000;

/// Compares the lexical arm with tantivy and prints a table
#[derive(Parser)]
struct Options {
    /// Cues of each corpus, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "100000")]
    cues: Vec<usize>,
    /// Arm to measure in this process
    #[arg(long, hide = true, requires = "folder")]
    arm: Option<ArmKind>,
    /// Folder of the arm's files
    #[arg(long, hide = true)]
    folder: Option<PathBuf>,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
    /// Passed by `cargo test --benches`; nothing is measured then
    #[arg(long, hide = true)]
    test: bool,
}

/// The size of a corpus.
#[derive(Clone, Copy, Default)]
struct Size {
    cues: usize,
    memories: usize,
}

/// The measurements of one arm.
#[derive(Serialize, Deserialize)]
struct Figures {
    best: Latency,
    best_tagged: Latency,
    insert: Latency,
    /// Bytes that became resident when the arm was opened and answered every question once.
    resident_bytes: u64,
}

/// Percentiles of durations in milliseconds.
#[derive(Serialize, Deserialize)]
struct Latency {
    p50: f64,
    p99: f64,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    if options.test {
        return Ok(());
    }
    if let (Some(arm), Some(folder)) = (options.arm, &options.folder) {
        println!("{}", serde_json::to_string(&measure(arm, folder)?)?);
        return Ok(());
    }
    println!("| cues | figure | Cuebase | tantivy |");
    println!("| --- | --- | --- | --- |");
    for cues in options.cues {
        let folder = tempfile::tempdir()?;
        let size = fill(folder.path(), cues)?;
        let mut figures = Vec::new();
        for arm in ArmKind::value_variants() {
            figures.push(measure_in_child(*arm, folder.path())?);
        }
        print_rows(size, &figures);
    }
    Ok(())
}

/// Fills both indexes below a folder with the same memories, of at least `cues` cues.
fn fill(folder: &Path, cues: usize) -> anyhow::Result<Size> {
    let table = StaticTable::built_in()?;
    let mut cuebase = CuebaseArm::open(folder)?;
    let tantivy = TantivyFiller::create(folder)?;
    let mut size = Size::default();
    let mut conversations = 0;
    while size.cues < cues {
        let next = (cues - size.cues).div_ceil(CUES_PER_CONVERSATION).clamp(1, CONVERSATIONS_MAX);
        let numbers = conversations..conversations + next;
        let memories = numbers.into_par_iter().flat_map_iter(|number| memories_of(&conversation(number), table));
        let memories: Vec<Memory> = memories.collect();
        conversations += next;
        size.cues += memories.iter().map(|memory| memory.cues.len()).sum::<usize>();
        size.memories += memories.len();
        cuebase.add(&memories)?;
        tantivy.add(&memories)?;
    }
    tantivy.finish()?;
    Ok(size)
}

/// Measures an arm in another process, so that its memory is not mixed with that of the others.
fn measure_in_child(arm: ArmKind, folder: &Path) -> anyhow::Result<Figures> {
    let name = arm.to_possible_value().context("the arm has no name")?;
    let output = Command::new(std::env::current_exe()?)
        .args(["--arm", name.get_name(), "--folder"])
        .arg(folder)
        .stderr(Stdio::inherit())
        .output()?;
    anyhow::ensure!(output.status.success(), "the process that measures {} failed", name.get_name());
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Measures an arm in this process.
fn measure(kind: ArmKind, folder: &Path) -> anyhow::Result<Figures> {
    let questions = questions();
    // The analyzer reads its lists of words at the first use.
    black_box(content_terms(&questions[0]));
    let before = resident_bytes()?;
    let mut arm = open(kind, folder)?;
    for scope in [Scope::Everything, Scope::Tagged] {
        for question in &questions {
            arm.search(question, scope)?;
        }
    }
    let after = resident_bytes()?;
    let best = measure_searches(arm.as_ref(), &questions, Scope::Everything)?;
    let best_tagged = measure_searches(arm.as_ref(), &questions, Scope::Tagged)?;
    let insert = measure_inserts(arm.as_mut())?;
    Ok(Figures { best, best_tagged, insert, resident_bytes: after.saturating_sub(before) })
}

/// Returns questions of the corpus, the same in every run.
fn questions() -> Vec<String> {
    let mut corpus = Corpus::new(3);
    let mut questions = Vec::with_capacity(QUESTIONS);
    for _ in 0..QUESTIONS {
        questions.push(corpus.question());
    }
    questions
}

fn measure_searches(arm: &dyn LexicalArm, questions: &[String], scope: Scope) -> anyhow::Result<Latency> {
    let mut times = Vec::with_capacity(ROUNDS * questions.len());
    let mut found = 0;
    for _ in 0..ROUNDS {
        for question in questions {
            let result = arm.search(question, scope)?;
            found += result.count;
            times.push(result.time);
        }
    }
    anyhow::ensure!(found > 0, "no question found a memory");
    Ok(Latency::of(times))
}

/// Measures inserts of single memories, each of which is searched for afterwards.
fn measure_inserts(arm: &mut dyn LexicalArm) -> anyhow::Result<Latency> {
    let table = StaticTable::built_in()?;
    arm.start_writing()?;
    let mut times = Vec::with_capacity(INSERTS);
    for number in 0..INSERTS {
        let memories = memories_of(&conversation(NEW_CONVERSATIONS + number), table);
        let mut memory = memories.into_iter().next().context("a conversation has no memories")?;
        let marker = format!("zz{number}qk");
        memory.content = format!("{} {marker}", memory.content);
        times.push(arm.insert(&memory)?);
        let found = arm.search(&marker, Scope::Everything)?.count;
        anyhow::ensure!(found == 1, "{found} memories contain {marker}, expected 1");
    }
    Ok(Latency::of(times))
}

impl Latency {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { p50: percentile(&times, 0.5), p99: percentile(&times, 0.99) }
    }
}

impl std::fmt::Display for Latency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3}, {:.3} ms", self.p50, self.p99)
    }
}

/// Returns the milliseconds that this share of the durations does not exceed.
fn percentile(sorted: &[Duration], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    match sorted.get((last as f64 * share) as usize) {
        Some(time) => time.as_secs_f64() * 1000.0,
        None => f64::NAN,
    }
}

/// Returns the resident bytes of this process, mapped files included.
fn resident_bytes() -> anyhow::Result<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    for line in rollup.lines() {
        if let Some(value) = line.strip_prefix("Rss:") {
            let kibibytes: u64 = value.trim().trim_end_matches(" kB").parse()?;
            return Ok(kibibytes * 1024);
        }
    }
    anyhow::bail!("/proc/self/smaps_rollup has no line `Rss:`")
}

/// Prints a row of the table for each figure. `figures` are in the order of [`ArmKind`].
fn print_rows(size: Size, figures: &[Figures]) {
    let mut rows = [
        vec![format!("best {BEST}: p50, p99")],
        vec![format!("best {BEST} through a filter of 1 %: p50, p99")],
        vec!["insert to visible, one memory: p50, p99".to_owned()],
        vec!["resident, per 100,000 cues".to_owned()],
    ];
    for of_arm in figures {
        let mebibytes = of_arm.resident_bytes as f64 / f64::from(1 << 20);
        rows[0].push(of_arm.best.to_string());
        rows[1].push(of_arm.best_tagged.to_string());
        rows[2].push(of_arm.insert.to_string());
        rows[3].push(format!("{:.1} MiB", mebibytes * 100_000.0 / size.cues as f64));
    }
    for row in rows {
        println!("| {} ({} memories) | {} |", grouped(size.cues), grouped(size.memories), row.join(" | "));
    }
}

/// Returns a number with commas between groups of three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
