/** Errors: one subclass of `CuebaseError` for each family of error codes. */
export interface ErrorDetails {
    code?: string;
    status?: number;
    requestId?: string | undefined;
    retryAfter?: number | undefined;
    cause?: unknown;
}
/**
 * A failed request. Branch on `code`. `status` is the HTTP status, or 0 without a response. `requestId` identifies the
 * request in the server's log. `retryAfter` is the wait that the server asked for, in seconds.
 */
export declare class CuebaseError extends Error {
    readonly code: string;
    readonly status: number;
    readonly requestId: string | undefined;
    readonly retryAfter: number | undefined;
    constructor(message: string, { code, status, requestId, retryAfter, cause }?: ErrorDetails);
}
/** The client has no API key: none was passed, and `CUEBASE_KEY` is not set. */
export declare class MissingKey extends CuebaseError {
}
/** The credential is missing or invalid. The service does not report the reason. */
export declare class Unauthorized extends CuebaseError {
}
/** The credential is valid but not allowed to do this: `dashboard_only`, `scoped_key`, `forbidden_namespace`. */
export declare class Forbidden extends CuebaseError {
}
/** The request is invalid. `code` names the violated rule. */
export declare class InvalidRequest extends CuebaseError {
}
/** The requested object does not exist: `not_found`, `namespace_not_found`, `no_answer`. */
export declare class NotFound extends CuebaseError {
}
/** The request exceeds a size limit: `too_many_terms`, `too_many_skills`, `payload_too_large`. */
export declare class TooLarge extends CuebaseError {
}
/** The wallet is empty. */
export declare class PaymentRequired extends CuebaseError {
}
/** The plan's limit for this month is reached. Retrying soon does not help. */
export declare class QuotaExceeded extends CuebaseError {
}
/** Too many requests per minute, even after all retries. */
export declare class RateLimited extends CuebaseError {
}
/** The service is busy or temporarily unable to do this, even after all retries. */
export declare class Unavailable extends CuebaseError {
}
/** The service failed internally, even after all retries. */
export declare class ServerError extends CuebaseError {
}
/** The server did not respond, even after all retries. */
export declare class Unreachable extends CuebaseError {
}
/** An accepted write could not be retrieved within the timeout. */
export declare class NotIngested extends CuebaseError {
}
/** Returns the error for an error response. */
export declare function fromAnswer(status: number, body: unknown, headers: Headers): CuebaseError;
