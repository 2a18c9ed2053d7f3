"""How a client behaves; every default is one that can be left as it is. Times are in seconds, sizes in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.clock import Clock, SystemClock

JSONRPC = TransportProtocol.JSONRPC
HTTP_JSON = TransportProtocol.HTTP_JSON


@dataclass(frozen=True, slots=True)
class Pin:
    """What may be spoken: a dialect by its name in ``a2a_contract.dialects``, a transport, both or (anything) neither."""

    dialect: str | None = None
    transport: TransportProtocol | None = None


@dataclass(frozen=True, slots=True)
class ResponseLimits:
    """How large an answer may be."""

    card_bytes: int = 1_000_000
    response_bytes: int = 64_000_000
    event_bytes: int = 16_000_000
    """One event of a stream; a stream as a whole has no limit."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how soon something is tried again; only what is safe to repeat is."""

    attempts: int = 3
    """Including the first; 1 is never again."""
    initial_delay: float = 0.25
    """Each further delay is twice the one before, and up to as much again by chance."""
    max_delay: float = 10.0
    """Also the longest that an agent may tell the client to wait."""
    idempotent: bool | None = None
    """Whether the agent takes a message once that comes twice under one ``Idempotency-Key``; ``None`` when its card says so or does not."""


class VerifiesCards(Protocol):
    """Decides whether a card is believed."""

    async def verify(self, card: bytes, dialect: str, url: str) -> bytes:
        """Give what is believed of a card as it came, or raise why nothing is."""
        ...


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How a client finds an agent and talks to it."""

    pin: Pin = Pin()
    interface_url: str | None = None
    """The address of the agent's interface where no card is to be asked; the pin says what is spoken there, 1.0 over JSON-RPC if it does not."""
    tenant: str | None = None
    """The tenant of every request; ``None`` for the one that the card names, if it does."""
    extensions: tuple[str, ...] = ()
    """URIs of the extensions that the client asks for in every request."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further headers of every request."""
    trusted_hosts: tuple[str, ...] = ()
    """Other hosts to which the agent's card may lead with ``auth`` and ``headers``; its own is always one."""
    limits: ResponseLimits = ResponseLimits()
    retry_policy: RetryPolicy = RetryPolicy()
    stream_idle_timeout: float = 60.0
    """After how long without a byte a stream is taken for broken, and taken up again; agents send a sign of life every 15 seconds."""
    card_max_age: float = 300.0
    """How long a card is good where the agent does not say."""
    card_verifier: VerifiesCards | None = None
    """Looks at the signatures of cards, as ``client.signatures.SignedBy`` does; ``None`` when nobody does."""
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True, slots=True)
class SendOptions:
    """What else may be said with a message."""

    history_length: int | None = None
    """The most messages to return in the history of the task."""
    output_modes: tuple[str, ...] | None = None
    """Media types that the client can take."""
    push_config: TaskPushNotificationConfig | None = None
    """A webhook for the task that comes of the message."""
    metadata: Mapping[str, object] | None = None
    """Facts about the request, free in form."""
    message_id: str | None = None
    """The id of the message; made by the client where it is left out."""
    reference_task_ids: tuple[str, ...] | None = None
    """The ids of tasks that the message refers to."""
    extensions: tuple[str, ...] | None = None
    """URIs of the extensions that the message uses; they are asked for with it."""
    idempotency_key: str | None = None
    """Marks a request that is repeated; made by the client where it is left out."""
