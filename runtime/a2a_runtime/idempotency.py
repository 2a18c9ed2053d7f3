"""The card extension that declares support for ``Idempotency-Key``.

The protocol defines no such header. An agent without it runs a repeated message twice, so clients look for the extension before they retry.
"""

from __future__ import annotations

from a2a_contract.v1_0 import AgentCard, AgentExtension

EXTENSION_URI = "urn:a2a-gen:extension:idempotency-key:v1"


def idempotency_extension() -> AgentExtension:
    """Build the extension of a card."""
    return AgentExtension(uri=EXTENSION_URI, description="A message that is repeated under one Idempotency-Key is taken once", required=False)


def supports_idempotency(card: AgentCard) -> bool:
    """Return whether a card declares the extension."""
    return any(each.uri == EXTENSION_URI for each in card.capabilities.extensions or ())
