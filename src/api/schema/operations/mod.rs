//! What the document says about each route, one file per tag.

mod activity;
mod billing;
mod context;
mod conversations;
mod documents;
mod identity;
mod media;
mod memories;
mod namespaces;
mod skills;
mod sources;
mod vocabulary;

use super::operation::Operation;
use super::schemas::Schemas;

/// Returns the operations of every tag, in the order of the tags in the document.
pub(super) fn by_tag(schemas: &mut Schemas) -> Vec<(&'static str, Vec<Operation>)> {
    vec![
        ("identity", identity::operations(schemas)),
        ("namespaces", namespaces::operations(schemas)),
        ("memories", memories::operations(schemas)),
        ("activity", activity::operations(schemas)),
        ("vocabulary", vocabulary::operations(schemas)),
        ("skills", skills::operations(schemas)),
        ("conversations", conversations::operations(schemas)),
        ("sources", sources::operations(schemas)),
        ("documents", documents::operations(schemas)),
        ("media", media::operations(schemas)),
        ("billing", billing::operations(schemas)),
    ]
}
