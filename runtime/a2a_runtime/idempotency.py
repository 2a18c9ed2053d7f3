"""The promise that a message which comes twice under one ``Idempotency-Key`` is one message: agents make it on their card, clients look for it there.

The protocol knows no such key, and an agent that has never heard of it would do everything twice.
"""

from __future__ import annotations

from a2a_contract.v1_0 import AgentCard, AgentExtension

EXTENSION_URI = "urn:a2a-gen:extension:idempotency-key:v1"


def idempotency_extension() -> AgentExtension:
    """Make the extension of a card."""
    return AgentExtension(uri=EXTENSION_URI, description="A message that is repeated under one Idempotency-Key is taken once", required=False)


def supports_idempotency(card: AgentCard) -> bool:
    """Say whether an agent has promised it."""
    return any(each.uri == EXTENSION_URI for each in card.capabilities.extensions or ())
