"""What follows from what a receiver has answered, or has not. Pure: no waiting, no clock, no chance but what is handed in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from a2a_runtime.net.client import Answer
from a2a_runtime.net.target import DialError, UrlRefusedError
from a2a_runtime.settings import Settings

_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_JITTER = 0.25
_MOST_DOUBLINGS = 60


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how soon a delivery is tried again; in seconds."""

    first_delay: float = 1.0
    longest_delay: float = 900.0
    tries: int = 20

    @classmethod
    def of(cls, settings: Settings) -> Patience:
        """Read what the operator has set."""
        return cls(settings.push_first_delay, settings.push_longest_delay, settings.push_tries)

    def delay(self, attempts: int, chance: float) -> float:
        """Say how long to wait after a failed try: 1, 2, 4 … seconds, and by chance (0 to 1) some more, so that not all come at once."""
        return min(self.first_delay * 2.0 ** min(attempts - 1, _MOST_DOUBLINGS), self.longest_delay) * (1 + _JITTER * chance)


@dataclass(frozen=True, slots=True)
class Arrived:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class Again:
    """To be tried again, after some seconds; the reason is for the log."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The receiver will hear nothing more; the reason may be shown to its owner, the hint is for the log."""

    reason: str
    hint: str = ""


Verdict = Arrived | Again | Failed


@dataclass(frozen=True, slots=True)
class Try:
    """One try of a delivery: how many there were with it, when it was, and a number from 0 to 1."""

    attempts: int
    at: datetime
    chance: float


def of_answer(answer: Answer, this: Try, patience: Patience) -> Verdict:
    """Judge an answer."""
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Arrived()
    said = f"The webhook answered {status}"
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _PASSING:
        return Failed(said)
    asked = _retry_after(answer.headers.get("retry-after", ""), this.at)
    return _again(said, said, this, patience, at_least=min(asked, patience.longest_delay))


def of_error(error: DialError, this: Try, patience: Patience) -> Verdict:
    """Judge that there was no answer."""
    if isinstance(error, UrlRefusedError):
        return Failed(error.message, error.hint)
    return _again("The webhook could not be reached", error.hint, this, patience)


def of_fault(this: Try, patience: Patience) -> Verdict:
    """Judge that the notification could not even be made, for a reason that is ours."""
    return _again("The notification could not be written", "a fault of our own", this, patience)


def _again(public: str, hint: str, this: Try, patience: Patience, *, at_least: float = 0.0) -> Verdict:
    if this.attempts >= patience.tries:
        return Failed(f"{public}; given up after {this.attempts} tries", hint)
    return Again(max(patience.delay(this.attempts, this.chance), at_least), hint)


def _retry_after(text: str, now: datetime) -> float:
    """Read the header: seconds, or a moment."""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds())
