//! Retrieval: an index of memories, and the search that finds the memories which answer a query.
//!
//! An [`Index`] holds the memories of one namespace: an inverted index of their terms, the vectors of their cues, and
//! the graph of their relations. [`Index::apply`] writes changes and publishes an immutable [`Snapshot`].
//! [`Snapshot::search`] answers a [`Query`]: the arms (`arms`) search side by side, the neighbours of the best
//! candidates are added from the graph, and every candidate gets a calibrated probability (`ranking`).
//! [`Snapshot::explain`] says why a query finds a memory or why it does not.
//!
//! Start reading at `search/mod.rs`. Dependencies point one way: `search` > `ranking` > `arms` > `index` > the modules
//! of values (`query`, `filter`, `bitmap`, `blocks`, ...) and [`kernels`], the innermost loops.
//!
//! Three kinds of numbers name the parts of an index (`ids`). A *document* is one version of the memory at a path. A
//! *slot* is a path, with at most one current document. A *row* is the quantised vector of one cue. Names are stored
//! and compared as hashes, with a type for each kind of name (`hash`).
//!
//! HTTP, git, RocksDB and embedding models do not appear here. A memory arrives with its vectors, and [`TokenVectors`]
//! compares words. The [`Head`] of an index is the commit that it stands for; the index only keeps it. No type of
//! simsimd is public.

mod arms;
mod bitmap;
mod blocks;
mod claim;
mod comparison;
mod error;
mod filter;
mod hash;
mod head;
mod ids;
mod index;
pub mod kernels;
mod listing;
mod memory;
mod metadata;
mod profile;
mod query;
mod ranking;
mod reranker;
mod search;
mod surface_forms;
mod text_budget;
mod threads;
mod time;
mod tokens;
mod top_k;
mod vocabulary;

pub use arms::lexical::terms::TermMatch;
pub use claim::{Claim, ClaimKind, Currency};
pub use error::{Error, Result};
pub use filter::{Filter, TimeField};
pub use head::Head;
pub use index::{
    Change, ENCODER_IDENTITY, Index, IndexFile, IndexFiles, IndexSettings, STATE_FILE, Snapshot, ValidityState,
};
pub use listing::{Listed, ListedPage, Listing, ListingOrder, StoredMemory};
pub use memory::{Cue, Memory, Millis, Relation, Validity};
pub use metadata::{Comparison, Condition, MetadataValue, NumberBound};
pub use profile::{ClaimSubject, ClaimTime, SubjectClaim};
pub use query::{Explain, Query};
pub use ranking::features::{FEATURE_NAMES, Features};
pub use ranking::groups::{Contribution, FeatureGroup};
pub use ranking::speakers::is_in_first_person;
pub use reranker::{Judgement, ReadScore, Reranker};
pub use search::{
    Arm, ArmRank, Arms, Exclusion, Explanation, FollowedRelation, Hit, NearestCue, PathExplanation, RankedMemory,
    SearchResults,
};
pub use text_budget::TextBudget;
pub use tokens::TokenVectors;
pub use vocabulary::{Mention, Synonyms, Term, Vocabulary, surface_key};
