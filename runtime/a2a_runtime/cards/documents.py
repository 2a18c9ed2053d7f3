"""From the canonical card to the documents that clients read.

A dialect's own document has what its schema has. The combined one has the members of all of them: their clients ignore what they do not know, and
where two dialects use one name (``securitySchemes``, ``skills``, ``capabilities``), the members inside differ in name again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TypeAlias

from a2a_contract.dialects import CANONICAL, MESH, V0_3
from a2a_contract.kinds import is_list, is_object
from a2a_contract.translate.v0_3 import write_agent_card
from a2a_contract.v1_0 import AgentCard
from a2a_runtime.cards.declaration import declare
from a2a_runtime.cards.mesh import mesh_card
from a2a_runtime.surface import Surface

Document: TypeAlias = dict[str, object]

_SIGNATURES = AgentCard.wire_name("signatures")

WRITERS: Mapping[str, Callable[[AgentCard], Document]] = {
    CANONICAL.name: lambda card: card.to_dict(),
    V0_3.name: write_agent_card,
}
"""The dialects whose cards can be one, the canonical one first."""

APART: Mapping[str, Callable[[Surface, str], Document]] = {MESH.name: mesh_card}
"""The dialects whose card is no other's."""


def document(surface: Surface, dialect: str, base_url: str) -> Document:
    """Write the card of a surface as a dialect has it."""
    apart = APART.get(dialect)
    return WRITERS[dialect](signed(declare(surface, base_url, dialect), surface, dialect)) if apart is None else apart(surface, base_url)


def combined(surface: Surface, base_url: str) -> Document:
    """Write one card that clients of all dialects of a surface can read, but for those that have one apart.

    Who reads a dialect finds the signatures of that dialect's card among those of all of them.
    """
    cards = [document(surface, dialect, base_url) for dialect in WRITERS if dialect in surface.dialects]
    signatures = [each for card in cards if is_list(listed := card.pop(_SIGNATURES, [])) for each in listed]
    merged: Document = reduce(_merged, cards)
    return {**merged, _SIGNATURES: signatures} if signatures else merged


def signed(card: AgentCard, surface: Surface, dialect: str) -> AgentCard:
    """Sign a card as it is in a dialect, where the agent signs."""
    if surface.signer is None:
        return card
    return card.model_copy(update={"signatures": surface.signer.sign(WRITERS[dialect](card), dialect)})


def _merged(first: Document, second: Document) -> Document:
    return {**first, **{name: _both(first[name], value) if name in first else value for name, value in second.items()}}


def _both(first: object, second: object) -> object:
    """Unite two values of one member; where they cannot be united, they are the same."""
    if is_object(first) and is_object(second):
        return _merged(first, second)
    if is_list(first) and is_list(second) and len(first) == len(second):
        return [_both(one, other) for one, other in zip(first, second, strict=True)]
    return first
