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
export class CuebaseError extends Error {
  readonly code: string;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(message: string, { code = "unknown", status = 0, requestId, retryAfter, cause }: ErrorDetails = {}) {
    super(`${code}: ${message}`, { cause });
    this.name = new.target.name;
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** The client has no API key: none was passed, and `CUEBASE_KEY` is not set. */
export class MissingKey extends CuebaseError {}
/** No credential, or one that is not good; the service does not say why. */
export class Unauthorized extends CuebaseError {}
/** A good credential that may not do this: `dashboard_only`, `scoped_key`, `forbidden_namespace`. */
export class Forbidden extends CuebaseError {}
/** The request breaks a rule, which `code` names. */
export class InvalidRequest extends CuebaseError {}
/** There is no such thing: `not_found`, `namespace_not_found`, `no_answer`. */
export class NotFound extends CuebaseError {}
/** More than is taken at once: `too_many_terms`, `too_many_skills`, `payload_too_large`. */
export class TooLarge extends CuebaseError {}
/** The wallet is empty. */
export class PaymentRequired extends CuebaseError {}
/** The plan's limit for this month is reached; do not try again soon. */
export class QuotaExceeded extends CuebaseError {}
/** Too many requests in a minute, also after waiting and trying again. */
export class RateLimited extends CuebaseError {}
/** The service is busy or cannot do this now, also after waiting and trying again. */
export class Unavailable extends CuebaseError {}
/** Something failed on the service's side, also after trying again. */
export class ServerError extends CuebaseError {}
/** No answer came at all, also after trying again. */
export class Unreachable extends CuebaseError {}
/** What was accepted could not be retrieved within the time. */
export class NotIngested extends CuebaseError {}

const FAMILIES: Record<number, typeof CuebaseError> = {
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

// The gateway's refusals and the ceiling have a message alone.
const GATEWAY: Record<number, string> = { 401: "unauthorized", 403: "unauthorized", 503: "unavailable" };

/** The error that an answer is. */
export function fromAnswer(status: number, body: unknown, headers: Headers): CuebaseError {
  const answer = (typeof body === "object" && body !== null ? body : {}) as { error?: unknown; message?: unknown };
  let code = GATEWAY[status] ?? "unknown";
  let message = String(answer.message ?? `status ${status}`);
  if (typeof answer.error === "string") {
    code = answer.error;
  } else if (typeof answer.error === "object" && answer.error !== null) {
    const envelope = answer.error as { code?: unknown; message?: unknown };
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
  if (code === "unauthorized") return new Unauthorized(message, details);
  if (code === "quota_exceeded") return new QuotaExceeded(message, details);
  const Family = FAMILIES[status] ?? (status >= 500 ? ServerError : CuebaseError);
  return new Family(message, details);
}
