"""Outcome of a delivery attempt: delivered, retry or give up.

Pure: time and randomness are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from a2a_contract.errors import InvalidParamsError
from a2a_runtime.net.client import OutboundResponse
from a2a_runtime.net.target import OutboundError, UrlRefusedError
from a2a_runtime.settings import Settings

_RETRYABLE_STATUSES = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
_MAX_DOUBLINGS = 60


def get_delay(settings: Settings, attempt: int, random_fraction: float) -> float:
    """Compute the seconds after a failed attempt: 1, 2, 4 …, plus jitter by a fraction from 0 to
    1.
    """
    doubled = settings.push_initial_delay * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS)
    return min(doubled, settings.push_max_delay) * (1 + settings.push_jitter * random_fraction)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver accepted it."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after some seconds; the reason is for the log."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop delivering to this config; the reason is public, the hint is for the log."""

    reason: str
    hint: str = ""


AttemptOutcome = Delivered | Retry | GiveUp


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: its number from 1, its time, and a random fraction from 0 to 1."""

    number: int
    time: datetime
    random_fraction: float


def outcome_from_response(
    response: OutboundResponse, attempt: Attempt, settings: Settings
) -> AttemptOutcome:
    """Decide by the status of a response."""
    status = response.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Delivered()
    text = f"The webhook answered {status}"
    if (
        HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        and status not in _RETRYABLE_STATUSES
    ):
        return GiveUp(text)
    retry_after = _parse_retry_after(response.headers.get("retry-after", ""), attempt.time)
    return _retry_or_give_up(
        text, text, attempt, settings, min_seconds=min(retry_after, settings.push_max_delay)
    )


def outcome_from_error(error: Exception, attempt: Attempt, settings: Settings) -> AttemptOutcome:
    """Decide by the error of an attempt; a bug of ours is retried as long as any other error."""
    match error:
        case UrlRefusedError():
            return GiveUp(error.message, error.hint)
        case OutboundError():
            return _retry_or_give_up(
                "The webhook could not be reached", error.hint, attempt, settings
            )
        case InvalidParamsError():
            return GiveUp(error.message)
        case _:
            return _retry_or_give_up(
                "The notification could not be written", "internal error", attempt, settings
            )


def _retry_or_give_up(
    public: str, hint: str, attempt: Attempt, settings: Settings, *, min_seconds: float = 0.0
) -> AttemptOutcome:
    if attempt.number >= settings.push_max_attempts:
        return GiveUp(f"{public}; given up after {attempt.number} tries", hint)
    return Retry(
        max(get_delay(settings, attempt.number, attempt.random_fraction), min_seconds), hint
    )


def _parse_retry_after(text: str, now: datetime) -> float:
    """Parse the seconds or the date of the header."""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(
        0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
    )
