//! Bringing a namespace's vectors up to date: the ones that are missing, or all of them by another model.
//!
//! A model may be slow, far away, or ill, so it is asked without the writer's lock, in batches; what it makes is
//! remembered by text ([`Vectors`](crate::model::Vectors)). Only what is at hand by then is put into the index, under
//! the lock. Work that a crash or a failure interrupts therefore goes on where it was.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuebase_retrieval::{Change, Cue, Index, Memory};
use cuebase_storage::records::NamespaceId;

use super::open::{Namespace, WriterState};
use super::sync;
use crate::error::{Error, Result};
use crate::model::{Vectors, index_settings};
use crate::namespace::backlog::Progress;

/// Memories whose vectors are made in one go.
const MEMORIES_AT_ONCE: usize = 256;

/// After so many of those the log is told how far it is.
const BATCHES_PER_WORD: usize = 16;

impl Namespace {
    /// Makes the vectors that are missing, or all of them where they are another model's. False when it was interrupted.
    pub fn renew(&self) -> Result<bool> {
        let vectors = Arc::clone(self.context.models.current());
        if self.snapshot().model() == vectors.model().identity() {
            self.fill(&vectors)
        } else {
            self.embed_anew(&vectors)
        }
    }

    fn fill(&self, vectors: &Vectors) -> Result<bool> {
        let all = self.inner.lock().index.waiting_count();
        let mut done = 0;
        loop {
            if self.context.backlog.is_stopping() {
                return Ok(false);
            }
            let waiting = self.waiting()?;
            if waiting.is_empty() {
                return Ok(true);
            }
            let texts = waiting.iter().flat_map(|memory| memory.cues.iter().map(|cue| cue.text.as_str()));
            vectors.prepare(self.id, texts, self.context.models.work_patience()).map_err(Error::from)?;
            let filled = self.take_in_vectors(vectors)?;
            if filled == 0 && !self.retired.load(Ordering::SeqCst) {
                return Err(Error::internal("vectors that were made are not at hand"));
            }
            done += filled;
            self.context.backlog.note(Progress { done, all: all.max(done) });
            tracing::info!(account = %self.account, namespace = %self.name, done, all, "missing vectors were made");
        }
    }

    fn waiting(&self) -> Result<Vec<Memory>> {
        self.read(|snapshot| snapshot.waiting_memories(MEMORIES_AT_ONCE).collect())
    }

    /// Puts those waiting memories again whose vectors are at hand. Returns how many.
    fn take_in_vectors(&self, vectors: &Vectors) -> Result<usize> {
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) {
            return Ok(0);
        }
        self.mend(&mut inner)?;
        let Some(head) = inner.index.head().map(str::to_owned) else { return Ok(0) };
        let mut changes = Vec::new();
        // Not by `read`, which would take the lock that is held; damage is seen to before the next batch.
        for memory in self.snapshot().waiting_memories(MEMORIES_AT_ONCE) {
            let mut memory = memory?;
            let whole = memory.cues.iter_mut().all(|cue| embed(cue, self.id, vectors));
            if whole {
                memory.waiting = false;
                changes.push(Change::Put(Box::new(memory)));
            }
        }
        let filled = changes.len();
        if filled > 0 {
            inner.needs_reload = true;
            inner.index.apply(changes, &head)?;
            inner.needs_reload = false;
            self.note_waiting(&mut inner)?;
        }
        Ok(filled)
    }

    /// Makes an index with a model's vectors beside the one that is served, then puts it in that one's place.
    fn embed_anew(&self, vectors: &Vectors) -> Result<bool> {
        let model = vectors.model();
        let folder = sync::next_folder(&self.index_folder);
        let settings = index_settings(model).map_err(Error::internal)?;
        let mut next = match Index::open(&folder, settings.clone()) {
            Ok(next) => next,
            // Of yet another model, or damaged.
            Err(_) => {
                std::fs::remove_dir_all(&folder)?;
                Index::open(&folder, settings)?
            }
        };
        let lookup = sync::Lookup { namespace: self.id, vectors: Some(vectors) };
        tracing::info!(account = %self.account, namespace = %self.name, model = model.identity(), "vectors are made anew");
        // What is written while this goes on is looked at again, until nothing was.
        while let Some(head) = self.repository.head()?.filter(|head| Some(head.to_string().as_str()) != next.head()) {
            let from = next.head().map(str::parse).transpose()?;
            let mut memories: Vec<Memory> = Vec::new();
            for change in self.repository.changes(from, head)? {
                memories.extend(sync::read_change(change, &sync::Lookup::nothing()).ok());
            }
            let all = memories.len();
            for (number, part) in memories.chunks(MEMORIES_AT_ONCE).enumerate() {
                if self.context.backlog.is_stopping() || self.retired.load(Ordering::SeqCst) {
                    return Ok(false);
                }
                let texts = part.iter().flat_map(|memory| memory.cues.iter().map(|cue| cue.text.as_str()));
                vectors.prepare(self.id, texts, self.context.models.work_patience()).map_err(Error::from)?;
                let done = number * MEMORIES_AT_ONCE + part.len();
                self.context.backlog.note(Progress { done, all });
                if number % BATCHES_PER_WORD == 0 {
                    tracing::info!(account = %self.account, namespace = %self.name, done, all, "vectors are made anew");
                }
            }
            drop(memories);
            sync::catch_up(&mut next, &self.repository, head, &lookup)?;
        }
        let mut inner = self.inner.lock();
        if self.retired.load(Ordering::SeqCst) {
            return Ok(true);
        }
        self.mend(&mut inner)?;
        if let Some(head) = inner.git.head() {
            sync::catch_up(&mut next, &self.repository, head, &lookup)?;
        }
        self.replace_index(&mut inner, next)?;
        tracing::info!(account = %self.account, namespace = %self.name, model = model.identity(), "vectors were made anew");
        Ok(inner.index.waiting_count() == 0)
    }

    /// Serves from another index from now on, and keeps it where the former one was.
    fn replace_index(&self, inner: &mut WriterState, mut next: Index) -> Result<()> {
        inner.needs_reload = true;
        // A crash between the two steps leaves the next one alone; it is then taken when the namespace is opened.
        let aside = sync::former_folder(&self.index_folder);
        std::fs::rename(&self.index_folder, &aside)?;
        next.move_to(&self.index_folder)?;
        next.publish_to(Arc::clone(&self.snapshot));
        inner.index = next;
        inner.needs_reload = false;
        if let Err(error) = std::fs::remove_dir_all(&aside) {
            tracing::warn!(%error, "the former index could not be removed");
        }
        self.note_waiting(inner)
    }

    /// Keeps with the record how many memories wait for vectors, where that changed.
    pub(super) fn note_waiting(&self, inner: &mut WriterState) -> Result<()> {
        let waiting = inner.index.waiting_count() as u64;
        if inner.record.waiting != waiting {
            inner.record.waiting = waiting;
            self.context.store.put_namespace(&inner.record)?;
        }
        if waiting > 0 {
            self.context.backlog.add(&self.key());
        }
        Ok(())
    }
}

/// Gives a cue its vector; false when that is not at hand.
fn embed(cue: &mut Cue, namespace: NamespaceId, vectors: &Vectors) -> bool {
    let found = vectors.at_hand(namespace, &cue.text);
    let there = found.is_some();
    cue.vector = found.filter(|vector| vector.iter().any(|value| *value != 0.0));
    there
}
