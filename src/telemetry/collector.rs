//! Export of spans to a collector: OTLP over HTTP as JSON, which every collector accepts in addition to the binary form
//! (<https://opentelemetry.io/docs/specs/otlp/>; ids in hex, 64-bit numbers as text).

#![expect(clippy::disallowed_types, reason = "sends traces to a collector")]

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{KeyValue, Value as Attribute};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use reqwest::blocking::Client;
use serde_json::{Value, json};

/// Time limit of sending a batch. A batch that the collector does not accept in time is dropped.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// A client of a collector.
pub(super) struct Collector {
    client: Client,
    url: String,
    resource: Value,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Collector {
    /// Returns a client of the collector at a base URL.
    pub(super) fn new(base: &str) -> reqwest::Result<Self> {
        let client = Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Self { client, url: format!("{base}/v1/traces"), resource: json!({}) })
    }

    fn send(&self, batch: &[SpanData]) -> Result<(), String> {
        let spans: Vec<Value> = batch.iter().map(span).collect();
        let scope = json!({"name": "cuebase", "version": env!("CARGO_PKG_VERSION")});
        let scopes = json!([{"scope": scope, "spans": spans}]);
        let body = json!({"resourceSpans": [{"resource": self.resource, "scopeSpans": scopes}]});
        self.post(&body).map_err(|error| error.without_url().to_string())
    }

    fn post(&self, body: &Value) -> reqwest::Result<()> {
        self.client.post(&self.url).json(body).send()?.error_for_status()?;
        Ok(())
    }
}

impl SpanExporter for Collector {
    /// Runs on the thread of the span processor, which may block.
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.send(&batch).map_err(|error| {
            tracing::warn!(%error, spans = batch.len(), "spans were dropped because the collector did not accept them");
            OTelSdkError::InternalFailure(error)
        })
    }

    fn set_resource(&mut self, resource: &Resource) {
        let mut pairs = Vec::new();
        for (key, value) in resource.iter() {
            pairs.push(KeyValue::new(key.clone(), value.clone()));
        }
        self.resource = json!({"attributes": attributes(&pairs)});
    }
}

fn span(data: &SpanData) -> Value {
    let (code, message) = match &data.status {
        Status::Unset => (0, ""),
        Status::Ok => (1, ""),
        Status::Error { description } => (2, description.as_ref()),
    };
    let kind = match data.span_kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
        SpanKind::Producer => 4,
        SpanKind::Consumer => 5,
    };
    let mut events = Vec::new();
    for event in data.events.iter() {
        let at = nanoseconds(event.timestamp);
        events.push(json!({"timeUnixNano": at, "name": event.name, "attributes": attributes(&event.attributes)}));
    }
    let mut span = json!({
        "traceId": data.span_context.trace_id().to_string(),
        "spanId": data.span_context.span_id().to_string(),
        "name": data.name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds(data.start_time),
        "endTimeUnixNano": nanoseconds(data.end_time),
        "attributes": attributes(&data.attributes),
        "events": events,
        "status": {"code": code, "message": message},
    });
    if data.parent_span_id != opentelemetry::trace::SpanId::INVALID {
        span["parentSpanId"] = json!(data.parent_span_id.to_string());
    }
    span
}

/// Returns the nanoseconds since the epoch as text.
fn nanoseconds(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos().to_string()
}

fn attributes(pairs: &[KeyValue]) -> Vec<Value> {
    let mut attributes = Vec::with_capacity(pairs.len());
    for pair in pairs {
        attributes.push(json!({"key": pair.key.as_str(), "value": attribute_value(&pair.value)}));
    }
    attributes
}

fn attribute_value(value: &Attribute) -> Value {
    match value {
        Attribute::Bool(value) => json!({"boolValue": value}),
        Attribute::I64(value) => json!({"intValue": value.to_string()}),
        Attribute::F64(value) => json!({"doubleValue": value}),
        other => json!({"stringValue": other.as_str()}),
    }
}
