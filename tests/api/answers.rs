//! Answers of `POST /v1/answer` without a chat model: quotes keep procedures, tables and code whole, and mark cuts.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::support::Api;

/// Longest list or table that an answer quotes without a cut, in characters.
const BLOCK_CHARS_MAX: usize = 1200;

const ROTATE: &str = "1. Announce the change in the operations channel.\n\
    2. Stop the writers, otherwise they lock themselves out.\n\
    3. Create the new key:\n\n\
    ```sh\n\
    cuebase keys create \\\n    --name new\n\
    ```\n\n\
    4. Move the clients over.\n   - first the workers\n   - then the website\n\
    5. Revoke the old api keys.";

/// The API with memories by path.
struct Answers {
    api: Api,
    contents: Vec<(String, String)>,
}

impl Answers {
    /// Opens the API and stores memories.
    fn with(memories: &[(&str, &str)]) -> Self {
        let api = Api::open();
        let mut contents = Vec::new();
        for (path, content) in memories {
            let written = api.post(&format!("/v1/memories/{path}"), &json!({"content": content}));
            assert_eq!(written.status, 201, "{written:?}");
            contents.push(((*path).to_owned(), (*content).to_owned()));
        }
        Self { api, contents }
    }

    /// Asks a question and returns the answer and its citations. Every quote must be contained in its memory.
    fn ask(&self, question: &str) -> (String, Vec<Value>) {
        let asked = self.api.post("/v1/answer", &json!({"q": question}));
        let body = asked.json();
        assert_eq!((asked.status, &body["model"]), (200, &json!("extractive")), "{asked:?}");
        let citations = body["citations"].as_array().expect("citations").clone();
        assert!(!citations.is_empty(), "{asked:?}");
        for citation in &citations {
            let (_, content) = self
                .contents
                .iter()
                .find(|(path, _)| citation["path"] == path.as_str())
                .expect("a memory that was written");
            assert!(content.contains(quote(citation)), "{citation} is not in {content}");
        }
        (body["answer"].as_str().expect("text").to_owned(), citations)
    }
}

fn quote(citation: &Value) -> &str {
    citation["quote"].as_str().expect("a quote")
}

/// Splits an answer into its text and the mark on its last line.
fn split_mark(answer: &str) -> (&str, &str) {
    answer.rsplit_once('\n').expect("a separate line for the mark")
}

#[test]
fn a_procedure_is_quoted_with_every_step_in_order() {
    let content =
        format!("# Rotate the api keys\n\nDo this every spring.\n\n## Steps\n\n{ROTATE}\n\n## Contact\n\nAsk Mara.\n");
    let answers = Answers::with(&[("skills/keys/rotate.md", &content)]);
    let (answer, citations) = answers.ask("How do I rotate the api keys?");
    assert!(answer.contains(ROTATE), "{answer}");
    assert!(citations.iter().any(|citation| quote(citation).contains(ROTATE)), "{citations:?}");
}

#[test]
fn a_procedure_is_quoted_with_its_introductory_line() {
    let content = "# Gate\n\nThe gate is green.\n\nTo open the gate by hand:\n\n- Cut the power.\n- Pull the lever.\n";
    let (answer, _) = Answers::with(&[("facts/gate.md", content)]).ask("How do I pull the gate lever?");
    assert!(answer.contains("To open the gate by hand:\n\n- Cut the power.\n- Pull the lever."), "{answer}");
}

#[test]
fn a_long_procedure_is_cut_after_a_step_and_marked() {
    let mut steps = String::new();
    for number in 1..=40 {
        writeln!(steps, "{number}. Close the sluice valve {number} by half a turn.\n   Wait for the gauge.")
            .expect("writes");
    }
    let content = format!("# Drain the sluice\n\n{steps}");
    let (answer, citations) = Answers::with(&[("skills/mill/drain.md", &content)]).ask("How do I drain the sluice?");
    let (shown, mark) = split_mark(&answer);
    let kept = shown.matches("Wait for the gauge.").count();
    assert!(kept > 5 && shown.ends_with("Wait for the gauge."), "{answer}");
    assert_eq!(mark, format!("… ({} more steps in skills/mill/drain.md)", 40 - kept));
    assert!(shown.chars().count() <= BLOCK_CHARS_MAX && content.contains(shown), "{answer}");
    assert_eq!(quote(&citations[0]), shown);
}

#[test]
fn steps_from_a_conversation_are_quoted_completely() {
    for (name, text) in [
        (
            "numbers",
            "1. Preheat the kiln slowly.\n2. Load the bottom shelf.\n3. Close the peepholes.\n4. Fire the kiln.",
        ),
        (
            "brackets",
            "To fire the kiln:\n1) Preheat it slowly.\n2) Load the shelf.\n3) Close the peepholes.\n4) Fire the kiln.",
        ),
        (
            "labels",
            "Step 1: preheat the kiln.\nStep 2: load the shelf.\nStep 3: close the peepholes.\nStep 4: fire it.",
        ),
        ("line", "To fire the kiln: 1. Preheat it. 2. Load the shelf. 3. Close the peepholes. 4. Fire the kiln."),
    ] {
        let api = Api::open();
        api.remember("default", &[text]);
        api.settle();
        let asked = api.post("/v1/answer", &json!({"q": "How do I fire the kiln?"}));
        let answer = asked.json()["answer"].as_str().expect("text").to_lowercase();
        let mut at = 0;
        for word in ["preheat", "load", "close the peepholes", "4"] {
            let found = answer[at..].find(word);
            assert!(found.is_some(), "{name}: {word:?} is missing or out of order in {answer}");
            at += found.unwrap_or_default();
        }
    }
}

#[test]
fn a_table_row_becomes_a_sentence_and_is_cited_verbatim() {
    let contract = "# Acme\n\n| field | value |\n| --- | --- |\n| Renewal | 2027-02-01 |\n| Owner | Mara |\n";
    let (answer, citations) = Answers::with(&[("facts/acme.md", contract)]).ask("When is the renewal of Acme?");
    assert_eq!(answer, "Acme — Renewal: 2027-02-01.");
    assert_eq!(quote(&citations[0]), "| Renewal | 2027-02-01 |");
    let customers = "# Customers\n\n| Customer | Renewal | Seats |\n|---|---|---|\n| Acme | 2027-02-01 | 40 |\n| Bolt | 2028-05-01 | 7 |\n";
    let (answer, _) = Answers::with(&[("facts/customers.md", customers)]).ask("When does Bolt renew?");
    assert_eq!(answer, "Customer: Bolt; Renewal: 2028-05-01; Seats: 7.");
}

#[test]
fn a_question_about_a_whole_table_is_answered_with_it() {
    let table = "| Hut | Beds |\n|---|---|\n| Lower | 12 |\n| Upper | 30 |";
    let content = format!("# Mountain huts\n\n{table}\n");
    let (answer, _) = Answers::with(&[("facts/huts.md", &content)]).ask("Which mountain huts are there?");
    assert!(answer.ends_with(table), "{answer}");
}

#[test]
fn a_long_table_states_how_many_rows_are_omitted() {
    let mut rows = String::new();
    for number in 0..90 {
        writeln!(rows, "| crate {number:02} | brass instruments |").expect("writes");
    }
    let content = format!("# Orchestra inventory\n\n| Where | What |\n|---|---|\n{rows}");
    let answers = Answers::with(&[("facts/inventory.md", &content)]);
    let (answer, citations) = answers.ask("What is in the orchestra inventory?");
    let (shown, mark) = split_mark(&answer);
    let kept = shown.matches("brass").count();
    assert_eq!(mark, format!("… ({} more rows in facts/inventory.md)", 90 - kept));
    assert!(shown.ends_with('|') && quote(&citations[0]) == shown, "{answer}");
}

#[test]
fn code_is_quoted_with_its_fences_and_lines() {
    let code = "```sh\nexport HARBOUR=blue\n\nmake harbour. Then. Wait.\n```";
    let content = format!("# Build the harbour model\n\n{code}\n\nIt takes an hour.\n");
    let (answer, _) = Answers::with(&[("skills/harbour.md", &content)]).ask("How do I build the harbour model?");
    assert!(answer.contains(code), "{answer}");
}
