"""A client for every agent of A2A 1.0 and 0.3, over JSON-RPC or HTTP+JSON, in one canonical model.

client ──► line ──► voice (what is said) ──► courier (how it gets there)          importable without litestar
             │        interface (what is spoken where), refusals (what errors mean)
             ├──► discovery (the card)
             └──► stream ──► sse                                                  auth, credentials: proofs of who we are, chosen by the card
"""

from a2a_runtime.client.auth import BearerAuth, ClientCredentials
from a2a_runtime.client.client import A2AClient, Content, PushConfigs, message_of, part_of
from a2a_runtime.client.errors import (
    A2AClientError,
    AnswerError,
    CardNotFoundError,
    CardUnreadableError,
    ClosedError,
    DiscoveryError,
    ForeignHostError,
    LineError,
    LostError,
    NoInterfaceError,
    NoProofError,
    OversizeAnswerError,
    SilenceError,
    StatusError,
    StreamLostError,
    TokenError,
    UnreachableError,
    UnreadableAnswerError,
)
from a2a_runtime.client.options import HTTP_JSON, JSONRPC, ClientOptions, Limits, Pin, Retries, SendOptions
from a2a_runtime.client.stream import TaskEvent, TaskStream

__all__ = [
    "HTTP_JSON",
    "JSONRPC",
    "A2AClient",
    "A2AClientError",
    "AnswerError",
    "BearerAuth",
    "CardNotFoundError",
    "CardUnreadableError",
    "ClientCredentials",
    "ClientOptions",
    "ClosedError",
    "Content",
    "DiscoveryError",
    "ForeignHostError",
    "Limits",
    "LineError",
    "LostError",
    "NoInterfaceError",
    "NoProofError",
    "OversizeAnswerError",
    "Pin",
    "PushConfigs",
    "Retries",
    "SendOptions",
    "SilenceError",
    "StatusError",
    "StreamLostError",
    "TaskEvent",
    "TaskStream",
    "TokenError",
    "UnreachableError",
    "UnreadableAnswerError",
    "message_of",
    "part_of",
]
