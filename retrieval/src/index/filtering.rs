//! Applying a filter: the bitmap of the documents that a query may find.

use super::entry::UNKNOWN;
use super::snapshot::Snapshot;
use super::table::Table;
use super::validity::ValidityFilter;
use crate::bitmap::Bitmap;
use crate::filter::Filter;
use crate::hash::FacetHash;
use crate::memory::Millis;

/// Returns the documents that both filters accept and that are not hidden at `now`. Returns `None` if these are all
/// documents and every document is current.
pub(crate) fn allowed_documents(
    snapshot: &Snapshot,
    filter: &Filter,
    validity: &ValidityFilter,
    now: Millis,
) -> Option<Bitmap> {
    let table = &snapshot.table;
    let any_hidden = table.anything_hidden(now);
    if filter.is_empty() && validity.is_empty() && !any_hidden {
        return (table.live() < table.len()).then(|| table.alive().clone());
    }
    let mut allowed = table.alive().clone();
    let tiers = folder_facets(&filter.tiers);
    let folders = folder_facets(&filter.folders);
    let tags_any = tag_facets(&filter.tags_any);
    for facets in [tiers, folders, tags_any] {
        if !facets.is_empty() {
            allowed.intersect(&documents_with_any(table, &facets));
        }
    }
    for tag in tag_facets(&filter.tags_all) {
        allowed.intersect(&documents_with_any(table, &[tag]));
    }
    remove_other_times(table, filter, &mut allowed);
    if any_hidden {
        remove_hidden(table, now, &mut allowed);
    }
    if !validity.is_empty() {
        validity.apply(table, &snapshot.ledger, &mut allowed);
    }
    Some(allowed)
}

fn folder_facets(paths: &[String]) -> Vec<FacetHash> {
    paths.iter().map(|path| FacetHash::of_folder(path)).collect()
}

fn tag_facets(names: &[String]) -> Vec<FacetHash> {
    names.iter().map(|name| FacetHash::of_tag(name)).collect()
}

/// Returns the documents that have any of these facets, current or not.
fn documents_with_any(table: &Table, facets: &[FacetHash]) -> Bitmap {
    let mut documents = Bitmap::default();
    for facet in facets {
        table.holding(*facet).for_each(|document| documents.insert(document));
    }
    documents
}

/// Removes the documents whose time lies outside the filter's range. Unknown times lie outside every range.
fn remove_other_times(table: &Table, filter: &Filter, allowed: &mut Bitmap) {
    if filter.since.is_none() && filter.until.is_none() {
        return;
    }
    let since = filter.since.unwrap_or(Millis::MIN);
    let until = filter.until.unwrap_or(Millis::MAX);
    for layer in table.layers() {
        for (document, time) in layer.ids().zip(layer.times(filter.time_field)) {
            if *time == UNKNOWN || *time < since || (filter.until.is_some() && *time >= until) {
                allowed.remove(document);
            }
        }
    }
}

fn remove_hidden(table: &Table, now: Millis, allowed: &mut Bitmap) {
    for layer in table.layers() {
        for (document, hidden_from) in layer.ids().zip(layer.hidden_from()) {
            if *hidden_from <= now {
                allowed.remove(document);
            }
        }
    }
}
