//! The BEIR format (Thakur et al., 2021): a folder with documents, queries, and judgements of which documents answer
//! which query.
//!
//! The judgements and the queries are read at once, the documents in batches.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::{InputError, problem_of};
use super::lines::Lines;
use crate::eval::questions::Question;
use crate::eval::suite::{LabelledDocument, document_path};

/// The files of a folder.
const CORPUS: &str = "corpus.jsonl";
const QUERIES: &str = "queries.jsonl";
const JUDGEMENTS: &str = "qrels";
const TEST: &str = "test.tsv";

/// The first line of a file of judgements.
const HEADER: [&str; 3] = ["query-id", "corpus-id", "score"];
const JUDGEMENT: &str =
    "query-id, corpus-id and a number, separated by tabs, below the header query-id, corpus-id, score";
const DOCUMENT: &str = r#"a document, for example {"_id": "d1", "title": "Keys", "text": "They hang by the stove."}"#;
const QUERY: &str = r#"a query, for example {"_id": "q1", "text": "Where are the keys?"}"#;

/// A line of the corpus.
#[derive(Deserialize)]
struct DocumentLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: Option<String>,
    text: String,
}

/// A line of the queries.
#[derive(Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

/// The documents that answer a query.
struct Judged {
    /// The line of its first judgement.
    line: usize,
    documents: Vec<String>,
}

/// A folder whose queries and judgements were read.
pub struct BeirFolder {
    /// The name of the folder.
    pub name: String,
    corpus: PathBuf,
    /// The queries that have an answer.
    queries: Vec<QueryLine>,
    /// By query.
    judged: HashMap<String, Judged>,
}

/// The documents of a folder, read in batches.
pub struct Corpus {
    path: PathBuf,
    lines: Lines,
    /// The places of the documents that were returned, by their ids.
    places: HashMap<String, usize>,
}

impl BeirFolder {
    /// Reads the queries and judgements of a folder.
    pub fn open(folder: &Path) -> Result<Self, InputError> {
        let judgements = judgement_file(folder)?;
        let mut lines = Lines::open(&judgements)?;
        let judged = read_judgements(&mut lines)?;
        if judged.is_empty() {
            return Err(InputError::content(&judgements, "no judgement has a score above 0", "at least one"));
        }
        let (queries, known) = read_queries(&folder.join(QUERIES), &judged)?;
        // The missing query that is judged first is reported, whatever the order of the map.
        let mut missing: Option<(usize, &String)> = None;
        for (query, of_query) in &judged {
            if !known.contains(query) {
                let found = (of_query.line, query);
                missing = Some(missing.map_or(found, |earlier| earlier.min(found)));
            }
        }
        if let Some((line, query)) = missing {
            return Err(lines.error(line, format!("the query-id {query:?}"), format!("an _id of {QUERIES}")));
        }
        let name = match folder.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => folder.display().to_string(),
        };
        Ok(Self { name, corpus: folder.join(CORPUS), queries, judged })
    }

    /// Returns the ids of all documents that answer a query.
    pub fn expected(&self) -> HashSet<String> {
        let mut expected = HashSet::new();
        for judged in self.judged.values() {
            expected.extend(judged.documents.iter().cloned());
        }
        expected
    }

    /// Opens the documents.
    pub fn corpus(&self) -> Result<Corpus, InputError> {
        Ok(Corpus { path: self.corpus.clone(), lines: Lines::open(&self.corpus)?, places: HashMap::new() })
    }

    /// Returns the queries as questions. Their evidence is the documents of the corpus, which must have been read to
    /// its end.
    pub fn questions(&self, corpus: &Corpus) -> Vec<Question> {
        let mut questions = Vec::with_capacity(self.queries.len());
        for QueryLine { id, text } in &self.queries {
            let mut evidence = Vec::new();
            if let Some(judged) = self.judged.get(id) {
                evidence.extend(judged.documents.iter().filter(|id| corpus.places.contains_key(*id)).cloned());
            }
            let own_path = corpus.places.get(id).map(|place| document_path(*place));
            questions.push(Question { q: text.clone(), evidence, own_path });
        }
        questions
    }
}

impl Corpus {
    /// Returns the next documents, at most `limit`; none at the end. Documents without title and text are left out.
    pub fn next_batch(&mut self, limit: usize) -> Result<Vec<LabelledDocument>, InputError> {
        let mut batch = Vec::with_capacity(limit);
        while batch.len() < limit {
            let Some(DocumentLine { id, title, text }) = next_value(&mut self.lines, DOCUMENT)? else { break };
            let title = title.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            let text = text.trim().to_owned();
            if title.is_empty() && text.is_empty() {
                continue;
            }
            if self.places.insert(id.clone(), self.places.len()).is_some() {
                let problem = format!("the _id {id:?} was used before");
                return Err(self.lines.error(self.lines.number(), problem, "an _id of its own"));
            }
            batch.push(LabelledDocument { id, title: if title.is_empty() { None } else { Some(title) }, text });
        }
        if self.places.is_empty() {
            return Err(InputError::content(&self.path, "no line has a title or a text", DOCUMENT));
        }
        Ok(batch)
    }
}

/// Returns the file of judgements: the one of the test set, or the only one.
fn judgement_file(folder: &Path) -> Result<PathBuf, InputError> {
    let judgements = folder.join(JUDGEMENTS);
    let test = judgements.join(TEST);
    if test.is_file() {
        return Ok(test);
    }
    let expected = format!("a folder with {CORPUS}, {QUERIES} and {JUDGEMENTS}/{TEST}");
    if !judgements.is_dir() {
        return Err(InputError::content(folder, format!("the folder {JUDGEMENTS} is missing"), expected));
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&judgements).map_err(|error| InputError::unreadable(&judgements, &error))? {
        let path = entry.map_err(|error| InputError::unreadable(&judgements, &error))?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    match files.pop() {
        Some(file) if files.is_empty() => Ok(file),
        Some(_) => {
            let problem = format!("{} files, and none of them is {TEST}", files.len() + 1);
            Err(InputError::content(&judgements, problem, format!("{TEST}, or one file")))
        }
        None => Err(InputError::content(&judgements, "the folder has no file", expected)),
    }
}

/// Reads judgements, and keeps those above 0.
fn read_judgements(lines: &mut Lines) -> Result<HashMap<String, Judged>, InputError> {
    let mut judged: HashMap<String, Judged> = HashMap::new();
    while let Some(text) = lines.next_line()? {
        let fields: Vec<&str> = text.split('\t').map(str::trim).collect();
        if lines.number() == 1 && fields == HEADER {
            continue;
        }
        let [query, document, score] = fields[..] else {
            let problem = format!("the number of fields is {}", fields.len());
            return Err(lines.error(lines.number(), problem, JUDGEMENT));
        };
        let Ok(score) = score.parse::<f64>() else {
            return Err(lines.error(lines.number(), format!("the score {score:?}"), JUDGEMENT));
        };
        if score > 0.0 {
            let line = lines.number();
            let of_query = judged.entry(query.to_owned()).or_insert(Judged { line, documents: Vec::new() });
            // A document that is judged twice is one piece of evidence.
            if !of_query.documents.iter().any(|known| known == document) {
                of_query.documents.push(document.to_owned());
            }
        }
    }
    Ok(judged)
}

/// Reads queries. Returns those that are judged, and the ids of all.
fn read_queries(
    path: &Path,
    judged: &HashMap<String, Judged>,
) -> Result<(Vec<QueryLine>, HashSet<String>), InputError> {
    let mut queries = Vec::with_capacity(judged.len());
    let mut known = HashSet::new();
    let mut lines = Lines::open(path)?;
    while let Some(query) = next_value::<QueryLine>(&mut lines, QUERY)? {
        if !known.insert(query.id.clone()) {
            let problem = format!("the _id {:?} was used before", query.id);
            return Err(lines.error(lines.number(), problem, "an _id of its own"));
        }
        if judged.contains_key(&query.id) {
            queries.push(query);
        }
    }
    Ok((queries, known))
}

/// Decodes the next line.
fn next_value<T: DeserializeOwned>(lines: &mut Lines, expected: &str) -> Result<Option<T>, InputError> {
    let Some(line) = lines.next_line()? else { return Ok(None) };
    match serde_json::from_str(&line) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(lines.error(lines.number(), problem_of(&error), expected)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORPUS_LINES: &str = concat!(
        "{\"_id\": \"key\", \"title\": \" The\\nkey \", \"text\": \"It hangs behind the stove.\\n\"}\n",
        "{\"_id\": \"blank\", \"title\": \"\", \"text\": \" \"}\n",
        "\n",
        "{\"_id\": \"oil\", \"text\": \"Lamp oil comes on Mondays.\", \"metadata\": {}}\n",
        "{\"_id\": \"q2\", \"title\": null, \"text\": \"When does lamp oil come?\"}\n",
    );
    const QUERY_LINES: &str = concat!(
        "{\"_id\": \"q1\", \"text\": \"Where is the key?\"}\n",
        "{\"_id\": \"q2\", \"text\": \"When does lamp oil come?\"}\n",
        "{\"_id\": \"q3\", \"text\": \"Who is the admiral?\"}\n",
    );
    const JUDGEMENT_LINES: &str = concat!(
        "query-id\tcorpus-id\tscore\n",
        "q1\tkey\t1\n",
        "q1\toil\t0\n",
        "q2\toil\t2\n",
        "q2\tlost\t1\n",
        "q3\toil\t0\n",
    );

    /// Writes a folder whose file `name` has another text than the good one. No text at all removes the file.
    fn folder(name: &str, text: Option<&str>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("temporary directory");
        std::fs::create_dir(folder.path().join("qrels")).expect("creates");
        for (file, good) in [(CORPUS, CORPUS_LINES), (QUERIES, QUERY_LINES), ("qrels/test.tsv", JUDGEMENT_LINES)] {
            let text = if file == name { text } else { Some(good) };
            if let Some(text) = text {
                std::fs::write(folder.path().join(file), text).expect("writes");
            }
        }
        folder
    }

    /// Reads a folder to its end.
    fn read(folder: &Path) -> Result<(Vec<LabelledDocument>, Vec<Question>), String> {
        let read = BeirFolder::open(folder).map_err(|error| error.to_string())?;
        let mut corpus = read.corpus().map_err(|error| error.to_string())?;
        let mut documents = Vec::new();
        loop {
            let batch = corpus.next_batch(2).map_err(|error| error.to_string())?;
            if batch.is_empty() {
                return Ok((documents, read.questions(&corpus)));
            }
            documents.extend(batch);
        }
    }

    #[test]
    fn a_folder_has_documents_and_the_questions_that_are_judged() {
        let folder = folder("", None);
        let (documents, questions) = read(folder.path()).expect("reads");
        let markdown: Vec<String> = documents.iter().map(LabelledDocument::markdown).collect();
        let expected =
            ["# The key\n\nIt hangs behind the stove.", "Lamp oil comes on Mondays.", "When does lamp oil come?"];
        assert_eq!(markdown, expected);
        assert_eq!(questions.len(), 2, "nothing answers the third query");
        assert_eq!((questions[0].q.as_str(), &questions[0].evidence), ("Where is the key?", &vec!["key".to_owned()]));
        assert_eq!(questions[1].evidence, ["oil"], "a document outside the corpus is not evidence");
        assert_eq!((&questions[0].own_path, &questions[1].own_path), (&None, &Some(document_path(2))));
    }

    #[test]
    fn the_only_file_of_judgements_may_have_any_name() {
        let folder = folder("qrels/test.tsv", None);
        let error = read(folder.path()).expect_err("no judgements");
        assert!(error.contains("qrels: the folder has no file"), "{error}");
        std::fs::write(folder.path().join("qrels/dev.tsv"), JUDGEMENT_LINES).expect("writes");
        assert_eq!(read(folder.path()).expect("reads").1.len(), 2);
        std::fs::write(folder.path().join("qrels/train.tsv"), JUDGEMENT_LINES).expect("writes");
        let error = read(folder.path()).expect_err("two files");
        assert!(error.contains("2 files, and none of them is test.tsv: expected test.tsv, or one file"), "{error}");
    }

    #[test]
    fn an_error_names_the_file_the_line_and_what_was_expected() {
        for (file, text, says) in [
            (CORPUS, None, "corpus.jsonl: No such file"),
            (CORPUS, Some(""), "corpus.jsonl: no line has a title or a text: expected a document"),
            (CORPUS, Some("{\"_id\": \"a\", \"text\": \"x\"}\n{\"_id\": \"b\"}"), ":2: missing field `text`"),
            (CORPUS, Some("{\"_id\": 7, \"text\": \"x\"}"), "corpus.jsonl:1: invalid type: integer `7`"),
            (CORPUS, Some("{\"_id\": \"a\", \"text\": \"x\""), "corpus.jsonl:1: EOF"),
            (
                CORPUS,
                Some("{\"_id\": \"a\", \"text\": \"x\"}\n{\"_id\": \"a\", \"text\": \"y\"}"),
                ":2: the _id \"a\" was used before",
            ),
            (QUERIES, None, "queries.jsonl: No such file"),
            (QUERIES, Some("[]"), "queries.jsonl:1: invalid"),
            (QUERIES, Some("{\"_id\": \"q1\", \"text\": \"x\"}"), "test.tsv:4: the query-id \"q2\": expected an _id"),
            ("qrels/test.tsv", Some("q1\tkey\t0\n"), "test.tsv: no judgement has a score above 0"),
            ("qrels/test.tsv", Some("q1\t0\tkey\t1\n"), "test.tsv:1: the number of fields is 4: expected query-id"),
            ("qrels/test.tsv", Some("query-id\tcorpus-id\tscore\nq1\tkey\thigh\n"), ":2: the score \"high\""),
        ] {
            let folder = folder(file, text);
            let error = read(folder.path()).expect_err(says);
            assert!(error.contains(says), "{file}: {error}");
        }
        let empty = tempfile::tempdir().expect("temporary directory");
        let error = read(empty.path()).expect_err("an empty folder");
        assert!(
            error.contains("the folder qrels is missing: expected a folder with corpus.jsonl, queries.jsonl"),
            "{error}"
        );
    }
}
