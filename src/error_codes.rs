//! Every error code of the API, with its HTTP status and its meaning.
//!
//! The specification fixes the codes. This is their only declaration: the page of error codes in the documentation and
//! the constants of the clients are generated from it, and a test finds codes that are written as text elsewhere.

use std::fmt;

use hyper::StatusCode;
use serde::{Serialize, Serializer};

/// Declares [`ErrorCode`] from rows of meaning, variant, code and status.
macro_rules! error_codes {
    ($(#[doc = $meaning:literal] $variant:ident = $code:literal, $status:ident;)*) => {
        /// An error code of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $variant,)*
        }

        impl ErrorCode {
            /// Every error code, sorted by its text.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the code as `error.code` carries it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            /// Returns the HTTP status of a response with the code.
            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$variant => StatusCode::$status,)*
                }
            }

            /// Returns what is wrong, and what to do.
            pub fn meaning(self) -> &'static str {
                let comment = match self {
                    $(Self::$variant => $meaning,)*
                };
                comment.trim()
            }

            /// Returns the error code with a text; `None` for a text that is not an error code.
            pub fn from_text(text: &str) -> Option<Self> {
                match text {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

error_codes! {
    /// The amount of a recharge is above the maximum.
    AboveMaximum = "above_maximum", BAD_REQUEST;
    /// A backup is being taken: delete the namespace when it has ended.
    BackupInProgress = "backup_in_progress", SERVICE_UNAVAILABLE;
    /// The amount of a recharge is below the minimum.
    BelowMinimum = "below_minimum", BAD_REQUEST;
    /// The one-time code of a dashboard link is unknown, expired or used: request a new link.
    CodeRefused = "code_refused", FORBIDDEN;
    /// The route accepts a dashboard session only, not an API key.
    DashboardOnly = "dashboard_only", FORBIDDEN;
    /// The key is confined to a different namespace.
    ForbiddenNamespace = "forbidden_namespace", FORBIDDEN;
    /// The server failed; its log has the details. The request can be repeated.
    Internal = "internal", INTERNAL_SERVER_ERROR;
    /// The account id is not 1 to 128 bytes without control characters.
    InvalidAccount = "invalid_account", BAD_REQUEST;
    /// `admit` or `precision` is not `all`, `recall`, `balanced` or `strict`.
    InvalidAdmit = "invalid_admit", BAD_REQUEST;
    /// The body is not the JSON object that the route expects; the message names the field.
    InvalidBody = "invalid_body", BAD_REQUEST;
    /// `current` is not `first`, `only` or `any`.
    InvalidCurrent = "invalid_current", BAD_REQUEST;
    /// `depth` is not an integer in its range.
    InvalidDepth = "invalid_depth", BAD_REQUEST;
    /// The file is of an unknown kind, damaged, protected or without text: the message says which.
    InvalidDocument = "invalid_document", BAD_REQUEST;
    /// `env` is neither `live` nor `test`.
    InvalidEnv = "invalid_env", BAD_REQUEST;
    /// The namespace cannot be exported in that format or to that place.
    InvalidExport = "invalid_export", BAD_REQUEST;
    /// The id is not one that the API returns.
    InvalidId = "invalid_id", BAD_REQUEST;
    /// The file cannot be imported; the message says what is wrong with it.
    InvalidImport = "invalid_import", BAD_REQUEST;
    /// `limit` is not an integer in the range of the route.
    InvalidLimit = "invalid_limit", BAD_REQUEST;
    /// A key or a value of the metadata is not accepted; the message names the key.
    InvalidMetadata = "invalid_metadata", BAD_REQUEST;
    /// The name is not 1 to 64 characters of a-z, 0-9 and -, or the key writes to another one.
    InvalidNamespace = "invalid_namespace", BAD_REQUEST;
    /// A query parameter has a value that the route does not accept.
    InvalidParameter = "invalid_parameter", BAD_REQUEST;
    /// The path is not that of a memory, such as `facts/ann/ferry.md`.
    InvalidPath = "invalid_path", BAD_REQUEST;
    /// `min_score` is not a number from 0 to 1.
    InvalidScore = "invalid_score", BAD_REQUEST;
    /// A skill breaks a rule; the message names the field.
    InvalidSkill = "invalid_skill", BAD_REQUEST;
    /// `status` is not one of the values of the route.
    InvalidStatus = "invalid_status", BAD_REQUEST;
    /// A tag is empty, too long or has a character that is not allowed, or there are too many.
    InvalidTag = "invalid_tag", BAD_REQUEST;
    /// A term breaks a rule; the message names the field.
    InvalidTerm = "invalid_term", BAD_REQUEST;
    /// A tier is not `facts`, `incidents`, `rules` or `skills`.
    InvalidTier = "invalid_tier", BAD_REQUEST;
    /// A time is not RFC 3339, a date, a datetime without offset, or epoch seconds, or `since` is after `until`.
    InvalidTime = "invalid_time", BAD_REQUEST;
    /// `time_field` is not `created`, `updated` or `occurred`.
    InvalidTimeField = "invalid_time_field", BAD_REQUEST;
    /// `timezone` is not an IANA time zone name.
    InvalidTimezone = "invalid_timezone", BAD_REQUEST;
    /// A condition of `where` is not of a form that the message lists, or two conditions contradict each other.
    InvalidWhere = "invalid_where", BAD_REQUEST;
    /// The payment provider does not accept live payments for this merchant yet.
    MerchantNotLive = "merchant_not_live", SERVICE_UNAVAILABLE;
    /// The request has neither a query nor a filter.
    MissingQuery = "missing_query", BAD_REQUEST;
    /// `term` is missing.
    MissingTerm = "missing_term", BAD_REQUEST;
    /// The model does not respond, or its endpoint refuses the configuration.
    ModelUnavailable = "model_unavailable", SERVICE_UNAVAILABLE;
    /// The namespace's repository is damaged: its operator can restore a backup.
    NamespaceDamaged = "namespace_damaged", SERVICE_UNAVAILABLE;
    /// The namespace does not exist, or was deleted: create it with `POST /v1/namespaces`.
    NamespaceNotFound = "namespace_not_found", NOT_FOUND;
    /// No memory answers the question.
    NoAnswer = "no_answer", NOT_FOUND;
    /// `messages` is empty.
    NoMessages = "no_messages", BAD_REQUEST;
    /// `skills` is empty.
    NoSkills = "no_skills", BAD_REQUEST;
    /// `terms` is empty.
    NoTerms = "no_terms", BAD_REQUEST;
    /// Nothing exists under that id or path.
    NotFound = "not_found", NOT_FOUND;
    /// The body is larger than the route accepts, or holds too many values.
    PayloadTooLarge = "payload_too_large", PAYLOAD_TOO_LARGE;
    /// The balance of the account is used up: recharge it.
    PaymentRequired = "payment_required", PAYMENT_REQUIRED;
    /// The payment provider does not respond.
    ProviderUnavailable = "provider_unavailable", SERVICE_UNAVAILABLE;
    /// The server does not accept pushes: set `git.accept_push`.
    PushNotAccepted = "push_not_accepted", FORBIDDEN;
    /// The plan's monthly limit is reached; `retry-after` says when the next month begins.
    QuotaExceeded = "quota_exceeded", TOO_MANY_REQUESTS;
    /// The account sends too many requests; `retry-after` says how long to wait.
    RateLimited = "rate_limited", TOO_MANY_REQUESTS;
    /// A key that is confined to a namespace cannot do this: use an account key.
    ScopedKey = "scoped_key", FORBIDDEN;
    /// The disk is full, read-only or failing, or denies access to a file. The request can be repeated.
    StorageUnavailable = "storage_unavailable", SERVICE_UNAVAILABLE;
    /// `messages` has more entries than a request may carry.
    TooManyMessages = "too_many_messages", PAYLOAD_TOO_LARGE;
    /// `skills` has more than 100 entries.
    TooManySkills = "too_many_skills", PAYLOAD_TOO_LARGE;
    /// `terms` has more than 200 entries.
    TooManyTerms = "too_many_terms", PAYLOAD_TOO_LARGE;
    /// The plan does not exist.
    UnknownPlan = "unknown_plan", BAD_REQUEST;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
