"""What can go wrong with a call to an address that a stranger named.

    DialError
     ├─ UrlRefusedError       the URL itself is not one that is called; trying again is useless
     ├─ AddressRefusedError   its host leads to an address that is not called, at least now
     ├─ UnreachableError      no connection, or it broke off
     │   └─ TooSlowError      no whole answer in time
     ├─ TooLargeError         the answer is larger than what is taken
     └─ UnusableAnswerError   the answer is not what was asked for

Each is also a kind of one of the contract's errors, so that it can be shown to a caller. What is shown never says what a name leads to, nor whether
anything is there: a caller who may read that can map the network that the agent is in. The ``hint`` says it, with the setting that would help, and is
for the log.
"""

from __future__ import annotations

from a2a_contract.errors import A2AError, InvalidParamsError, PayloadTooLargeError, UnavailableError

_NOT_REACHED = "The host in this URL cannot be reached from here"


class DialError(A2AError):
    """A call did not succeed; ``hint`` is for the log only."""

    default_message = "The URL could not be called"

    def __init__(self, hint: str, message: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UrlRefusedError(DialError, InvalidParamsError):
    """The URL is not one that is called from here; use another one, or ask the operator for the setting that the hint names."""

    default_message = "This URL is not called from here"


class AddressRefusedError(DialError, InvalidParamsError):
    """The host leads to an address that is not called; the operator can permit its network if it is one of their own."""

    default_message = _NOT_REACHED


class UnreachableError(DialError, UnavailableError):
    """There was no connection, or it broke off; it is worth trying again later."""

    default_message = _NOT_REACHED


class TooSlowError(UnreachableError):
    """There was no whole answer in time; it is worth trying again later."""


class TooLargeError(DialError, PayloadTooLargeError):
    """The answer is larger than what is taken; refer to something smaller, or ask the operator to take more."""

    default_message = "What this URL leads to is too large"


class UnusableAnswerError(DialError, UnavailableError):
    """There was an answer, but not the content that was asked for; see whether the URL still leads to it."""

    default_message = "The content of this URL could not be fetched"


__all__ = ["AddressRefusedError", "DialError", "TooLargeError", "TooSlowError", "UnreachableError", "UnusableAnswerError", "UrlRefusedError"]
