"""Errors: one subclass of `CuebaseError` for each family of error codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CuebaseError(Exception):
    """A failed request.

    Branch on `code`. `status` is the HTTP status, or 0 without a response. `message` is text for people. `request_id`
    identifies the request in the server's log. `retry_after` is the wait that the server asked for, in seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "unknown",
        status: int = 0,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.message = message
        self.code = code
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after


class MissingKey(CuebaseError):
    """The client has no API key: none was passed, and `CUEBASE_KEY` is not set."""


class Unauthorized(CuebaseError):
    """The credential is missing or invalid. The service does not report the reason."""


class Forbidden(CuebaseError):
    """The credential is valid but not allowed to do this: `dashboard_only`, `scoped_key`, `forbidden_namespace`."""


class InvalidRequest(CuebaseError):
    """The request is invalid. `code` names the violated rule."""


class NotFound(CuebaseError):
    """The requested object does not exist: `not_found`, `namespace_not_found`, `no_answer`."""


class TooLarge(CuebaseError):
    """The request exceeds a size limit: `too_many_terms`, `too_many_skills`, `payload_too_large`."""


class PaymentRequired(CuebaseError):
    """The wallet is empty."""


class QuotaExceeded(CuebaseError):
    """The plan's limit for this month is reached. Retrying soon does not help."""


class RateLimited(CuebaseError):
    """Too many requests per minute, even after all retries."""


class Unavailable(CuebaseError):
    """The service is busy or temporarily unable to do this, even after all retries."""


class ServerError(CuebaseError):
    """The service failed internally, even after all retries."""


class Unreachable(CuebaseError):
    """The server did not respond, even after all retries."""


class NotIngested(CuebaseError):
    """An accepted write could not be retrieved within the timeout."""


def from_answer(status: int, body: Any, headers: Mapping[str, str]) -> CuebaseError:
    """Returns the error for an error response."""
    body = body if isinstance(body, dict) else {}
    error = body.get("error")
    if isinstance(error, dict):
        code, message = str(error.get("code", "unknown")), str(error.get("message", ""))
    elif isinstance(error, str):
        code, message = error, str(body.get("message", ""))
    else:
        # Refusals by the gateway and by the concurrency limit contain only a message.
        code = {401: "unauthorized", 403: "unauthorized", 503: "unavailable"}.get(status, "unknown")
        message = str(body.get("message", f"status {status}"))
    return _class(status, code)(
        message,
        code=code,
        status=status,
        request_id=headers.get("x-request-id"),
        retry_after=_seconds(headers.get("retry-after")),
    )


def _class(status: int, code: str) -> type[CuebaseError]:
    if code == "unauthorized":
        return Unauthorized
    if code == "quota_exceeded":
        return QuotaExceeded
    families: dict[int, type[CuebaseError]] = {
        400: InvalidRequest,
        402: PaymentRequired,
        403: Forbidden,
        404: NotFound,
        413: TooLarge,
        429: RateLimited,
        502: Unavailable,
        503: Unavailable,
        504: Unavailable,
    }
    return families.get(status, ServerError if status >= 500 else CuebaseError)


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text is not None else None
    except ValueError:
        return None
