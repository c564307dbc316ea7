//! Metrics of a node that shares its storage with others. A single process has none of them.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::instruments::{Level, level, times};

/// The state of a node shown by the gauges.
#[derive(Clone, Copy, Debug)]
pub struct ClusterState {
    /// Nodes that have a session, as this node observed them last.
    pub nodes_live: usize,
    /// Namespaces that this node owns.
    pub namespaces_owned: usize,
    /// Time until this node stops reading, unless it renews its session.
    pub reads_left: Duration,
    /// Whether this node has a session.
    pub has_session: bool,
}

/// What one node sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCall {
    /// The request of a client, forwarded to the owner of its namespace.
    Request,
    /// A question of a service, because a request concerns several nodes.
    Question,
}

/// How a call of another node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The other node answered.
    Answered,
    /// The other node did not receive the call, or refused it before it did anything.
    NotTaken,
    /// The other node may have received the call. Its answer is lost.
    Lost,
}

/// The metrics of a node.
pub(super) struct ClusterMetrics {
    nodes_live: Level,
    namespaces_owned: Level,
    reads_left: Level,
    session: Level,
    claims: Counter,
    lost_sessions: Counter,
    forwarded: Family<ForwardedLabels, Counter>,
    received: Family<CallLabels, Counter>,
    forwarding: Family<CallLabels, Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ForwardedLabels {
    kind: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    kind: &'static str,
}

impl NodeCall {
    /// Returns the value of the label.
    fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Question => "question",
        }
    }
}

impl CallOutcome {
    /// Returns the value of the label.
    fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::NotTaken => "not_taken",
            Self::Lost => "lost",
        }
    }
}

impl ClusterMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let nodes_live = level(registry, "nodes_live", "Nodes that have a session, as this node observed them last");
        let namespaces_owned = level(registry, "namespaces_owned", "Namespaces that this node owns");
        let reads_left = level(
            registry,
            "session_reads_left_seconds",
            "Time until this node stops reading, unless it renews its session",
        );
        let session = level(registry, "session_active", "1 while this node has a session, else 0");
        let claims: Counter = Counter::default();
        let lost_sessions: Counter = Counter::default();
        let forwarded = Family::<ForwardedLabels, Counter>::default();
        let received = Family::<CallLabels, Counter>::default();
        let forwarding = Family::<CallLabels, Histogram>::new_with_constructor(times);
        registry.register("namespaces_claimed", "Namespaces that this node has claimed", claims.clone());
        registry.register(
            "sessions_lost",
            "Sessions of this node that ended because other nodes saw no renewal",
            lost_sessions.clone(),
        );
        registry.register(
            "requests_forwarded",
            "Requests and questions that this node sent to others, by outcome",
            forwarded.clone(),
        );
        registry.register(
            "requests_received",
            "Requests and questions that this node received from others, including refused ones",
            received.clone(),
        );
        registry.register(
            "forwarding_seconds",
            "Time from sending a request or question to another node until its answer arrived or was lost",
            forwarding.clone(),
        );
        Self {
            nodes_live,
            namespaces_owned,
            reads_left,
            session,
            claims,
            lost_sessions,
            forwarded,
            received,
            forwarding,
        }
    }

    pub(super) fn set(&self, state: &ClusterState) {
        self.nodes_live.set(state.nodes_live as f64);
        self.namespaces_owned.set(state.namespaces_owned as f64);
        self.reads_left.set(state.reads_left.as_secs_f64());
        self.session.set(if state.has_session { 1.0 } else { 0.0 });
    }

    pub(super) fn record_claim(&self) {
        self.claims.inc();
    }

    pub(super) fn record_lost_session(&self) {
        self.lost_sessions.inc();
    }

    pub(super) fn record_forwarded(&self, call: NodeCall, outcome: CallOutcome, took: Duration) {
        let kind = call.as_str();
        self.forwarded.get_or_create(&ForwardedLabels { kind, outcome: outcome.as_str() }).inc();
        self.forwarding.get_or_create(&CallLabels { kind }).observe(took.as_secs_f64());
    }

    pub(super) fn record_received(&self, call: NodeCall) {
        self.received.get_or_create(&CallLabels { kind: call.as_str() }).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_lines(registry: &Registry, lines: &[&str]) {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, registry).expect("encodes");
        for line in lines {
            assert!(text.lines().any(|found| found == *line), "{line} in {text}");
        }
    }

    #[test]
    fn the_state_of_a_node_is_shown() {
        let mut registry = Registry::with_prefix("cuebase");
        let metrics = ClusterMetrics::new(&mut registry);
        let mut state = ClusterState {
            nodes_live: 3,
            namespaces_owned: 40,
            reads_left: Duration::from_millis(2_500),
            has_session: true,
        };
        metrics.set(&state);
        metrics.record_claim();
        metrics.record_lost_session();
        assert_lines(
            &registry,
            &[
                "cuebase_nodes_live 3.0",
                "cuebase_namespaces_owned 40.0",
                "cuebase_session_reads_left_seconds 2.5",
                "cuebase_session_active 1.0",
                "cuebase_namespaces_claimed_total 1",
                "cuebase_sessions_lost_total 1",
            ],
        );
        state.has_session = false;
        metrics.set(&state);
        assert_lines(&registry, &["cuebase_session_active 0.0"]);
    }

    #[test]
    fn calls_of_other_nodes_are_counted_by_kind_and_outcome() {
        let mut registry = Registry::with_prefix("cuebase");
        let metrics = ClusterMetrics::new(&mut registry);
        let took = Duration::from_millis(1);
        metrics.record_forwarded(NodeCall::Request, CallOutcome::Answered, took);
        metrics.record_forwarded(NodeCall::Request, CallOutcome::Answered, took);
        metrics.record_forwarded(NodeCall::Request, CallOutcome::NotTaken, took);
        metrics.record_forwarded(NodeCall::Question, CallOutcome::Lost, took);
        metrics.record_received(NodeCall::Question);
        assert_lines(
            &registry,
            &[
                "cuebase_requests_forwarded_total{kind=\"request\",outcome=\"answered\"} 2",
                "cuebase_requests_forwarded_total{kind=\"request\",outcome=\"not_taken\"} 1",
                "cuebase_requests_forwarded_total{kind=\"question\",outcome=\"lost\"} 1",
                "cuebase_requests_received_total{kind=\"question\"} 1",
                "cuebase_forwarding_seconds_count{kind=\"request\"} 3",
            ],
        );
    }
}
