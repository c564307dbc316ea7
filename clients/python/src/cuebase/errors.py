"""What can go wrong: one class for each family of codes, all of them `CuebaseError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CuebaseError(Exception):
    """A request that was not answered as hoped.

    `code` is what to branch on, `status` the HTTP status (0 where there was none), `message` prose for people,
    `request_id` the name under which the server logged it, `retry_after` the seconds that it asked to wait.
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
    """No credential, or one that is not good; the service does not say why."""


class Forbidden(CuebaseError):
    """A good credential that may not do this: `dashboard_only`, `scoped_key`, `forbidden_namespace`."""


class InvalidRequest(CuebaseError):
    """The request breaks a rule, which `code` names."""


class NotFound(CuebaseError):
    """There is no such thing: `not_found`, `namespace_not_found`, `no_answer`."""


class TooLarge(CuebaseError):
    """More than is taken at once: `too_many_terms`, `too_many_skills`, `payload_too_large`."""


class PaymentRequired(CuebaseError):
    """The wallet is empty."""


class QuotaExceeded(CuebaseError):
    """The plan's limit for this month is reached; do not try again soon."""


class RateLimited(CuebaseError):
    """Too many requests in a minute, also after waiting and trying again."""


class Unavailable(CuebaseError):
    """The service is busy or cannot do this now, also after waiting and trying again."""


class ServerError(CuebaseError):
    """Something failed on the service's side, also after trying again."""


class Unreachable(CuebaseError):
    """No answer came at all, also after trying again."""


class NotIngested(CuebaseError):
    """What was accepted could not be retrieved within the time."""


def from_answer(status: int, body: Any, headers: Mapping[str, str]) -> CuebaseError:
    """The error that an answer is."""
    body = body if isinstance(body, dict) else {}
    error = body.get("error")
    if isinstance(error, dict):
        code, message = str(error.get("code", "unknown")), str(error.get("message", ""))
    elif isinstance(error, str):
        code, message = error, str(body.get("message", ""))
    else:
        # The gateway's refusals and the ceiling have a message alone.
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
