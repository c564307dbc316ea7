//! The table of all settings: key, default and description.
//!
//! `cuebase config` prints the descriptions, and `docs/reference/settings.md` is generated from them. Each description
//! is read alone, so it names its subject and its unit.

/// The text that replaces a secret wherever settings are printed.
pub(super) const MASK: &str = "********";
/// Minimum similarity (Jaro-Winkler) at which one name is suggested for another.
const SIMILARITY_MIN: f64 = 0.85;

/// A setting's definition.
pub struct Setting {
    /// Name of the setting; dots separate its parts.
    pub key: &'static str,
    /// Value if no source sets it.
    pub default: &'static str,
    /// Meaning of the setting, with its unit.
    pub help: &'static str,
    /// Whether the value is a secret and is never printed.
    pub secret: bool,
}

const fn setting(key: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting { key, default, help, secret: false }
}

const fn secret(key: &'static str, help: &'static str) -> Setting {
    Setting { key, default: "", help, secret: true }
}

/// All settings.
pub const SETTINGS: [Setting; 58] = [
    setting("data", "./cuebase-data", "Data directory: records, repositories, indexes, uploaded files."),
    setting("listen", "127.0.0.1:8080", "Address of the API; port 0 selects a free port."),
    setting("dashboard.listen", "127.0.0.1:8081", "Address of the dashboard, or off; port 0 selects a free port."),
    setting("dashboard.public_url", "", "Public URL of the dashboard, for links; the listening address by default."),
    setting(
        "dashboard.origins",
        "",
        "Exact browser origins that may call the API (CORS) in addition to the dashboard's own, comma-separated.",
    ),
    setting("pets.listen", "off", "Address of the animals API, or off; port 0 selects a free port."),
    setting(
        "metrics.listen",
        "off",
        "Address of GET /metrics for Prometheus, or off; requires no credential; port 0 selects a free port.",
    ),
    setting(
        "git.accept_push",
        "false",
        "Permission to push with git to /v1/git/<namespace>: true or false; clone and pull are always allowed.",
    ),
    setting(
        "retrieval.concurrency",
        "20",
        "Number of concurrent retrievals; further ones get 503, except a few reserved for other accounts.",
    ),
    setting("retrieval.warm_namespaces", "4", "Number of idle namespaces kept open."),
    setting("ingestion.workers", "5", "Number of namespaces written to at once."),
    setting("ingestion.retries", "3", "Number of retries of a failed write before it becomes a dead letter."),
    setting(
        "ingestion.backoff_ms",
        "500",
        "Wait before the first retry of a failed write, in milliseconds; each further wait is four times as long.",
    ),
    setting(
        "ingestion.timeout_ms",
        "900000",
        "Time limit of one attempt to ingest a write, in milliseconds; a longer attempt counts as failed.",
    ),
    setting(
        "ingestion.keep_sources",
        "true",
        "Storage of conversations as they were sent, for export, re-extraction and the sources of a memory: true or false.",
    ),
    setting(
        "model.embedding",
        "",
        "Name of a hosted embedding model; empty selects model.local or the built-in table.",
    ),
    setting(
        "model.chat",
        "",
        "Name of a hosted chat model for extraction and answers; empty selects the built-in extraction and answers.",
    ),
    setting("model.base_url", "", "Base URL of an OpenAI-compatible endpoint, for example http://127.0.0.1:11434/v1."),
    secret("model.api_key", "API key for model.base_url, if the endpoint requires one."),
    setting("model.chat_base_url", "", "Base URL of the chat model's endpoint, if it differs from model.base_url."),
    secret("model.chat_api_key", "API key for model.chat_base_url, if the endpoint requires one."),
    setting("model.local", "", "Folder of a BERT-family encoder, which runs in the server process."),
    setting(
        "model.embedding_deadline_ms",
        "1000",
        "Time that a retrieval waits for the vector of its query, in milliseconds; afterwards it searches without the vector.",
    ),
    setting("model.timeout_ms", "60000", "Time limit of a call to a hosted model, retries included, in milliseconds."),
    setting("model.concurrency", "8", "Number of concurrent calls to a model endpoint."),
    setting(
        "server.connections",
        "1024",
        "Number of open connections of a listener; at the limit a new one replaces the one that has waited longest.",
    ),
    setting(
        "server.requests",
        "256",
        "Number of concurrent requests, without retrievals; further ones get 503, except some reserved for other accounts.",
    ),
    setting(
        "server.shutdown_ms",
        "30000",
        "Time limit of a shutdown, in milliseconds; remaining accepted writes resume at the next start.",
    ),
    setting(
        "server.public_url",
        "",
        "Public URL of the API, for links; the address that the client called by default.",
    ),
    setting("server.header_timeout_ms", "15000", "Time limit for receiving the head of a request, in milliseconds."),
    setting("server.body_timeout_ms", "60000", "Time limit for receiving the body of a request, in milliseconds."),
    setting(
        "server.body_memory_mib",
        "512",
        "Memory for all request bodies and unsent responses together, in MiB; further requests get 503.",
    ),
    setting(
        "server.write_timeout_ms",
        "30000",
        "Time in which a client must read about 64 KiB of a pending response, in milliseconds; a slower client is disconnected.",
    ),
    setting(
        "rate_limit.requests_per_minute",
        "600000",
        "Number of requests per account and minute; 0 disables the limit.",
    ),
    setting("identity.issuer", "", "External issuer of ID tokens for the dashboard, in addition to the built-in one."),
    setting("identity.audience", "", "Expected audience (aud) of the external issuer's tokens."),
    setting(
        "identity.jwks_url",
        "",
        "URL of the external issuer's public keys; <issuer>/.well-known/jwks.json by default.",
    ),
    setting("billing.default_plan", "payg", "Plan of an account without a subscription."),
    setting(
        "billing.currency",
        "INR",
        "Currency of prices and balances, a three-letter code; amounts are in hundredths of it.",
    ),
    setting(
        "billing.rates",
        "writes=10,reads=2,chats=50",
        "Price of one unit on the payg plan, by meter, in hundredths of the currency (paise).",
    ),
    setting(
        "billing.enforce_balance",
        "false",
        "Refusal of writes with 402 when the wallet of a payg account is empty: true or false.",
    ),
    setting(
        "plans.payg",
        "writes=1000000000,reads=1000000000,memories=1000000000,chats=1000000000,media_mib=1000000000",
        PLAN_HELP,
    ),
    setting("plans.starter", "writes=100000,reads=1000000,memories=250000,chats=10000,media_mib=10240", PLAN_HELP),
    setting("plans.growth", "writes=500000,reads=5000000,memories=1000000,chats=50000,media_mib=51200", PLAN_HELP),
    setting("plans.scale", "writes=2000000,reads=20000000,memories=5000000,chats=200000,media_mib=204800", PLAN_HELP),
    setting(
        "plans.max",
        "writes=10000000,reads=100000000,memories=25000000,chats=1000000,media_mib=1048576",
        PLAN_HELP,
    ),
    setting(
        "payments.provider",
        "off",
        "Payment provider: off (nothing is charged), dodo, or sandbox (a test provider that takes no money).",
    ),
    setting("payments.url", "https://live.dodopayments.com", "Base URL of the payment provider's API."),
    secret("payments.api_key", "API key for the payment provider."),
    secret(
        "payments.webhook_secret",
        "Secret that signs the payment provider's notifications (whsec_…), at least 16 bytes.",
    ),
    setting(
        "payments.products",
        "",
        "Product IDs at the payment provider, in the form recharge=…,starter=…,growth=…,scale=…,max=….",
    ),
    setting("payments.return_url", "", "URL that the payment page redirects to afterwards."),
    setting("payments.country", "IN", "Country of the billing address, a two-letter code."),
    setting(
        "payments.email_domain",
        "customers.example.com",
        "Domain of the email addresses generated for customers without one.",
    ),
    setting(
        "payments.timeout_ms",
        "10000",
        "Time limit of a call to the payment provider, retries included, in milliseconds.",
    ),
    setting(
        "payments.sandbox_listen",
        "127.0.0.1:8082",
        "Address of the sandbox provider's payment page; port 0 selects a free port.",
    ),
    setting("log", "info", "Filter of the log on stderr: a level, or a tracing filter such as info,cuebase=debug."),
    setting(
        "telemetry.otlp_endpoint",
        "",
        "Base URL of an OpenTelemetry collector that receives traces as OTLP over HTTP, for example http://localhost:4318.",
    ),
];

const PLAN_HELP: &str =
    "Monthly limits of the plan; memories and media_mib (MiB of uploaded files) limit the amount stored.";

/// Returns the environment variable of a setting: `CUEBASE_A_B` for `a.b`.
pub fn environment_name(key: &str) -> String {
    format!("CUEBASE_{}", key.replace('.', "_").to_uppercase())
}

/// Returns the key that is most similar to a name, or `None` if no key is similar enough.
pub(super) fn nearest_key(name: &str) -> Option<&'static str> {
    let mut nearest = None;
    let mut similarity_max = SIMILARITY_MIN;
    for setting in &SETTINGS {
        let similarity = strsim::jaro_winkler(name, setting.key);
        // `>=` keeps the last one of equals.
        if similarity > SIMILARITY_MIN && similarity >= similarity_max {
            nearest = Some(setting.key);
            similarity_max = similarity;
        }
    }
    nearest
}
