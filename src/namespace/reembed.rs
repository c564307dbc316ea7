//! Re-embedding: computes the missing vectors of a namespace, or all vectors after a change of the model.
//!
//! A model can be slow, remote or failing, so it is called in batches without the writer lock. Its vectors are stored
//! by text ([`Vectors`](crate::model::Vectors)), and only stored vectors are put into the index, under the lock. Work
//! that a crash or a failure interrupts therefore resumes where it stopped.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cuebase_retrieval::{Change, Cue, Head, Index, Memory};
use cuebase_storage::NamespaceId;
use cuebase_storage::git::CommitId;

use super::heads::{commit_at, head_at};
use super::open::Namespace;
use super::sync;
use super::writer_state::WriterState;
use crate::error::{Error, Result};
use crate::model::vectors::BATCH_TEXTS;
use crate::model::{Vectors, index_settings};
use crate::namespace::backlog::{Need, Progress};

/// Memories that are embedded in one batch.
const BATCH_MEMORIES: usize = 256;
/// Bytes of cues after which a batch ends: an encoder takes one to two seconds for them. Then others have their turn.
const BATCH_BYTES: usize = 32 << 10;
/// Time after which a namespace that is re-embedded gives others their turn.
const TURN: Duration = Duration::from_secs(2);

/// Batches between two log lines about the progress of a re-embedding.
const BATCHES_PER_LOG_LINE: usize = 16;

impl Namespace {
    /// Computes missing vectors, or all vectors if the index has those of another model. Returns what is left to do.
    pub fn reembed(&self) -> Result<Option<Need>> {
        let current = self.context.models.current();
        if self.snapshot().model() == current.model().identity() {
            return Ok(if self.embed_missing(&current)? { None } else { Some(Need::Missing) });
        }
        // New memories do not wait until the change of the model is complete.
        if let Some(former) = self.context.models.of(self.snapshot().model())
            && former.model().is_deferred()
            && !self.embed_missing(&former)?
        {
            return Ok(Some(Need::Missing));
        }
        if !self.context.backlog.may_change() {
            return Ok(Some(Need::Change));
        }
        if self.reembed_all(&current)? {
            return Ok(None);
        }
        let is_changed = self.snapshot().model() == current.model().identity();
        Ok(Some(if is_changed { Need::Missing } else { Need::Change }))
    }

    /// Computes missing vectors. Returns false if interrupted.
    fn embed_missing(&self, vectors: &Vectors) -> Result<bool> {
        let all = self.writer.lock().index.waiting_count();
        let mut done = 0;
        loop {
            if self.end.is_set() {
                return Ok(true);
            }
            if self.context.backlog.is_stopping() || (done > 0 && self.context.backlog.others_are_ready()) {
                return Ok(false);
            }
            let erasures = self.erasures.load(Ordering::SeqCst);
            let waiting = self.waiting()?;
            if waiting.is_empty() {
                return Ok(true);
            }
            if !self.embed_memories(&waiting, vectors, erasures)? {
                return Ok(false);
            }
            let indexed = self.index_stored_vectors(vectors)?;
            if indexed == 0 && !self.end.is_set() {
                return Err(Error::internal("computed vectors were not stored"));
            }
            done += indexed;
            self.context.backlog.report_progress(Progress { done, all: all.max(done) });
            if all > BATCH_MEMORIES {
                tracing::debug!(account = %self.account, namespace = %self.name, done, all, "missing vectors were computed");
            }
        }
    }

    /// Returns a batch of memories without vectors.
    fn waiting(&self) -> Result<Vec<Memory>> {
        self.read(|snapshot| {
            let (mut batch, mut bytes) = (Vec::new(), 0);
            for memory in snapshot.waiting_memories(BATCH_MEMORIES) {
                let memory = memory?;
                bytes += cue_bytes(&memory);
                batch.push(memory);
                if bytes >= BATCH_BYTES {
                    break;
                }
            }
            Ok(batch)
        })
    }

    /// Computes and stores the vectors of memories. `erasures` is the number of erasures before they were read. Returns false
    /// if a vector could be of erased text, so that none was stored.
    fn embed_memories(&self, memories: &[Memory], vectors: &Vectors, erasures: u64) -> Result<bool> {
        let mut texts = Vec::new();
        for memory in memories {
            for cue in &memory.cues {
                texts.push(cue.text.as_str());
            }
        }
        for batch in vectors.missing(self.id, texts).chunks(BATCH_TEXTS) {
            let computed = vectors.compute(batch, self.context.models.background_deadline())?;
            // An erasure and a deletion remove vectors under this lock, or after having taken it.
            let _writer = self.writer.lock();
            let is_erasing = self.context.store.erasure(self.id)?.is_some();
            if self.end.is_set() || is_erasing || self.erasures.load(Ordering::SeqCst) != erasures {
                return Ok(false);
            }
            vectors.put(&self.key(), computed)?;
        }
        Ok(true)
    }

    /// Puts the stored vectors of waiting memories into the index. Returns how many memories got theirs.
    fn index_stored_vectors(&self, vectors: &Vectors) -> Result<usize> {
        let mut writer = self.writer.lock();
        if self.end.is_set() {
            return Ok(0);
        }
        self.recover(&mut writer)?;
        let Some(head) = writer.index.head() else { return Ok(0) };
        let mut changes = Vec::new();
        // `Namespace::read` would take the lock that is held here. Before the next batch it repairs a damaged index.
        for memory in self.snapshot().waiting_memories(BATCH_MEMORIES) {
            let mut memory = memory?;
            if memory.cues.iter_mut().all(|cue| set_stored_vector(cue, self.id, vectors)) {
                memory.waiting = false;
                changes.push(Change::Put(Box::new(memory)));
            }
        }
        let indexed = changes.len();
        if indexed > 0 {
            let mut change = writer.begin_change();
            change.index.apply(changes, head)?;
            change.complete();
            self.record_waiting(&mut writer)?;
            self.context.backlog.notify_indexed();
        }
        Ok(indexed)
    }

    /// Builds an index with the vectors of another model next to the served one, then replaces the served one by it.
    fn reembed_all(&self, vectors: &Vectors) -> Result<bool> {
        let model = vectors.model().identity();
        let erasures = self.erasures.load(Ordering::SeqCst);
        let mut next = self.open_next_index(vectors)?;
        let lookup = sync::Lookup { namespace: self.id, vectors: Some(vectors) };
        tracing::info!(account = %self.account, namespace = %self.name, model, "re-embedding began");
        // Writes continue in the meantime, so this repeats until the next index is at the head.
        while let Some(head) = self.repository.head()?
            && next.head() != Some(head_at(head))
        {
            if self.erasures.load(Ordering::SeqCst) != erasures
                || !self.embed_changes(next.head(), head, vectors, erasures)?
            {
                return Ok(false);
            }
            sync::catch_up(&mut next, &self.repository, head, &lookup)?;
        }
        let mut writer = self.writer.lock();
        if self.end.is_set() {
            return Ok(true);
        }
        if self.erasures.load(Ordering::SeqCst) != erasures {
            // Its folder was removed, because it has erased text.
            return Ok(false);
        }
        self.recover(&mut writer)?;
        if let Some(head) = writer.git.head() {
            sync::catch_up(&mut next, &self.repository, head, &lookup)?;
        }
        self.replace_index(&mut writer, next)?;
        tracing::info!(account = %self.account, namespace = %self.name, model, "re-embedding is complete");
        Ok(writer.index.waiting_count() == 0)
    }

    /// Opens the index that will replace the served one, as far as it was built before.
    fn open_next_index(&self, vectors: &Vectors) -> Result<Index> {
        let folder = sync::next_folder(&self.index_folder);
        let settings = index_settings(vectors.model()).map_err(Error::internal)?;
        if let Ok(next) = Index::open(&folder, settings.clone()) {
            return Ok(next);
        }
        // Damaged, or of a third model.
        std::fs::remove_dir_all(&folder)?;
        Ok(Index::open(&folder, settings)?)
    }

    /// Computes and stores the vectors of all memories that changed between two commits. Returns false if interrupted.
    fn embed_changes(&self, from: Option<Head>, to: CommitId, vectors: &Vectors, erasures: u64) -> Result<bool> {
        let began = Instant::now();
        let mut worked_from = began;
        let mut memories: Vec<Memory> = Vec::new();
        for change in self.repository.changes(from.map(commit_at), to)? {
            memories.extend(sync::read_change(change, &sync::Lookup::without_vectors()).ok());
        }
        let (all, mut done) = (memories.len(), 0);
        for (number, batch) in batches(&memories).into_iter().enumerate() {
            let backlog = &self.context.backlog;
            let is_turn_over = backlog.others_miss_vectors() || (began.elapsed() >= TURN && backlog.others_are_ready());
            if backlog.is_stopping() || !backlog.may_change() || self.end.is_set() || is_turn_over {
                return Ok(false);
            }
            if !self.embed_memories(batch, vectors, erasures)? {
                return Ok(false);
            }
            // A model elsewhere takes no time of this processor.
            if !vectors.model().is_remote() {
                backlog.begin_rest(worked_from.elapsed());
                while !self.end.is_set() && backlog.rest() {}
            }
            worked_from = Instant::now();
            done += batch.len();
            self.context.backlog.report_progress(Progress { done, all });
            if number % BATCHES_PER_LOG_LINE == 0 {
                tracing::info!(account = %self.account, namespace = %self.name, done, all, "re-embedding continues");
            }
        }
        Ok(true)
    }

    /// Serves another index from now on, and moves it to the folder of the former one.
    fn replace_index(&self, writer: &mut WriterState, mut next: Index) -> Result<()> {
        let mut change = writer.begin_change();
        // After a crash between the two renames only the next index exists; opening the namespace then uses it.
        let former = sync::former_folder(&self.index_folder);
        std::fs::rename(&self.index_folder, &former)?;
        next.move_to(&self.index_folder)?;
        next.publish_to(Arc::clone(&self.snapshot));
        change.index = next;
        change.complete();
        if let Err(error) = std::fs::remove_dir_all(&former) {
            tracing::warn!(%error, "the former index could not be removed");
        }
        self.record_waiting(writer)?;
        self.context.backlog.notify_indexed();
        Ok(())
    }

    /// Records how many memories wait for vectors, if that number changed.
    pub(super) fn record_waiting(&self, writer: &mut WriterState) -> Result<()> {
        let waiting = writer.index.waiting_count() as u64;
        if writer.record.waiting != waiting {
            writer.record.waiting = waiting;
            self.context.store.put_namespace(&writer.record)?;
        }
        if waiting > 0 {
            self.context.backlog.add(&self.key(), Need::Missing);
        }
        Ok(())
    }
}

/// Returns memories in batches of up to [`BATCH_MEMORIES`], which end after [`BATCH_BYTES`].
fn batches(memories: &[Memory]) -> Vec<&[Memory]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, memory) in memories.iter().enumerate() {
        bytes += cue_bytes(memory);
        let end = index + 1;
        if bytes >= BATCH_BYTES || end - start == BATCH_MEMORIES || end == memories.len() {
            batches.push(&memories[start..end]);
            (start, bytes) = (end, 0);
        }
    }
    batches
}

/// Returns the length of all cues of a memory.
fn cue_bytes(memory: &Memory) -> usize {
    memory.cues.iter().map(|cue| cue.text.len()).sum()
}

/// Sets the stored vector of a cue. Returns false if none is stored.
fn set_stored_vector(cue: &mut Cue, namespace: NamespaceId, vectors: &Vectors) -> bool {
    let stored = vectors.available(namespace, &cue.text);
    let is_stored = stored.is_some();
    // A text without known words has a vector of zeros, which the index does not take.
    cue.vector = stored.filter(|vector| vector.iter().any(|value| *value != 0.0));
    is_stored
}
