"""What can go wrong between a client and an agent, beside what the agent itself says is wrong.

An agent that understood the request and refuses it raises one of the contract's errors (``a2a_contract.errors``). These are for everything else:

    A2AClientError
     ├─ DiscoveryError               there is no telling how to talk to the agent
     │   ├─ CardNotFoundError        no card where cards are
     │   ├─ CardUnreadableError      what is there is no card
     │   ├─ CardNotTrustedError      nobody who is trusted has signed it (``client.signatures``)
     │   ├─ NoProofError             it asks for proofs that were not given
     │   ├─ ForeignHostError         its card leads to another host, which would be told our secrets
     │   └─ NoInterfaceError         the card lists no address that this client can use
     ├─ TokenError                   an authorization server gives no token
     ├─ LineError                    the connection; also a ConnectionError
     │   ├─ UnreachableError         nobody was reached: nothing was sent
     │   ├─ SilenceError             no answer in time; also a TimeoutError
     │   ├─ LostError                broken before the answer was whole
     │   │   └─ StreamLostError      a stream broke and could not be taken up again
     │   └─ ClosedError              the client was closed
     └─ AnswerError                  there is an answer, but not of this protocol
         ├─ UnreadableAnswerError    its body cannot be read
         ├─ OversizeAnswerError      it is larger than the client takes
         └─ StatusError              an HTTP status that says nothing in the protocol
"""

from __future__ import annotations


class A2AClientError(Exception):
    """The root: why there is no answer of the agent."""


class DiscoveryError(A2AClientError):
    """There is no telling how to talk to the agent; give its address with ``ClientOptions(at=...)`` if you know it."""


class CardNotFoundError(DiscoveryError):
    """There is no card where cards are found; check the URL, or give the URL of the card itself."""


class CardUnreadableError(DiscoveryError):
    """There is something where the card should be, but it is no card; ask whoever runs the agent."""


class NoProofError(DiscoveryError):
    """The card asks for schemes for which there is no proof; give one of those that the text names."""


class ForeignHostError(DiscoveryError):
    """The card leads to a host that may not see our secrets; name it in ``ClientOptions(hosts=...)`` if it is the agent's."""


class TokenError(A2AClientError):
    """The authorization server gives no token; the text says why, and no secret."""


class NoInterfaceError(DiscoveryError):
    """The card lists no address of a version and binding that this client may use; loosen the pins, or ask for another interface."""


class LineError(A2AClientError, ConnectionError):
    """The connection to the agent failed."""


class UnreachableError(LineError):
    """No connection could be made, so nothing was sent; check the URL and that the agent runs, and try again."""


class SilenceError(LineError, TimeoutError):
    """The agent did not answer in time, and may still be at it; raise the timeout, stream, or send with ``wait=False`` and ask later."""


class LostError(LineError):
    """The connection broke before the answer was whole; what was asked may have been done."""


class StreamLostError(LostError):
    """A stream broke and could not be taken up again; ``task_id`` and ``cursor`` say where, for ``subscribe`` or ``get`` later."""

    def __init__(self, message: str, *, task_id: str | None = None, cursor: str | None = None) -> None:
        super().__init__(message)
        self.task_id, self.cursor = task_id, cursor


class ClosedError(LineError):
    """The client was closed; make a new one."""


class AnswerError(A2AClientError):
    """The agent, or something before it, answered what is not of this protocol; check that the URL is that of an agent."""


class UnreadableAnswerError(AnswerError):
    """The body of an answer is not what the agent's dialect says; ``excerpt`` is how it begins."""

    def __init__(self, message: str, excerpt: str = "") -> None:
        super().__init__(f"{message}: {excerpt!r}" if excerpt else message)
        self.excerpt = excerpt


class OversizeAnswerError(AnswerError):
    """An answer, or one line of a stream, is larger than ``Limits`` allow; raise them if you trust the agent."""


class StatusError(AnswerError):
    """An HTTP status without a meaning in the protocol, from a proxy perhaps; ``status`` is it, and ``excerpt`` how its body begins."""

    def __init__(self, status: int, message: str, excerpt: str = "") -> None:
        super().__init__(f"{message}: {excerpt!r}" if excerpt else message)
        self.status, self.excerpt = status, excerpt
