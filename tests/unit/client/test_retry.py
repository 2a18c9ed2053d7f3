"""Repeatable requests, and the delays between attempts."""

from __future__ import annotations

import pytest

from a2a_contract.errors import UnavailableError
from a2a_contract.operations import CANCEL_TASK, OPERATIONS, SEND_MESSAGE, SEND_STREAMING_MESSAGE
from a2a_runtime.client.errors import (
    ClosedError,
    ConnectError,
    ConnectionLostError,
    ResponseTimeoutError,
    ResponseTooLargeError,
)
from a2a_runtime.client.options import RetryPolicy
from a2a_runtime.client.transport import (
    RetrySafety,
    get_retry_delay,
    get_retry_safety,
    is_retryable_error,
    is_retryable_status,
    parse_retry_after,
)

FAILURES: dict[str, tuple[Exception, set[RetrySafety]]] = {
    "nothing was sent": (
        ConnectError(""),
        {RetrySafety.READ, RetrySafety.IDEMPOTENT, RetrySafety.UNSAFE},
    ),
    "lost on the way": (ConnectionLostError(""), {RetrySafety.READ, RetrySafety.IDEMPOTENT}),
    "busy": (UnavailableError(), {RetrySafety.READ, RetrySafety.IDEMPOTENT}),
    "the agent may still be at it": (ResponseTimeoutError(""), {RetrySafety.READ}),
    "too large": (ResponseTooLargeError(""), set()),
    "closed by ourselves": (ClosedError(""), set()),
}


@pytest.mark.parametrize(("failure", "safe"), FAILURES.values(), ids=FAILURES.keys())
def test_retries_follow_the_safety_of_the_request(
    failure: Exception, safe: set[RetrySafety]
) -> None:
    """Reads always; messages with a key unless the agent may be working on them; anything else only
    if no byte arrived.
    """
    assert {safety for safety in RetrySafety if is_retryable_error(safety, failure)} == safe


STATUSES: dict[int, set[RetrySafety]] = {
    200: set(),
    400: set(),
    404: set(),
    429: {RetrySafety.READ, RetrySafety.IDEMPOTENT, RetrySafety.UNSAFE},
    500: set(),
    502: {RetrySafety.READ},
    503: {RetrySafety.READ, RetrySafety.IDEMPOTENT},
    504: {RetrySafety.READ},
}


@pytest.mark.parametrize(("status", "safe"), STATUSES.items(), ids=map(str, STATUSES))
def test_some_statuses_pass(status: int, safe: set[RetrySafety]) -> None:
    """A busy agent has done nothing; what a gateway says leaves that open."""
    assert {safety for safety in RetrySafety if is_retryable_status(safety, status)} == safe


def test_the_safety_of_every_operation() -> None:
    """Sending is safe with a key, what changes something else never is, and everything else
    reads.
    """
    keyed = {
        each.name
        for each in OPERATIONS.values()
        if get_retry_safety(each, "k") is RetrySafety.IDEMPOTENT
    }
    reads = {
        each.name
        for each in OPERATIONS.values()
        if get_retry_safety(each, None) is RetrySafety.READ
    }
    assert keyed == {SEND_MESSAGE.name, SEND_STREAMING_MESSAGE.name}
    assert get_retry_safety(SEND_MESSAGE, None) is RetrySafety.UNSAFE
    assert get_retry_safety(CANCEL_TASK, "k") is RetrySafety.UNSAFE
    assert all(name.startswith(("Get", "List", "Subscribe")) for name in reads)
    assert (
        len(OPERATIONS) - len(reads) - len(keyed) == 3
    )  # cancel a task; create and delete a webhook


def test_waits_grow_and_end() -> None:
    """Each wait is twice the one before and a bit, none is longer than the longest, and after the
    last attempt there is none.
    """
    retries = RetryPolicy(attempts=5, initial_delay=1.0, max_delay=5.0)
    assert [get_retry_delay(retries, attempt, 0.0) for attempt in range(1, 6)] == [
        1.0,
        2.0,
        4.0,
        5.0,
        None,
    ]
    assert get_retry_delay(retries, 1, 0.5) == 1.5
    assert get_retry_delay(retries, 1, 0.0, retry_after=3.0) == 3.0
    assert get_retry_delay(retries, 1, 0.0, retry_after=60.0) is None
    assert get_retry_delay(RetryPolicy(attempts=10**9), 10**8, 1.0) == RetryPolicy().max_delay


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (None, None),
        ("3", 3.0),
        (" 3 ", 3.0),
        ("-3", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("9" * 30, None),
        ("٣", None),
    ],
)
def test_retry_after_is_read(header: str | None, said: float | None) -> None:
    """Only a plain count of seconds is heeded."""
    assert parse_retry_after(header) == said
