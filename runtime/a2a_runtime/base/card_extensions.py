"""Extensions of the protocol on cards: written by servers, read by clients.

Everything that this runtime does beyond the protocol has an extension in ``schema/extensions``: the
card declares it where it is on, and a client relies on nothing that the card does not declare. URIs
and types of parameters are in ``a2a_contract.extension_table``.
"""

from __future__ import annotations

import logging
from typing import TypeVar

from pydantic import ValidationError

from a2a_contract.base import WireModel
from a2a_contract.extension_table import Extension
from a2a_contract.extensions import IdempotencyParams, ResumptionParams, SkillSelectionParams
from a2a_contract.v1_0 import AgentCard, AgentExtension

log = logging.getLogger(__name__)

CURSOR_HEADER: str = ResumptionParams.model_fields["header"].default
IDEMPOTENCY_HEADER: str = IdempotencyParams.model_fields["header"].default
SKILL_ID: str = SkillSelectionParams.model_fields["member"].default
"""Member of the metadata of a request, or of its message, with the id of the skill."""

Params = TypeVar("Params", bound=WireModel)


def declare(extension: Extension[Params], params: Params) -> AgentExtension:
    """Build the declaration of an extension for a card."""
    return AgentExtension(
        uri=extension.uri,
        description=extension.description,
        required=False,
        params=params.to_dict(),
    )


def find_params(card: AgentCard, extension: Extension[Params]) -> Params | None:
    """Read the parameters of an extension; ``None`` if a card does not declare it, or declares it
    with parameters of another form.
    """
    for each in card.capabilities.extensions or ():
        if each.uri == extension.uri:
            try:
                return extension.params.model_validate(each.params or {})
            except ValidationError as error:
                first = error.errors()[0]
                path = ".".join(map(str, first["loc"])) or "params"
                log.warning(
                    "card of %.100r: extension %s is ignored: %s: %s",
                    card.name,
                    extension.uri,
                    path,
                    first["msg"],
                )
    return None
