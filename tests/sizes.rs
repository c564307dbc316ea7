//! A score means the same in a namespace of fifty memories and in one of a hundred thousand, and the fast way finds there
//! what comparing every row finds, with the vectors of the built-in table.
//!
//! The same facts lie among more and more memories about other things. They are asked for, and so is what nobody told.
//! In process, and a binary of its own: it takes every core.

#![allow(missing_docs, reason = "tests are read by their names")]
#![allow(clippy::print_stdout, reason = "the figures are worth reading")]

#[allow(dead_code, reason = "the benches ask its questions")]
#[path = "../benches/corpus/mod.rs"]
mod corpus;
#[allow(dead_code, reason = "the benches make more of it")]
#[path = "../benches/indexed/mod.rs"]
mod indexed;

use std::collections::HashSet;

use cuebase::model::StaticTable;
use cuebase_retrieval::{Filter, Hit, Index, Memory};
use indexed::{Asked, conversation, conversation_of, memories_of, open, puts, questions};
use rayon::prelude::*;

/// Who told what, and a question for it.
const TOLD: [(&str, &str, &str); 12] = [
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

/// What nobody told.
const UNTOLD: [&str; 12] = [
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

fn ask(index: &Index, text: &str, table: &StaticTable) -> Vec<Hit> {
    let asked = Asked::new(text.to_owned(), table);
    indexed::search(&index.published().load_full(), &asked, &Filter::default(), false).hits
}

/// The part of the hits of comparing every row that the fast way finds.
fn recall(index: &Index, table: &StaticTable) -> f64 {
    let snapshot = index.published().load_full();
    let found = |asked: &Asked, exact: bool| -> HashSet<String> {
        let hits = indexed::search(&snapshot, asked, &Filter::default(), exact).hits;
        hits.into_iter().map(|hit| hit.memory.path).collect()
    };
    let (mut kept, mut wanted) = (0, 0);
    for asked in questions(100, table) {
        let exact = found(&asked, true);
        wanted += exact.len();
        kept += exact.intersection(&found(&asked, false)).count();
    }
    f64::from(u32::try_from(kept).expect("few")) / f64::from(u32::try_from(wanted).expect("few"))
}

fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}

#[test]
fn scores_and_hits_are_as_good_among_a_hundred_thousand_memories_as_among_fifty() {
    let table = StaticTable::built_in().expect("the table is whole");
    let folder = tempfile::tempdir().expect("temporary directory");
    let mut index = open(folder.path(), table);
    let facts: Vec<(String, String)> =
        TOLD.iter().map(|(name, text, _)| ((*name).to_owned(), (*text).to_owned())).collect();
    index.apply(puts(memories_of(&conversation_of("told", &[], &facts), table)), "told").expect("applies");

    let (mut answered, mut unanswered, mut conversations) = (Vec::new(), Vec::new(), 0);
    for size in [50, 1_000, 10_000, 100_000] {
        while index.memories() < size {
            let next = (size - index.memories()).div_ceil(20).clamp(1, 500);
            let made = conversations..conversations + next;
            let made: Vec<Memory> =
                made.into_par_iter().flat_map_iter(|number| memories_of(&conversation(number), table)).collect();
            conversations += next;
            index.apply(puts(made), &conversations.to_string()).expect("applies");
        }
        let told: Vec<(bool, f32)> = TOLD
            .iter()
            .map(|(_, text, question)| {
                let hits = ask(&index, question, table);
                assert!(hits.is_sorted_by(|a, b| a.score >= b.score), "{question}");
                assert!(hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)), "{question}");
                let right = hits.iter().position(|hit| hit.memory.content.contains(text));
                (right == Some(0), right.map_or(0.0, |at| hits[at].score))
            })
            .collect();
        let first = told.iter().filter(|(first, _)| *first).count();
        let scores: Vec<f32> = told.iter().map(|(_, score)| *score).collect();
        let best = |question: &str| ask(&index, question, table).first().map_or(0.0, |hit| hit.score);
        let nothing: Vec<f32> = UNTOLD.into_iter().map(best).collect();
        println!(
            "{size} memories: the right one first {first} of {}, scored {:.3} on average; what nobody told {:.3}",
            TOLD.len(),
            mean(&scores),
            mean(&nothing)
        );
        assert!(first + 1 >= TOLD.len(), "{size}: only {first} of {} come first", TOLD.len());
        answered.push(mean(&scores));
        unanswered.push(mean(&nothing));
    }
    let spread =
        |values: &[f32]| values.iter().copied().fold(0.0, f32::max) - values.iter().copied().fold(1.0, f32::min);
    assert!(spread(&answered) < 0.1, "{answered:?}");
    assert!(spread(&unanswered) < 0.1, "{unanswered:?}");
    for (answered, unanswered) in answered.iter().zip(&unanswered) {
        assert!(answered > &(4.0 * unanswered), "{answered} against {unanswered}");
    }
    let recall = recall(&index, table);
    println!("{recall:.4} of the exact way's hits are found");
    assert!(recall >= 0.99, "{recall}");
}
