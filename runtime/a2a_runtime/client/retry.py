"""Whether and when something is tried again. Pure rules: no connection, no clock, no chance of their own.

What may be repeated depends on what was asked: reading changes nothing, a message with an Idempotency-Key is taken once by agents that heed such
keys, and everything else is only repeated if it certainly did not arrive.
"""

from __future__ import annotations

from enum import Enum, auto
from http import HTTPStatus

from a2a_contract.errors import UnavailableError
from a2a_contract.operation import Operation
from a2a_contract.operations import (
    GET_EXTENDED_AGENT_CARD,
    GET_TASK,
    GET_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    LIST_TASKS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_runtime.client.errors import LostError, SilenceError, UnreachableError
from a2a_runtime.client.options import Retries


class Safety(Enum):
    """How safe it is to ask the same again."""

    READ = auto()
    """Nothing changes, however often it is asked."""
    KEYED = auto()
    """A key tells the agent, which has promised to heed it, that it is the same request."""
    ONCE = auto()
    """It might be done twice."""


_READS = frozenset(
    each.name
    for each in (
        GET_TASK,
        LIST_TASKS,
        SUBSCRIBE_TO_TASK,
        GET_TASK_PUSH_NOTIFICATION_CONFIG,
        LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        GET_EXTENDED_AGENT_CARD,
    )
)
_SENDS = frozenset(each.name for each in (SEND_MESSAGE, SEND_STREAMING_MESSAGE))
_BUSY = frozenset((HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE))
_BROKEN = frozenset((*_BUSY, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT))
_STATUSES = {Safety.READ: _BROKEN, Safety.KEYED: _BUSY, Safety.ONCE: frozenset((HTTPStatus.TOO_MANY_REQUESTS,))}


def safety_of(operation: Operation, key: str | None) -> Safety:
    """Say how safe it is to ask an operation again, under a key if the agent heeds it."""
    if operation.name in _READS:
        return Safety.READ
    return Safety.KEYED if key and operation.name in _SENDS else Safety.ONCE


def is_repeatable(safety: Safety, failure: Exception) -> bool:
    """Say whether a request may be repeated after the connection failed; one that the agent may still be at is not, unless it only reads."""
    if isinstance(failure, UnreachableError):
        return True
    if isinstance(failure, SilenceError):
        return safety is Safety.READ
    return safety is not Safety.ONCE and isinstance(failure, LostError | UnavailableError)


def is_passing(safety: Safety, status: int) -> bool:
    """Say whether an HTTP status may be gone the next time, and it is safe to see."""
    return status in _STATUSES[safety]


def delay(retries: Retries, attempt: int, chance: float, wanted: float | None = None) -> float | None:
    """Say how long to wait after an attempt that failed (they count from 1), or that it was the last one.

    ``chance`` lies between 0 and 1 and spreads clients that failed together; ``wanted`` is what the agent asks for, unless that is too long.
    """
    if attempt >= retries.attempts:
        return None
    if wanted is not None:
        return wanted if wanted <= retries.longest_delay else None
    doubled = retries.first_delay * 2.0 ** min(attempt - 1, 30)
    return min(doubled * (1.0 + chance), retries.longest_delay)


def seconds(retry_after: str | None) -> float | None:
    """Read a Retry-After header that counts seconds; one that names a date is not heeded."""
    text = (retry_after or "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None  # noqa: PLR2004 - as good as for ever
