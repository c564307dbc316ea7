//! The connection to the other nodes of a cluster, and the answers to their questions, which `server` receives on the
//! internal listener.
//!
//! A question is about one account, and the asking node has checked the caller. Nothing is counted here: the asking node
//! counts the unit of the request.

use std::sync::Arc;

use super::node_queue::NodeQueue;
use super::node_statistics::NodeStatistics;
use super::routes::ROUTES;
use crate::app::App;
use crate::error::{Error, Result};
use crate::metrics::day::counts::RouteName;
use crate::service::context::ClaimSearch;
use crate::service::peers::{PeerCalls, PeerQuestion, PeerTopic, decode, encode_answer};
use crate::service::retrieval::NamespaceSearch;

/// Connects the application to the other nodes, before its first request.
pub fn connect(app: &App, calls: Arc<dyn PeerCalls>) {
    app.jobs.metrics().days().know_routes(route_names());
    app.reads.peers().connect(calls);
}

/// Answers a question with what this node owns. The answer may be an error, which the asking node reports. Blocks.
///
/// # Errors
///
/// A question that cannot be decoded: the other node runs another version.
pub fn answer(app: &App, question: &[u8]) -> Result<Vec<u8>> {
    let PeerQuestion { account, topic, details } = decode(question)?;
    match topic {
        PeerTopic::Search => {
            let search: NamespaceSearch = decode(&details)?;
            encode_answer(app.reads.find_for_peer(&account, &search))
        }
        PeerTopic::Claims => {
            let search: ClaimSearch = decode(&details)?;
            encode_answer(app.reads.claims_for_peer(&account, &search))
        }
        PeerTopic::Statistics => encode_answer(NodeStatistics::of(app, &account)),
        PeerTopic::Queue => encode_answer(NodeQueue::of(app, &account)),
        PeerTopic::Command => {
            let command: String = decode(&details)?;
            encode_answer(app.reads.peers().run_command(&command))
        }
        PeerTopic::AnsweredWrites => encode_answer(Ok(app.jobs.answered_writes())),
        PeerTopic::WriteUsage => encode_answer(app.billing.flush_meters()),
        PeerTopic::WriteModelCalls => encode_answer(app.reads.models().note_calls().map_err(Error::from)),
    }
}

/// Returns the method and the path of every route.
fn route_names() -> Vec<RouteName> {
    let mut names = Vec::with_capacity(ROUTES.len());
    for route in &ROUTES {
        names.push((route.method.as_str(), route.path));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_known_by_its_method_and_path() {
        let names = route_names();
        assert!(names.contains(&("GET", "/v1/retrieve")) && names.contains(&("POST", "/v1/retrieve")));
        assert!(!names.contains(&("PATCH", "/v1/retrieve")));
    }
}
