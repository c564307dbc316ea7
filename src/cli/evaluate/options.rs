//! The options of `cuebase eval`, and the help text about its inputs.

use std::path::PathBuf;

/// The text below the options in `cuebase eval --help`.
pub(in crate::cli) const INPUTS: &str = r#"Inputs:
  Labelled questions: a .jsonl file. Each line is a namespace with its texts and its questions:
    {"id": "house", "documents": [{"id": "d1", "text": "The key hangs by the stove."}],
     "questions": [{"q": "Where is the key?", "evidence": ["d1"]}]}
    cuebase eval questions.jsonl --misses

  BEIR: a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv, whose lines are:
    {"_id": "d1", "title": "Keys", "text": "The key hangs by the stove."}
    {"_id": "q1", "text": "Where is the key?"}
    query-id<TAB>corpus-id<TAB>score, and below it q1<TAB>d1<TAB>1
    cuebase eval scifact --report scifact.html

  LongMemEval: a JSON array of questions, each with the chats that may have the answer:
    [{"question_id": "1", "question": "Where is my key?", "haystack_sessions": [...], ...}]
    cuebase eval longmemeval_s_cleaned.json --report longmemeval.html

  LoCoMo: a JSON array of conversations, each with its questions:
    [{"sample_id": "1", "conversation": {...}, "qa": [...]}]
    cuebase eval locomo.json"#;

/// Options of `cuebase eval`.
#[derive(clap::Args)]
pub(in crate::cli) struct EvaluateOptions {
    /// File or folder with texts and questions
    #[arg(value_name = "INPUT")]
    pub(super) input: PathBuf,
    /// HTML file for a report: all figures with their meaning, the calibration of the scores, and the first 500
    /// questions that the first hit does not answer
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Also print every question that is answered or admitted wrongly (not for LoCoMo; --report has the ranks of what
    /// was expected)
    #[arg(long)]
    pub(super) misses: bool,
    /// File for the features of every candidate, from which the calibration is fitted
    #[arg(long, value_name = "FILE")]
    pub(super) features: Option<PathBuf>,
    /// File for the scores of all hits, one line of JSON per question, from which the levels of admission can be fitted
    /// (not for LoCoMo)
    #[arg(long, value_name = "FILE")]
    pub(super) scores: Option<PathBuf>,
}
