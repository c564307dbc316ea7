/** What can go wrong: one class for each family of codes, all of them `CuebaseError`. */
export interface ErrorDetails {
    code?: string;
    status?: number;
    requestId?: string | undefined;
    retryAfter?: number | undefined;
    cause?: unknown;
}
/**
 * A request that was not answered as hoped. `code` is what to branch on, `status` the HTTP status (0 where there was
 * none), `requestId` the name under which the server logged it, `retryAfter` the seconds that it asked to wait.
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
/** No credential, or one that is not good; the service does not say why. */
export declare class Unauthorized extends CuebaseError {
}
/** A good credential that may not do this: `dashboard_only`, `scoped_key`, `forbidden_namespace`. */
export declare class Forbidden extends CuebaseError {
}
/** The request breaks a rule, which `code` names. */
export declare class InvalidRequest extends CuebaseError {
}
/** There is no such thing: `not_found`, `namespace_not_found`, `no_answer`. */
export declare class NotFound extends CuebaseError {
}
/** More than is taken at once: `too_many_terms`, `too_many_skills`, `payload_too_large`. */
export declare class TooLarge extends CuebaseError {
}
/** The wallet is empty. */
export declare class PaymentRequired extends CuebaseError {
}
/** The plan's limit for this month is reached; do not try again soon. */
export declare class QuotaExceeded extends CuebaseError {
}
/** Too many requests in a minute, also after waiting and trying again. */
export declare class RateLimited extends CuebaseError {
}
/** The service is busy or cannot do this now, also after waiting and trying again. */
export declare class Unavailable extends CuebaseError {
}
/** Something failed on the service's side, also after trying again. */
export declare class ServerError extends CuebaseError {
}
/** No answer came at all, also after trying again. */
export declare class Unreachable extends CuebaseError {
}
/** What was accepted could not be retrieved within the time. */
export declare class NotIngested extends CuebaseError {
}
/** The error that an answer is. */
export declare function fromAnswer(status: number, body: unknown, headers: Headers): CuebaseError;
