//! Every error code of the API, with its HTTP status and its meaning.
//!
//! The specification fixes the codes. A test compares this table with the codes in the sources; the page of error codes
//! in the documentation is generated from it.

/// An error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// The code, as `error.code` carries it.
    pub code: &'static str,
    /// The HTTP status of the response.
    pub status: u16,
    /// What is wrong, and what to do.
    pub meaning: &'static str,
}

const fn error(code: &'static str, status: u16, meaning: &'static str) -> ErrorCode {
    ErrorCode { code, status, meaning }
}

/// Every error code, by name.
pub const ERROR_CODES: [ErrorCode; 50] = [
    error("above_maximum", 400, "The amount of a recharge is above the maximum."),
    error("backup_in_progress", 503, "A backup is being taken: delete the namespace when it has ended."),
    error("below_minimum", 400, "The amount of a recharge is below the minimum."),
    error(
        "code_refused",
        403,
        "The one-time code of a dashboard link is unknown, expired or used: request a new link.",
    ),
    error("dashboard_only", 403, "The route accepts a dashboard session only, not an API key."),
    error("forbidden_namespace", 403, "The key is confined to a different namespace."),
    error("internal", 500, "The server failed; its log has the details. The request can be repeated."),
    error("invalid_account", 400, "The account id is not 1 to 128 bytes without control characters."),
    error("invalid_body", 400, "The body is not the JSON object that the route expects; the message names the field."),
    error("invalid_depth", 400, "`depth` is not an integer in its range."),
    error("invalid_env", 400, "`env` is neither `live` nor `test`."),
    error("invalid_export", 400, "The namespace cannot be exported in that format or to that place."),
    error("invalid_id", 400, "The id is not one that the API returns."),
    error("invalid_import", 400, "The file cannot be imported; the message says what is wrong with it."),
    error("invalid_limit", 400, "`limit` is not an integer in the range of the route."),
    error(
        "invalid_namespace",
        400,
        "The name is not 1 to 64 characters of a-z, 0-9 and -, or the key writes to another one.",
    ),
    error("invalid_parameter", 400, "A query parameter has a value that the route does not accept."),
    error("invalid_path", 400, "The path is not that of a memory, such as `facts/ann/ferry.md`."),
    error("invalid_score", 400, "`min_score` is not a number from 0 to 1."),
    error("invalid_skill", 400, "A skill breaks a rule; the message names the field."),
    error("invalid_status", 400, "`status` is not one of the values of the route."),
    error(
        "invalid_tag",
        400,
        "A tag is empty, too long or has a character that is not allowed, or there are too many.",
    ),
    error("invalid_term", 400, "A term breaks a rule; the message names the field."),
    error("invalid_tier", 400, "A tier is not `facts`, `incidents`, `rules` or `skills`."),
    error("invalid_time", 400, "A time is not RFC 3339, a date, a datetime without offset, or epoch seconds."),
    error("invalid_time_field", 400, "`time_field` is not `created`, `updated` or `occurred`."),
    error("invalid_timezone", 400, "`timezone` is not an IANA time zone name."),
    error("merchant_not_live", 503, "The payment provider does not accept live payments for this merchant yet."),
    error("missing_query", 400, "The request has neither a query nor a filter."),
    error("missing_term", 400, "`term` is missing."),
    error("model_unavailable", 503, "The model does not respond, or its endpoint refuses the configuration."),
    error("namespace_damaged", 503, "The namespace's repository is damaged: its operator can restore a backup."),
    error(
        "namespace_not_found",
        404,
        "The namespace does not exist, or was deleted: create it with `POST /v1/namespaces`.",
    ),
    error("no_answer", 404, "No memory answers the question."),
    error("no_messages", 400, "`messages` is empty."),
    error("no_skills", 400, "`skills` is empty."),
    error("no_terms", 400, "`terms` is empty."),
    error("not_found", 404, "Nothing exists under that id or path."),
    error("payload_too_large", 413, "The body is larger than the route accepts, or holds too many values."),
    error("payment_required", 402, "The balance of the account is used up: recharge it."),
    error("provider_unavailable", 503, "The payment provider does not respond."),
    error("push_not_accepted", 403, "The server does not accept pushes: set `git.accept_push`."),
    error("quota_exceeded", 429, "The plan's monthly limit is reached; `retry-after` says when the next month begins."),
    error("rate_limited", 429, "The account sends too many requests; `retry-after` says how long to wait."),
    error("scoped_key", 403, "A key that is confined to a namespace cannot do this: use an account key."),
    error("storage_unavailable", 503, "The disk is full, read-only or failing. The request can be repeated."),
    error("too_many_messages", 413, "`messages` has more entries than a request may carry."),
    error("too_many_skills", 413, "`skills` has more than 100 entries."),
    error("too_many_terms", 413, "`terms` has more than 200 entries."),
    error("unknown_plan", 400, "The plan does not exist."),
];
