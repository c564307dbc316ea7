//! What the process says of itself while it runs: the log on standard error and, where a collector is named, traces over
//! OTLP. Neither holds what a client wrote.
//!
//! A trace has a span for each request and each ingested write, with the names of OpenTelemetry's semantic conventions;
//! a client's `traceparent` (W3C Trace Context) is taken up.

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

/// Keeps the traces going; sends what is left when it is dropped.
#[must_use = "traces end when this is dropped"]
pub struct Telemetry(Option<SdkTracerProvider>);

/// Starts the log and, where it is set, the traces. To be called outside of any asynchronous runtime.
pub fn start(config: &Config) -> anyhow::Result<Telemetry> {
    let filter = EnvFilter::try_new(&config.log).unwrap_or_else(|error| {
        eprintln!("cuebase: setting log: {error}; logging at info");
        EnvFilter::new("info")
    });
    // Tells of every request of an agent as of an event in the life of a server.
    let filter = match (config.log.contains("rmcp"), "rmcp=warn".parse()) {
        (false, Ok(quiet)) => filter.add_directive(quiet),
        _ => filter,
    };
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let Some(collector) = &config.collector else {
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(terminal);
        // A log on a full disk must not take the service down: telling on stderr that stderr cannot be written to
        // panics. A second initialisation can only come from a test that runs commands in process.
        let _ = log.log_internal_errors(false).finish().try_init();
        return Ok(Telemetry(None));
    };
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(terminal);
    let log = log.log_internal_errors(false).with_filter(filter);
    let exporter = Collector::new(collector).context("the HTTP client for telemetry.otlp_endpoint cannot be made")?;
    let about = Resource::builder().with_service_name("cuebase");
    let about = about.with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(about.build()).build();
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

/// The span of a request that begins; `method` and `route` are empty where there is no such route. Where traces are sent
/// it is what OpenTelemetry's conventions want, and the client's own span is its parent.
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
    // The span has not begun yet, so it takes a parent.
    let _ = span.set_parent(TraceContextPropagator::new().extract(&Headers(headers)));
    span.set_attribute("http.request.method", method);
    span.set_attribute("http.route", route);
    span
}

/// Notes in a request's span how it ended.
pub fn request_ended(span: &tracing::Span, status: u16) {
    span.set_attribute("http.response.status_code", i64::from(status));
    if status >= 500 {
        span.set_status(Status::error(""));
    }
}

/// The span of an accepted write that is worked on; none where no traces are sent, since the log names it anyway.
pub fn ingestion_span(traced: bool, id: &str, kind: &'static str) -> tracing::Span {
    if !traced {
        return tracing::Span::none();
    }
    tracing::info_span!("ingest", id, kind, otel.kind = "consumer")
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(hyper::header::HeaderName::as_str).collect()
    }
}
