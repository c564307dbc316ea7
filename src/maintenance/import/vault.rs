//! The notes of a vault by name, to resolve links between them.
//!
//! A wiki link names a note by its path from the root of the vault, or by the end of its path. Case does not count. Of
//! several notes with the name, the one in the folder of the linking note is meant, else the one nearest to the root.

use std::collections::{HashMap, HashSet};

use cuebase_storage::memory_file::{Relation, RelationKind, markdown};

use super::prose;

/// The notes of a vault.
#[derive(Debug, Default)]
pub(super) struct Vault {
    /// Paths of memories by the key of the note.
    memories: HashMap<String, String>,
    /// Keys of notes by the last part of the key, nearest to the root first.
    keys: HashMap<String, Vec<String>>,
}

impl Vault {
    /// Indexes notes: pairs of the path in the vault and the path of the memory.
    pub(super) fn new(notes: &[(String, String)]) -> Self {
        let mut vault = Self::default();
        for (path, memory) in notes {
            let key = key(path);
            let name = key.rsplit('/').next().unwrap_or_default().to_owned();
            vault.keys.entry(name).or_default().push(key.clone());
            vault.memories.insert(key, memory.clone());
        }
        for keys in vault.keys.values_mut() {
            keys.sort_by_key(|key| (key.matches('/').count(), key.clone()));
        }
        vault
    }

    /// Returns the relations of a note to the notes that it links to, without those that the memory's text resolves.
    pub(super) fn relations(&self, path: &str, memory: &str, body: &str) -> Vec<Relation> {
        let mut known: HashSet<String> = markdown::links(memory, body).into_iter().collect();
        known.insert(memory.to_owned());
        let folder = folder_of(path);
        let mut relations = Vec::new();
        let prose = prose::without_code(body);
        let mut targets = Vec::new();
        for target in prose::wiki_targets(&prose) {
            targets.push(self.wiki_note(folder, target));
        }
        for target in prose::link_targets(body) {
            targets.push(self.linked_note(folder, &target));
        }
        for target in targets.into_iter().flatten() {
            if known.insert(target.to_owned()) {
                let kind = RelationKind::Links;
                relations.push(Relation { path: target.to_owned(), kind, snippet: String::new() });
            }
        }
        relations
    }

    /// Returns the memory of the note that a wiki link names.
    fn wiki_note(&self, folder: &str, target: &str) -> Option<&str> {
        let wanted = key(target.trim_start_matches('/'));
        let in_folder = join(folder, &wanted)?;
        // A path begins at the root first, a name in the folder of the linking note.
        let places = if wanted.contains('/') { [&wanted, &in_folder] } else { [&in_folder, &wanted] };
        for place in places {
            if let Some(memory) = self.memories.get(place) {
                return Some(memory);
            }
        }
        let name = wanted.rsplit('/').next()?;
        for candidate in self.keys.get(name)? {
            let before = candidate.strip_suffix(&wanted);
            if before.is_some_and(|before| before.ends_with('/')) {
                return self.memories.get(candidate).map(String::as_str);
            }
        }
        None
    }

    /// Returns the memory of the note that a markdown link points to, relative to the folder of the linking note.
    fn linked_note(&self, folder: &str, target: &str) -> Option<&str> {
        let key = join(folder, &key(target))?;
        self.memories.get(&key).map(String::as_str)
    }
}

/// Returns the form in which paths of notes are compared.
fn key(path: &str) -> String {
    path.strip_suffix(".md").unwrap_or(path).to_lowercase()
}

fn folder_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((folder, _)) => folder,
        None => "",
    }
}

/// Joins a folder and a relative path. Returns `None` if the path leads out of the vault.
fn join(folder: &str, path: &str) -> Option<String> {
    let folder = folder.to_lowercase();
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(path: &str, body: &str) -> Vec<String> {
        let notes = ["Ida.md", "Places/Oban.md", "Places/Pier.md", "Boats/Pier.md", "Boats/My boat.md"];
        let notes = notes.map(|path| (path.to_owned(), format!("facts/{}", path.to_lowercase().replace(' ', "-"))));
        let relations = Vault::new(&notes).relations(path, "facts/note.md", body);
        relations.into_iter().map(|relation| relation.path).collect()
    }

    #[test]
    fn wiki_links_name_notes_by_path_or_name() {
        assert_eq!(linked("Note.md", "[[ida]] and [[Oban|there]]"), ["facts/ida.md", "facts/places/oban.md"]);
        assert_eq!(
            linked("Note.md", "[[Places/Pier]] [[My boat#Sails]]"),
            ["facts/places/pier.md", "facts/boats/my-boat.md"]
        );
        assert_eq!(linked("Boats/Note.md", "[[Pier]] [[Ida.md]]"), ["facts/boats/pier.md", "facts/ida.md"]);
        assert_eq!(linked("Note.md", "[[Pier]]"), ["facts/boats/pier.md"]);
        assert!(linked("Note.md", "[[ier]] [[nowhere]] [[map.png]] `[[Ida]]`").is_empty());
    }

    #[test]
    fn markdown_links_are_relative_to_the_note() {
        assert_eq!(
            linked("Boats/Note.md", "[a](My%20boat.md) [b](../ida.md)"),
            ["facts/boats/my-boat.md", "facts/ida.md"]
        );
        assert!(linked("Boats/Note.md", "[a](../../ida.md) [b](https://example.org/ida.md)").is_empty());
        assert!(linked("Note.md", "[own](places/oban.md)").is_empty(), "the memory's text resolves the link");
    }
}
