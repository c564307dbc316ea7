//! The log on standard error and, if a collector is configured, traces over OTLP. Neither contains text from a client.
//!
//! A trace has a span for each request and each ingested write, with the names of OpenTelemetry's semantic conventions.
//! It continues the trace in a client's `traceparent` header (W3C Trace Context).

mod collector;

use anyhow::Context;
use hyper::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{Status, TracerProvider};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use self::collector::Collector;
use crate::config::Config;

/// Keeps the export of traces running. When dropped, it sends the remaining spans.
#[must_use = "the export of traces ends when this is dropped"]
pub struct Telemetry(Option<SdkTracerProvider>);

/// Starts the log and, if a collector is configured, the traces. To be called outside any asynchronous runtime.
pub fn start(config: &Config) -> anyhow::Result<Telemetry> {
    let filter = log_filter(&config.telemetry.log);
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let Some(collector) = &config.telemetry.otlp_endpoint else {
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(terminal);
        // A log on a full disk must not stop the service: reporting on stderr that stderr cannot be written panics. A
        // second initialisation can only come from a test that runs commands in process.
        let _ = log.log_internal_errors(false).finish().try_init();
        return Ok(Telemetry(None));
    };
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(terminal);
    let log = log.log_internal_errors(false).with_filter(filter);
    let exporter = Collector::new(collector).context("cannot create the HTTP client for telemetry.otlp_endpoint")?;
    let resource = Resource::builder()
        .with_service_name("cuebase")
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
    let traces = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("cuebase"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_filter(Targets::new().with_target("cuebase", LevelFilter::INFO));
    let _ = tracing_subscriber::registry().with(log).with(traces).try_init();
    Ok(Telemetry(Some(provider)))
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(provider) = self.0.take()
            && let Err(error) = provider.shutdown_with_timeout(collector::TIMEOUT)
        {
            tracing::warn!(%error, "the last traces could not be sent");
        }
    }
}

/// Returns the span of a request. `method` and `route` are empty if the request matches no route. If traces are sent,
/// the span follows OpenTelemetry's conventions, and its parent is the client's span.
pub fn request_span(
    traced: bool,
    id: &str,
    (method, route): (&'static str, &'static str),
    headers: &HeaderMap,
) -> tracing::Span {
    if !traced {
        return tracing::info_span!("request", id, method, route);
    }
    let name = format!("{method} {route}");
    let span = tracing::info_span!("request", id, method, route, otel.name = name, otel.kind = "server");
    // A parent can be set because the span has not started yet.
    let _ = span.set_parent(TraceContextPropagator::new().extract(&Headers(headers)));
    span.set_attribute("http.request.method", method);
    span.set_attribute("http.route", route);
    span
}

/// Records the status of the response in the span of a request.
pub fn request_ended(span: &tracing::Span, status: u16) {
    span.set_attribute("http.response.status_code", i64::from(status));
    if status >= 500 {
        span.set_status(Status::error(""));
    }
}

/// Returns the span of the ingestion of an accepted write. Disabled if no traces are sent, since the log names the
/// write.
pub fn ingestion_span(traced: bool, id: &str, kind: &'static str) -> tracing::Span {
    if !traced {
        return tracing::Span::none();
    }
    tracing::info_span!("ingest", id, kind, otel.kind = "consumer")
}

/// Returns the configured filter of the log, without the messages that the MCP library logs at `info` for every
/// request.
fn log_filter(configured: &str) -> EnvFilter {
    let filter = match EnvFilter::try_new(configured) {
        Ok(filter) => filter,
        Err(error) => {
            eprintln!("cuebase: setting log: {error}; logging at info");
            EnvFilter::new("info")
        }
    };
    match "rmcp=warn".parse() {
        Ok(quiet) if !configured.contains("rmcp") => filter.add_directive(quiet),
        _ => filter,
    }
}

/// The headers of a request, from which the propagator reads the client's span.
struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(hyper::header::HeaderName::as_str).collect()
    }
}
