//! The result of a search or a listing, before it is shown.

use std::time::Duration;

use cuebase_retrieval::{Arms, Head, Hit, Listed, Memory, ValidityState};
use cuebase_storage::NamespaceName;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arm::Arm;
use super::explanation::ExplanationView;
use super::remote::RemoteNamespace;
use crate::error::Error;
use crate::memory::time::day_of;
use crate::namespace::registry::Lease;

/// The result of a search or a listing, in one namespace or in several.
#[derive(Default)]
pub struct SearchResult {
    /// The searched namespaces, in the order of the request.
    pub(super) namespaces: Vec<SearchedNamespace>,
    /// Found memories, best first.
    pub hits: Vec<FoundMemory>,
    /// How many candidates were read by the reader.
    pub read: usize,
    /// Content words of the query and of its synonyms, sorted.
    pub terms: Vec<String>,
    /// Vocabulary terms that the query mentions.
    pub(super) defined: Vec<Definition>,
}

/// A searched namespace.
pub(super) struct SearchedNamespace {
    /// Where it was searched.
    pub(super) place: SearchPlace,
    /// Name of the namespace, if the request searches several.
    pub(super) name: Option<NamespaceName>,
    /// Head of the searched index.
    pub(super) head: Option<Head>,
    /// Time of the search; zero for a listing.
    pub(super) times: SearchTimes,
}

/// Where a namespace was searched.
pub(in crate::service) enum SearchPlace {
    /// In this process, where it is open.
    Here(Lease),
    /// On the node that owns it.
    Elsewhere(RemoteNamespace),
}

/// Time in the parts of a search.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct SearchTimes {
    /// Time in the embedding of the query and the cue arm.
    pub(super) vector: Duration,
    /// Time in the lexical arm.
    pub(super) lexical: Duration,
    /// Time in expansion, ranking and reading.
    pub(super) graph: Duration,
}

/// A found memory.
#[derive(Serialize, Deserialize)]
pub struct FoundMemory {
    /// The memory.
    pub memory: Memory,
    /// Probability that the memory answers the query; 1 in a listing.
    pub score: f32,
    /// The arms that found the memory; none in a listing.
    pub arms: Arms,
    /// Path of the hit that the memory is related to, if only the graph found the memory.
    pub via: Option<String>,
    /// When the memory holds.
    pub validity: ValidityState,
    /// Paths of memories that say the same.
    pub also: Vec<String>,
    /// Namespace of the memory, if the request searches several.
    pub namespace: Option<NamespaceName>,
    /// What the score was made from, if the request asks for it.
    pub explanation: Option<Box<ExplanationView>>,
}

/// A vocabulary term that a query mentions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Definition {
    /// Canonical form of the term.
    pub term: String,
    /// Other forms of the term.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What the term means.
    pub definition: String,
}

impl SearchResult {
    /// Returns the searched namespaces with their places. Each has its name if the request searches several.
    pub(in crate::service) fn places(&self) -> impl Iterator<Item = (Option<&NamespaceName>, &SearchPlace)> {
        self.namespaces.iter().map(|searched| (searched.name.as_ref(), &searched.place))
    }
}

impl SearchedNamespace {
    /// Returns a namespace that was searched in this process.
    pub(super) fn here(lease: Lease, head: Option<Head>, times: SearchTimes) -> Self {
        Self { place: SearchPlace::Here(lease), name: None, head, times }
    }

    /// Returns whether the namespace was opened for the search.
    pub(super) fn is_cold(&self) -> bool {
        match &self.place {
            SearchPlace::Here(lease) => lease.cold,
            SearchPlace::Elsewhere(namespace) => namespace.is_cold,
        }
    }

    /// Returns an error of the namespace, which names it if the request searches several.
    pub(super) fn fault(&self, error: Error) -> Error {
        match &self.name {
            Some(name) => error.in_namespace(name.as_str()),
            None => error,
        }
    }
}

impl FoundMemory {
    /// Returns a memory of a listing. Its score is 1, so that a minimum score never hides it.
    pub(super) fn listed(listed: Listed) -> Self {
        let Listed { memory, validity } = listed;
        let arms = Arms::default();
        let also = Vec::new();
        Self { memory, score: 1.0, arms, via: None, validity, also, namespace: None, explanation: None }
    }

    /// Returns the mark of a memory that does not hold, with the day on which it ended: " (former, until 2026-03-04)".
    /// Empty if it holds.
    pub fn former_mark(&self, zone: Option<&TimeZone>) -> String {
        if self.validity.current {
            return String::new();
        }
        match self.validity.until.and_then(|until| day_of(until, zone)) {
            Some(day) => format!(" (former, until {day})"),
            None => " (former)".to_owned(),
        }
    }

    /// Returns the namespace of the memory as text, if the request searches several.
    pub fn namespace_text(&self) -> Option<String> {
        let name = self.namespace.as_ref()?;
        Some(name.to_string())
    }

    /// Returns the arms that found the memory.
    pub fn matched(&self) -> Vec<Arm> {
        let mut matched = Vec::new();
        if self.arms.lexical {
            matched.push(Arm::Lexical);
        }
        if self.arms.cue {
            matched.push(Arm::Cue);
        }
        if self.arms.graph {
            matched.push(Arm::Graph);
        }
        matched
    }
}

impl From<Hit> for FoundMemory {
    fn from(hit: Hit) -> Self {
        let Hit { memory, score, arms, via, validity, also, explanation, .. } = hit;
        let explanation = explanation.map(|explanation| Box::new(ExplanationView::from(*explanation)));
        Self { memory, score, arms, via, validity, also, namespace: None, explanation }
    }
}
