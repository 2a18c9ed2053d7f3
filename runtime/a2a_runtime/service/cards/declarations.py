"""The extensions that a card declares: each where its capability is on.

resumption        the agent streams
idempotency       every message leads to a task, since a message as the reply is not stored
push-config       the agent delivers notifications
skill-selection   there are several skills to choose from
auth-discovery    tokens of authorization servers are accepted, and the address of the metadata is
                  known
skill-schemas     a skill has a schema, or streams
usage             handlers report what they consume
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from a2a_contract.extension_table import (
    AUTH_DISCOVERY,
    IDEMPOTENCY,
    PUSH_CONFIG,
    RESUMPTION,
    SKILL_SCHEMAS,
    SKILL_SELECTION,
    USAGE,
)
from a2a_contract.extensions import (
    AuthDiscoveryParams,
    IdempotencyParams,
    PushConfigParams,
    ResumptionParams,
    SkillSelectionParams,
    UsageParams,
)
from a2a_contract.v1_0 import AgentExtension
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.base.card_extensions import declare
from a2a_runtime.engine.handlers.skill import ReplyKind
from a2a_runtime.skills.contract import build_schemas_params
from a2a_runtime.surface import Surface

METADATA_PATH = "/.well-known/oauth-protected-resource"
"""Where the metadata of protected resources begin, at the root of the host; the path of the surface
follows.
"""


def build_extensions(
    surface: Surface, skills: Sequence[SkillDefinition], url: str
) -> Iterator[AgentExtension]:
    """Build the extensions of a surface, for a reader who sees these skills."""
    capabilities = surface.agent.capabilities
    if surface.is_streaming:
        yield declare(RESUMPTION, ResumptionParams())
    if all(skill.skill.answers is not ReplyKind.MESSAGE for skill in surface.skills.values()):
        yield declare(IDEMPOTENCY, IdempotencyParams(message_ids=surface.deduplicate_messages))
    if capabilities.push_notifications:
        yield declare(
            PUSH_CONFIG,
            PushConfigParams(
                max_per_task=surface.limits.webhooks, signatures=surface.push_signatures
            ),
        )
    if len(skills) > 1:
        is_required = surface.agent.find_router() is None and not any(
            skill.is_default for skill in skills
        )
        yield declare(SKILL_SELECTION, SkillSelectionParams(required=is_required))
    if surface.authorization_servers and url and url.endswith(surface.path):
        metadata = url.removesuffix(surface.path) + METADATA_PATH + surface.path
        yield declare(
            AUTH_DISCOVERY,
            AuthDiscoveryParams(
                authorization_servers=[*surface.authorization_servers], resource_metadata=metadata
            ),
        )
    if capabilities.usage:
        yield declare(USAGE, UsageParams())
    streaming = [skill.id for skill in skills if skill.streams] if surface.is_streaming else ()
    if schemas := build_schemas_params(
        [skill.contract for skill in skills if skill.contract], streaming, url
    ):
        yield declare(SKILL_SCHEMAS, schemas)
