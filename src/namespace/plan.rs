//! What a write makes of a namespace: a plan of files, drawn up under the writer's lock from what is there.

use cuebase_storage::Store;
use cuebase_storage::git::{CommitInfo, Repository, Writer};
use cuebase_storage::memory_file::{MemoryFile, TermFile};
use cuebase_storage::records::{NamespaceId, TermRecord};

use crate::error::{Error, Result};
use crate::memory::draft::Draft;
use crate::memory::file_names::Namer;

/// Files with their new content, or none to take one away. No files, no commit.
pub struct Plan {
    /// The commit's first line.
    pub subject: String,
    /// What is said below it; empty for nothing.
    pub body: String,
    /// Trailers beside the one that names the message.
    pub trailers: Vec<(String, String)>,
    /// By path; no path twice.
    pub files: Vec<(String, Option<Content>)>,
}

impl Plan {
    /// A plan that says nothing but what it does.
    pub fn new(subject: String, files: Vec<(String, Option<Content>)>) -> Self {
        Self { subject, body: String::new(), trailers: Vec::new(), files }
    }
}

/// A file's content.
#[derive(Clone)]
pub enum Content {
    /// A memory.
    Memory(Box<MemoryFile>),
    /// A term of the vocabulary.
    Term(TermFile),
}

impl Content {
    pub(super) fn render(&self) -> cuebase_storage::Result<String> {
        match self {
            Self::Memory(file) => file.render(),
            Self::Term(file) => file.render(),
        }
    }
}

/// What a plan may look at, as it stands.
pub struct PlanContext<'a> {
    pub(super) namespace: NamespaceId,
    pub(super) git: &'a mut Writer,
    pub(super) namer: &'a mut Namer,
    pub(super) repository: &'a Repository,
    pub(super) store: &'a Store,
}

impl PlanContext<'_> {
    /// Whether there is a file at a path.
    pub fn contains(&mut self, path: &str) -> Result<bool> {
        Ok(self.git.contains(path)?)
    }

    /// Whether the file at a path has that content already.
    pub fn holds(&mut self, path: &str, content: &Content) -> Result<bool> {
        let rendered = content.render()?;
        Ok(self.read(path)?.is_some_and(|bytes| bytes == rendered.as_bytes()))
    }

    /// The memory at a path, if there is one that can be read.
    pub fn memory(&mut self, path: &str) -> Result<Option<MemoryFile>> {
        Ok(self.read(path)?.and_then(|bytes| MemoryFile::parse(&bytes).ok()))
    }

    /// The term file at a path, if there is one that can be read.
    pub fn term_file(&mut self, path: &str) -> Result<Option<TermFile>> {
        Ok(self.read(path)?.and_then(|bytes| TermFile::parse(&bytes).ok()))
    }

    /// The newest commit that changed a path, as it is recorded. None where none is, and where the file is not what that
    /// commit left: a push brought another one that is recorded with this write.
    pub fn last_change(&mut self, path: &str) -> Result<Option<CommitInfo>> {
        let Some(newest) = self.store.revisions(self.namespace, path, 1)?.pop() else { return Ok(None) };
        let present = self.read(path)?;
        if self.repository.read(newest.id, path)? != present {
            return Ok(None);
        }
        Ok(self.repository.commit_info(newest.id)?)
    }

    /// The newest recorded versions of a memory that can be read, newest first, out of at most `limit` changes.
    pub fn versions(&self, path: &str, limit: usize) -> Result<Vec<MemoryFile>> {
        let mut versions = Vec::new();
        for revision in self.store.revisions(self.namespace, path, limit)? {
            let Some(bytes) = self.repository.read(revision.id, path)? else { continue };
            versions.extend(MemoryFile::parse(&bytes));
        }
        Ok(versions)
    }

    /// A new path for each draft.
    pub fn name(&mut self, drafts: &[Draft]) -> Result<Vec<String>> {
        self.namer.name(drafts, self.git).map_err(Error::from)
    }

    /// The terms that have a surface form, given as it is looked up.
    pub fn terms_by_form(&self, form: &str) -> Result<Vec<TermRecord>> {
        Ok(self.store.terms_by_form(self.namespace, form)?)
    }

    fn read(&mut self, path: &str) -> Result<Option<Vec<u8>>> {
        // The writer knows its directories; most new files are told without opening the repository.
        if !self.git.contains(path)? {
            return Ok(None);
        }
        let Some(head) = self.git.head() else { return Ok(None) };
        Ok(self.repository.read(head, path)?)
    }
}
