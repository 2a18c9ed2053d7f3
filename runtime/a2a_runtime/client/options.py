"""Client options. Every default works as it is. Times are in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.base.clock import Clock, SystemClock

if TYPE_CHECKING:
    from grpc import ChannelCredentials

JSONRPC = TransportProtocol.JSONRPC
HTTP_JSON = TransportProtocol.HTTP_JSON
GRPC = TransportProtocol.GRPC


@dataclass(frozen=True, slots=True)
class Pin:
    """Restriction to a dialect (``1.0``, ``0.3``, ``mesh``, or a name in
    ``a2a_contract.dialects``), a transport, or both.
    """

    dialect: str | None = None
    transport: TransportProtocol | None = None


@dataclass(frozen=True, slots=True)
class ResponseLimits:
    """Size limits of responses."""

    card_bytes: int = 1_000_000
    response_bytes: int = 64_000_000
    event_bytes: int = 16_000_000
    """Limit of one event; a stream as a whole has no limit."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number and delays of retries; only requests that are safe to repeat are retried."""

    attempts: int = 3
    """Including the first; 1 disables retries, also of streams."""
    initial_delay: float = 0.25
    """Doubles with each attempt, plus up to the same again as jitter."""
    max_delay: float = 10.0
    """Also the upper limit of an agent's ``Retry-After``."""
    idempotent: bool | None = None
    """Whether the agent processes a message once if it arrives twice with one ``Idempotency-Key``;
    ``None`` follows its card.
    """
    stream_seconds: float = 30.0
    """How long a broken stream is resumed while its agent is away: as long as the agent may take to
    restart. Each new event starts the time again. An agent that is there, but ends its stream again
    or refuses to resume it, is asked up to ``attempts`` times.
    """


class VerifiesCards(Protocol):
    """Port that decides whether a card is trusted."""

    async def verify(self, card: bytes, dialect: str, url: str) -> bytes:
        """Return the trusted content of a card, or raise."""
        ...


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Options for discovery, connection and requests."""

    pin: Pin = Pin()
    interface_url: str | None = None
    """URL of the agent's interface, used without a card; the pin names the dialect there, default
    1.0 over JSON-RPC.
    """
    tenant: str | None = None
    """The tenant of every request; ``None`` follows the card."""
    extensions: tuple[str, ...] = ()
    """URIs of the extensions requested with every request."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Additional headers of every request."""
    trusted_origins: tuple[str, ...] = ()
    """Origins (``https://host:port``) besides the agent's own that may receive ``auth`` and
    ``headers`` if its card leads there.
    """
    limits: ResponseLimits = ResponseLimits()
    retry_policy: RetryPolicy = RetryPolicy()
    stream_idle_timeout: float = 60.0
    """Seconds without a byte until a stream is considered lost and resumed; agents send a
    keep-alive every 15 seconds.
    """
    card_max_age: float = 300.0
    """Cache lifetime of a card without caching headers."""
    card_keys: tuple[str, ...] = ()
    """Public keys (PEM) and URLs of key sets (``jku``) that may sign the card.

    With any of them, a card without such a signature is refused.
    """
    card_verifier: VerifiesCards | None = None
    """Verifies cards instead of ``card_keys``, such as ``client.signatures.CardVerifier``; ``None``
    skips verification if there are no keys either.
    """
    double_base64: bool = False
    """Write and read the bytes of files of 0.3 over HTTP+JSON and gRPC as agents of a2a-sdk for
    Python, which encode them twice.
    """
    read_timeout: float = 30.0
    """Time for the complete response to everything but a message: the card, get, list, cancel and
    push configurations.
    """
    grpc_credentials: ChannelCredentials | None = None
    """TLS of gRPC, where it needs authorities or a client certificate of its own
    (``grpc.ssl_channel_credentials``).
    """
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True, slots=True)
class SendOptions:
    """Options of one message."""

    history_length: int | None = None
    """Maximum number of messages in the returned task history."""
    output_modes: tuple[str, ...] | None = None
    """Media types that the client accepts."""
    push_config: TaskPushNotificationConfig | None = None
    """A webhook for the task that the message starts."""
    metadata: Mapping[str, object] | None = None
    """Free-form metadata of the request."""
    skill: str | None = None
    """The id of the skill for the message, at an agent whose card declares skill selection."""
    message_id: str | None = None
    """The id of the message; generated if omitted."""
    reference_task_ids: tuple[str, ...] | None = None
    """The ids of tasks that the message refers to."""
    extensions: tuple[str, ...] | None = None
    """URIs of the extensions that the message uses; the request asks for them."""
    idempotency_key: str | None = None
    """Identifies a repeated request; generated if omitted."""
    if_generation: int | None = None
    """The generation that the task must have for the message to be taken, at an agent of a version
    that has generations.
    """
