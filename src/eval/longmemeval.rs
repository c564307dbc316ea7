//! The measures of LongMemEval's evaluation of retrieval: whether the sessions and turns with the evidence are found.
//!
//! The definitions are those of `eval_utils.py` in LongMemEval, as in `benches/public/measures.py`: `recall_any` is 1
//! if any evidence is within the first k, `recall_all` if all of it is. `ndcg_any` is their normalised discounted gain,
//! whose second rank has no discount.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::admitted::Mean;
use super::input::longmemeval::{CountedEvidence, Haystack, session_of};
use super::namespace::Setup;
use super::open_space::{OpenSpace, OutputFiles};
use super::questions;

/// Ranks within which evidence is looked for.
const KS: [usize; 5] = [1, 5, 10, 24, 30];
/// Ranks that are reported for each type of question.
const KS_OF_TYPES: [usize; 2] = [5, 10];
/// Hits that are judged: the maximum of a request.
const HITS_MAX: usize = 200;

/// The figures of all questions.
#[derive(Default)]
pub struct Figures {
    /// What is measured for all labelled questions.
    pub questions: questions::Figures,
    /// The questions that count.
    all: TypeFigures,
    by_type: BTreeMap<String, TypeFigures>,
    /// Questions with an answer of which nothing says what it is.
    unmarked: usize,
}

/// The figures of a type of question.
#[derive(Clone, Debug, Default)]
struct TypeFigures {
    sessions: UnitFigures,
    turns: UnitFigures,
}

/// The figures of sessions or of turns, at each of [`KS`].
#[derive(Clone, Debug, Default)]
struct UnitFigures {
    questions: usize,
    any: [Mean; KS.len()],
    all: [Mean; KS.len()],
    gain: [Mean; KS.len()],
}

/// Ingests a haystack and asks its question.
pub fn measure(
    haystack: &Haystack,
    folder: &Path,
    setup: &Setup<'_>,
    figures: &mut Figures,
    files: &mut OutputFiles<'_>,
) -> anyhow::Result<()> {
    let Haystack { space, counted } = haystack;
    if space.questions.is_empty() {
        figures.unmarked += 1;
        return Ok(());
    }
    let open = OpenSpace::of(space, folder, setup)?;
    for (number, question) in space.questions.iter().enumerate() {
        let hits = open.ask(number, question, setup, &mut figures.questions, files)?;
        if !counted.sessions.is_empty() {
            let ranking = open.ranking(&hits[..hits.len().min(HITS_MAX)], setup)?;
            figures.all.add(&ranking, counted);
            figures.by_type.entry(space.kind.clone()).or_default().add(&ranking, counted);
        }
    }
    Ok(())
}

impl Figures {
    /// Returns the figures with their names.
    pub fn report(&self) -> Vec<(String, f64)> {
        let mut report = self.questions.report();
        report.push(("questions that count for sessions".to_owned(), self.all.sessions.questions as f64));
        report.push(("questions that count for turns".to_owned(), self.all.turns.questions as f64));
        report.push(("questions left out, without evidence".to_owned(), self.unmarked as f64));
        self.all.report("", &KS, &mut report);
        for (kind, figures) in &self.by_type {
            report.push((format!("questions that count for sessions, {kind}"), figures.sessions.questions as f64));
            figures.report(&format!(", {kind}"), &KS_OF_TYPES, &mut report);
        }
        report
    }
}

impl TypeFigures {
    /// Adds a question by the ids of what its hits were made from, best first.
    fn add(&mut self, ranking: &[String], counted: &CountedEvidence) {
        let mut sessions: Vec<&str> = Vec::new();
        let mut turns: Vec<&str> = Vec::new();
        for label in ranking {
            let session = session_of(label);
            if !sessions.contains(&session) {
                sessions.push(session);
            }
            if counted.units.contains(label) {
                turns.push(label);
            }
        }
        self.sessions.add(&sessions, &counted.sessions);
        if !counted.turns.is_empty() {
            self.turns.add(&turns, &counted.turns);
        }
    }

    /// Adds the figures at some ranks to a report. The names end in `suffix`.
    fn report(&self, suffix: &str, ks: &[usize], report: &mut Vec<(String, f64)>) {
        for (unit, figures) in [("session", &self.sessions), ("turn", &self.turns)] {
            let measures = [("recall_any", &figures.any), ("recall_all", &figures.all), ("ndcg_any", &figures.gain)];
            for (measure, means) in measures {
                for (k, mean) in KS.iter().zip(means) {
                    if ks.contains(k) {
                        report.push((format!("{unit} {measure}@{k}{suffix}"), mean.value()));
                    }
                }
            }
        }
    }
}

impl UnitFigures {
    /// Adds a question by its units, best first, and those that have the evidence.
    fn add(&mut self, ranking: &[&str], relevant: &HashSet<String>) {
        self.questions += 1;
        for (place, k) in KS.into_iter().enumerate() {
            let first = &ranking[..ranking.len().min(k)];
            let labels: Vec<bool> = first.iter().map(|unit| relevant.contains(*unit)).collect();
            let found = labels.iter().filter(|is_relevant| **is_relevant).count();
            let ideal = vec![true; relevant.len().min(k)];
            self.any[place].add(if found > 0 { 1.0 } else { 0.0 });
            self.all[place].add(if found == relevant.len() { 1.0 } else { 0.0 });
            self.gain[place].add(discounted_gain(&labels) / discounted_gain(&ideal));
        }
    }
}

/// Returns the discounted gain of ranks with and without evidence.
fn discounted_gain(labels: &[bool]) -> f64 {
    let mut gain = 0.0;
    for (rank, is_relevant) in (1_u32..).zip(labels) {
        if *is_relevant {
            gain += if rank == 1 { 1.0 } else { 1.0 / f64::from(rank).log2() };
        }
    }
    gain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(labels: &[&str]) -> HashSet<String> {
        labels.iter().map(|label| (*label).to_owned()).collect()
    }

    /// Returns a figure of a report.
    fn figure(report: &[(String, f64)], name: &str) -> f64 {
        report.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    #[test]
    fn sessions_and_turns_are_measured_as_longmemeval_does() {
        let counted = CountedEvidence {
            sessions: set(&["s1", "s3"]),
            turns: set(&["s1.0", "s3.0"]),
            units: set(&["s0.0", "s1.0", "s2.0", "s3.0"]),
        };
        // The assistant's turn s3.1 is not a unit, but a hit of its session.
        let ranking = ["s0.0", "s1.0", "s1.1", "s3.1"].map(str::to_owned);
        let mut figures = TypeFigures::default();
        figures.add(&ranking, &counted);
        let mut report = Vec::new();
        figures.report("", &KS, &mut report);
        for (name, expected) in [
            ("session recall_any@1", 0.0),
            ("session recall_any@5", 1.0),
            ("session recall_all@5", 1.0),
            // The sessions are s0, s1, s3. Ranks 2 and 3 have the discounts 1 and log2(3), the ideal is 1 + 1.
            ("session ndcg_any@5", (1.0 + 0.63093) / 2.0),
            ("turn recall_any@5", 1.0),
            ("turn recall_all@30", 0.0),
            ("turn ndcg_any@10", 0.5),
        ] {
            assert!((figure(&report, name) - expected).abs() < 1e-4, "{name}: {report:?}");
        }
    }

    #[test]
    fn a_question_without_marked_turns_counts_for_sessions_only() {
        let counted = CountedEvidence { sessions: set(&["s1"]), turns: set(&[]), units: set(&["s0.0", "s1"]) };
        let mut figures = TypeFigures::default();
        figures.add(&["s1".to_owned()], &counted);
        assert_eq!((figures.sessions.questions, figures.turns.questions), (1, 0));
        let mut report = Vec::new();
        figures.report(", kites", &KS_OF_TYPES, &mut report);
        assert_eq!(report.len(), 12);
        assert!((figure(&report, "session recall_all@5, kites") - 1.0).abs() < 1e-9);
    }
}
