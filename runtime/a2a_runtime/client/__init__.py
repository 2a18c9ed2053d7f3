"""A client for every agent of A2A 1.0 and 0.3, over JSON-RPC or HTTP+JSON, in one canonical model.

client ──► line ──► voice (what is said) ──► courier (how it gets there)          importable without litestar
             │        interface (what is spoken where), refusals (what errors mean)
             ├──► discovery (the card)
             └──► stream ──► sse                                                  auth, credentials: proofs of who we are, chosen by the card
"""

from a2a_runtime.client.auth import BearerAuth, ClientCredentials
from a2a_runtime.client.client import A2AClient, Content, PushConfigs, build_message, build_part
from a2a_runtime.client.errors import (
    A2AClientError,
    CardNotFoundError,
    ClosedError,
    ConnectError,
    ConnectionLostError,
    DiscoveryError,
    InvalidCardError,
    InvalidResponseError,
    MissingCredentialsError,
    NoInterfaceError,
    ResponseError,
    ResponseTimeoutError,
    ResponseTooLargeError,
    StreamLostError,
    TokenError,
    TransportError,
    UnexpectedStatusError,
    UntrustedHostError,
)
from a2a_runtime.client.options import HTTP_JSON, JSONRPC, ClientOptions, Pin, ResponseLimits, RetryPolicy, SendOptions
from a2a_runtime.client.stream import TaskEvent, TaskStream

__all__ = [
    "HTTP_JSON",
    "JSONRPC",
    "A2AClient",
    "A2AClientError",
    "BearerAuth",
    "CardNotFoundError",
    "ClientCredentials",
    "ClientOptions",
    "ClosedError",
    "ConnectError",
    "ConnectionLostError",
    "Content",
    "DiscoveryError",
    "InvalidCardError",
    "InvalidResponseError",
    "MissingCredentialsError",
    "NoInterfaceError",
    "Pin",
    "PushConfigs",
    "ResponseError",
    "ResponseLimits",
    "ResponseTimeoutError",
    "ResponseTooLargeError",
    "RetryPolicy",
    "SendOptions",
    "StreamLostError",
    "TaskEvent",
    "TaskStream",
    "TokenError",
    "TransportError",
    "UnexpectedStatusError",
    "UntrustedHostError",
    "build_message",
    "build_part",
]
