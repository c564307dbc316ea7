//! Import of Zep and Graphiti: facts become memories, messages and episodes become conversations.
//!
//! The formats are those of Graphiti 0.31 and of Zep's API in versions 3 (`/api/v2`) and 4 (`/api/v4`). A fact is an
//! edge of the graph. A value of the file is a list, a page with `items`, or an object with any of the lists `edges`,
//! `facts`, `nodes`, `episodes` and `messages`, as the results of a search have them. A file may have several values
//! one after the other. [`zep_messages`](super::zep_messages) reads messages and episodes.

use std::collections::{BTreeSet, HashMap};

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, OccurredSource, Tier};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::context::{Import, ImportReport};
use super::facts::{self, FactPlace};
use super::json_file::Page;
use super::zep_messages::Threads;
use super::{conversations, files, json_file};
use crate::error::Result;

/// The fields of an object that contain lists of entries.
const LISTS: [&str; 6] = ["edges", "facts", "nodes", "episodes", "messages", "items"];

/// A fact: an edge between two nodes of the graph.
#[derive(Debug, Deserialize)]
struct Edge {
    uuid: String,
    #[serde(default)]
    fact: Option<String>,
    /// The relation, such as `WORKS_AT`.
    #[serde(default)]
    name: Option<String>,
    /// The part of the graph, in Graphiti.
    #[serde(default)]
    group_id: Option<String>,
    #[serde(default)]
    source_node_uuid: Option<String>,
    #[serde(default)]
    target_node_uuid: Option<String>,
    #[serde(default)]
    source_node_name: Option<String>,
    #[serde(default)]
    target_node_name: Option<String>,
    #[serde(default)]
    attributes: Option<Map<String, Value>>,
}

/// The times of an edge.
#[derive(Debug, Deserialize)]
struct EdgeTimes {
    #[serde(default)]
    created_at: Option<String>,
    /// When the fact became true.
    #[serde(default)]
    valid_at: Option<String>,
    /// When the fact stopped being true.
    #[serde(default)]
    invalid_at: Option<String>,
    /// When the fact was superseded by another one.
    #[serde(default)]
    expired_at: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Node {
    uuid: String,
    #[serde(default)]
    name: Option<String>,
}

pub(super) fn import(import: &Import<'_>) -> Result<ImportReport> {
    let values = json_file::read(import.from).map_err(|reason| import.invalid(&reason))?;
    let mut export = read(values);
    let checked = facts::check(export.files(), &mut export.problems);
    import.ensure_no_problems(&export.problems)?;
    let threads = export.threads.finish();
    let mut report = ImportReport::default();
    if !threads.conversations.is_empty() {
        report = conversations::queue_conversations(import, threads.conversations)?;
    }
    if !checked.is_empty() {
        let written = files::write(import, &checked)?;
        report.files = written.files;
        report.unchanged = written.unchanged;
    }
    report.other = export.empty + threads.skipped;
    report.warnings = export.warnings;
    report.warnings.extend(threads.warnings);
    report.warnings.extend(facts::mixed_owners(&export.groups, "groups", import.name));
    report.warnings.extend(facts::mixed_owners(&export.users, "users", import.name));
    Ok(report)
}

/// The entries of a file.
#[derive(Debug, Default)]
struct Export {
    edges: Vec<(Edge, EdgeTimes)>,
    /// Names of nodes by uuid.
    names: HashMap<String, String>,
    threads: Threads,
    /// The parts of the graph that the entries belong to, in Graphiti.
    groups: BTreeSet<String>,
    /// The users that the threads belong to.
    users: BTreeSet<String>,
    /// Number of facts without text.
    empty: u64,
    problems: Vec<String>,
    warnings: Vec<String>,
}

fn read(values: Vec<Value>) -> Export {
    let mut export = Export::default();
    let mut number = 0;
    let mut has_more = false;
    for value in values {
        let pages = lists_of(value);
        if pages.is_empty() {
            export.problems.push(format!("no list of facts or messages: expected an array, or one of {LISTS:?}"));
        }
        for page in pages {
            has_more = page.fields.get("next_cursor").is_some_and(|cursor| !cursor.is_null());
            export.threads.begin_page(&page.fields);
            export.users.extend(user_of(&page.fields));
            for entry in &page.entries {
                if let Err(error) = export.add(entry) {
                    export.problems.push(format!("entry {number}: {error}"));
                }
                number += 1;
            }
        }
    }
    if has_more {
        export.warnings.push("the last page has a next_cursor: append the next pages to the file".into());
    }
    export
}

/// Returns the user that a page of messages belongs to.
fn user_of(fields: &Map<String, Value>) -> Option<String> {
    let user = fields.get("user_id")?.as_str()?;
    Some(user.to_owned())
}

/// Returns the lists of a value, each with the other fields of its object.
fn lists_of(value: Value) -> Vec<Page> {
    let mut fields = match value {
        Value::Array(entries) => return vec![Page { entries, fields: Map::new() }],
        Value::Object(fields) => fields,
        _ => return Vec::new(),
    };
    let mut lists = Vec::new();
    for name in LISTS {
        match fields.remove(name) {
            Some(Value::Array(entries)) => lists.push(entries),
            // Of a thread without messages.
            Some(Value::Null) => lists.push(Vec::new()),
            _ => {}
        }
    }
    let mut pages = Vec::new();
    for entries in lists {
        pages.push(Page { entries, fields: fields.clone() });
    }
    pages
}

impl Export {
    /// Adds an entry. Its fields tell what it is.
    fn add(&mut self, entry: &Value) -> Result<(), String> {
        self.groups.extend(facts::owner(entry, "group_id"));
        if entry.get("fact").is_some() {
            let edge: Edge = json_file::decode(entry)?;
            if edge.fact.as_deref().unwrap_or_default().trim().is_empty() {
                self.empty += 1;
                return Ok(());
            }
            self.edges.push((edge, json_file::decode(entry)?));
            return Ok(());
        }
        if entry.get("content").is_some() {
            return self.threads.add(entry);
        }
        if entry.get("name").is_some() {
            let node: Node = json_file::decode(entry)?;
            self.names.extend(node.name.map(|name| (node.uuid, name)));
            return Ok(());
        }
        Err("neither a fact (`fact`), a message or episode (`content`) nor a node (`name`)".into())
    }

    /// Returns the files of the facts with their paths.
    fn files(&mut self) -> Vec<(String, MemoryFile)> {
        let mut files = Vec::new();
        for (edge, times) in &self.edges {
            match self.file(edge, times) {
                Ok(file) => files.push(file),
                Err(error) => self.problems.push(format!("fact {}: {error}", edge.uuid)),
            }
        }
        files
    }

    /// Returns the path `facts/GROUP/MONTH/zep-UUID.md` of a fact, and the file.
    fn file(&self, edge: &Edge, times: &EdgeTimes) -> Result<(String, MemoryFile), String> {
        let created = facts::moment("created_at", times.created_at.as_deref())?;
        let valid_from = facts::moment("valid_at", times.valid_at.as_deref())?;
        let invalid = facts::moment("invalid_at", times.invalid_at.as_deref())?;
        let expired = facts::moment("expired_at", times.expired_at.as_deref())?;
        let place = FactPlace {
            tier: Tier::Facts,
            owner: edge.group_id.as_deref().unwrap_or_default(),
            created_at: created.map(|created| created.at),
            product: "zep",
            id: &edge.uuid,
        };
        let mut front = FrontMatter {
            entities: self.entities(edge),
            created_at: place.created_at,
            updated_at: place.created_at,
            ..FrontMatter::default()
        };
        match (valid_from, created) {
            (Some(valid_from), _) => facts::set_occurred(&mut front, valid_from, OccurredSource::Extracted),
            (None, Some(created)) => facts::set_occurred(&mut front, created, OccurredSource::Written),
            (None, None) => {}
        }
        facts::set_validity(&mut front, valid_from, invalid.or(expired));
        front.other.insert("imported_from".into(), place.origin());
        let mut metadata = edge.attributes.clone().unwrap_or_default();
        if let Some(name) = &edge.name {
            metadata.entry("relation").or_insert_with(|| Value::from(name.as_str()));
        }
        facts::set_metadata(&mut front, "zep_attributes", metadata);
        let text = edge.fact.as_deref().unwrap_or_default();
        Ok((place.path(), MemoryFile { front, body: facts::body(text) }))
    }

    /// Returns the names of the nodes that a fact connects, as far as the file has them.
    fn entities(&self, edge: &Edge) -> Vec<String> {
        let ends = [(&edge.source_node_name, &edge.source_node_uuid), (&edge.target_node_name, &edge.target_node_uuid)];
        let mut entities = Vec::new();
        for (name, uuid) in ends {
            let name = match (name, uuid) {
                (Some(name), _) => Some(name),
                (None, Some(uuid)) => self.names.get(uuid),
                (None, None) => None,
            };
            if let Some(name) = name
                && !name.trim().is_empty()
                && !entities.contains(name)
            {
                entities.push(name.clone());
            }
        }
        entities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Edges and nodes as Graphiti 0.31.2 writes them with `model_dump(mode="json")`.
    fn graph() -> Value {
        json!({
            "edges": [
                {"uuid": "9b27495f", "group_id": "ida", "source_node_uuid": "n1", "target_node_uuid": "n3",
                 "created_at": "2026-03-01T09:01:00", "name": "LIVES_IN", "fact": "Ida lives in Skye",
                 "episodes": ["e1"], "expired_at": null, "valid_at": "2026-03-01T00:00:00", "invalid_at": null,
                 "reference_time": null, "attributes": {}},
                {"uuid": "0c6acb48", "group_id": "ida", "source_node_uuid": "n1", "target_node_uuid": "n2",
                 "created_at": "2026-01-02T00:00:00", "name": "LIVES_IN", "fact": "Ida lives in Oban",
                 "episodes": ["e1"], "expired_at": "2026-03-01T09:01:00", "valid_at": "2020-05-01T00:00:00",
                 "invalid_at": "2026-03-01T00:00:00", "reference_time": null, "attributes": {"floor": 2}},
            ],
            "nodes": [
                {"uuid": "n1", "name": "Ida", "group_id": "ida", "labels": ["Person"], "summary": "", "attributes": {}},
                {"uuid": "n2", "name": "Oban", "group_id": "ida", "labels": [], "summary": "", "attributes": {}},
            ],
        })
    }

    fn files(value: Value) -> Vec<(String, MemoryFile)> {
        let mut export = read(vec![value]);
        let files = export.files();
        assert!(export.problems.is_empty(), "{:?}", export.problems);
        files
    }

    #[test]
    fn facts_hold_from_and_until_as_the_graph_says() {
        let files = files(graph());
        let (path, new) = &files[0];
        assert_eq!(path, "facts/ida/2026-03/zep-9b27495f.md");
        assert_eq!(new.body, "# Ida lives in Skye\n");
        assert_eq!(new.front.entities, ["Ida"]);
        assert_eq!(new.front.valid_from.expect("a time").to_string(), "2026-03-01T00:00:00Z");
        assert_eq!((new.front.valid_until, new.front.occurred_at), (None, new.front.valid_from));
        let (path, old) = &files[1];
        assert_eq!(path, "facts/ida/2026-01/zep-0c6acb48.md");
        assert_eq!(old.front.entities, ["Ida", "Oban"]);
        assert_eq!(old.front.valid_until.expect("a time").to_string(), "2026-03-01T00:00:00Z");
        assert_eq!(json!(old.front.metadata), json!({"floor": 2, "relation": "LIVES_IN"}));
        assert_eq!(old.front.other["imported_from"], "zep:0c6acb48");
    }

    #[test]
    fn pages_of_zep_are_read_like_a_graph() {
        // `POST /api/v2/graph/edge/user/{user_id}` returns an array, `POST /api/v4/graphs/{uuid}/edges/list` a page.
        let edge = json!({"uuid": "u1", "fact": "Ida sails", "name": "SAILS", "created_at": "2026-03-01T09:01:00Z",
            "source_node_uuid": "n1", "source_node_name": "Ida", "target_node_uuid": "n2", "target_node_name": "Ida",
            "expired_at": "2026-04-01T00:00:00Z", "score": 1.0});
        let array = files(json!([edge, {"uuid": "u2", "fact": " "}]));
        let page = files(json!({"items": [edge], "next_cursor": "x"}));
        assert_eq!(array, page);
        let whole = read(vec![json!({"items": [], "next_cursor": "x"}), json!({"items": [edge], "next_cursor": null})]);
        assert!(whole.warnings.is_empty() && whole.edges.len() == 1, "{:?}", whole.warnings);
        assert!(read(vec![json!({"items": [edge], "next_cursor": "x"})]).warnings[0].contains("next_cursor"));
        let (path, file) = &array[0];
        assert_eq!(path, "facts/zep/2026-03/zep-u1.md");
        assert_eq!(file.front.entities, ["Ida"]);
        assert_eq!(file.front.occurred_source, Some(OccurredSource::Written));
        assert_eq!(file.front.valid_until.expect("superseded").to_string(), "2026-04-01T00:00:00Z");
    }

    #[test]
    fn problems_name_the_entry_and_the_field() {
        let wrong = json!([{"uuid": 5, "fact": "x"}, {"x": 1}, {"uuid": "u", "fact": "x", "valid_at": "soon"}]);
        let mut export = read(vec![wrong, json!({"edges": 5})]);
        export.files();
        let problems = export.problems.join("\n");
        for part in ["entry 0: uuid: ", "entry 1: neither a fact", "fact u: valid_at: \"soon\"", "no list of facts"] {
            assert!(problems.contains(part), "{part}: {problems}");
        }
    }
}
