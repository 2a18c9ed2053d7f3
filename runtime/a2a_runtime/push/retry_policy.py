"""What follows from what a receiver has answered, or has not. Pure: no waiting, no clock, no chance but what is handed in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from a2a_runtime.net.client import OutboundResponse
from a2a_runtime.net.target import OutboundError, UrlRefusedError
from a2a_runtime.settings import Settings

_RETRYABLE_STATUSES = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_JITTER = 0.25
_MAX_DOUBLINGS = 60


@dataclass(frozen=True, slots=True)
class PushRetryPolicy:
    """How often and how soon a delivery is tried again; in seconds."""

    initial_delay: float = 1.0
    max_delay: float = 900.0
    max_attempts: int = 20

    @classmethod
    def from_settings(cls, settings: Settings) -> PushRetryPolicy:
        """Read what the operator has set."""
        return cls(settings.push_initial_delay, settings.push_max_delay, settings.push_max_attempts)

    def get_delay(self, attempt: int, random_fraction: float) -> float:
        """Say how long to wait after a failed try: 1, 2, 4 … seconds, and by chance (0 to 1) some more, so that not all come at once."""
        return min(self.initial_delay * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS), self.max_delay) * (1 + _JITTER * random_fraction)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class Retry:
    """To be tried again, after some seconds; the reason is for the log."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The receiver will hear nothing more; the reason may be shown to its owner, the hint is for the log."""

    reason: str
    hint: str = ""


AttemptOutcome = Delivered | Retry | GiveUp


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a delivery: how many there were with it, when it was, and a number from 0 to 1."""

    number: int
    time: datetime
    random_fraction: float


def outcome_from_response(response: OutboundResponse, attempt: Attempt, policy: PushRetryPolicy) -> AttemptOutcome:
    """Judge an answer."""
    status = response.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Delivered()
    said = f"The webhook answered {status}"
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _RETRYABLE_STATUSES:
        return GiveUp(said)
    asked = _parse_retry_after(response.headers.get("retry-after", ""), attempt.time)
    return _retry_or_give_up(said, said, attempt, policy, at_least=min(asked, policy.max_delay))


def outcome_from_error(error: OutboundError, attempt: Attempt, policy: PushRetryPolicy) -> AttemptOutcome:
    """Judge that there was no answer."""
    if isinstance(error, UrlRefusedError):
        return GiveUp(error.message, error.hint)
    return _retry_or_give_up("The webhook could not be reached", error.hint, attempt, policy)


def outcome_from_internal_error(attempt: Attempt, policy: PushRetryPolicy) -> AttemptOutcome:
    """Judge that the notification could not even be made, for a reason that is ours."""
    return _retry_or_give_up("The notification could not be written", "a fault of our own", attempt, policy)


def _retry_or_give_up(public: str, hint: str, attempt: Attempt, policy: PushRetryPolicy, *, at_least: float = 0.0) -> AttemptOutcome:
    if attempt.number >= policy.max_attempts:
        return GiveUp(f"{public}; given up after {attempt.number} tries", hint)
    return Retry(max(policy.get_delay(attempt.number, attempt.random_fraction), at_least), hint)


def _parse_retry_after(text: str, now: datetime) -> float:
    """Read the header: seconds, or a moment."""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds())
