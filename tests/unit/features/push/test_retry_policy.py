"""Outcome of an attempt by the receiver's response."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_runtime.features.push.retry_policy import (
    Attempt,
    Delivered,
    GiveUp,
    Retry,
    get_delay,
    outcome_from_error,
    outcome_from_response,
)
from a2a_runtime.net.client import OutboundResponse
from a2a_runtime.net.target import (
    AddressRefusedError,
    OutboundConnectError,
    OutboundError,
    OutboundTimeoutError,
    UrlRefusedError,
)
from a2a_runtime.settings import Settings

NOW = datetime(2026, 11, 5, 10, tzinfo=UTC)
PATIENCE = Settings(push_initial_delay=1, push_max_delay=300, push_max_attempts=5)
FIRST = Attempt(1, NOW, 0)

AFTER = {
    200: Delivered,
    202: Delivered,
    204: Delivered,
    299: Delivered,
    301: Retry,
    307: Retry,
    400: GiveUp,
    401: GiveUp,
    404: GiveUp,
    408: Retry,
    410: GiveUp,
    425: Retry,
    429: Retry,
    500: Retry,
    503: Retry,
    599: Retry,
}


@pytest.mark.parametrize("status", AFTER)
def test_a_status_decides(status: int) -> None:
    """2xx has arrived, a refusal for good ends the configuration, everything else is tried
    again.
    """
    assert isinstance(
        outcome_from_response(OutboundResponse(status, {}), FIRST, PATIENCE), AFTER[status]
    )


ERRORS: dict[OutboundError, type] = {
    OutboundConnectError("h"): Retry,
    OutboundTimeoutError("h"): Retry,
    AddressRefusedError("h"): Retry,  # names come to lead elsewhere, also by mistake
    UrlRefusedError("h"): GiveUp,
}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_decides(error: OutboundError) -> None:
    """Temporary errors are retried, errors of the URL itself are not."""
    assert isinstance(outcome_from_error(error, FIRST, PATIENCE), ERRORS[error])


def test_delays_double_up_to_a_limit() -> None:
    """1, 2, 4 seconds and so on, as the operator has set it."""
    settings = Settings(push_initial_delay=1, push_max_delay=20)
    assert [get_delay(settings, attempts, 0) for attempts in range(1, 8)] == [
        1,
        2,
        4,
        8,
        16,
        20,
        20,
    ]


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_a_delay_stays_in_its_limits(attempts: int, chance: float) -> None:
    """However many tries there were, and whatever chance adds."""
    assert 1 <= get_delay(PATIENCE, attempts, chance) <= 300 * 1.25


def test_many_failures_are_a_failure() -> None:
    """After the last try the configuration has failed, and its owner may read why, but not where it
    leads.
    """
    verdict = outcome_from_error(
        OutboundConnectError("10.0.0.1 refused"), Attempt(5, NOW, 0), PATIENCE
    )
    assert verdict == GiveUp(
        "The webhook could not be reached; given up after 5 tries", "10.0.0.1 refused"
    )
    assert outcome_from_response(OutboundResponse(503, {}), Attempt(5, NOW, 0), PATIENCE) == GiveUp(
        "The webhook answered 503; given up after 5 tries", "The webhook answered 503"
    )


WAITS = {
    "120": 120,
    "1": 4,
    "999999999": 300,
    "Thu, 05 Nov 2026 10:01:00 GMT": 60,
    "Thu, 05 Nov 2026 10:01:00 -0000": 60,
    "Thu, 05 Nov 2020 10:01:00 GMT": 4,
    "soon": 4,
    "-5": 4,
    "²": 4,
    "": 4,
    "1.5": 4,
    "Thu, 99 Nov 2026 10:01:00 GMT": 4,
}


@pytest.mark.parametrize("text", WAITS, ids=str)
@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_may_say_when(text: str, status: int) -> None:
    """Its wish is heeded when it is later than ours, up to our longest delay; what cannot be read
    is no wish.
    """
    assert outcome_from_response(
        OutboundResponse(status, {"retry-after": text}), Attempt(3, NOW, 0), PATIENCE
    ) == Retry(WAITS[text], f"The webhook answered {status}")
