//! Scores and recall in namespaces of 50 to 100,000 memories, with the vectors of the built-in table. A score means the same
//! at every size, and the approximate search finds what an exhaustive search finds.
//!
//! The test adds more and more unrelated memories to the same facts. It queries the facts and also things that no memory
//! contains. It runs in process and is its own test binary because it uses every core.

#![allow(missing_docs, reason = "tests are read by their names")]
#![allow(clippy::print_stdout, reason = "the figures are worth reading")]

#[allow(dead_code, reason = "the benches use the rest")]
#[path = "../benches/corpus/mod.rs"]
mod corpus;
#[allow(dead_code, reason = "the benches use the rest")]
#[path = "../benches/indexed/mod.rs"]
mod indexed;

use std::collections::HashSet;

use cuebase::model::StaticTable;
use cuebase_retrieval::{Filter, Hit, Index, Memory};
use indexed::{Question, conversation, conversation_of, memories_of, no_commit, open, puts, questions};
use rayon::prelude::*;

/// Speaker, statement, and a question about the statement.
const FACTS: [(&str, &str, &str); 12] = [
    ("Nadia", "I keep a beehive on the roof of our office in Leipzig.", "Where does Nadia keep her beehive?"),
    ("Tomas", "My daughter Ida started fencing lessons in February.", "Which sport did Tomas's daughter take up?"),
    ("Nadia", "I am allergic to walnuts, so no brownies for me.", "What is Nadia allergic to?"),
    ("Tomas", "We sold the caravan and bought a canal boat instead.", "What did Tomas buy after selling the caravan?"),
    (
        "Nadia",
        "My grandfather repaired church organs all over Moravia.",
        "What did Nadia's grandfather do for a living?",
    ),
    ("Tomas", "I lost my wedding ring in the lake near Annecy.", "Where did Tomas lose his wedding ring?"),
    ("Nadia", "The dentist pulled two of my wisdom teeth yesterday.", "What did the dentist do for Nadia?"),
    ("Tomas", "I collect typewriters, the oldest one is from 1911.", "What does Tomas collect?"),
    ("Nadia", "I dropped out of law school to become a glassblower.", "Why did Nadia leave law school?"),
    ("Tomas", "Our cellar was flooded when the dishwasher hose burst.", "How did Tomas's cellar get flooded?"),
    ("Nadia", "I am learning Portuguese because my boyfriend is from Porto.", "Which language is Nadia learning?"),
    ("Tomas", "My brother drives a snow plough for the county.", "What kind of vehicle does Tomas's brother drive?"),
];

/// Questions that no memory answers.
const UNANSWERABLE: [&str; 12] = [
    "What is the name of Nadia's parrot?",
    "Which university did Tomas's wife graduate from?",
    "Where did Nadia spend her honeymoon?",
    "How much did Tomas pay for his motorcycle?",
    "Who won the chess match between the twins?",
    "What colour is Nadia's bicycle helmet?",
    "Which pharmacist mixed the ointment?",
    "When does Tomas's fishing licence expire?",
    "What did the hypnotist tell Nadia?",
    "Which lawyer drew up the prenuptial agreement?",
    "How many stamps are missing from the album of Tomas's uncle?",
    "What is Nadia's shoe size?",
];

fn search(index: &Index, text: &str, table: &StaticTable) -> Vec<Hit> {
    let question = Question::new(text.to_owned(), table);
    indexed::search(&index.published().load_full(), &question, &Filter::default(), false).hits
}

/// Returns the share of the hits of an exhaustive search that the approximate search finds.
fn recall(index: &Index, table: &StaticTable) -> f64 {
    let snapshot = index.published().load_full();
    let found = |question: &Question, exact: bool| -> HashSet<String> {
        let hits = indexed::search(&snapshot, question, &Filter::default(), exact).hits;
        hits.into_iter().map(|hit| hit.memory.path).collect()
    };
    let (mut found_count, mut exact_count) = (0, 0);
    for question in questions(100, table) {
        let exact = found(&question, true);
        exact_count += exact.len();
        found_count += exact.intersection(&found(&question, false)).count();
    }
    f64::from(u32::try_from(found_count).expect("few")) / f64::from(u32::try_from(exact_count).expect("few"))
}

/// Returns the difference between the greatest and the least of values from 0 to 1.
fn spread(values: &[f32]) -> f32 {
    values.iter().copied().fold(0.0, f32::max) - values.iter().copied().fold(1.0, f32::min)
}

fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}

#[test]
fn scores_and_recall_hold_up_to_a_hundred_thousand_memories() {
    let table = StaticTable::built_in().expect("the table is whole");
    let folder = tempfile::tempdir().expect("temporary directory");
    let mut index = open(folder.path(), table);
    let facts: Vec<(String, String)> =
        FACTS.iter().map(|(name, text, _)| ((*name).to_owned(), (*text).to_owned())).collect();
    let known = memories_of(&conversation_of("known", &[], &facts), table);
    index.apply(puts(known), no_commit()).expect("applies");

    let (mut answered, mut unanswered, mut conversations) = (Vec::new(), Vec::new(), 0);
    for size in [50, 1_000, 10_000, 100_000] {
        while index.memory_count() < size {
            let next = (size - index.memory_count()).div_ceil(20).clamp(1, 500);
            let numbers = conversations..conversations + next;
            let made: Vec<Memory> =
                numbers.into_par_iter().flat_map_iter(|number| memories_of(&conversation(number), table)).collect();
            conversations += next;
            index.apply(puts(made), no_commit()).expect("applies");
        }
        let (mut first, mut scores) = (0, Vec::new());
        for (_, text, question) in FACTS {
            let hits = search(&index, question, table);
            assert!(hits.is_sorted_by(|a, b| a.score >= b.score), "{question}");
            assert!(hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)), "{question}");
            let position = hits.iter().position(|hit| hit.memory.content.contains(text));
            first += usize::from(position == Some(0));
            scores.push(position.map_or(0.0, |position| hits[position].score));
        }
        let mut unanswerable_scores = Vec::new();
        for question in UNANSWERABLE {
            unanswerable_scores.push(search(&index, question, table).first().map_or(0.0, |hit| hit.score));
        }
        println!(
            "{size} memories: {first} of {} facts rank first, mean score {:.3}; unanswerable questions {:.3}",
            FACTS.len(),
            mean(&scores),
            mean(&unanswerable_scores)
        );
        assert!(first + 1 >= FACTS.len(), "{size}: only {first} of {} rank first", FACTS.len());
        answered.push(mean(&scores));
        unanswered.push(mean(&unanswerable_scores));
    }
    assert!(spread(&answered) < 0.1, "{answered:?}");
    assert!(spread(&unanswered) < 0.1, "{unanswered:?}");
    for (answered, unanswered) in answered.iter().zip(&unanswered) {
        assert!(answered > &(4.0 * unanswered), "{answered} answered, {unanswered} unanswerable");
    }
    let recall = recall(&index, table);
    println!("recall {recall:.4} of the exhaustive search");
    assert!(recall >= 0.99, "{recall}");
}
