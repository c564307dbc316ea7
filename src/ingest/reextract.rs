//! The plan of a re-extraction: which memories it replaces, and by which drafts.
//!
//! A memory is replaced if it is unchanged since the ingestion of its source: all its sources and the last commit that
//! changed it belong to that write. Any other memory that the write changed is *settled*: it was edited or forgotten,
//! or another write rewrote it. Messages of a settled memory yield no new memories, and memories that share a message
//! with it stay. Thus no correction is undone, and no forgotten memory comes back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cuebase_language::extract::draft::Draft;
use cuebase_storage::memory_file::{MemoryFile, SourceMessage};
use jiff::Timestamp;

use super::answered::{Answered, is_answer, is_removal_of};
use super::commits::{SOURCE_TRAILER, is_commit_of};
use super::session::{PreviousWrite, SessionTail, link_to_previous};
use crate::error::Result;
use crate::ingest::model_extract::plan::EXTRACTOR_TRAILER;
use crate::memory::files::Origin;
use crate::namespace::plan::{Content, Plan, PlanContext, PlannedFile};

/// Versions of a settled memory that are searched for its messages.
const VERSIONS_MAX: usize = 20;

/// The replacement of a write's memories by those of a re-extraction.
pub struct Replacement<'a> {
    /// The write that carried the conversation.
    pub origin: Origin<'a>,
    /// The drafts of the new extraction.
    pub drafts: &'a [Draft],
    /// The message before the write that needs no memory of its own any more, by its index in `tail`.
    pub answered: Option<usize>,
    /// The messages of the session before the write.
    pub tail: &'a SessionTail,
    /// The paths that the write and its earlier re-extractions changed.
    pub paths: &'a [String],
    /// The write before it in its session.
    pub previous: Option<&'a PreviousWrite>,
    /// The model and the version of the prompt; none for the built-in extractor.
    pub extractor: Option<&'a str>,
    /// The time of ingestion.
    pub now: Timestamp,
}

/// The state of a path that the write changed.
enum PathState {
    /// The memory is unchanged since the write.
    Unchanged(Box<MemoryFile>),
    /// A re-extraction removed the memory, or a later write that answers its question.
    Removed,
    /// The memory was changed or forgotten later. These messages of the write are its sources.
    Settled(BTreeSet<u64>),
}

/// The memories that may be replaced, by path.
type Former = BTreeMap<String, MemoryFile>;

impl Replacement<'_> {
    /// Plans the files that differ from the present ones.
    pub fn plan(&self, context: &mut PlanContext<'_>) -> Result<Plan> {
        let answered = Answered::find(context, self.tail, self.answered)?;
        let follows = link_to_previous(context, self.previous, &answered.paths)?;
        let origin = Origin { follows: follows.as_ref(), ..self.origin };
        let mut former = Former::new();
        let mut settled = BTreeSet::new();
        for path in self.paths {
            match self.path_state(context, path)? {
                PathState::Unchanged(file) => drop(former.insert(path.clone(), *file)),
                PathState::Removed => {}
                // Its messages are unknown, so no memory of the conversation may be replaced.
                PathState::Settled(messages) if messages.is_empty() => return Ok(self.plan_with(Vec::new())),
                PathState::Settled(messages) => settled.extend(messages),
            }
        }
        let drafts = exclude_settled(self.drafts, &mut former, settled);
        let paths = assign_paths(context, &drafts, &former)?;
        let mut files = Vec::new();
        for (path, draft) in paths.iter().zip(&drafts) {
            let mut file = origin.file_of(draft, &paths, self.now);
            if let Some(former) = former.remove(path) {
                file.front.created_at = former.front.created_at;
                if is_unchanged(context, path, &file, &former)? {
                    continue;
                }
            }
            files.push(PlannedFile::memory(path.clone(), file));
        }
        for path in former.into_keys().chain(answered.paths.iter().cloned()) {
            files.push(PlannedFile::removal(path));
        }
        let mut plan = self.plan_with(files);
        answered.note(&mut plan);
        Ok(plan)
    }

    fn plan_with(&self, files: Vec<PlannedFile>) -> Plan {
        let forgotten = files.iter().filter(|file| file.content.is_none()).count();
        let subject = format!("Extract again: remember {}, forget {forgotten}", files.len() - forgotten);
        let mut plan = Plan::new(subject, files);
        plan.trailers.push((SOURCE_TRAILER.to_owned(), self.origin.write.to_string()));
        if let Some(extractor) = self.extractor {
            plan.trailers.push((EXTRACTOR_TRAILER.to_owned(), extractor.to_owned()));
        }
        plan
    }

    /// Whether all sources of a memory are messages of the write, or messages before it that the memory quotes.
    fn has_only_its_sources(&self, file: &MemoryFile, write: &str) -> bool {
        let Some(first) = file.front.sources.first() else { return false };
        let is_its =
            |source: &SourceMessage| source.write.as_deref() == Some(write) || self.origin.before.contains(source);
        first.write.as_deref() == Some(write) && file.front.sources.iter().all(is_its)
    }

    /// Whether all that the write did to a path was to remove the memory of a question that it answers.
    fn only_answered(&self, context: &PlanContext<'_>, path: &str, write: &str) -> Result<bool> {
        let changes = context.changes(path, VERSIONS_MAX)?;
        let mut own = changes.iter().filter(|commit| is_commit_of(commit, write)).peekable();
        Ok(own.peek().is_some() && own.all(is_answer))
    }

    fn path_state(&self, context: &mut PlanContext<'_>, path: &str) -> Result<PathState> {
        let write = self.origin.write.to_string();
        let last_change = context.last_change(path)?;
        let is_answered = last_change.as_ref().is_some_and(|commit| is_removal_of(commit, &write));
        let is_last_change = last_change.as_ref().is_some_and(|commit| is_commit_of(commit, &write));
        let present = context.memory(path)?;
        if is_last_change || is_answered {
            match present {
                Some(file) if self.has_only_its_sources(&file, &write) => {
                    return Ok(PathState::Unchanged(Box::new(file)));
                }
                None if !context.contains(path)? => return Ok(PathState::Removed),
                _ => {}
            }
        }
        let mut messages = BTreeSet::new();
        for version in context.versions(path, VERSIONS_MAX)? {
            messages.extend(messages_of(&version, &write));
        }
        if messages.is_empty() && self.only_answered(context, path, &write)? {
            return Ok(PathState::Removed);
        }
        Ok(PathState::Settled(messages))
    }
}

/// Returns the messages of a write that are sources of a memory.
fn messages_of(file: &MemoryFile, write: &str) -> BTreeSet<u64> {
    let mut messages = BTreeSet::new();
    for source in &file.front.sources {
        if source.write.as_deref() == Some(write) {
            messages.insert(source.message);
        }
    }
    messages
}

fn draft_messages(draft: &Draft) -> BTreeSet<u64> {
    draft.messages.iter().map(|message| *message as u64).collect()
}

/// Returns the messages of a former memory in its own write, which is that of its first source. The messages of other
/// writes are those that it quotes.
fn file_messages(file: &MemoryFile) -> BTreeSet<u64> {
    let sources = &file.front.sources;
    let own = sources.first().and_then(|source| source.write.as_ref());
    sources.iter().filter(|source| source.write.as_ref() == own).map(|source| source.message).collect()
}

/// Whether a new file equals the present one at a path, except for the time of the last update.
fn is_unchanged(context: &mut PlanContext<'_>, path: &str, new: &MemoryFile, former: &MemoryFile) -> Result<bool> {
    let mut file = new.clone();
    file.front.updated_at = former.front.updated_at;
    context.holds(path, &Content::Memory(Box::new(file)))
}

/// Excludes drafts and former memories that share a message with a settled memory, directly or through another one.
/// Returns the remaining drafts.
fn exclude_settled(drafts: &[Draft], former: &mut Former, mut settled: BTreeSet<u64>) -> Vec<Draft> {
    let mut is_excluded = vec![false; drafts.len()];
    loop {
        let before = settled.len();
        for (draft, is_excluded) in drafts.iter().zip(&mut is_excluded) {
            let messages = draft_messages(draft);
            if !*is_excluded && !messages.is_disjoint(&settled) {
                *is_excluded = true;
                settled.extend(messages);
            }
        }
        former.retain(|_, file| {
            let messages = file_messages(file);
            let stays = messages.is_disjoint(&settled);
            if !stays {
                settled.extend(messages);
            }
            stays
        });
        if settled.len() == before {
            break;
        }
    }
    remaining_drafts(drafts, &is_excluded)
}

/// Returns the drafts that are not excluded. Their links use the new indexes; links to excluded drafts are removed.
fn remaining_drafts(drafts: &[Draft], is_excluded: &[bool]) -> Vec<Draft> {
    let mut new_indexes = Vec::with_capacity(drafts.len());
    let mut count = 0;
    for is_excluded in is_excluded {
        new_indexes.push(count);
        count += usize::from(!is_excluded);
    }
    let mut remaining = Vec::with_capacity(count);
    for (index, draft) in drafts.iter().enumerate() {
        if is_excluded[index] {
            continue;
        }
        let mut draft = draft.clone();
        draft.links.retain(|link| is_excluded.get(link.draft) == Some(&false));
        for link in &mut draft.links {
            link.draft = new_indexes[link.draft];
        }
        remaining.push(draft);
    }
    remaining
}

/// The key by which drafts are matched with former memories.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct MatchKey {
    tier: String,
    messages: BTreeSet<u64>,
    /// Empty if only the messages must match.
    body: String,
}

impl MatchKey {
    fn of_file(path: &str, file: &MemoryFile) -> Self {
        let tier = path.split('/').next().unwrap_or(path).to_owned();
        Self { tier, messages: file_messages(file), body: file.body.trim_end().to_owned() }
    }

    fn of_draft(draft: &Draft) -> Self {
        let body = draft.body.trim_end().to_owned();
        Self { tier: draft.tier.name().to_owned(), messages: draft_messages(draft), body }
    }

    fn without_body(mut self) -> Self {
        self.body.clear();
        self
    }
}

/// The paths of former memories that are not assigned yet.
type FreePaths<'a> = BTreeMap<MatchKey, VecDeque<&'a str>>;

/// Returns a path for each draft: that of a former memory with the same text, else that of one with the same messages,
/// else a new one.
fn assign_paths(context: &mut PlanContext<'_>, drafts: &[Draft], former: &Former) -> Result<Vec<String>> {
    let mut by_body = FreePaths::new();
    for (path, file) in former {
        by_body.entry(MatchKey::of_file(path, file)).or_default().push_back(path);
    }
    let mut assigned: Vec<Option<&str>> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        assigned.push(take_path(&mut by_body, &MatchKey::of_draft(draft)));
    }
    let mut by_messages = FreePaths::new();
    for (key, paths) in by_body {
        by_messages.entry(key.without_body()).or_default().extend(paths);
    }
    let mut others = Vec::new();
    for (draft, path) in drafts.iter().zip(&mut assigned) {
        if path.is_none() {
            *path = take_path(&mut by_messages, &MatchKey::of_draft(draft).without_body());
        }
        if path.is_none() {
            others.push(draft.clone());
        }
    }
    let mut new_paths = context.assign_paths(&others)?.into_iter();
    let mut paths = Vec::with_capacity(drafts.len());
    for path in assigned {
        match path {
            Some(path) => paths.push(path.to_owned()),
            None => paths.extend(new_paths.next()),
        }
    }
    Ok(paths)
}

fn take_path<'a>(paths: &mut FreePaths<'a>, key: &MatchKey) -> Option<&'a str> {
    paths.get_mut(key)?.pop_front()
}

#[cfg(test)]
mod tests {
    use cuebase_language::text::steps::Steps;
    use cuebase_storage::memory_file::RelationKind;

    use cuebase_storage::MessageId;

    use super::*;
    use crate::ingest::extraction::extract;
    use crate::memory::conversation::Conversation;
    use crate::memory::request::conversation;

    /// Statements that become one memory each.
    const SAID: [&str; 3] = [
        "The lighthouse keeper is called Agatha",
        "The baker in Oban closes on Tuesdays",
        "The ferry to Skye leaves at nine",
    ];

    fn said(texts: &[&str]) -> Conversation {
        let messages: Vec<serde_json::Value> =
            texts.iter().map(|text| serde_json::json!({"role": "user", "content": text})).collect();
        let body = serde_json::json!({"messages": messages});
        conversation(body.as_object().expect("an object")).expect("a conversation")
    }

    fn drafts(conversation: &Conversation) -> Vec<Draft> {
        extract(conversation, Timestamp::UNIX_EPOCH, &Steps::unlimited()).expect("not interrupted").drafts
    }

    #[test]
    fn memories_that_share_a_message_with_a_settled_one_stay() {
        let conversation = said(&SAID);
        let mut drafts = drafts(&conversation);
        assert_eq!(drafts.len(), 3);
        // The first draft is made from a settled message and from the second one.
        drafts[0].messages = vec![0, 1];
        let origin = Origin { write: MessageId::default(), conversation: &conversation, before: &[], follows: None };
        let mut former = Former::new();
        for (number, draft) in drafts.iter().enumerate() {
            former.insert(format!("facts/{number}.md"), origin.file_of(draft, &[], Timestamp::UNIX_EPOCH));
        }
        let remaining = exclude_settled(&drafts, &mut former, BTreeSet::from([0]));
        assert_eq!(remaining.iter().map(|draft| draft.messages.clone()).collect::<Vec<_>>(), [vec![2]]);
        assert_eq!(former.keys().collect::<Vec<_>>(), ["facts/2.md"]);
    }

    #[test]
    fn links_to_excluded_drafts_are_removed() {
        let conversation = said(&SAID);
        let mut drafts = drafts(&conversation);
        for draft in &mut drafts {
            draft.links.clear();
        }
        let link = |draft| cuebase_language::extract::draft::Link {
            draft,
            kind: RelationKind::Follows,
            snippet: String::new(),
        };
        drafts[2].links = vec![link(0), link(1)];
        let remaining = remaining_drafts(&drafts, &[true, false, false]);
        assert_eq!(remaining[1].links, [link(0)]);
    }
}
