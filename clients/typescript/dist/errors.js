/** Errors: one subclass of `CuebaseError` for each family of error codes. */
/**
 * A failed request. Branch on `code`. `status` is the HTTP status, or 0 without a response. `requestId` identifies the
 * request in the server's log. `retryAfter` is the wait that the server asked for, in seconds.
 */
export class CuebaseError extends Error {
    code;
    status;
    requestId;
    retryAfter;
    constructor(message, { code = "unknown", status = 0, requestId, retryAfter, cause } = {}) {
        super(`${code}: ${message}`, { cause });
        this.name = new.target.name;
        this.code = code;
        this.status = status;
        this.requestId = requestId;
        this.retryAfter = retryAfter;
    }
}
/** The client has no API key: none was passed, and `CUEBASE_KEY` is not set. */
export class MissingKey extends CuebaseError {
}
/** The credential is missing or invalid. The service does not report the reason. */
export class Unauthorized extends CuebaseError {
}
/** The credential is valid but not allowed to do this: `dashboard_only`, `scoped_key`, `forbidden_namespace`. */
export class Forbidden extends CuebaseError {
}
/** The request is invalid. `code` names the violated rule. */
export class InvalidRequest extends CuebaseError {
}
/** The requested object does not exist: `not_found`, `namespace_not_found`, `no_answer`. */
export class NotFound extends CuebaseError {
}
/** The request exceeds a size limit: `too_many_terms`, `too_many_skills`, `payload_too_large`. */
export class TooLarge extends CuebaseError {
}
/** The wallet is empty. */
export class PaymentRequired extends CuebaseError {
}
/** The plan's limit for this month is reached. Retrying soon does not help. */
export class QuotaExceeded extends CuebaseError {
}
/** Too many requests per minute, even after all retries. */
export class RateLimited extends CuebaseError {
}
/** The service is busy or temporarily unable to do this, even after all retries. */
export class Unavailable extends CuebaseError {
}
/** The service failed internally, even after all retries. */
export class ServerError extends CuebaseError {
}
/** The server did not respond, even after all retries. */
export class Unreachable extends CuebaseError {
}
/** An accepted write could not be retrieved within the timeout. */
export class NotIngested extends CuebaseError {
}
const FAMILIES = {
    400: InvalidRequest,
    402: PaymentRequired,
    403: Forbidden,
    404: NotFound,
    413: TooLarge,
    429: RateLimited,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
};
// Refusals by the gateway and by the concurrency limit contain only a message.
const GATEWAY = { 401: "unauthorized", 403: "unauthorized", 503: "unavailable" };
/** Returns the error for an error response. */
export function fromAnswer(status, body, headers) {
    const answer = (typeof body === "object" && body !== null ? body : {});
    let code = GATEWAY[status] ?? "unknown";
    let message = String(answer.message ?? `status ${status}`);
    if (typeof answer.error === "string") {
        code = answer.error;
    }
    else if (typeof answer.error === "object" && answer.error !== null) {
        const envelope = answer.error;
        code = String(envelope.code ?? "unknown");
        message = String(envelope.message ?? "");
    }
    const asked = Number.parseFloat(headers.get("retry-after") ?? "");
    const details = {
        code,
        status,
        requestId: headers.get("x-request-id") ?? undefined,
        retryAfter: Number.isFinite(asked) ? Math.max(0, asked) : undefined,
    };
    if (code === "unauthorized")
        return new Unauthorized(message, details);
    if (code === "quota_exceeded")
        return new QuotaExceeded(message, details);
    const Family = FAMILIES[status] ?? (status >= 500 ? ServerError : CuebaseError);
    return new Family(message, details);
}
