//! `GET /v1/statistics`: the last day of the account, and the state of storage and models. Of several nodes, the counts
//! are summed, and the nodes are listed.

use std::collections::BTreeMap;

use cuebase_storage::NamespaceId;
use cuebase_storage::records::NamespaceRecord;

use super::node_statistics::{ChatState, NodeState, NodeStatistics};
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::views::statistics::{DayView, ModelView, NodeView, StatisticsView, StorageView};
use crate::app::App;
use crate::error::Result;

/// The unit to which the space of the disk is rounded, because other accounts change it too.
const DISK_UNIT_BYTES: u64 = 1 << 30;

/// `GET /v1/statistics`.
pub fn show(request: &AuthenticatedRequest) -> Result<Reply> {
    let app = &request.app;
    let mut state = NodeState::of(app, request.account());
    let mut days = Vec::new();
    let mut owned_by_others = BTreeMap::new();
    for (address, other) in NodeStatistics::of_others(app, request.account())? {
        days.extend(other.day);
        state.merge(other.state);
        owned_by_others.insert(address, other.owned);
    }
    let metrics = app.jobs.metrics();
    let report = match days.is_empty() {
        true => metrics.days().report(request.account()),
        false => metrics.days().report_with(request.account(), days),
    };
    let namespaces = app.namespaces.list(request.account(), None, usize::MAX)?;
    Reply::ok(&StatisticsView {
        day: DayView::of(&report),
        storage: storage(&state, &namespaces),
        models: models(app, &state, &namespaces),
        nodes: nodes(app, &namespaces, &owned_by_others),
    })
}

/// Describes the live nodes, with the number of namespaces that each owns: of the others by their address, which the
/// response does not show, because every account reads it. `None` in a process that is alone.
fn nodes(
    app: &App,
    namespaces: &[NamespaceRecord],
    owned_by_others: &BTreeMap<String, usize>,
) -> Option<Vec<NodeView>> {
    let ownership = app.namespaces.ownership();
    if ownership.is_alone() {
        return None;
    }
    let own = ownership.node_id();
    let mut views = Vec::new();
    for node in ownership.live_nodes() {
        let this = Some(node.id) == own;
        let owned = match this {
            true => Some(app.namespaces.owned_among(namespaces)),
            false => owned_by_others.get(&node.address).copied(),
        };
        views.push(NodeView { id: node.id.to_string(), version: node.version, this, namespaces: owned });
    }
    Some(views)
}

fn storage(state: &NodeState, namespaces: &[NamespaceRecord]) -> StorageView {
    StorageView {
        disk_free_bytes: state.disk.map(|disk| disk.free_bytes / DISK_UNIT_BYTES * DISK_UNIT_BYTES),
        disk_total_bytes: state.disk.map(|disk| disk.total_bytes / DISK_UNIT_BYTES * DISK_UNIT_BYTES),
        namespaces: namespaces.len(),
        memories: namespaces.iter().map(|namespace| namespace.memories).sum(),
        damaged_namespaces: state.damaged.iter().filter(|id| is_one_of(namespaces, **id)).count(),
    }
}

fn models(app: &App, state: &NodeState, namespaces: &[NamespaceRecord]) -> Vec<ModelView> {
    let models = app.reads.models();
    let is_behind = state.behind.iter().any(|id| is_one_of(namespaces, *id));
    let embedding = ModelView {
        role: "embedding",
        name: Some(models.embedding_name()),
        state: if is_behind { "behind" } else { "ready" },
    };
    let chat = ModelView {
        role: "chat",
        name: models.chat().map(|chat| chat.name().to_owned()),
        state: match (models.chat(), state.chat) {
            (None, _) => "off",
            (Some(_), ChatState::Unavailable) => "unavailable",
            (Some(_), ChatState::Ready) => "ready",
        },
    };
    vec![embedding, chat]
}

fn is_one_of(namespaces: &[NamespaceRecord], id: NamespaceId) -> bool {
    namespaces.iter().any(|namespace| namespace.id == id)
}
