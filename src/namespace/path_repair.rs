//! Repair of paths that earlier versions accepted: a directory with the name of a memory, such as `facts/a.md/b.md`.
//!
//! The files of such a directory move to the first free name, `facts/a/b.md` or `facts/a-2/b.md`, and references to them
//! follow. A file and a directory of one name replaced each other without an error; what was replaced returns from the
//! history.

use std::collections::{BTreeMap, BTreeSet};

use cuebase_storage::git::{CommitId, Repository};
use cuebase_storage::memory_file::path::memory_named_directory;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use cuebase_storage::memory_file::{MemoryFile, MemoryPath, MovedPaths, TermFile, Tier};

use super::open::Namespace;
use super::plan::{Content, Plan, PlannedFile};
use super::sync::REPAIR_TRAILER;
use crate::error::Result;

/// The value of [`REPAIR_TRAILER`].
const REPAIRED: &str = "paths";

/// The files of a commit that have to move or return.
struct PathRepair {
    /// The files of the commit, by path.
    files: BTreeMap<String, Vec<u8>>,
    /// The new paths of files in directories with the name of a memory.
    moved: BTreeMap<String, String>,
    /// The replaced files.
    restored: Vec<RestoredFile>,
}

/// A replaced file, which returns.
struct RestoredFile {
    /// The path that it had.
    former: String,
    /// The path at which it returns.
    path: String,
    content: Vec<u8>,
}

/// The names that files and directories have.
#[derive(Default)]
struct Names {
    files: BTreeSet<String>,
    directories: BTreeSet<String>,
}

impl Namespace {
    /// Describes the files that [`Namespace::repair_paths`] moves and restores, one line per file.
    pub fn path_problems(&self) -> Result<Vec<String>> {
        let Some(head) = self.repository().head()? else { return Ok(Vec::new()) };
        Ok(PathRepair::of(self.repository(), head)?.problems())
    }

    /// Moves the files of directories that have the name of a memory, and restores what a file or directory of the same
    /// name replaced, in one commit.
    pub fn repair_paths(&self) -> Result<()> {
        self.write(None, self.context.clock.now(), |context| {
            let Some(head) = context.git.head() else { return Ok(Plan::empty()) };
            Ok(PathRepair::of(context.repository, head)?.plan())
        })?;
        Ok(())
    }
}

impl PathRepair {
    fn of(repository: &Repository, head: CommitId) -> Result<Self> {
        let mut files = BTreeMap::new();
        for change in repository.changes(None, head)? {
            if let Some(content) = change.content {
                files.insert(change.path, content);
            }
        }
        let mut names = Names::default();
        let mut misnamed = Vec::new();
        for path in files.keys() {
            if is_managed(path) && memory_named_directory(path).is_some() {
                misnamed.push(path.clone());
            } else {
                names.add(path);
            }
        }
        let mut repair = Self { files, moved: BTreeMap::new(), restored: Vec::new() };
        let mut homeless = Vec::new();
        for replaced in repository.replaced_files(head, REPAIR_TRAILER)? {
            // A later file at the path is a newer version.
            if !is_managed(&replaced.path) || repair.files.contains_key(&replaced.path) {
                continue;
            }
            let Some(content) = repository.read(replaced.commit, &replaced.path)? else { continue };
            let restored = RestoredFile { path: replaced.path.clone(), former: replaced.path, content };
            // A file that keeps its path has precedence over one that gets a new path.
            if memory_named_directory(&restored.path).is_none() && names.is_free(&restored.path) {
                names.add(&restored.path);
                repair.restored.push(restored);
            } else {
                homeless.push(restored);
            }
        }
        for path in misnamed {
            let target = names.take_free(&path);
            repair.moved.insert(path, target);
        }
        for mut restored in homeless {
            restored.path = names.take_free(&restored.former);
            repair.restored.push(restored);
        }
        Ok(repair)
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for path in self.moved.keys() {
            problems.push(format!("{path} is in a directory that has the name of a memory"));
        }
        for restored in &self.restored {
            problems.push(format!("{} was replaced by a file or directory of the same name", restored.former));
        }
        problems
    }

    fn plan(self) -> Plan {
        if self.moved.is_empty() && self.restored.is_empty() {
            return Plan::empty();
        }
        let (moves, returns) = (self.moved.len(), self.restored.len());
        let mut targets = self.moved.clone();
        for restored in &self.restored {
            if restored.path != restored.former {
                targets.insert(restored.former.clone(), restored.path.clone());
            }
        }
        let moved = MovedPaths::new(targets);
        let mut files = Vec::new();
        for (path, content) in self.files {
            let rewritten = rewritten(&moved, &path, &content);
            if let Some(target) = self.moved.get(&path) {
                files.push(planned(target, rewritten.unwrap_or(content)));
                files.push(PlannedFile::removal(path));
            } else if let Some(content) = rewritten
                && is_managed(&path)
            {
                files.push(planned(&path, content));
            }
        }
        for restored in self.restored {
            let rewritten = rewritten(&moved, &restored.former, &restored.content);
            files.push(planned(&restored.path, rewritten.unwrap_or(restored.content)));
        }
        let mut plan = Plan::new(format!("Repair paths: {moves} files moved, {returns} files restored"), files);
        plan.trailers.push((REPAIR_TRAILER.to_owned(), REPAIRED.to_owned()));
        plan
    }
}

/// Returns the content of a file with the new paths; `None` if it names no moved file.
fn rewritten(moved: &MovedPaths, path: &str, content: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(content).ok()?;
    moved.rewrite(path, text).map(String::into_bytes)
}

fn planned(path: &str, bytes: Vec<u8>) -> PlannedFile {
    PlannedFile { path: path.to_owned(), content: Some(content_of(path, bytes)) }
}

/// Returns the content of a file that is written at a path.
fn content_of(path: &str, bytes: Vec<u8>) -> Content {
    if path.parse::<MemoryPath>().is_ok()
        && let Ok(file) = MemoryFile::parse(&bytes)
    {
        return Content::Memory(Box::new(file));
    }
    if is_term(path)
        && let Ok(file) = TermFile::parse(&bytes)
    {
        return Content::Term(file);
    }
    Content::Other(bytes)
}

fn is_managed(path: &str) -> bool {
    let Some((folder, _)) = path.split_once('/') else { return false };
    folder == VOCABULARY_FOLDER || Tier::named(folder).is_some()
}

fn is_term(path: &str) -> bool {
    path.ends_with(".md") && path.starts_with(VOCABULARY_FOLDER)
}

impl Names {
    fn add(&mut self, path: &str) {
        for directory in directories_above(path) {
            self.directories.insert(directory.to_owned());
        }
        self.files.insert(path.to_owned());
    }

    /// Whether a file can have a path: nothing has it, and no file has the name of a directory above it.
    fn is_free(&self, path: &str) -> bool {
        if self.files.contains(path) || self.directories.contains(path) {
            return false;
        }
        directories_above(path).iter().all(|directory| !self.files.contains(*directory))
    }

    /// Returns the first free name for a file, which then has it.
    fn take_free(&mut self, path: &str) -> String {
        let mut number = 1u64;
        loop {
            let candidate = candidate(path, number);
            if self.is_free(&candidate) {
                self.add(&candidate);
                return candidate;
            }
            number += 1;
        }
    }
}

/// Returns a path whose directories do not have the name of a memory. A number above 1 is appended to the first of the
/// renamed directories; if there are none, to the name of the file.
fn candidate(path: &str, number: u64) -> String {
    let suffix = if number == 1 { String::new() } else { format!("-{number}") };
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut segments = Vec::new();
    let mut is_numbered = false;
    for segment in folder.split('/') {
        let stem = segment.trim_end_matches(".md");
        if stem == segment {
            segments.push(segment.to_owned());
            continue;
        }
        segments.push(if is_numbered { stem.to_owned() } else { format!("{stem}{suffix}") });
        is_numbered = true;
    }
    let name = match name.strip_suffix(".md") {
        _ if is_numbered => name.to_owned(),
        Some(stem) => format!("{stem}{suffix}.md"),
        None => format!("{name}{suffix}"),
    };
    segments.push(name);
    segments.join("/")
}

/// Returns the paths of the directories above a file.
fn directories_above(path: &str) -> Vec<&str> {
    let mut directories = Vec::new();
    for (index, _) in path.match_indices('/') {
        directories.push(&path[..index]);
    }
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_get_the_first_free_name() {
        let mut names = Names::default();
        for path in ["facts/a.md", "facts/b/x.md", "facts/c"] {
            names.add(path);
        }
        assert_eq!(names.take_free("facts/a.md/b.md"), "facts/a/b.md");
        assert_eq!(names.take_free("facts/b.md/x.md"), "facts/b-2/x.md");
        assert_eq!(names.take_free("facts/c.md/d.md/x.md"), "facts/c-2/d/x.md", "facts/c is a file");
        assert_eq!(names.take_free("facts/b"), "facts/b-3", "directories have the other names");
    }
}
