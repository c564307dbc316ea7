//! Retrieval: from a checked request to hits with all their fields.
//!
//! `search.rs` runs a query or a listing in one namespace; start there. `admitted.rs` leaves out the hits that are not
//! good enough, and searches for the parts of a query; `time_listing.rs` answers a query that names only a time.
//! `several.rs` searches several namespaces and merges the results; `elsewhere.rs` asks other nodes for those that they
//! own. `asker.rs` says whether it is clear who asks. `response.rs` adds what the API returns, with a view of each hit (`hit.rs`) and its history in git (`history.rs`).
//! `explain.rs` says why a query returns a memory or why it does not, and `explanation.rs` has the view of what made a
//! score. `listing.rs` lists memories without a query in pages, and counts them by day, tag and topic.

mod admitted;
mod arm;
mod asker;
mod elsewhere;
mod explain;
mod explanation;
mod history;
mod hit;
mod listing;
mod prepared_query;
mod reading;
mod remote;
mod request;
mod response;
mod search;
mod search_result;
mod several;
mod time_listing;

pub use self::arm::Arm;
pub use self::asker::is_user_unclear;
pub use self::elsewhere::{NamespaceSearch, SentResult};
pub use self::explain::{ExcludedBy, ExplainResponse};
pub use self::explanation::{
    ArmRankView, ContributionView, ExplanationView, FollowedRelationView, NearestCueView, TermMatchView,
};
pub use self::history::RevisionView;
pub(super) use self::history::{histories, history_at};
pub use self::hit::{
    DeprecatedTimes, DocumentPlaceView, FoundBy, FullView, HitLabels, HitTimes, HitValidity, HitView, RelationView,
};
pub use self::listing::{Facets, ListingPage, ListingSelection, MemoryList, MemoryOrder};
pub use self::reading::{ReadMode, Reading};
pub(super) use self::remote::RemoteNamespace;
pub use self::request::{HitDetail, ReplyBudget, RetrievalRequest};
pub use self::response::RetrievalResponse;
pub(super) use self::search_result::SearchPlace;
pub use self::search_result::{Definition, FoundMemory, SearchResult};
pub use cuebase_retrieval::TextBudget;
