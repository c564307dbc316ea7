//! Import of memories of mem0. Each memory is a fact and becomes a file.
//!
//! The formats are those of mem0 2.2: `{"results": […]}` of `Memory.get_all` and of `GET /memories` of the self-hosted
//! server, the pages `{"count", "next", "previous", "results"}` of `POST /v3/memories/` of the platform, and
//! `{"memories": […]}` or a plain array of earlier versions. A file may have several pages one after the other.
//! The module `mem0_server` fetches memories from a running server.

use std::collections::BTreeSet;

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, OccurredPrecision, OccurredSource, Tier};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::context::{Import, ImportReport};
use super::facts::{self, FactPlace};
use super::{files, json_file};
use crate::error::Result;

/// The fields of an object that contain the memories.
pub(super) const LISTS: [&str; 2] = ["results", "memories"];
/// Lengths at which lists of mem0 end by default: 20 in version 2, 100 before. The self-hosted server returns at most
/// 1,000.
const DEFAULT_LENGTHS: [u64; 3] = [20, 100, 1000];

/// A memory of mem0.
#[derive(Deserialize)]
struct Fact {
    id: String,
    memory: String,
    #[serde(default)]
    user_id: Option<String>,
    #[serde(default)]
    agent_id: Option<String>,
    #[serde(default)]
    app_id: Option<String>,
    #[serde(default)]
    run_id: Option<String>,
    #[serde(default)]
    actor_id: Option<String>,
    #[serde(default)]
    categories: Option<Vec<String>>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
    /// The last day on which the memory is found.
    #[serde(default)]
    expiration_date: Option<String>,
}

pub(super) fn import(import: &Import<'_>) -> Result<ImportReport> {
    let values = json_file::read(import.from).map_err(|reason| import.invalid(&reason))?;
    import_values(import, values)
}

/// Imports the lists of a file, or a list that was fetched.
pub(super) fn import_values(import: &Import<'_>, values: Vec<Value>) -> Result<ImportReport> {
    let mut content = read(values);
    content.warnings.extend(facts::mixed_owners(&content.users, "users", import.name));
    let checked = facts::check(content.files, &mut content.problems);
    import.ensure_no_problems(&content.problems)?;
    let written = files::write(import, &checked)?;
    Ok(ImportReport { other: content.empty, warnings: content.warnings, ..written })
}

/// The memories of a file.
#[derive(Debug, Default)]
struct Mem0Content {
    /// Files by path.
    files: Vec<(String, MemoryFile)>,
    /// The users that the memories belong to.
    users: BTreeSet<String>,
    /// Number of memories without text.
    empty: u64,
    problems: Vec<String>,
    warnings: Vec<String>,
}

fn read(values: Vec<Value>) -> Mem0Content {
    let mut content = Mem0Content::default();
    let mut number = 0;
    // The number of memories that the service has, if a page says so.
    let mut all: Option<u64> = None;
    for value in values {
        let Some(page) = json_file::page(value, &LISTS) else {
            let form = "an array, or an object with the array `results` or `memories`";
            content.problems.push(format!("no list of memories: expected {form}"));
            continue;
        };
        all = all.max(page.fields.get("count").and_then(Value::as_u64));
        for entry in &page.entries {
            content.add(number, entry);
            number += 1;
        }
    }
    let remedy = "append the other pages to the file, or import them one by one";
    content.warnings.extend(json_file::missing_entries(number, all, "memories", remedy));
    if all.is_none() && DEFAULT_LENGTHS.contains(&number) {
        content.warnings.push(format!(
            "the file has exactly {number} memories, a length at which mem0's lists end: ask for more with top_k"
        ));
    }
    content
}

impl Mem0Content {
    fn add(&mut self, number: u64, entry: &Value) {
        match read_fact(entry) {
            Ok(Some(file)) => {
                self.users.extend(facts::owner(entry, "user_id"));
                self.files.push(file);
            }
            Ok(None) => self.empty += 1,
            Err(error) => self.problems.push(format!("memory {number}: {error}")),
        }
    }
}

/// Reads a memory as a file with its path. Returns `None` for a memory without text.
fn read_fact(entry: &Value) -> Result<Option<(String, MemoryFile)>, String> {
    let fact: Fact = json_file::decode(entry)?;
    if fact.memory.trim().is_empty() {
        return Ok(None);
    }
    Ok(Some(fact.file()?))
}

impl Fact {
    /// Returns the path `facts/OWNER/MONTH/mem0-ID.md`, and the file.
    fn file(&self) -> Result<(String, MemoryFile), String> {
        let created = facts::moment("created_at", self.created_at.as_deref())?;
        let updated = facts::moment("updated_at", self.updated_at.as_deref())?.or(created);
        let place = FactPlace {
            tier: Tier::Facts,
            owner: self.user_id.as_deref().or(self.agent_id.as_deref()).unwrap_or_default(),
            created_at: created.map(|created| created.at),
            product: "mem0",
            id: &self.id,
        };
        let mut front = FrontMatter {
            tags: facts::tags(self.categories.as_deref().unwrap_or_default()),
            created_at: place.created_at,
            updated_at: updated.map(|updated| updated.at),
            valid_until: self.expiry()?,
            ..FrontMatter::default()
        };
        if let Some(created) = created {
            facts::set_occurred(&mut front, created, OccurredSource::Written);
        }
        front.other.insert("imported_from".into(), place.origin());
        facts::set_metadata(&mut front, "mem0_metadata", self.metadata());
        Ok((place.path(), MemoryFile { front, body: facts::body(&self.memory) }))
    }

    /// Returns the memory's own metadata, with the ids that mem0 groups memories by.
    fn metadata(&self) -> Map<String, Value> {
        let mut metadata = self.metadata.clone().unwrap_or_default();
        let ids = [
            ("agent_id", &self.agent_id),
            ("app_id", &self.app_id),
            ("run_id", &self.run_id),
            ("actor_id", &self.actor_id),
        ];
        for (key, id) in ids {
            if let Some(id) = id {
                metadata.entry(key).or_insert_with(|| Value::from(id.as_str()));
            }
        }
        metadata
    }

    /// Returns when the memory stops holding. mem0 finds it until the end of the day of `expiration_date`.
    fn expiry(&self) -> Result<Option<Timestamp>, String> {
        let Some(last) = facts::moment("expiration_date", self.expiration_date.as_deref())? else { return Ok(None) };
        match last.precision {
            OccurredPrecision::Instant => Ok(Some(last.at)),
            // A day is stored as its noon.
            OccurredPrecision::Day => Ok(last.at.checked_add(SignedDuration::from_hours(12)).ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_forms_of_export_result_in_the_same_files() {
        let fact = json!({"id": "8f3a2b1c-0000-4000-8000-000000000001", "memory": "Keeps three hives", "user_id": "Ann B",
            "categories": ["Hobbies & pets"], "metadata": {"type": "hobby", "seen": [1]}, "hash": "x", "score": null,
            "created_at": "2026-02-14T10:04:22.123456-08:00", "updated_at": null});
        let plain = read(vec![json!([fact])]);
        let results = read(vec![json!({"results": [fact, {"id": "2", "memory": " "}]})]);
        let memories = read(vec![json!({"memories": []}), json!({"memories": [fact]})]);
        assert_eq!(plain.files, results.files);
        assert_eq!(plain.files, memories.files);
        assert_eq!((plain.empty, results.empty), (0, 1));
        let (path, file) = &plain.files[0];
        assert_eq!(path, "facts/ann-b/2026-02/mem0-8f3a2b1c-0000-4000-8000-000000000001.md");
        assert_eq!(
            (file.body.as_str(), file.front.tags.as_slice()),
            ("# Keeps three hives\n", &["hobbies-pets".to_owned()][..])
        );
        assert_eq!(json!(file.front.metadata), json!({"type": "hobby"}));
        assert_eq!(file.front.other["mem0_metadata"], json!({"seen": [1]}));
        let broken = read(vec![json!([{"id": 7}, fact, {"id": "8", "memory": "x", "created_at": "soon"}]), json!(5)]);
        assert_eq!(broken.problems.len(), 3, "{:?}", broken.problems);
        assert!(broken.problems[0].starts_with("memory 0: id: "), "{:?}", broken.problems);
        assert!(broken.problems[1].starts_with("memory 2: created_at: "), "{:?}", broken.problems);
        assert!(broken.problems[2].contains("`results`"), "{:?}", broken.problems);
    }

    #[test]
    fn ids_and_the_expiration_are_kept() {
        // As `get_all` of mem0 2.2.1 returns it.
        let fact = json!({"id": "bc449944-4499-4ae2-b793-0855cd0d993c", "memory": "The ferry ticket is valid in May",
            "hash": "bbebdb61bb08c72188ce32a03a423495", "metadata": null, "user_id": "ida", "agent_id": "planner",
            "run_id": "r1", "role": "user", "created_at": "2026-05-02T10:07:58.327868+00:00",
            "updated_at": "2026-05-02T10:07:58.327868+00:00", "expiration_date": "2026-05-31"});
        let content = read(vec![json!({"results": [fact]})]);
        let (path, file) = &content.files[0];
        assert_eq!(path, "facts/ida/2026-05/mem0-bc449944-4499-4ae2-b793-0855cd0d993c.md");
        assert_eq!(json!(file.front.metadata), json!({"agent_id": "planner", "run_id": "r1"}));
        assert_eq!(file.front.valid_until.expect("an end").to_string(), "2026-06-01T00:00:00Z");
    }

    #[test]
    fn the_users_of_a_list_are_collected() {
        let fact = |user: Value| json!({"id": "1", "memory": "x", "user_id": user});
        let content = read(vec![json!([fact(json!("ida")), fact(json!("joe")), fact(json!(" ")), fact(Value::Null)])]);
        assert_eq!(content.users, BTreeSet::from(["ida".to_owned(), "joe".to_owned()]));
    }

    #[test]
    fn a_list_that_may_be_cut_is_reported() {
        let facts =
            |count: usize| (0..count).map(|id| json!({"id": id.to_string(), "memory": "x"})).collect::<Vec<Value>>();
        assert!(read(vec![json!({"results": facts(19)})]).warnings.is_empty());
        assert!(read(vec![json!({"results": facts(20)})]).warnings[0].contains("top_k"));
        let page = json!({"count": 30, "next": "https://api.mem0.ai/v3/memories/?page=2", "results": facts(20)});
        assert!(read(vec![page.clone()]).warnings[0].contains("20 of 30"));
        let last = json!({"count": 30, "next": null, "results": facts(10)});
        assert!(read(vec![page, last]).warnings.is_empty());
    }
}
