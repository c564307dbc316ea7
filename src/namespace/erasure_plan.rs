//! What an erasure erases: memories by path, session or subject, with all their versions, and the records that hold the
//! text that these memories were made from.
//!
//! A memory is erased whole if any of its versions is selected: a version that names the session or subject may be in
//! the history only. Of a kept conversation only the messages behind erased memories are emptied, if the memory says
//! which they are; otherwise the conversation is deleted.

use std::collections::{BTreeMap, BTreeSet};

use cuebase_language::tokenize::fold;
use cuebase_storage::git::{CommitId, Repository};
use cuebase_storage::memory_file::{FrontMatter, MemoryFile};
use cuebase_storage::records::{
    ErasureReport, ErasureSelection, Message, MessageRecord, NamespaceRecord, QueueEntry, QueuedWork, RecordChanges,
    SourceChange,
};
use cuebase_storage::{MessageId, Store};
use ulid::Ulid;

use crate::error::Result;
use crate::memory::files::cue_texts;
use crate::memory::request::text_and_references;
use crate::sha256::sha256;

/// Kept conversations that are listed at a time.
const SOURCES_PER_PAGE: usize = 500;

/// The namespace that an erasure selects from.
pub(super) struct ErasureScope<'a> {
    pub(super) store: &'a Store,
    pub(super) repository: &'a Repository,
    pub(super) namespace: &'a NamespaceRecord,
    /// The head of the repository.
    pub(super) head: Option<CommitId>,
}

/// A message that an erased memory was extracted from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    write: MessageId,
    /// Its position in the conversation of the write.
    position: usize,
    session: Option<String>,
}

/// What the versions of the erased memories say of themselves.
#[derive(Default)]
struct ErasedVersions {
    paths: BTreeSet<String>,
    origins: BTreeSet<Origin>,
    /// The memories with a version that does not name the write it came from.
    of_unknown_write: BTreeSet<String>,
    /// SHA-256 of the embedded texts.
    texts: BTreeSet<[u8; 32]>,
}

impl ErasureScope<'_> {
    /// Returns the memories to erase, and the changes of records that this requires.
    pub(super) fn select(&self, selection: &ErasureSelection) -> Result<RecordChanges> {
        let versions = self.erased_versions(&self.selected_paths(selection)?)?;
        let sources = self.sources(selection, &versions)?;
        let conversations = self.conversations(selection)?;
        let mut messages = self.messages(selection, &versions.origins)?;
        messages.retain(|(conversation, _)| !conversations.contains(conversation));
        let dead_letters = self.dead_letters(selection, &versions.paths)?;
        Ok(RecordChanges {
            paths: versions.paths,
            sources: sources.into_iter().collect(),
            conversations,
            messages: messages.into_iter().collect(),
            dead_letters,
            texts: versions.texts.into_iter().collect(),
        })
    }

    /// Counts what an erasure changes. The number of vectors is known when they are deleted.
    pub(super) fn report(
        &self,
        entry: &QueueEntry,
        selection: &ErasureSelection,
        changes: &RecordChanges,
    ) -> Result<ErasureReport> {
        let removed = changes.sources.iter().filter(|(_, change)| *change == SourceChange::Delete).count();
        let mut later_writes = 0;
        for later in self.store.queue_entries_after(&self.namespace.key(), entry.id)? {
            later_writes += u64::from(concerns(&later.work, selection, &changes.paths));
        }
        Ok(ErasureReport {
            memories: changes.paths.len() as u64,
            commits: 0,
            sources_removed: removed as u64,
            sources_changed: (changes.sources.len() - removed) as u64,
            conversations_removed: changes.conversations.len() as u64,
            messages_emptied: changes.messages.len() as u64,
            vectors: 0,
            dead_letters: changes.dead_letters.len() as u64,
            later_writes,
            unreadable: self.store.unreadable()?.len() as u64,
        })
    }

    /// Returns the paths of the selected memories. Paths that a request names may not exist.
    fn selected_paths(&self, selection: &ErasureSelection) -> Result<BTreeSet<String>> {
        let mut selected = BTreeSet::new();
        let subject = match selection {
            ErasureSelection::Paths(paths) => return Ok(paths.iter().cloned().collect()),
            ErasureSelection::Subject(name) => folded(name),
            ErasureSelection::Session(_) => String::new(),
        };
        let Some(head) = self.head else { return Ok(selected) };
        for version in self.repository.file_versions(head)? {
            let version = version?;
            if selected.contains(&version.path) {
                continue;
            }
            let Ok(file) = MemoryFile::parse(&version.content) else { continue };
            let is_selected = match selection {
                ErasureSelection::Session(session) => is_of_session(&file.front, session),
                ErasureSelection::Subject(_) => is_about(&file.front, &subject),
                ErasureSelection::Paths(_) => false,
            };
            if is_selected {
                selected.insert(version.path);
            }
        }
        Ok(selected)
    }

    /// Reads all versions of some memories.
    fn erased_versions(&self, paths: &BTreeSet<String>) -> Result<ErasedVersions> {
        let mut versions = ErasedVersions::default();
        let Some(head) = self.head else { return Ok(versions) };
        if paths.is_empty() {
            return Ok(versions);
        }
        for version in self.repository.file_versions(head)? {
            let version = version?;
            if !paths.contains(&version.path) {
                continue;
            }
            if let Ok(file) = MemoryFile::parse(&version.content) {
                versions.add(&version.path, &file);
            }
            versions.paths.insert(version.path);
        }
        Ok(versions)
    }

    /// Returns what happens to the kept conversations.
    fn sources(
        &self,
        selection: &ErasureSelection,
        versions: &ErasedVersions,
    ) -> Result<BTreeMap<MessageId, SourceChange>> {
        let mut changes = BTreeMap::new();
        if let ErasureSelection::Session(session) = selection {
            for id in self.sources_of_session(session)? {
                changes.insert(id, SourceChange::Delete);
            }
            return Ok(changes);
        }
        let mut positions: BTreeMap<MessageId, BTreeSet<usize>> = BTreeMap::new();
        for origin in &versions.origins {
            positions.entry(origin.write).or_default().insert(origin.position);
        }
        if let ErasureSelection::Subject(subject) = selection {
            self.add_spoken(&folded(subject), &mut positions)?;
        }
        for (id, positions) in positions {
            if let Some(entry) = self.store.source(self.namespace.id, id)?
                && let Some(change) = emptied(&entry, &positions)
            {
                changes.insert(id, change);
            }
        }
        // Nothing says which of their messages were extracted.
        for id in self.store.sources_of_paths(self.namespace.id, &versions.of_unknown_write)? {
            changes.insert(id, SourceChange::Delete);
        }
        Ok(changes)
    }

    fn sources_of_session(&self, session: &str) -> Result<Vec<MessageId>> {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = self.store.sources_after(self.namespace.id, after, SOURCES_PER_PAGE)?;
            let Some(last) = page.last() else { return Ok(found) };
            after = Some(last.id);
            for record in page {
                if record.session_id.as_deref() == Some(session) {
                    found.push(record.id);
                }
            }
        }
    }

    /// Adds the messages of all kept conversations that a subject spoke.
    fn add_spoken(&self, subject: &str, positions: &mut BTreeMap<MessageId, BTreeSet<usize>>) -> Result<()> {
        let mut after = None;
        while let Some(entry) = self.store.next_source(self.namespace.id, after)? {
            after = Some(entry.id);
            let QueuedWork::Conversation { request } = &entry.work else { continue };
            for (position, message) in request.messages.iter().enumerate() {
                if folded(message.speaker()) == subject {
                    positions.entry(entry.id).or_default().insert(position);
                }
            }
        }
        Ok(())
    }

    /// Returns the managed conversation whose id is the session.
    fn conversations(&self, selection: &ErasureSelection) -> Result<Vec<Ulid>> {
        let ErasureSelection::Session(session) = selection else { return Ok(Vec::new()) };
        Ok(self.conversation_of(session)?.into_iter().collect())
    }

    /// Returns the managed conversation of this namespace with an id, if there is one.
    fn conversation_of(&self, session: &str) -> Result<Option<Ulid>> {
        let Ok(id) = session.parse() else { return Ok(None) };
        match self.store.conversation(&self.namespace.account, id)? {
            Some(record) if record.namespace_id == self.namespace.id => Ok(Some(id)),
            _ => Ok(None),
        }
    }

    /// Returns the messages of managed conversations to empty, each with its conversation.
    fn messages(&self, selection: &ErasureSelection, origins: &BTreeSet<Origin>) -> Result<BTreeSet<(Ulid, Ulid)>> {
        let mut found = BTreeSet::new();
        for origin in origins {
            let Some(session) = &origin.session else { continue };
            let Some(conversation) = self.conversation_of(session)? else { continue };
            let messages = self.store.messages(conversation)?;
            for message in self.messages_of_origin(origin, &messages)? {
                found.insert((conversation, message));
            }
        }
        if let ErasureSelection::Subject(subject) = selection {
            let subject = folded(subject);
            // The text of a conversation that is left out would stay, so the erasure fails.
            self.store.require_readable_conversations(self.namespace)?;
            for record in self.store.conversations(self.namespace, None, usize::MAX)? {
                for message in self.store.messages(record.id)? {
                    let speaker = message.body.name.as_deref().unwrap_or(message.body.role.label());
                    if folded(speaker) == subject {
                        found.insert((record.id, message.id));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Finds the messages of a managed conversation that an origin stands for.
    ///
    /// A request's messages get their ids directly before its write does, and all have one time. So the message is
    /// found by its position among them, also if it was edited later. Copies on other branches are found by their text.
    fn messages_of_origin(&self, origin: &Origin, messages: &[MessageRecord]) -> Result<BTreeSet<Ulid>> {
        let mut found = BTreeSet::new();
        let mut sent: Vec<&MessageRecord> = Vec::new();
        for message in messages {
            if MessageId::from(message.id) > origin.write {
                break;
            }
            if sent.last().is_some_and(|last| last.created_at_ms != message.created_at_ms) {
                sent.clear();
            }
            sent.push(message);
        }
        if let Some(message) = sent.get(origin.position) {
            found.insert(message.id);
        }
        let kept = self.store.source(self.namespace.id, origin.write)?;
        if let Some(entry) = kept
            && let QueuedWork::Conversation { request } = &entry.work
            && let Some(original) = request.messages.get(origin.position)
            && !original.text.trim().is_empty()
        {
            for message in messages {
                let text = text_and_references(&message.body.content);
                if matches!(text, Ok((text, _)) if text == original.text) {
                    found.insert(message.id);
                }
            }
        }
        Ok(found)
    }

    fn dead_letters(&self, selection: &ErasureSelection, paths: &BTreeSet<String>) -> Result<Vec<MessageId>> {
        let account = &self.namespace.account;
        let mut found = Vec::new();
        for letter in self.store.dead_letters(account, None, usize::MAX)? {
            if letter.namespace_id == self.namespace.id
                && let Some(work) = self.store.dead_letter_work(account, letter.id)?
                && concerns(&work, selection, paths)
            {
                found.push(letter.id);
            }
        }
        Ok(found)
    }
}

impl ErasedVersions {
    fn add(&mut self, path: &str, file: &MemoryFile) {
        for text in cue_texts(&file.front, &file.body) {
            self.texts.insert(sha256(&[text.as_bytes()]));
        }
        for source in &file.front.sources {
            let write = source.write.as_deref().map(str::parse::<MessageId>);
            let (Some(Ok(write)), Ok(position)) = (write, usize::try_from(source.message)) else {
                self.of_unknown_write.insert(path.to_owned());
                continue;
            };
            self.origins.insert(Origin { write, position, session: source.session_id.clone() });
        }
    }
}

fn folded(name: &str) -> String {
    fold(name.trim())
}

fn is_of_session(front: &FrontMatter, session: &str) -> bool {
    front.sources.iter().any(|source| source.session_id.as_deref() == Some(session))
}

/// Whether a memory was stated by a subject, or has a claim about it.
fn is_about(front: &FrontMatter, subject: &str) -> bool {
    if front.speaker.as_deref().is_some_and(|speaker| folded(speaker) == subject) {
        return true;
    }
    front.claims.iter().any(|claim| folded(&claim.subject) == subject)
}

/// Returns what happens to a kept conversation of which some messages are erased: it is deleted if no other message has
/// any content.
fn emptied(entry: &QueueEntry, positions: &BTreeSet<usize>) -> Option<SourceChange> {
    let QueuedWork::Conversation { request } = &entry.work else { return None };
    let mut has_content = false;
    let mut emptied = Vec::new();
    for (position, message) in request.messages.iter().enumerate() {
        if positions.contains(&position) {
            emptied.push(position);
        } else {
            has_content |= !is_empty(message);
        }
    }
    match (emptied.is_empty(), has_content) {
        (true, _) => None,
        (false, true) => Some(SourceChange::Empty(emptied)),
        (false, false) => Some(SourceChange::Delete),
    }
}

fn is_empty(message: &Message) -> bool {
    message.text.trim().is_empty() && message.references.is_empty()
}

/// Whether a write that was not ingested holds selected text. `paths` are the paths of the erased memories.
fn concerns(work: &QueuedWork, selection: &ErasureSelection, paths: &BTreeSet<String>) -> bool {
    match work {
        QueuedWork::Conversation { request } => match selection {
            ErasureSelection::Session(session) => request.session_id.as_ref() == Some(session),
            ErasureSelection::Subject(subject) => {
                let subject = folded(subject);
                request.messages.iter().any(|message| folded(message.speaker()) == subject)
            }
            ErasureSelection::Paths(_) => false,
        },
        QueuedWork::Forget { paths: forgotten } => forgotten.iter().any(|path| paths.contains(path)),
        QueuedWork::Skills { request } => request.iter().any(|skill| paths.contains(&skill.path)),
        // A queued version of a document would bring an erased passage back.
        QueuedWork::Document { request } => {
            let folder = format!("{}/", request.id.folder());
            paths.iter().any(|path| path.starts_with(&folder))
        }
        QueuedWork::Erase { selection: ErasureSelection::Paths(erased) } => {
            erased.iter().any(|path| paths.contains(path))
        }
        QueuedWork::Erase { selection: other } => other == selection,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use cuebase_storage::memory_file::{Claim, Polarity};
    use cuebase_storage::records::{Conversation, Role};

    use super::*;

    fn said(text: &str) -> Message {
        Message {
            role: Role::User,
            name: None,
            text: text.into(),
            references: Vec::new(),
            occurred_at: None,
            store: true,
        }
    }

    fn entry(messages: Vec<Message>) -> QueueEntry {
        QueueEntry {
            id: MessageId::from(Ulid(1)),
            account: Default::default(),
            namespace: Default::default(),
            namespace_id: Default::default(),
            accepted_at_ms: 0,
            accepted_running_ms: 0,
            failures: 0,
            fingerprint: None,
            sender: None,
            work: QueuedWork::Conversation { request: Conversation { messages, ..Conversation::default() } },
        }
    }

    #[test]
    fn a_conversation_is_deleted_when_nothing_of_it_is_left() {
        let kept = entry(vec![said("one"), said(" "), said("three")]);
        assert_eq!(emptied(&kept, &BTreeSet::from([0])), Some(SourceChange::Empty(vec![0])));
        assert_eq!(emptied(&kept, &BTreeSet::from([0, 2])), Some(SourceChange::Delete));
        assert_eq!(emptied(&kept, &BTreeSet::from([7])), None);
    }

    #[test]
    fn speakers_and_subjects_of_claims_are_compared_folded() {
        let spoken = FrontMatter { speaker: Some("Zoë".into()), ..FrontMatter::default() };
        let claim = Claim {
            subject: "ZOE".into(),
            attribute: "home".into(),
            value: "Oban".into(),
            polarity: Polarity::Positive,
            from: None,
        };
        let claimed = FrontMatter { claims: vec![claim], ..FrontMatter::default() };
        for front in [spoken, claimed] {
            assert!(is_about(&front, &folded(" zoe ")), "{front:?}");
            assert!(!is_about(&front, &folded("zo")), "{front:?}");
        }
    }

    #[test]
    fn a_write_concerns_the_session_or_the_paths_that_it_names() {
        let paths = BTreeSet::from(["facts/a.md".to_owned()]);
        let session = ErasureSelection::Session("s1".into());
        let conversation = Conversation { session_id: Some("s1".into()), ..Conversation::default() };
        let work = QueuedWork::Conversation { request: conversation };
        assert!(concerns(&work, &session, &paths));
        assert!(!concerns(&work, &ErasureSelection::Session("s2".into()), &paths));
        assert!(concerns(&QueuedWork::Forget { paths: vec!["facts/a.md".into()] }, &session, &paths));
        assert!(!concerns(&QueuedWork::Forget { paths: vec!["facts/b.md".into()] }, &session, &paths));
        assert!(concerns(&QueuedWork::Erase { selection: session.clone() }, &session, &paths));
    }
}
