//! Rules that every file of the repository follows. [`counts`] limits the sizes of types.

mod counts;

use std::path::{Path, PathBuf};

use cuebase::error_codes::ErrorCode;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = ["src", "storage", "retrieval", "language", "tests", "benches", "fuzz", "xtask"]
        .iter()
        .map(|name| root.join(name))
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 40, "the sources were not found");
    found
}

#[test]
fn every_source_file_has_a_module_header() {
    for path in sources() {
        let text = std::fs::read_to_string(&path).expect("reads");
        let generated = path.parent().is_some_and(|folder| folder.ends_with("ranking/coefficients"));
        assert!(generated || text.starts_with("//!"), "{} has no module documentation", path.display());
        for (number, line) in text.lines().enumerate() {
            let marker = ["TO", "DO"].concat();
            assert!(!line.contains(&marker), "{}:{} has a leftover marker", path.display(), number + 1);
        }
    }
}

#[test]
fn no_source_writes_an_error_code_as_text() {
    let mut faults = Vec::new();
    for path in sources().iter().filter(|path| path.starts_with(root().join("src"))) {
        if path.ends_with("src/error_codes.rs") {
            continue;
        }
        let text = std::fs::read_to_string(path).expect("reads");
        let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            for error_code in ErrorCode::ALL {
                if line.contains(&format!("\"{error_code}\"")) {
                    faults.push(format!("{}:{}: {error_code}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(faults.is_empty(), "use ErrorCode of src/error_codes.rs:\n{}", faults.join("\n"));
}

#[test]
fn error_codes_are_sorted_and_unique() {
    for pair in ErrorCode::ALL.windows(2) {
        assert!(pair[0].as_str() < pair[1].as_str(), "{} stands before {}", pair[0], pair[1]);
    }
}

#[test]
fn no_sentence_has_more_than_40_words() {
    let mut faults = Vec::new();
    let mut documents = Vec::new();
    for folder in [
        "",
        "docs",
        "docs/coming-from",
        "docs/internals",
        "docs/reference",
        "docs/lab",
        "clients/python",
        "clients/python/docs",
        "clients/typescript",
        "clients/typescript/docs",
        "dashboard",
    ] {
        for entry in std::fs::read_dir(root().join(folder)).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    assert!(documents.len() > 15, "the documents were not found");
    for path in documents {
        let text = std::fs::read_to_string(&path).expect("reads");
        for sentence in long_sentences(&paragraphs_of_markdown(&text)) {
            faults.push(format!("{}: {sentence}", path.display()));
        }
    }
    for path in sources() {
        let text = std::fs::read_to_string(&path).expect("reads");
        let mut header = String::new();
        for line in text.lines() {
            let Some(line) = line.strip_prefix("//!") else { break };
            header.push_str(line.trim());
            header.push('\n');
        }
        for sentence in long_sentences(&paragraphs_of_markdown(&header)) {
            faults.push(format!("{}: {sentence}", path.display()));
        }
    }
    assert!(faults.is_empty(), "{} sentences:\n{}", faults.len(), faults.join("\n"));
}

const SENTENCE_WORDS_MAX: usize = 40;

/// Returns the paragraphs, list items and table cells of a text, without code blocks.
fn paragraphs_of_markdown(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut in_code = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
            paragraphs.push(String::new());
            continue;
        }
        if in_code {
            continue;
        }
        if line.starts_with('|') {
            paragraphs.extend(line.split('|').map(str::to_owned));
            paragraphs.push(String::new());
            continue;
        }
        let is_item = line.starts_with("- ") || line.starts_with("* ") || line.starts_with('#');
        let is_numbered = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if line.is_empty() || is_item || is_numbered {
            paragraphs.push(String::new());
        }
        if let Some(paragraph) = paragraphs.last_mut() {
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    paragraphs
}

fn long_sentences(paragraphs: &[String]) -> Vec<String> {
    let mut long = Vec::new();
    for paragraph in paragraphs {
        let mut plain = String::new();
        for (index, part) in paragraph.split('`').enumerate() {
            plain.push_str(if index % 2 == 0 { part } else { "code" });
        }
        let mut sentence: Vec<&str> = Vec::new();
        for word in plain.split_whitespace() {
            sentence.push(word);
            let is_end = word.trim_end_matches([')', '"', '*', '_']).ends_with(['.', '!', '?', ':']);
            if is_end {
                sentence.clear();
            } else if sentence.len() > SENTENCE_WORDS_MAX {
                long.push(sentence.join(" "));
                break;
            }
        }
    }
    long
}

#[test]
fn every_dependency_is_listed_in_the_architecture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
    let architecture = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("an ARCHITECTURE.md");
    let table =
        manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).expect("the table");
    for line in table.lines().filter(|line| line.contains(" = ") && !line.contains("path = ")) {
        let name = line.split(" = ").next().unwrap_or_default();
        assert!(architecture.contains(&format!("`{name}`")), "{name} has no line in ARCHITECTURE.md");
    }
}
