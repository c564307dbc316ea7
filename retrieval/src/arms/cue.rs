//! The cue arm: the memories whose cues are nearest to the query, by cosine.
//!
//! A memory's score is the highest cosine of its cues.
//!
//! Every row is compared in full if there are at most [`EXACT_ROWS`]. The rows that a filter leaves are compared in
//! full if they are few. Otherwise the sketches of all rows are compared first, and in full only the few thousand rows
//! with the nearest sketches.

use std::borrow::Cow;

use crate::bitmap::Bitmap;
use crate::hash::PathHash;
use crate::ids::{DocumentId, RowId};
use crate::index::{CueTable, Row};
use crate::kernels::AHEAD;
use crate::threads::Threads;
use crate::top_k::{Scored, TopK};

/// Up to this many rows are compared in full, without their sketches.
const EXACT_ROWS: usize = 16 << 10;
/// Rows that are compared in full after their sketches: at least this many, and at least one in [`RESCORED_SHARE`].
const RESCORED_MIN: usize = 2048;
const RESCORED_SHARE: usize = 288;
/// Rows whose pages are translated together, before the first of the rows is fetched.
const TRANSLATED_TOGETHER: usize = 64;
/// A filter that leaves at most one document per this many rows is cheaper to follow than the sketches.
const FEW_SHARE: usize = 16;

/// Which rows a query is compared with, and how.
pub(crate) struct ScanPlan<'a> {
    /// The documents that may be found; `None` for all.
    pub(crate) allowed: Option<&'a Bitmap>,
    /// The number of rows of current memories. The table has more, because it keeps the rows of former versions; they
    /// must not change what is found.
    pub(crate) live_rows: usize,
    pub(crate) rows: RowSelection,
    /// The threads that compare rows.
    pub(crate) threads: Threads,
}

/// The rows that are compared in full.
pub(crate) enum RowSelection {
    /// Every row.
    All,
    /// The rows with the nearest sketches.
    NearestSketches,
    /// The rows of all allowed documents, ascending.
    Listed(Vec<RowId>),
}

/// Whether the rows of this many documents are few enough to be compared one by one.
pub(crate) fn is_few(documents: usize, live_rows: usize) -> bool {
    documents <= RESCORED_MIN.max(live_rows / FEW_SHARE)
}

/// Returns the `limit` allowed documents with the nearest cues above a cosine of `floor`, nearest first. `path` returns
/// a document's path, which breaks ties.
pub(crate) fn nearest_documents(
    cues: &CueTable,
    query: &Row,
    plan: &ScanPlan<'_>,
    limit: usize,
    floor: f32,
    path: impl Fn(DocumentId) -> PathHash + Sync,
) -> Vec<Scored> {
    let allowed = plan.allowed;
    let rows = match &plan.rows {
        RowSelection::Listed(rows) => Cow::Borrowed(rows.as_slice()),
        RowSelection::NearestSketches if plan.live_rows > EXACT_ROWS => {
            let target = RESCORED_MIN.max(plan.live_rows / RESCORED_SHARE);
            Cow::Owned(cues.nearest_sketches(query, target, allowed, plan.threads))
        }
        RowSelection::All | RowSelection::NearestSketches => {
            return compare(cues, query, cues.all_rows(), allowed, TopK::above(floor, limit, path));
        }
    };
    if plan.threads == Threads::One {
        return compare_scattered(cues, query, &rows, allowed, TopK::above(floor, limit, path));
    }
    // The rows of one document must stay on one thread.
    let middle = rows.get(rows.len() / 2).and_then(|row| cues.document(*row));
    let (first, second) = rows.split_at(rows.partition_point(|row| cues.document(*row) < middle));
    let (first, second) = plan.threads.both(
        || compare_scattered(cues, query, first, allowed, TopK::above(floor, limit, &path)),
        || compare_scattered(cues, query, second, allowed, TopK::above(floor, limit, &path)),
    );
    let mut top = TopK::above(floor, limit, &path);
    for scored in first.into_iter().chain(second) {
        top.offer(scored);
    }
    top.finish()
}

/// Compares rows that are scattered in memory. Every row is prefetched before its turn.
fn compare_scattered<F: Fn(DocumentId) -> PathHash>(
    cues: &CueTable,
    query: &Row,
    rows: &[RowId],
    allowed: Option<&Bitmap>,
    top: TopK<F>,
) -> Vec<Scored> {
    let rows_prefetched = rows.iter().enumerate().map(|(n, row)| {
        // The processor translates several pages at a time, but only for addresses within some hundred instructions.
        // So the pages of many rows are translated together before their rows are fetched.
        if n.is_multiple_of(TRANSLATED_TOGETHER) {
            let next = rows[n..].iter().take(TRANSLATED_TOGETHER + AHEAD);
            next.for_each(|row| cues.prefetch_first_line(*row));
        }
        if let Some(ahead) = rows.get(n + AHEAD) {
            cues.prefetch(*ahead);
        }
        *row
    });
    compare(cues, query, rows_prefetched, allowed, top)
}

/// Compares rows in full, ascending. Returns the documents with the highest cosines above the floor, highest first.
fn compare<F: Fn(DocumentId) -> PathHash>(
    cues: &CueTable,
    query: &Row,
    rows: impl Iterator<Item = RowId>,
    allowed: Option<&Bitmap>,
    mut top: TopK<F>,
) -> Vec<Scored> {
    // The present document with its highest cosine so far. The rows of a document are consecutive.
    let mut present: Option<Scored> = None;
    for row in rows {
        let (block, row) = cues.block(row);
        let Some(document) = block.document(row) else { continue };
        if allowed.is_some_and(|allowed| !allowed.contains(document)) {
            continue;
        }
        let cosine = block.cosine(row, query);
        present = match present {
            Some(same) if same.document == document => Some(Scored { document, score: same.score.max(cosine) }),
            Some(finished) => {
                top.offer(finished);
                Some(Scored { document, score: cosine })
            }
            None => Some(Scored { document, score: cosine }),
        };
    }
    if let Some(last) = present {
        top.offer(last);
    }
    top.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use proptest::prelude::*;

    /// A number from -1 to 1.
    fn number(random: &mut Rng) -> f32 {
        2.0 * random.f32() - 1.0
    }

    fn unit(values: &[f32]) -> Vec<f32> {
        let norm = values.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-9);
        values.iter().map(|v| v / norm).collect()
    }

    fn path(document: DocumentId) -> PathHash {
        PathHash::of_number(u64::from(document.get()))
    }

    fn table(rows: &[Vec<f32>], documents: &[u32]) -> CueTable {
        let documents: Vec<DocumentId> = documents.iter().copied().map(DocumentId::new).collect();
        let mut table = CueTable::new(rows[0].len());
        // Added in two steps, so that the second fills a partly filled block.
        let (first, rest) = rows.split_at(rows.len() / 3);
        for (rows, documents) in [(first, &documents[..first.len()]), (rest, &documents[first.len()..])] {
            let bytes: Vec<u8> = rows.iter().flat_map(|row| Row::new(row).to_bytes()).collect();
            table.extend(&bytes, documents);
        }
        table
    }

    #[test]
    fn a_memory_scores_by_its_best_cue_and_only_allowed_memories_are_found() {
        let rows = [vec![1.0, 0.0, 0.0, 0.0], vec![0.0, 1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0, 0.0]];
        let table = table(&rows, &[0, 0, 1]);
        let query = table.query(&[0.0, 1.0, 0.0, 0.0]).expect("fits");
        let mut allowed = Bitmap::default();
        allowed.insert(DocumentId::new(0));
        let plan =
            |allowed| ScanPlan { allowed, live_rows: 3, rows: RowSelection::NearestSketches, threads: Threads::One };
        let found = nearest_documents(&table, &query, &plan(Some(&allowed)), 9, 0.1, path);
        assert!(found.len() == 1 && found[0].document == DocumentId::new(0), "{found:?}");
        assert!((found[0].score - 1.0).abs() < 0.01, "{found:?}");
        assert_eq!(nearest_documents(&table, &query, &plan(None), 9, 0.1, path).len(), 2);
        assert!(table.query(&[1.0]).is_err());
    }

    #[test]
    fn sketches_find_what_comparing_every_row_finds() {
        // Clusters of near vectors, which sketches could confuse.
        let mut random = Rng::with_seed(7);
        let centres: Vec<Vec<f32>> = (0..50).map(|_| (0..128).map(|_| number(&mut random)).collect()).collect();
        let near = |n: usize, random: &mut Rng| {
            unit(&centres[n % 50].iter().map(|value| value + 1.2 * number(random)).collect::<Vec<_>>())
        };
        let rows: Vec<Vec<f32>> = (0..30_000).map(|n| near(n, &mut random)).collect();
        // The memories of the first third have one cue each, the others seven.
        let documents: Vec<u32> = (0..30_000u32).map(|row| row.min(10_000 + row / 7)).collect();
        let table = table(&rows, &documents);
        let (mut found, mut wanted) = (0, 0);
        for n in 0..20 {
            let query = table.query(&near(n, &mut random)).expect("fits");
            let search = |rows, threads| {
                let plan = ScanPlan { allowed: None, live_rows: 30_000, rows, threads };
                nearest_documents(&table, &query, &plan, 24, 0.0, path)
            };
            let exact = search(RowSelection::All, Threads::One);
            let fast = search(RowSelection::NearestSketches, Threads::One);
            assert_eq!(search(RowSelection::NearestSketches, Threads::Several), fast, "threads change nothing");
            assert_eq!(search(RowSelection::All, Threads::Several), exact, "threads change nothing");
            assert_eq!(search(RowSelection::Listed(table.all_rows().collect()), Threads::One), exact);
            wanted += exact.len();
            found += exact.iter().filter(|hit| fast.contains(hit)).count();
        }
        assert!(found * 100 >= wanted * 99, "{found} of {wanted}");
    }

    proptest! {
        #[test]
        fn quantised_cosines_are_close_to_exact_ones(
            a in proptest::collection::vec(-1f32..1.0, 64), b in proptest::collection::vec(-1f32..1.0, 64),
        ) {
            let (a, b) = (unit(&a), unit(&b));
            let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            let table = table(std::slice::from_ref(&a), &[0]);
            let found = table.cosine(&table.query(&b).expect("fits"), RowId::new(0)..RowId::new(1)).expect("is there");
            prop_assert!((found - exact).abs() < 0.02, "{} against {}", found, exact);
        }
    }
}
