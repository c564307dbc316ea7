//! The plan of a write: the files that it changes, decided under the writer lock from the namespace's present content.

use cuebase_language::claims::AskedClaims;
use cuebase_language::extract::draft::Draft;
use cuebase_retrieval::{Currency, Explain, Filter, Query, Snapshot};
use cuebase_storage::git::{CommitInfo, FileReader, Repository, Writer};
use cuebase_storage::memory_file::{FrontMatter, MemoryFile, TermFile};
use cuebase_storage::records::TermRecord;
use cuebase_storage::{Error as StorageError, MessageId, NamespaceId, Store};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::report::PlanReport;
use crate::error::{Error, Result};
use crate::memory::file_names::Namer;
use crate::memory::files;

/// The message of a commit and the files that it changes. A plan without files makes no commit.
pub struct Plan {
    /// The commit's first line.
    pub subject: String,
    /// What the write reports; the rest of the commit message.
    pub report: PlanReport,
    /// Trailers in addition to that of the queue message.
    pub trailers: Vec<(String, String)>,
    /// The changed files. Their paths are unique.
    pub files: Vec<PlannedFile>,
}

impl Plan {
    /// A plan with nothing to report and without trailers.
    pub fn new(subject: String, files: Vec<PlannedFile>) -> Self {
        Self { subject, report: PlanReport::default(), trailers: Vec::new(), files }
    }

    /// A plan that changes nothing.
    pub fn empty() -> Self {
        Self::new(String::new(), Vec::new())
    }
}

/// A file that a plan writes or removes.
pub struct PlannedFile {
    /// Path from the root.
    pub path: String,
    /// The new content; `None` to remove the file.
    pub content: Option<Content>,
}

impl PlannedFile {
    /// Writes a memory.
    pub fn memory(path: String, file: MemoryFile) -> Self {
        Self { path, content: Some(Content::Memory(Box::new(file))) }
    }

    /// Writes a term of the vocabulary.
    pub fn term(path: String, file: TermFile) -> Self {
        Self { path, content: Some(Content::Term(file)) }
    }

    /// Removes a file.
    pub fn removal(path: String) -> Self {
        Self { path, content: None }
    }
}

/// A file's content.
#[derive(Clone)]
pub enum Content {
    /// A memory.
    Memory(Box<MemoryFile>),
    /// A term of the vocabulary.
    Term(TermFile),
    /// A file that is neither, or that cannot be parsed. It is not indexed.
    Other(Vec<u8>),
}

impl Content {
    pub(super) fn render(&self) -> cuebase_storage::Result<Vec<u8>> {
        match self {
            Self::Memory(file) => Ok(file.render()?.into_bytes()),
            Self::Term(file) => Ok(file.render()?.into_bytes()),
            Self::Other(bytes) => Ok(bytes.clone()),
        }
    }
}

/// A file that a plan would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path from the root.
    pub path: String,
    /// The present text; none if the file does not exist.
    pub before: Option<String>,
    /// The new text; none if the file is removed.
    pub after: Option<String>,
}

fn text_of(bytes: Option<Vec<u8>>) -> Option<String> {
    let bytes = bytes?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The present content of a namespace, which a plan is based on.
pub struct PlanContext<'a> {
    pub(super) namespace: NamespaceId,
    pub(super) git: &'a mut Writer,
    pub(super) namer: &'a mut Namer,
    pub(super) repository: &'a Repository,
    /// Opened for the first file that is read, and used for all others.
    pub(super) reader: Option<FileReader>,
    pub(super) store: &'a Store,
    /// The index at the head that the plan is based on.
    pub(super) snapshot: &'a Snapshot,
    /// The queue message of the plan, if paths were written after the acceptance of any message.
    pub(super) message: Option<MessageId>,
}

impl PlanContext<'_> {
    /// Whether a file exists at a path.
    pub fn contains(&mut self, path: &str) -> Result<bool> {
        Ok(self.git.contains(path)?)
    }

    /// Whether a file or a directory exists at a path.
    pub fn is_taken(&mut self, path: &str) -> Result<bool> {
        Ok(self.git.is_taken(path)?)
    }

    /// Whether the file at a path already has this content.
    pub fn holds(&mut self, path: &str, content: &Content) -> Result<bool> {
        let rendered = content.render()?;
        Ok(self.read(path)?.is_some_and(|bytes| bytes == rendered))
    }

    /// Returns the files of a plan with their present and their new text. Bytes that are not UTF-8 are replaced.
    pub(super) fn changes_of(&mut self, files: &[PlannedFile]) -> Result<Vec<FileChange>> {
        let mut changes = Vec::with_capacity(files.len());
        for file in files {
            let before = self.read(&file.path)?;
            let after = match &file.content {
                Some(content) => Some(content.render()?),
                None => None,
            };
            if before != after {
                changes.push(FileChange { path: file.path.clone(), before: text_of(before), after: text_of(after) });
            }
        }
        Ok(changes)
    }

    /// Returns the memory at a path, or `None` if none exists or it cannot be parsed.
    pub fn memory(&mut self, path: &str) -> Result<Option<MemoryFile>> {
        let Some(bytes) = self.read(path)? else { return Ok(None) };
        Ok(MemoryFile::parse(&bytes).ok())
    }

    /// Returns the term file at a path, or `None` if none exists or it cannot be parsed.
    pub fn term_file(&mut self, path: &str) -> Result<Option<TermFile>> {
        let Some(bytes) = self.read(path)? else { return Ok(None) };
        Ok(TermFile::parse(&bytes).ok())
    }

    /// Returns the paths of all files below a directory.
    pub fn files_below(&mut self, folder: &str) -> Result<Vec<String>> {
        Ok(self.git.files_below(folder)?)
    }

    /// Whether a path was written directly, pushed or forgotten after the plan's message was accepted.
    pub fn is_written_later(&self, path: &str) -> Result<bool> {
        let Some(message) = self.message else { return Ok(false) };
        // No path write at all sorts before any.
        Ok(self.store.newest_path_write(self.namespace, path)? > Some(message))
    }

    /// Returns the newest recorded commit that changed a path. Returns `None` if none is recorded, or if the file
    /// differs from that commit's: a push has changed it, and is recorded with this write.
    pub fn last_change(&mut self, path: &str) -> Result<Option<CommitInfo>> {
        let Some(newest) = self.store.revisions(self.namespace, path, 1)?.pop() else { return Ok(None) };
        let present = self.read(path)?;
        if self.repository.read(newest.id, path)? != present {
            return Ok(None);
        }
        Ok(self.repository.commit_info(newest.id)?)
    }

    /// Returns the last `limit` recorded commits that changed a path, newest first.
    pub fn changes(&self, path: &str, limit: usize) -> Result<Vec<CommitInfo>> {
        let mut changes = Vec::new();
        for revision in self.store.revisions(self.namespace, path, limit)? {
            changes.extend(self.repository.commit_info(revision.id)?);
        }
        Ok(changes)
    }

    /// Returns the versions of a memory after its last `limit` recorded changes, newest first. Versions that cannot be
    /// parsed are left out.
    pub fn versions(&self, path: &str, limit: usize) -> Result<Vec<MemoryFile>> {
        let mut versions = Vec::new();
        for revision in self.store.revisions(self.namespace, path, limit)? {
            let Some(bytes) = self.repository.read(revision.id, path)? else { continue };
            versions.extend(MemoryFile::parse(&bytes));
        }
        Ok(versions)
    }

    /// Returns a new path for each draft.
    pub fn assign_paths(&mut self, drafts: &[Draft]) -> Result<Vec<String>> {
        self.namer.name(drafts, self.git).map_err(Error::from)
    }

    /// Returns the path of a memory with a statement that holds at a time, as
    /// [`statement::of_body`](crate::memory::statement::of_body) makes it.
    pub fn path_with_statement(&self, statement: &str, now: Timestamp) -> Result<Option<String>> {
        Ok(self.snapshot.path_with_statement(statement, now.as_millisecond())?)
    }

    /// Returns the paths of up to `limit` memories that have words of a text, the best ones first.
    pub fn paths_with_words(&self, text: &str, limit: usize, now: Timestamp) -> Result<Vec<String>> {
        let query = Query {
            text,
            synonyms: &[],
            vector: None,
            times: &[],
            time_words: &[],
            filter: &Filter::default(),
            min_score: 0.0,
            limit,
            now: now.as_millisecond(),
            as_of: None,
            currency: Currency::Any,
            asked: AskedClaims::NONE,
            user: None,
            exact: false,
            explain: Explain::No,
            reranker: None,
        };
        let found = self.snapshot.search(&query)?;
        Ok(found.hits.into_iter().map(|hit| hit.memory.path).collect())
    }

    /// Returns the paths that a kept write changed; none if it is not kept.
    pub fn paths_of_source(&self, write: MessageId) -> Result<Vec<String>> {
        Ok(self.store.source_paths(self.namespace, write)?.unwrap_or_default())
    }

    /// Returns the paths of memories whose claims those of a new memory end.
    pub fn paths_ended_by(&self, front: &FrontMatter) -> Result<Vec<String>> {
        Ok(self.snapshot.paths_ended_by(&files::index_claims(front))?)
    }

    /// Returns the terms with a surface form, which must be folded for the lookup.
    pub fn terms_by_form(&self, form: &str) -> Result<Vec<TermRecord>> {
        Ok(self.store.terms_by_form(self.namespace, form)?)
    }

    fn read(&mut self, path: &str) -> Result<Option<Vec<u8>>> {
        // The writer has the directories in memory, so most lookups of new files do not open the repository.
        if !self.git.contains(path)? {
            return Ok(None);
        }
        if let Some(content) = self.git.recent_file(path)? {
            return Ok(Some(content.to_vec()));
        }
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.repository.file_reader()?,
        };
        match self.git.read_file(path, &reader) {
            // A damaged pack index may hide the content. This read rebuilds such an index.
            Err(StorageError::Corrupt { .. } | StorageError::Git { trouble: None, .. }) => {
                let Some(head) = self.git.head() else { return Ok(None) };
                Ok(self.repository.read(head, path)?)
            }
            content => {
                self.reader = Some(reader);
                Ok(content?)
            }
        }
    }
}
