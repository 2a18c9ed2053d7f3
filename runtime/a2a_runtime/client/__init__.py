"""Client for agents of A2A 1.0 and 0.3, over JSON-RPC or HTTP+JSON, in one canonical model.

Loaded where something calls an agent.

It does not import Litestar.

client ──► connection ──► interface (choice)
             │               └──► protocols (encoding)
             │                       └──► transport (HTTP, limits, retries) ──► grpc (calls)
             ├──► card_resolver (discovery, cache) ──► signatures (verification)
             ├──► stream (resumable events) ──► sse (parser)
             └──► auth (credentials, chosen by the card)              errors: the tree
"""

from typing import TYPE_CHECKING

from a2a_runtime.base.importing import explain_missing, lazy_names
from a2a_runtime.features.catalog.document import CatalogEntry

with explain_missing(__name__):
    from a2a_runtime.client.auth import ApiKeyAuth, BearerAuth, Credential

from a2a_runtime.client.catalog import read_catalog
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
    UntrustedOriginError,
)
from a2a_runtime.client.oauth import (
    ClientCredentials,
    FileToken,
    JwtAssertion,
    OnBehalfOf,
    PrivateKeyJwt,
)
from a2a_runtime.client.options import (
    GRPC,
    HTTP_JSON,
    JSONRPC,
    ClientOptions,
    Pin,
    ResponseLimits,
    RetryPolicy,
    SendOptions,
    VerifiesCards,
)
from a2a_runtime.client.stream import TaskEvent, TaskStream
from a2a_runtime.client.trusted_issuers import TrustedIssuers

if TYPE_CHECKING:
    from a2a_runtime.client.signatures import CardNotTrustedError, CardVerifier

__all__ = [
    "GRPC",
    "HTTP_JSON",
    "JSONRPC",
    "A2AClient",
    "A2AClientError",
    "ApiKeyAuth",
    "BearerAuth",
    "CardNotFoundError",
    "CardNotTrustedError",
    "CardVerifier",
    "CatalogEntry",
    "ClientCredentials",
    "ClientOptions",
    "ClosedError",
    "ConnectError",
    "ConnectionLostError",
    "Content",
    "Credential",
    "DiscoveryError",
    "FileToken",
    "InvalidCardError",
    "InvalidResponseError",
    "JwtAssertion",
    "MissingCredentialsError",
    "NoInterfaceError",
    "OnBehalfOf",
    "Pin",
    "PrivateKeyJwt",
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
    "TrustedIssuers",
    "UnexpectedStatusError",
    "UntrustedOriginError",
    "VerifiesCards",
    "build_message",
    "build_part",
    "read_catalog",
]

# verification of signatures needs the ``auth`` extra: it is imported on first use
if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, ("CardNotTrustedError", "CardVerifier"), "signatures")
