/** Error codes of the service. Generated from its code: `cargo xtask docs`. */
/** The error codes, to compare with the `code` of a `CuebaseError`. */
export declare const ErrorCode: {
    /** The amount of a recharge is above the maximum. */
    readonly AboveMaximum: "above_maximum";
    /** A backup is being taken: delete the namespace when it has ended. */
    readonly BackupInProgress: "backup_in_progress";
    /** The amount of a recharge is below the minimum. */
    readonly BelowMinimum: "below_minimum";
    /** The one-time code of a dashboard link is unknown, expired or used: request a new link. */
    readonly CodeRefused: "code_refused";
    /** The route accepts a dashboard session only, not an API key. */
    readonly DashboardOnly: "dashboard_only";
    /** The key is confined to a different namespace. */
    readonly ForbiddenNamespace: "forbidden_namespace";
    /** The server failed; its log has the details. The request can be repeated. */
    readonly Internal: "internal";
    /** The account id is not 1 to 128 bytes without control characters. */
    readonly InvalidAccount: "invalid_account";
    /** `admit` or `precision` is not `all`, `recall`, `balanced` or `strict`. */
    readonly InvalidAdmit: "invalid_admit";
    /** The body is not the JSON object that the route expects; the message names the field. */
    readonly InvalidBody: "invalid_body";
    /** `current` is not `first`, `only` or `any`. */
    readonly InvalidCurrent: "invalid_current";
    /** `depth` is not an integer in its range. */
    readonly InvalidDepth: "invalid_depth";
    /** The file is of an unknown kind, damaged, protected or without text: the message says which. */
    readonly InvalidDocument: "invalid_document";
    /** `env` is neither `live` nor `test`. */
    readonly InvalidEnv: "invalid_env";
    /** The namespace cannot be exported in that format or to that place. */
    readonly InvalidExport: "invalid_export";
    /** The id is not one that the API returns. */
    readonly InvalidId: "invalid_id";
    /** The file cannot be imported; the message says what is wrong with it. */
    readonly InvalidImport: "invalid_import";
    /** `limit` is not an integer in the range of the route. */
    readonly InvalidLimit: "invalid_limit";
    /** A key or a value of the metadata is not accepted; the message names the key. */
    readonly InvalidMetadata: "invalid_metadata";
    /** The name is not 1 to 64 characters of a-z, 0-9 and -, or the key writes to another one. */
    readonly InvalidNamespace: "invalid_namespace";
    /** A query parameter has a value that the route does not accept. */
    readonly InvalidParameter: "invalid_parameter";
    /** The path is not that of a memory, such as `facts/ann/ferry.md`. */
    readonly InvalidPath: "invalid_path";
    /** `min_score` is not a number from 0 to 1. */
    readonly InvalidScore: "invalid_score";
    /** A skill breaks a rule; the message names the field. */
    readonly InvalidSkill: "invalid_skill";
    /** `status` is not one of the values of the route. */
    readonly InvalidStatus: "invalid_status";
    /** A tag is empty, too long or has a character that is not allowed, or there are too many. */
    readonly InvalidTag: "invalid_tag";
    /** A term breaks a rule; the message names the field. */
    readonly InvalidTerm: "invalid_term";
    /** A tier is not `facts`, `incidents`, `rules` or `skills`. */
    readonly InvalidTier: "invalid_tier";
    /** A time is not RFC 3339, a date, a datetime without offset, or epoch seconds, or `since` is after `until`. */
    readonly InvalidTime: "invalid_time";
    /** `time_field` is not `created`, `updated` or `occurred`. */
    readonly InvalidTimeField: "invalid_time_field";
    /** `timezone` is not an IANA time zone name. */
    readonly InvalidTimezone: "invalid_timezone";
    /** A condition of `where` is not of a form that the message lists, or two conditions contradict each other. */
    readonly InvalidWhere: "invalid_where";
    /** The payment provider does not accept live payments for this merchant yet. */
    readonly MerchantNotLive: "merchant_not_live";
    /** The request has neither a query nor a filter. */
    readonly MissingQuery: "missing_query";
    /** `term` is missing. */
    readonly MissingTerm: "missing_term";
    /** The model does not respond, or its endpoint refuses the configuration. */
    readonly ModelUnavailable: "model_unavailable";
    /** The namespace's repository is damaged: its operator can restore a backup. */
    readonly NamespaceDamaged: "namespace_damaged";
    /** The namespace does not exist, or was deleted: create it with `POST /v1/namespaces`. */
    readonly NamespaceNotFound: "namespace_not_found";
    /** No memory answers the question. */
    readonly NoAnswer: "no_answer";
    /** `messages` is empty. */
    readonly NoMessages: "no_messages";
    /** `skills` is empty. */
    readonly NoSkills: "no_skills";
    /** `terms` is empty. */
    readonly NoTerms: "no_terms";
    /** Nothing exists under that id or path. */
    readonly NotFound: "not_found";
    /** The body is larger than the route accepts, or holds too many values. */
    readonly PayloadTooLarge: "payload_too_large";
    /** The balance of the account is used up: recharge it. */
    readonly PaymentRequired: "payment_required";
    /** The payment provider does not respond. */
    readonly ProviderUnavailable: "provider_unavailable";
    /** The server does not accept pushes: set `git.accept_push`. */
    readonly PushNotAccepted: "push_not_accepted";
    /** The plan's monthly limit is reached; `retry-after` says when the next month begins. */
    readonly QuotaExceeded: "quota_exceeded";
    /** The account sends too many requests; `retry-after` says how long to wait. */
    readonly RateLimited: "rate_limited";
    /** A key that is confined to a namespace cannot do this: use an account key. */
    readonly ScopedKey: "scoped_key";
    /** The disk is full, read-only or failing, or denies access to a file. The request can be repeated. */
    readonly StorageUnavailable: "storage_unavailable";
    /** `messages` has more entries than a request may carry. */
    readonly TooManyMessages: "too_many_messages";
    /** `skills` has more than 100 entries. */
    readonly TooManySkills: "too_many_skills";
    /** `terms` has more than 200 entries. */
    readonly TooManyTerms: "too_many_terms";
    /** The plan does not exist. */
    readonly UnknownPlan: "unknown_plan";
};
/** An error code of the service. A newer service may have others. */
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];
