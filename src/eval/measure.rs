//! Ingesting a sample into an index in memory's shape, asking its questions, counting what was found.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use cuebase_retrieval::{Change, FEATURE_NAMES, Filter, Hit, Index, Query, Snapshot};
use cuebase_storage::memory_file::MemoryPath;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::locomo::Sample;
use crate::dates::question::{Named, named};
use crate::ingest::extract;
use crate::memory::file_names::slug;
use crate::memory::files;
use crate::memory::request::conversation;
use crate::model::{Deadline, Embedder, index_settings};
use crate::text::steps::Steps;

/// Word budgets within which recall is reported.
pub const BUDGETS: [usize; 3] = [1000, 2000, 4000];
/// The default number of hits, within which recall, MRR and calibration are reported.
const LIMIT: usize = 24;
/// Hits that are looked at for the word budgets.
const HITS_MAX: usize = 200;
/// A turn counts as found when this part of its content words stands in one hit.
const THRESHOLD: f64 = 0.8;
/// What stands for the evidence found where there is none to find, in the features file.
const REFUSED: &str = "-";
/// How long a model may take over a session, or a question.
const MODEL_TIME: Duration = Duration::from_secs(600);
/// Bins of the calibration error.
const BINS: usize = 10;

const STOP: &str = "a an the and or but if of at by for with about to from in on off out up down is are was were be been \
    being am i'm you're it's that's do does did have has had i me my we our you your he him his she her it its they them \
    their this that these those so as not no yes hey hi oh wow just too very can will would could should what which who \
    when where why how there here than then really like get got";

/// What a question's answer was worth.
pub struct Row {
    /// The question's category.
    pub category: u64,
    /// One over the rank of the first relevant hit within the default limit.
    pub reciprocal_rank: f64,
    /// Evidence found within the default limit.
    pub within_limit: f64,
    /// Evidence found within each of [`BUDGETS`].
    pub within_words: [f64; 3],
    /// Words a hit.
    pub words: f64,
}

/// All figures.
#[derive(Default)]
pub struct Figures {
    /// One a question.
    pub rows: Vec<Row>,
    /// Score and relevance of every hit within the default limit.
    pub scored: Vec<(f32, bool)>,
    /// The best score of every question that has an answer.
    pub answerable: Vec<f32>,
    /// Of every question of category 5: about this conversation, with a premise that does not hold.
    pub unanswerable: Vec<f32>,
    /// Of every question about something else.
    pub astray: Vec<f32>,
    /// Questions whose candidates' features were written.
    numbered: usize,
}

/// The lowercase words of a text that are no stop words.
fn content_words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '\''));
    let kept = words.filter(|word| word.len() > 1 && !STOP.split_whitespace().any(|stop| stop == *word));
    kept.map(str::to_owned).collect()
}

/// Ingests a sample and asks every question of categories 1 to 4; writes features where asked to.
pub fn measure(
    sample: &Sample,
    folder: &Path,
    embedder: &dyn Embedder,
    figures: &mut Figures,
    mut features: Option<&mut dyn Write>,
) -> anyhow::Result<()> {
    let index = ingest(sample, folder, embedder)?;
    let snapshot = index.published().load_full();
    // A fit must see every candidate: the best by the present fit would be a choice that knows the answers.
    let limit = if features.is_some() { usize::MAX } else { HITS_MAX };
    for question in &sample.questions {
        let hits = ask(&snapshot, &question.text, embedder, limit)?;
        if question.category == 5 {
            figures.unanswerable.extend(hits.first().map(|hit| hit.score));
            if let Some(out) = features.as_deref_mut() {
                write_features(out, sample, figures.next_number(), &hits, |_| REFUSED.to_owned())?;
            }
            continue;
        }
        let evidence: Vec<Vec<String>> = question
            .evidence
            .iter()
            .map(|id| content_words(&sample.turns[id]))
            .filter(|words| !words.is_empty())
            .collect();
        if evidence.is_empty() {
            continue;
        }
        let (row, relevant) = judge(&hits, &evidence, question.category);
        figures.answerable.extend(hits.first().map(|hit| hit.score));
        for (hit, relevant) in hits.iter().zip(&relevant).take(LIMIT) {
            figures.scored.push((hit.score, relevant.iter().any(|found| *found)));
        }
        if let Some(out) = features.as_deref_mut() {
            let found = |n: usize| relevant[n].iter().map(|found| if *found { "1" } else { "0" }).collect();
            write_features(out, sample, figures.next_number(), &hits, found)?;
        }
        figures.rows.push(row);
    }
    for question in &sample.astray {
        let hits = ask(&snapshot, &question.text, embedder, limit)?;
        figures.astray.extend(hits.first().map(|hit| hit.score));
        if let Some(out) = features.as_deref_mut() {
            write_features(out, sample, figures.next_number(), &hits, |_| REFUSED.to_owned())?;
        }
    }
    Ok(())
}

/// Writes a line for every candidate of a question; `found` says which evidence each holds.
fn write_features(
    out: &mut dyn Write,
    sample: &Sample,
    question: usize,
    hits: &[Hit],
    found: impl Fn(usize) -> String,
) -> std::io::Result<()> {
    let (id, sessions) = (&sample.id, sample.sessions.len());
    for (n, hit) in hits.iter().enumerate() {
        let values: Vec<String> = hit.features.iter().map(f32::to_string).collect();
        let words = hit.memory.content.split_whitespace().count();
        writeln!(out, "{id}\t{sessions}\t{question}\t{words}\t{}\t{}", found(n), values.join("\t"))?;
    }
    Ok(())
}

/// The header of the features file.
pub fn features_header() -> String {
    format!("sample\tsessions\tquestion\twords\tfound\t{}", FEATURE_NAMES.join("\t"))
}

fn ingest(sample: &Sample, folder: &Path, embedder: &dyn Embedder) -> anyhow::Result<Index> {
    let mut index = Index::open(folder, index_settings(embedder)?)?;
    let now = Timestamp::now();
    for (session, body) in sample.sessions.iter().enumerate() {
        let conversation = conversation(body)?;
        let drafts = extract::extract(&conversation, now, &Steps::unlimited())?;
        let paths: Vec<String> = drafts
            .iter()
            .enumerate()
            .map(|(n, draft)| format!("{}/{}/{session}/{n}.md", draft.tier.name(), slug(&draft.speaker, "somebody")))
            .collect();
        let texts: Vec<&str> = drafts.iter().flat_map(|draft| draft.cues.iter().map(String::as_str)).collect();
        let made = embedder.embed(&texts, Deadline::of_work(MODEL_TIME))?;
        let vectors: HashMap<&str, Vec<f32>> = texts.iter().copied().zip(made).collect();
        let mut changes = Vec::with_capacity(drafts.len());
        for (draft, path) in drafts.iter().zip(&paths) {
            let file = files::of_draft(draft, &paths, &conversation, now);
            let path: MemoryPath = path.parse()?;
            let memory = files::to_memory(&path, file, &|text| vectors.get(text).cloned());
            changes.push(Change::Put(Box::new(memory)));
        }
        index.apply(changes, &session.to_string())?;
    }
    Ok(index)
}

fn ask(snapshot: &Snapshot, text: &str, embedder: &dyn Embedder, limit: usize) -> anyhow::Result<Vec<Hit>> {
    let made = embedder.embed(&[text], Deadline::of_work(MODEL_TIME))?;
    let vector = made.first().context("the model gave no vector")?;
    let filter = Filter::default();
    let at = Timestamp::now();
    let Named { times, words } = named(text, at, &TimeZone::UTC);
    let query = Query {
        text,
        synonyms: &[],
        vector: Some(vector),
        times: &times,
        time_words: &words,
        filter: &filter,
        min_score: 0.0,
        limit,
        now: at.as_millisecond(),
        exact: false,
    };
    Ok(snapshot.search(&query)?.hits)
}

/// What the hits are worth, and for each hit which evidence it holds.
fn judge(hits: &[Hit], evidence: &[Vec<String>], category: u64) -> (Row, Vec<Vec<bool>>) {
    let mut found_at: Vec<Option<(usize, usize)>> = vec![None; evidence.len()];
    let (mut used, mut first, mut relevant) = (0, None, Vec::new());
    for (rank, hit) in (1..).zip(hits) {
        let content = &hit.memory.content;
        used += content.split_whitespace().count();
        let words: HashSet<String> = content_words(content).into_iter().collect();
        let covered = evidence.iter().map(|evidence| {
            let held = evidence.iter().filter(|word| words.contains(*word)).count();
            held as f64 >= THRESHOLD * evidence.len() as f64
        });
        let covered: Vec<bool> = covered.collect();
        for (held, found) in covered.iter().zip(&mut found_at) {
            if *held && found.is_none() {
                *found = Some((used, rank));
            }
        }
        if covered.contains(&true) && first.is_none() && rank <= LIMIT {
            first = Some(rank);
        }
        relevant.push(covered);
    }
    let part = |within: &dyn Fn(&(usize, usize)) -> bool| {
        found_at.iter().flatten().filter(|found| within(found)).count() as f64 / evidence.len() as f64
    };
    let row = Row {
        category,
        reciprocal_rank: first.map_or(0.0, |rank| 1.0 / rank as f64),
        within_limit: part(&|(_, rank)| *rank <= LIMIT),
        within_words: BUDGETS.map(|budget| part(&|(used, _)| *used <= budget)),
        words: used as f64 / hits.len().max(1) as f64,
    };
    (row, relevant)
}

impl Figures {
    /// Name and value of every figure, in the order of a report.
    pub fn report(&self) -> Vec<(String, f64)> {
        let mean =
            |value: &dyn Fn(&Row) -> f64| self.rows.iter().map(value).sum::<f64>() / self.rows.len().max(1) as f64;
        let mut report = vec![
            ("questions".to_owned(), self.rows.len() as f64),
            ("recall@24".to_owned(), mean(&|row| row.within_limit)),
            ("mrr".to_owned(), mean(&|row| row.reciprocal_rank)),
            ("words_per_hit".to_owned(), mean(&|row| row.words)),
        ];
        for (n, budget) in BUDGETS.iter().enumerate() {
            report.push((format!("recall@{budget}w"), mean(&|row| row.within_words[n])));
        }
        report.push(("auc".to_owned(), area_under_curve(&self.scored)));
        report.push(("ece".to_owned(), calibration_error(&self.scored)));
        for category in 1..=4 {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.category == category).collect();
            let sum: f64 = rows.iter().map(|row| row.within_words[1]).sum();
            report.push((format!("recall@2000w, category {category}"), sum / rows.len().max(1) as f64));
        }
        for (name, scores) in [
            ("best score, answerable", &self.answerable),
            ("best score, category 5", &self.unanswerable),
            ("best score, about something else", &self.astray),
        ] {
            let sum: f64 = scores.iter().map(|score| f64::from(*score)).sum();
            report.push((name.to_owned(), sum / scores.len().max(1) as f64));
        }
        report
    }

    /// Empty figures that go on numbering questions where these stopped.
    pub fn continued(&self) -> Self {
        Self { numbered: self.numbered, ..Self::default() }
    }

    fn next_number(&mut self) -> usize {
        self.numbered += 1;
        self.numbered
    }
}

/// The probability that a relevant hit is scored above one that is not; ties count half.
fn area_under_curve(scored: &[(f32, bool)]) -> f64 {
    let mut ranked = scored.to_vec();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let positives = ranked.iter().filter(|(_, relevant)| *relevant).count() as f64;
    let negatives = ranked.len() as f64 - positives;
    let (mut ranks, mut place) = (0.0, 0.0);
    for tied in ranked.chunk_by(|a, b| a.0 == b.0) {
        let middle = place + (tied.len() as f64 + 1.0) / 2.0;
        ranks += middle * tied.iter().filter(|(_, relevant)| *relevant).count() as f64;
        place += tied.len() as f64;
    }
    if positives == 0.0 || negatives == 0.0 {
        return f64::NAN;
    }
    (ranks - positives * (positives + 1.0) / 2.0) / (positives * negatives)
}

/// The expected calibration error over ten bins of score.
fn calibration_error(scored: &[(f32, bool)]) -> f64 {
    let mut bins = [(0.0, 0.0, 0.0); BINS];
    for (score, relevant) in scored {
        // A score of exactly 1 belongs to the last bin.
        let bin = ((score * BINS as f32) as usize).min(BINS - 1);
        bins[bin].0 += 1.0;
        bins[bin].1 += f64::from(*score);
        bins[bin].2 += f64::from(u8::from(*relevant));
    }
    let error = bins.iter().filter(|bin| bin.0 > 0.0).map(|(_, score, relevant)| (score - relevant).abs());
    error.sum::<f64>() / scored.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measures_are_right_on_small_cases() {
        let perfect = [(0.9, true), (0.8, true), (0.1, false)];
        assert!((area_under_curve(&perfect) - 1.0).abs() < 1e-9);
        assert!((area_under_curve(&[(0.5, true), (0.5, false)]) - 0.5).abs() < 1e-9);
        assert!((calibration_error(&[(1.0, true), (0.0, false)])).abs() < 1e-9);
        assert!((calibration_error(&[(1.0, false)]) - 1.0).abs() < 1e-9);
        assert_eq!(content_words("It's the Race, I ran!"), ["race", "ran"]);
    }
}
