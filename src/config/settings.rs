//! Every setting there is, on one screen.

/// A setting's definition.
pub struct Setting {
    /// Its name, dots between parts.
    pub key: &'static str,
    /// What it is when nothing else is said.
    pub default: &'static str,
    /// What it means, with its unit.
    pub help: &'static str,
    /// Whether its value is shown to nobody.
    pub secret: bool,
}

const fn setting(key: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting { key, default, help, secret: false }
}

const fn secret(key: &'static str, help: &'static str) -> Setting {
    Setting { key, default: "", help, secret: true }
}

/// Every setting there is.
pub const SETTINGS: [Setting; 58] = [
    setting("data", "./cuebase-data", "Data directory: records, repositories, indexes, uploaded files."),
    setting("listen", "127.0.0.1:8080", "Address of the API; port 0 takes a free one."),
    setting("dashboard.listen", "127.0.0.1:8081", "Address of the dashboard, or off; port 0 takes a free one."),
    setting("dashboard.public_url", "", "Where people reach the dashboard, for links; by default where it listens."),
    setting(
        "dashboard.origins",
        "",
        "Browser origins that may call the API (CORS) in addition to the dashboard's own, comma-separated, each exact.",
    ),
    setting("pets.listen", "off", "Address of the animals API; port 0 takes a free one."),
    setting(
        "metrics.listen",
        "off",
        "Address of GET /metrics for Prometheus, open to whoever reaches it; port 0 takes a free one.",
    ),
    setting("git.accept_push", "false", "Whether git may push to /v1/git/<namespace>; it may always clone and pull."),
    setting(
        "retrieval.concurrency",
        "20",
        "Retrievals at once; beyond it the answer is 503. Other accounts still get a few spare places.",
    ),
    setting("retrieval.warm_namespaces", "4", "Namespaces kept open when nobody uses them."),
    setting("ingestion.workers", "5", "Namespaces written to at once."),
    setting("ingestion.retries", "3", "Retries of a failed write before it becomes a dead letter."),
    setting("ingestion.backoff_ms", "500", "Wait before the first retry; each further one is four times as long."),
    setting("ingestion.timeout_ms", "900000", "A write that takes longer than this has failed: 15 minutes."),
    setting(
        "ingestion.keep_sources",
        "true",
        "Whether conversations are kept as they were sent, for export, for extracting again and to show where a memory comes from.",
    ),
    setting("model.embedding", "", "Name of a hosted embedding model; none: the built-in table, or model.local."),
    setting("model.chat", "", "Name of a hosted chat model for extraction and answers; none: built in."),
    setting("model.base_url", "", "OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1."),
    secret("model.api_key", "API key for model.base_url, where it requires one."),
    setting("model.chat_base_url", "", "Endpoint of the chat model, where it differs from model.base_url."),
    secret("model.chat_api_key", "API key for model.chat_base_url, where it requires one."),
    setting("model.local", "", "Folder of a BERT-family encoder, run in process."),
    setting("model.embedding_deadline_ms", "1000", "How long a retrieval waits for the vector of its query."),
    setting("model.timeout_ms", "60000", "Time limit of a call to a hosted model, retries included."),
    setting("model.concurrency", "8", "Calls to a hosted model at once."),
    setting("server.connections", "1024", "Open connections; at the cap the longest wait makes room for a new one."),
    setting(
        "server.requests",
        "256",
        "Requests at once, without retrievals; beyond it the answer is 503. Other accounts still get some spare places.",
    ),
    setting("server.shutdown_ms", "30000", "Time limit of a stop; accepted writes resume at the next start."),
    setting("server.public_url", "", "Where clients reach the API, for links; by default what they called."),
    setting("server.header_timeout_ms", "15000", "A request's head must have arrived within this."),
    setting("server.body_timeout_ms", "60000", "A request's body must have arrived within this."),
    setting(
        "server.body_memory_mib",
        "512",
        "Memory for all request bodies and all unsent answers together, MiB; beyond it the answer is 503.",
    ),
    setting(
        "server.write_timeout_ms",
        "30000",
        "A client that takes less than about 64 KiB of a waiting answer within this is cut off.",
    ),
    setting("rate_limit.requests_per_minute", "600000", "Requests of one account in a minute; 0 sets no limit."),
    setting("identity.issuer", "", "External issuer of ID tokens for the dashboard, in addition to the built-in one."),
    setting("identity.audience", "", "Expected audience (aud) of the external issuer's tokens."),
    setting(
        "identity.jwks_url",
        "",
        "Where the external issuer's keys are; by default <issuer>/.well-known/jwks.json.",
    ),
    setting("billing.default_plan", "payg", "The plan of an account without a subscription."),
    setting("billing.currency", "INR", "The currency whose hundredth part prices are in."),
    setting("billing.rates", "writes=10,reads=2,chats=50", "Price of one unit on payg, paise."),
    setting("billing.enforce_balance", "false", "Whether an empty wallet on payg refuses writes with 402."),
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
    setting("payments.provider", "off", "off (nothing is charged), dodo, or sandbox: one that takes no money."),
    setting("payments.url", "https://live.dodopayments.com", "Address of the payment provider's API."),
    secret("payments.api_key", "API key for the payment provider."),
    secret(
        "payments.webhook_secret",
        "Secret that signs the payment provider's notifications (whsec_…), at least 16 bytes.",
    ),
    setting(
        "payments.products",
        "",
        "Product ids at the payment provider: recharge=…,starter=…,growth=…,scale=…,max=…",
    ),
    setting("payments.return_url", "", "Where the payment page sends people afterwards."),
    setting("payments.country", "IN", "Country of the billing address, two letters."),
    setting(
        "payments.email_domain",
        "customers.example.com",
        "Domain of the addresses that customers without one get.",
    ),
    setting("payments.timeout_ms", "10000", "Time limit of a call to the payment provider."),
    setting("payments.sandbox_listen", "127.0.0.1:8082", "Address of the sandbox provider's page."),
    setting("log", "info", "What is logged to stderr: a level, or a tracing filter."),
    setting(
        "telemetry.otlp_endpoint",
        "",
        "An OpenTelemetry collector that takes OTLP over HTTP, such as http://localhost:4318; traces are sent there.",
    ),
];

const PLAN_HELP: &str = "Limits of the plan; memories and media_mib (MiB of uploaded files) are levels, not counts.";

/// `a.b` as `CUEBASE_A_B`.
pub fn environment_name(key: &str) -> String {
    format!("CUEBASE_{}", key.replace('.', "_").to_uppercase())
}
