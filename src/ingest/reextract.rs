//! Which memories a repeated extraction replaces, and by what.
//!
//! A memory is replaced where it is as the ingestion of its source left it: all its sources are of that write, and the
//! commit that changed it last is of that write, too. Any other memory that the write once changed is *settled*: somebody
//! edited or forgot it, or another write rewrote it. Nothing is made of the messages of a settled memory, and what shares a
//! message with it stays, so that a correction is not undone and a forgotten memory does not come back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cuebase_storage::git::CommitInfo;
use cuebase_storage::memory_file::MemoryFile;
use jiff::Timestamp;

use crate::error::Result;
use crate::ingest::model_extract::plan::EXTRACTOR_TRAILER;
use crate::memory::draft::Draft;
use crate::memory::files::Origin;
use crate::namespace::plan::{Content, Plan, PlanContext};
use crate::namespace::sync::MESSAGE_TRAILER;

/// The trailer that names the write whose conversation was extracted again.
const SOURCE_TRAILER: &str = "Cuebase-Source";
/// Versions of a settled memory in which its messages are looked for.
const VERSIONS_MAX: usize = 20;

/// A repeated extraction.
pub struct Replacement<'a> {
    /// The write that carried the conversation.
    pub origin: Origin<'a>,
    /// What the conversation came to.
    pub drafts: &'a [Draft],
    /// The paths that the write changed, and that earlier repetitions did.
    pub paths: &'a [String],
    /// The model and the version of the prompt.
    pub extractor: Option<&'a str>,
    /// The time of ingestion.
    pub now: Timestamp,
}

/// What is at a path that the write changed.
enum Standing {
    /// A memory as the write left it.
    Untouched(Box<MemoryFile>),
    /// Nothing: a repetition removed it.
    Removed,
    /// A memory that somebody changed or forgot, made from these messages.
    Settled(BTreeSet<u64>),
}

/// The memories that may be replaced, by path.
type Former = BTreeMap<String, MemoryFile>;

impl Replacement<'_> {
    /// Files that differ from what is there; none where nothing does.
    pub fn plan(&self, context: &mut PlanContext<'_>) -> Result<Plan> {
        let mut former = Former::new();
        let mut settled = BTreeSet::new();
        for path in self.paths {
            match self.standing(context, path)? {
                Standing::Untouched(file) => drop(former.insert(path.clone(), *file)),
                Standing::Removed => {}
                // What it was made from is not known any more: nothing of the conversation may be made again.
                Standing::Settled(messages) if messages.is_empty() => return Ok(self.plan_of(Vec::new())),
                Standing::Settled(messages) => settled.extend(messages),
            }
        }
        let drafts = leave_settled(self.drafts, &mut former, settled);
        let paths = place(context, &drafts, &former)?;
        let mut files = Vec::new();
        for (path, draft) in paths.iter().zip(&drafts) {
            let mut file = self.origin.file_of(draft, &paths, self.now);
            if let Some(former) = former.remove(path) {
                file.front.created_at = former.front.created_at;
                // Where nothing else differs, it was not rewritten.
                let rewritten_at = file.front.updated_at;
                file.front.updated_at = former.front.updated_at;
                if context.holds(path, &Content::Memory(Box::new(file.clone())))? {
                    continue;
                }
                file.front.updated_at = rewritten_at;
            }
            files.push((path.clone(), Some(Content::Memory(Box::new(file)))));
        }
        for path in former.into_keys() {
            files.push((path, None));
        }
        Ok(self.plan_of(files))
    }

    fn plan_of(&self, files: Vec<(String, Option<Content>)>) -> Plan {
        let forgotten = files.iter().filter(|(_, content)| content.is_none()).count();
        let subject = format!("Extract again: remember {}, forget {forgotten}", files.len() - forgotten);
        let mut plan = Plan::new(subject, files);
        plan.trailers.push((SOURCE_TRAILER.to_owned(), self.origin.write.to_string()));
        if let Some(extractor) = self.extractor {
            plan.trailers.push((EXTRACTOR_TRAILER.to_owned(), extractor.to_owned()));
        }
        plan
    }

    fn standing(&self, context: &mut PlanContext<'_>, path: &str) -> Result<Standing> {
        let write = self.origin.write.to_string();
        let is_ours = context.last_change(path)?.is_some_and(|commit| is_of(&commit, &write));
        let present = context.memory(path)?;
        if is_ours {
            match present {
                Some(file) if is_of_alone(&file, &write) => return Ok(Standing::Untouched(Box::new(file))),
                None if !context.contains(path)? => return Ok(Standing::Removed),
                _ => {}
            }
        }
        let mut messages = BTreeSet::new();
        for version in context.versions(path, VERSIONS_MAX)? {
            messages.extend(messages_of(&version, &write));
        }
        Ok(Standing::Settled(messages))
    }
}

/// Whether a commit is of the ingestion of a write, or of a repetition. A push cannot bring such a commit: one that names a
/// message is refused.
fn is_of(commit: &CommitInfo, write: &str) -> bool {
    match commit.trailer(MESSAGE_TRAILER) {
        Some(message) => message == write || commit.trailer(SOURCE_TRAILER) == Some(write),
        None => false,
    }
}

/// Whether a memory was made from one write and from nothing else.
fn is_of_alone(file: &MemoryFile, write: &str) -> bool {
    let sources = &file.front.sources;
    !sources.is_empty() && sources.iter().all(|source| source.write.as_deref() == Some(write))
}

/// The messages of a write that a memory was made from.
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

fn file_messages(file: &MemoryFile) -> BTreeSet<u64> {
    file.front.sources.iter().map(|source| source.message).collect()
}

/// Takes everything out of the former memories, and returns the drafts without everything, that shares a message with what
/// is settled, directly or through another one.
fn leave_settled(drafts: &[Draft], former: &mut Former, mut settled: BTreeSet<u64>) -> Vec<Draft> {
    let mut is_left = vec![false; drafts.len()];
    loop {
        let before = settled.len();
        for (draft, is_left) in drafts.iter().zip(&mut is_left) {
            let messages = draft_messages(draft);
            if !*is_left && !messages.is_disjoint(&settled) {
                *is_left = true;
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
    without(drafts, &is_left)
}

/// The drafts that are not left out, their links to each other pointing at their new places.
fn without(drafts: &[Draft], is_left: &[bool]) -> Vec<Draft> {
    let mut places = Vec::with_capacity(drafts.len());
    let mut kept = 0;
    for is_left in is_left {
        places.push((!is_left).then_some(kept));
        kept += usize::from(!is_left);
    }
    let mut remaining = Vec::with_capacity(kept);
    for (draft, is_left) in drafts.iter().zip(is_left) {
        if *is_left {
            continue;
        }
        let mut draft = draft.clone();
        draft.links.retain_mut(|link| match places.get(link.draft).copied().flatten() {
            Some(place) => {
                link.draft = place;
                true
            }
            None => false,
        });
        remaining.push(draft);
    }
    remaining
}

/// What a former memory and a draft have in common where one takes the other's place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    tier: String,
    messages: BTreeSet<u64>,
    /// Empty where only the messages count.
    body: String,
}

impl Said {
    fn by_file(path: &str, file: &MemoryFile) -> Self {
        let tier = path.split('/').next().unwrap_or_default().to_owned();
        Self { tier, messages: file_messages(file), body: file.body.trim_end().to_owned() }
    }

    fn by_draft(draft: &Draft) -> Self {
        let body = draft.body.trim_end().to_owned();
        Self { tier: draft.tier.name().to_owned(), messages: draft_messages(draft), body }
    }

    fn without_body(mut self) -> Self {
        self.body.clear();
        self
    }
}

/// A path for each draft: that of a former memory which says the same, else of one that was made from the same messages,
/// else a new one.
fn place(context: &mut PlanContext<'_>, drafts: &[Draft], former: &Former) -> Result<Vec<String>> {
    let mut by_body: BTreeMap<Said, VecDeque<&str>> = BTreeMap::new();
    for (path, file) in former {
        by_body.entry(Said::by_file(path, file)).or_default().push_back(path);
    }
    let mut placed: Vec<Option<&str>> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        placed.push(by_body.get_mut(&Said::by_draft(draft)).and_then(VecDeque::pop_front));
    }
    let mut by_messages: BTreeMap<Said, VecDeque<&str>> = BTreeMap::new();
    for (said, paths) in by_body {
        by_messages.entry(said.without_body()).or_default().extend(paths);
    }
    let mut others = Vec::new();
    for (draft, placed) in drafts.iter().zip(&mut placed) {
        if placed.is_none() {
            let said = Said::by_draft(draft).without_body();
            *placed = by_messages.get_mut(&said).and_then(VecDeque::pop_front);
        }
        if placed.is_none() {
            others.push(draft.clone());
        }
    }
    let mut named = context.name(&others)?.into_iter();
    let mut paths = Vec::with_capacity(drafts.len());
    for placed in placed {
        paths.extend(placed.map(str::to_owned).or_else(|| named.next()));
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::extract::extract;
    use crate::memory::conversation::Conversation;
    use crate::memory::request::conversation;
    use crate::text::steps::Steps;
    use ulid::Ulid;

    /// Statements, each of which is a memory.
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
        extract(conversation, Timestamp::UNIX_EPOCH, &Steps::unlimited()).expect("nothing interrupts")
    }

    #[test]
    fn what_shares_a_message_with_a_settled_memory_stays_as_it_is() {
        let conversation = said(&SAID);
        let mut drafts = drafts(&conversation);
        assert_eq!(drafts.len(), 3);
        // The first draft is made from a settled message and from the second one.
        drafts[0].messages = vec![0, 1];
        let origin = Origin { write: Ulid::nil(), conversation: &conversation };
        let mut former = Former::new();
        for (number, draft) in drafts.iter().enumerate() {
            former.insert(format!("facts/{number}.md"), origin.file_of(draft, &[], Timestamp::UNIX_EPOCH));
        }
        let remaining = leave_settled(&drafts, &mut former, BTreeSet::from([0]));
        assert_eq!(remaining.iter().map(|draft| draft.messages.clone()).collect::<Vec<_>>(), [vec![2]]);
        assert_eq!(former.keys().collect::<Vec<_>>(), ["facts/2.md"]);
    }

    #[test]
    fn links_to_drafts_that_are_left_out_go_and_others_point_at_the_new_places() {
        let conversation = said(&SAID);
        let mut drafts = drafts(&conversation);
        for draft in &mut drafts {
            draft.links.clear();
        }
        let link = |draft| crate::memory::draft::Link { draft, kind: "follows", snippet: String::new() };
        drafts[2].links = vec![link(0), link(1)];
        let remaining = without(&drafts, &[true, false, false]);
        assert_eq!(remaining[1].links, [link(0)]);
    }
}
