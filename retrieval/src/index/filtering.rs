//! Applying a filter: the bitmap of the documents that a query may find.

use super::entry::UNKNOWN;
use super::snapshot::Snapshot;
use super::table::Table;
use super::validity::ValidityFilter;
use crate::bitmap::Bitmap;
use crate::filter::Filter;
use crate::hash::{FacetHash, MetadataKeyHash};
use crate::memory::Millis;
use crate::metadata::{Comparison, Condition, MetadataValue, NumberBound};

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
    for condition in &filter.conditions {
        apply_condition(table, condition, &mut allowed);
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

/// Returns the facets of the values of a key that are equal to a text.
fn value_facets(key: &str, text: &str) -> Vec<FacetHash> {
    let values = MetadataValue::spelled(text);
    values.iter().map(|value| FacetHash::of_metadata(key, &value.canonical())).collect()
}

/// Removes the documents whose metadata does not meet a condition.
fn apply_condition(table: &Table, condition: &Condition, allowed: &mut Bitmap) {
    let key = &condition.key;
    match &condition.comparison {
        Comparison::Equal(text) => allowed.intersect(&documents_with_any(table, &value_facets(key, text))),
        Comparison::NotEqual(text) => {
            for facet in value_facets(key, text) {
                table.holding(facet).for_each(|document| allowed.remove(document));
            }
        }
        Comparison::Number(bound) => allowed.intersect(&documents_within(table, key, *bound)),
    }
}

/// Returns the documents whose value of a key is a number within a bound, current or not.
fn documents_within(table: &Table, key: &str, bound: NumberBound) -> Bitmap {
    let key = MetadataKeyHash::of(key);
    let mut documents = Bitmap::default();
    for id in table.holding(FacetHash::of_number(key)) {
        let Some(document) = table.document(id) else { continue };
        for entry in document.numbers() {
            if entry.key == key && bound.contains(entry.number) {
                documents.insert(id);
            }
        }
    }
    documents
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
