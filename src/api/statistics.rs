//! `GET /v1/statistics`: the last day of the account, and the state of storage and models.

use cuebase_storage::NamespaceId;
use cuebase_storage::records::NamespaceRecord;

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::views::statistics::{DayView, ModelView, StatisticsView, StorageView};
use crate::app::App;
use crate::error::Result;

/// The unit to which the space of the disk is rounded, because other accounts change it too.
const DISK_UNIT_BYTES: u64 = 1 << 30;

/// `GET /v1/statistics`.
pub fn show(request: &AuthenticatedRequest) -> Result<Reply> {
    let app = &request.app;
    let report = app.jobs.metrics().days().report(request.account());
    let namespaces = app.namespaces.list(request.account(), None, usize::MAX)?;
    Reply::ok(&StatisticsView {
        day: DayView::of(&report),
        storage: storage(app, &namespaces),
        models: models(app, &namespaces),
    })
}

fn storage(app: &App, namespaces: &[NamespaceRecord]) -> StorageView {
    let disk = app.inspector.disk_space().ok();
    let damaged = app.namespaces.damaged();
    StorageView {
        disk_free_bytes: disk.map(|disk| disk.free_bytes / DISK_UNIT_BYTES * DISK_UNIT_BYTES),
        disk_total_bytes: disk.map(|disk| disk.total_bytes / DISK_UNIT_BYTES * DISK_UNIT_BYTES),
        namespaces: namespaces.len(),
        memories: namespaces.iter().map(|namespace| namespace.memories).sum(),
        damaged_namespaces: damaged.iter().filter(|(key, _)| is_one_of(namespaces, key.id)).count(),
    }
}

fn models(app: &App, namespaces: &[NamespaceRecord]) -> Vec<ModelView> {
    let models = app.reads.models();
    let waiting = app.jobs.backlog();
    let is_behind = waiting.iter().any(|(key, _)| is_one_of(namespaces, key.id));
    let embedding = ModelView {
        role: "embedding",
        name: Some(models.embedding_name()),
        state: if is_behind { "behind" } else { "ready" },
    };
    let chat = ModelView {
        role: "chat",
        name: models.chat().map(|chat| chat.name().to_owned()),
        state: match (models.chat(), app.jobs.outage()) {
            (None, _) => "off",
            (Some(_), Some(_)) => "unavailable",
            (Some(_), None) => "ready",
        },
    };
    vec![embedding, chat]
}

fn is_one_of(namespaces: &[NamespaceRecord], id: NamespaceId) -> bool {
    namespaces.iter().any(|namespace| namespace.id == id)
}
