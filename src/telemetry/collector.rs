//! Spans to a collector: OTLP over HTTP in its JSON form, which every collector takes beside the binary one
//! (<https://opentelemetry.io/docs/specs/otlp/>; ids in hex, 64-bit numbers as text).

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{KeyValue, Value as Attribute};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use reqwest::blocking::Client;
use serde_json::{Value, json};

/// The collector has so long to take a batch; what it does not take is dropped.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// A collector.
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
    /// The collector at a base URL.
    pub(super) fn new(base: &str) -> reqwest::Result<Self> {
        let client = Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Self { client, url: format!("{base}/v1/traces"), resource: json!({}) })
    }

    fn send(&self, batch: &[SpanData]) -> Result<(), String> {
        let spans: Vec<Value> = batch.iter().map(span).collect();
        let scope = json!({"name": "cuebase", "version": env!("CARGO_PKG_VERSION")});
        let scopes = json!([{"scope": scope, "spans": spans}]);
        let body = json!({"resourceSpans": [{"resource": self.resource, "scopeSpans": scopes}]});
        let sent =
            self.client.post(&self.url).json(&body).send().and_then(reqwest::blocking::Response::error_for_status);
        sent.map(drop).map_err(|error| error.without_url().to_string())
    }
}

impl SpanExporter for Collector {
    /// Called on the processor's own thread, which may wait.
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.send(&batch).map_err(|error| {
            tracing::warn!(%error, spans = batch.len(), "the collector did not take some spans, which are dropped");
            OTelSdkError::InternalFailure(error)
        })
    }

    fn set_resource(&mut self, resource: &Resource) {
        let about = resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        self.resource = json!({"attributes": attributes(&about.collect::<Vec<_>>())});
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
    let events = data.events.iter().map(|event| {
        json!({"timeUnixNano": nanoseconds(event.timestamp), "name": event.name, "attributes": attributes(&event.attributes)})
    });
    let mut span = json!({
        "traceId": data.span_context.trace_id().to_string(),
        "spanId": data.span_context.span_id().to_string(),
        "name": data.name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds(data.start_time),
        "endTimeUnixNano": nanoseconds(data.end_time),
        "attributes": attributes(&data.attributes),
        "events": events.collect::<Vec<_>>(),
        "status": {"code": code, "message": message},
    });
    if data.parent_span_id != opentelemetry::trace::SpanId::INVALID {
        span["parentSpanId"] = json!(data.parent_span_id.to_string());
    }
    span
}

fn nanoseconds(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

fn attributes(pairs: &[KeyValue]) -> Vec<Value> {
    let value = |attribute: &Attribute| match attribute {
        Attribute::Bool(value) => json!({"boolValue": value}),
        Attribute::I64(value) => json!({"intValue": value.to_string()}),
        Attribute::F64(value) => json!({"doubleValue": value}),
        other => json!({"stringValue": other.as_str()}),
    };
    pairs.iter().map(|pair| json!({"key": pair.key.as_str(), "value": value(&pair.value)})).collect()
}
