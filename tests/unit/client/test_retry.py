"""What may be asked again, and when."""

from __future__ import annotations

import pytest

from a2a_contract.errors import UnavailableError
from a2a_contract.operations import CANCEL_TASK, OPERATIONS, SEND_MESSAGE, SEND_STREAMING_MESSAGE
from a2a_runtime.client.errors import ClosedError, LostError, OversizeAnswerError, SilenceError, UnreachableError
from a2a_runtime.client.options import Retries
from a2a_runtime.client.transport import Safety, delay, is_passing, is_repeatable, safety_of, seconds

FAILURES: dict[str, tuple[Exception, set[Safety]]] = {
    "nothing was sent": (UnreachableError(""), {Safety.READ, Safety.KEYED, Safety.ONCE}),
    "lost on the way": (LostError(""), {Safety.READ, Safety.KEYED}),
    "busy": (UnavailableError(), {Safety.READ, Safety.KEYED}),
    "the agent may still be at it": (SilenceError(""), {Safety.READ}),
    "too large": (OversizeAnswerError(""), set()),
    "closed by ourselves": (ClosedError(""), set()),
}


@pytest.mark.parametrize(("failure", "safe"), FAILURES.values(), ids=FAILURES.keys())
def test_what_might_be_done_twice_is_not_asked_twice(failure: Exception, safe: set[Safety]) -> None:
    """Reading is always safe, a message with a key unless the agent may be at it, and everything only if nothing arrived."""
    assert {safety for safety in Safety if is_repeatable(safety, failure)} == safe


STATUSES: dict[int, set[Safety]] = {
    200: set(),
    400: set(),
    404: set(),
    429: {Safety.READ, Safety.KEYED, Safety.ONCE},
    500: set(),
    502: {Safety.READ},
    503: {Safety.READ, Safety.KEYED},
    504: {Safety.READ},
}


@pytest.mark.parametrize(("status", "safe"), STATUSES.items(), ids=map(str, STATUSES))
def test_some_statuses_pass(status: int, safe: set[Safety]) -> None:
    """A busy agent has done nothing; what a gateway says leaves that open."""
    assert {safety for safety in Safety if is_passing(safety, status)} == safe


def test_the_safety_of_every_operation() -> None:
    """Sending is safe with a key, what changes something else never is, and everything else reads."""
    keyed = {each.name for each in OPERATIONS.values() if safety_of(each, "k") is Safety.KEYED}
    reads = {each.name for each in OPERATIONS.values() if safety_of(each, None) is Safety.READ}
    assert keyed == {SEND_MESSAGE.name, SEND_STREAMING_MESSAGE.name}
    assert safety_of(SEND_MESSAGE, None) is Safety.ONCE
    assert safety_of(CANCEL_TASK, "k") is Safety.ONCE
    assert all(name.startswith(("Get", "List", "Subscribe")) for name in reads)
    assert len(OPERATIONS) - len(reads) - len(keyed) == 3  # cancel a task; create and delete a webhook


def test_waits_grow_and_end() -> None:
    """Each wait is twice the one before and a bit, none is longer than the longest, and after the last attempt there is none."""
    retries = Retries(attempts=5, first_delay=1.0, longest_delay=5.0)
    assert [delay(retries, attempt, 0.0) for attempt in range(1, 6)] == [1.0, 2.0, 4.0, 5.0, None]
    assert delay(retries, 1, 0.5) == 1.5
    assert delay(retries, 1, 0.0, wanted=3.0) == 3.0
    assert delay(retries, 1, 0.0, wanted=60.0) is None
    assert delay(Retries(attempts=10**9), 10**8, 1.0) == Retries().longest_delay


@pytest.mark.parametrize(
    ("header", "said"), [(None, None), ("3", 3.0), (" 3 ", 3.0), ("-3", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("9" * 30, None), ("٣", None)]
)
def test_retry_after_is_read(header: str | None, said: float | None) -> None:
    """Only a plain count of seconds is heeded."""
    assert seconds(header) == said
