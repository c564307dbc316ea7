//! The plans that store a document as one memory per passage, and remove it.
//!
//! A passage whose text was in the document before keeps its path, wherever it moved to. A changed one takes the path of
//! a passage under the same headings whose text is gone. So a new version of a document changes what differs and
//! nothing else, and the history of a path is that of its passage.

use std::collections::{HashMap, HashSet, VecDeque};

use cuebase_language::text::steps::Steps;
use cuebase_storage::memory_file::{
    DocumentId, DocumentPlace, FrontMatter, MemoryFile, OccurredPrecision, OccurredSource,
};
use cuebase_storage::records::{DocumentDraft, PassageDraft};
use data_encoding::HEXLOWER;
use jiff::Timestamp;

use crate::error::Result;
use crate::memory::conversation::Moment;
use crate::memory::file_names::{free_name, slug};
use crate::memory::files;
use crate::namespace::plan::{Plan, PlanContext, PlannedFile};
use crate::sha256::sha256;

/// Passages that are embedded in one call, so that progress is reported in between.
pub const PASSAGES_PER_CALL: usize = 64;
/// Bytes of the hash of a name that an id cannot have in full.
const HASH_BYTES: usize = 4;
/// Separates the headings in the title of a memory.
const TITLE_SEPARATOR: &str = " › ";

/// A passage that is stored.
struct StoredPassage {
    path: String,
    file: MemoryFile,
}

/// What becomes of a passage of the new version.
enum Match {
    /// The stored passage with this index has its text.
    Same(usize),
    /// It replaces the text of the stored passage with this index.
    Changed(usize),
    /// It gets a path of its own.
    New,
}

/// The number of passages of each kind, for the commit's message.
#[derive(Default)]
struct Counts {
    new: usize,
    changed: usize,
    moved: usize,
    removed: usize,
    unchanged: usize,
}

/// Plans the files of a document. Passages of an earlier version that are gone are removed.
///
/// # Errors
///
/// Those of reading the namespace, and that of `steps`, which counts the characters of stored and new passages.
pub fn store(context: &mut PlanContext<'_>, draft: &DocumentDraft, now: Timestamp, steps: &Steps<'_>) -> Result<Plan> {
    let paths = context.files_below(&draft.id.folder())?;
    let stored = stored_passages(context, &draft.id, &paths, steps)?;
    let mut taken: HashSet<String> = paths.into_iter().collect();
    let matches = match_passages(&draft.passages, &draft.name, &stored);
    let mut is_kept = vec![false; stored.len()];
    let mut files = Vec::new();
    let mut counts = Counts::default();
    for (position, (passage, matched)) in draft.passages.iter().zip(matches).enumerate() {
        steps.take(passage.text.len())?;
        let place = place_of(draft, passage, position);
        let file = match matched {
            Match::Same(index) => {
                is_kept[index] = true;
                let StoredPassage { path, file: former } = &stored[index];
                let file = moved_file(draft, place, former);
                if file == *former {
                    counts.unchanged += 1;
                    continue;
                }
                counts.moved += 1;
                PlannedFile::memory(path.clone(), file)
            }
            Match::Changed(index) => {
                is_kept[index] = true;
                counts.changed += 1;
                let StoredPassage { path, file: former } = &stored[index];
                PlannedFile::memory(path.clone(), new_file(draft, passage, place, Some(&former.front), now))
            }
            Match::New => {
                counts.new += 1;
                let path = new_path(&draft.id, passage, &taken)?;
                taken.insert(path.clone());
                PlannedFile::memory(path, new_file(draft, passage, place, None, now))
            }
        };
        files.push(file);
    }
    for (StoredPassage { path, .. }, is_kept) in stored.into_iter().zip(is_kept) {
        if !is_kept {
            counts.removed += 1;
            files.push(PlannedFile::removal(path));
        }
    }
    let Counts { new, changed, moved, removed, unchanged } = counts;
    let subject = format!(
        "Store document {}: {new} new, {changed} changed, {moved} moved, {removed} removed, {unchanged} unchanged passages",
        draft.id
    );
    Ok(Plan::new(subject, files))
}

/// Plans the removal of all passages of a document. The plan of an unknown document is empty.
///
/// # Errors
///
/// Those of reading the namespace, and that of `steps`, which counts the characters of stored passages.
pub fn forget(context: &mut PlanContext<'_>, document: &DocumentId, steps: &Steps<'_>) -> Result<Plan> {
    let paths = context.files_below(&document.folder())?;
    let stored = stored_passages(context, document, &paths, steps)?;
    let subject = format!("Forget document {document}: {} passages", stored.len());
    let removals = stored.into_iter().map(|passage| PlannedFile::removal(passage.path)).collect();
    Ok(Plan::new(subject, removals))
}

/// Returns the id of a document that has none, made of the name of its file. A name that a path cannot have in full gets
/// a hash, so that other names get other ids. Returns `None` for a name without a letter or digit.
pub fn id_of_name(name: &str) -> Option<DocumentId> {
    let mut id = slug(name, "");
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
    let all = letters(&cuebase_language::tokenize::fold(name));
    if all == 0 {
        return None;
    }
    if letters(&id) < all {
        let hash = HEXLOWER.encode(&sha256(&[name.as_bytes()])[..HASH_BYTES]);
        id = if id.is_empty() { hash } else { format!("{id}-{hash}") };
    }
    id.parse().ok()
}

/// Returns the texts of each passage that are embedded.
pub fn cue_texts(draft: &DocumentDraft, passages: &[PassageDraft]) -> Vec<String> {
    let mut texts = Vec::new();
    for passage in passages {
        texts.extend(files::cue_texts(&FrontMatter::default(), &body_of(passage, &draft.name)));
    }
    texts
}

/// Returns the memories of a document among the files of its directory. Other memories in it belong to somebody else,
/// and so do those that were pushed after the document was accepted: this write changes neither.
fn stored_passages(
    context: &mut PlanContext<'_>,
    document: &DocumentId,
    paths: &[String],
    steps: &Steps<'_>,
) -> Result<Vec<StoredPassage>> {
    let mut stored = Vec::new();
    for path in paths {
        if context.is_written_later(path)? {
            continue;
        }
        let Some(file) = context.memory(path)? else { continue };
        steps.take(file.body.len())?;
        if file.front.document.as_ref().is_some_and(|place| place.id == *document) {
            stored.push(StoredPassage { path: path.clone(), file });
        }
    }
    // In the order of the document, so that of several equal passages the first keeps its path.
    stored.sort_by_key(|passage| passage.file.front.document.as_ref().map(|place| place.position));
    Ok(stored)
}

/// Finds the stored passage of each new one: first those with the same text, then those under the same headings.
fn match_passages(passages: &[PassageDraft], name: &str, stored: &[StoredPassage]) -> Vec<Match> {
    let mut by_body: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (index, passage) in stored.iter().enumerate() {
        by_body.entry(&passage.file.body).or_default().push_back(index);
    }
    let mut matches = Vec::with_capacity(passages.len());
    let mut is_matched = vec![false; stored.len()];
    for passage in passages {
        let same = by_body.get_mut(body_of(passage, name).as_str()).and_then(VecDeque::pop_front);
        matches.push(match same {
            Some(index) => {
                is_matched[index] = true;
                Match::Same(index)
            }
            None => Match::New,
        });
    }
    let mut by_titles: HashMap<&[String], VecDeque<usize>> = HashMap::new();
    for (index, passage) in stored.iter().enumerate() {
        if let Some(place) = &passage.file.front.document
            && !is_matched[index]
        {
            by_titles.entry(&place.titles).or_default().push_back(index);
        }
    }
    for (passage, matched) in passages.iter().zip(&mut matches) {
        if matches!(matched, Match::New)
            && let Some(index) = by_titles.get_mut(passage.titles.as_slice()).and_then(VecDeque::pop_front)
        {
            *matched = Match::Changed(index);
        }
    }
    matches
}

fn place_of(draft: &DocumentDraft, passage: &PassageDraft, position: usize) -> DocumentPlace {
    DocumentPlace {
        id: draft.id.clone(),
        name: draft.name.clone(),
        titles: passage.titles.clone(),
        position: u32::try_from(position).unwrap_or(u32::MAX),
        page: passage.page,
        line: passage.line,
    }
}

/// Returns the body of a passage: the headings above it as the title, then its text.
fn body_of(passage: &PassageDraft, name: &str) -> String {
    let title = match passage.titles.as_slice() {
        [] => name.to_owned(),
        titles => titles.join(TITLE_SEPARATOR),
    };
    format!("# {title}\n\n{}\n", passage.text)
}

/// Returns the file of a passage whose text stays. Fields that somebody else set stay too.
fn moved_file(draft: &DocumentDraft, place: DocumentPlace, former: &MemoryFile) -> MemoryFile {
    let mut file = former.clone();
    file.front.document = Some(place);
    file.front.tags = draft.tags.clone();
    file.front.metadata = draft.metadata.clone();
    if let Some(moment) = draft.occurred {
        set_occurred(&mut file.front, moment, OccurredSource::User);
    }
    file
}

fn new_file(
    draft: &DocumentDraft,
    passage: &PassageDraft,
    place: DocumentPlace,
    former: Option<&FrontMatter>,
    now: Timestamp,
) -> MemoryFile {
    let mut front = FrontMatter {
        tags: draft.tags.clone(),
        metadata: draft.metadata.clone(),
        created_at: Some(now),
        updated_at: Some(now),
        document: Some(place),
        ..FrontMatter::default()
    };
    if let Some(former) = former {
        front.created_at = former.created_at.or(front.created_at);
        front.other = former.other.clone();
    }
    match draft.occurred {
        Some(moment) => set_occurred(&mut front, moment, OccurredSource::User),
        None => {
            let moment = Moment { at: now, precision: OccurredPrecision::default() };
            set_occurred(&mut front, moment, OccurredSource::Written);
        }
    }
    MemoryFile { front, body: body_of(passage, &draft.name) }
}

fn set_occurred(front: &mut FrontMatter, moment: Moment, source: OccurredSource) {
    front.occurred_at = Some(moment.at);
    front.occurred_precision = Some(moment.precision);
    front.occurred_source = Some(source);
}

/// Returns an unused path for a passage: below the outermost of several headings, named after the innermost.
fn new_path(document: &DocumentId, passage: &PassageDraft, taken: &HashSet<String>) -> Result<String> {
    let folder = match passage.titles.as_slice() {
        [outermost, _, ..] => format!("{}/{}", document.folder(), slug(outermost, "section")),
        _ => document.folder(),
    };
    let stem = match (passage.titles.last(), passage.page) {
        (Some(title), _) => slug(title, "section"),
        (None, Some(page)) => format!("page-{page}"),
        (None, None) => "passage".to_owned(),
    };
    let name = free_name(&stem, |name| -> Result<bool> { Ok(!taken.contains(&format!("{folder}/{name}"))) })?;
    Ok(format!("{folder}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(titles: &[&str], text: &str) -> PassageDraft {
        let titles = titles.iter().map(|title| (*title).to_owned()).collect();
        PassageDraft { titles, text: text.to_owned(), ..PassageDraft::default() }
    }

    fn stored(passages: &[PassageDraft]) -> Vec<StoredPassage> {
        let draft = DocumentDraft {
            id: "guide".parse().expect("an id"),
            name: "guide.md".into(),
            tags: Vec::new(),
            metadata: Default::default(),
            occurred: None,
            passages: passages.to_vec(),
        };
        let mut stored = Vec::new();
        for (position, passage) in passages.iter().enumerate() {
            let place = place_of(&draft, passage, position);
            let file = new_file(&draft, passage, place, None, Timestamp::UNIX_EPOCH);
            stored.push(StoredPassage { path: format!("facts/documents/guide/{position}.md"), file });
        }
        stored
    }

    fn matched(before: &[PassageDraft], after: &[PassageDraft]) -> String {
        let mut text = String::new();
        for matched in match_passages(after, "guide.md", &stored(before)) {
            text.push_str(&match matched {
                Match::Same(index) => format!("={index} "),
                Match::Changed(index) => format!("~{index} "),
                Match::New => "+ ".to_owned(),
            });
        }
        text
    }

    #[test]
    fn only_passages_that_differ_change() {
        let (a, b, c) = (passage(&["A"], "one"), passage(&["B"], "two"), passage(&["B"], "three"));
        let before = [a.clone(), b.clone(), c.clone()];
        assert_eq!(matched(&before, &before), "=0 =1 =2 ");
        // A passage is inserted, another one changes.
        let after = [passage(&["New"], "zero"), a.clone(), passage(&["B"], "2"), c.clone()];
        assert_eq!(matched(&before, &after), "+ =0 ~1 =2 ");
        // Passages change their places.
        assert_eq!(matched(&before, &[c, a]), "=2 =0 ");
        // A section gets more passages.
        assert_eq!(
            matched(std::slice::from_ref(&b), &[passage(&["B"], "x"), b.clone(), passage(&["B"], "y")]),
            "+ =0 + "
        );
    }

    #[test]
    fn names_that_differ_have_ids_that_differ() {
        let id = |name: &str| id_of_name(name).expect(name).to_string();
        assert_eq!(id("Handbook 2026.pdf"), "handbook-2026-pdf");
        assert_eq!(id("Übersicht.md"), "ubersicht-md");
        let long = "word ".repeat(30);
        for (one, other) in [("手册.pdf", "合同.pdf"), (&format!("{long}a.md"), &format!("{long}b.md"))] {
            assert_ne!(id(one), id(other));
        }
        assert_eq!(id_of_name("---"), None);
    }

    #[test]
    fn paths_are_readable_and_unique() {
        let document: DocumentId = "guide".parse().expect("an id");
        let mut taken = HashSet::new();
        let mut paths = Vec::new();
        let numbered = PassageDraft { page: Some(3), text: "x".into(), ..PassageDraft::default() };
        for passage in [
            passage(&["Guide", "The keys"], "a"),
            passage(&["Guide", "The keys"], "b"),
            passage(&["Guide"], "c"),
            numbered,
            passage(&[], "d"),
            passage(&["鍵"], "e"),
        ] {
            let path = new_path(&document, &passage, &taken).expect("a path");
            taken.insert(path.clone());
            paths.push(path.strip_prefix("facts/documents/guide/").expect("below").to_owned());
        }
        let expected =
            ["guide/the-keys.md", "guide/the-keys-2.md", "guide.md", "page-3.md", "passage.md", "section.md"];
        assert_eq!(paths, expected);
    }
}
