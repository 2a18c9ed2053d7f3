"""Agents: changes of a card or project file."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.agent import AgentDescription, SkillDescription
from a2a_gen.diff.change import SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, ChangeRule, define_rule
from a2a_gen.diff.tree import canonical
from a2a_gen.diff.tree.schema_node import Location
from a2a_gen.source.json_text import Json

SURFACE_REMOVED = define_rule(
    "A2A001 surface-removed",
    "agent narrows E E E",
    "surface {name} no longer answers{old}",
    mirror="surface-added",
)
SURFACE_ADDED = define_rule(
    "A2A019 surface-added",
    "agent none I I I",
    "surface {name} now answers{new}",
    mirror="surface-removed",
)
SKILL_REMOVED = define_rule(
    "A2A120 skill-removed", "agent narrows E E E", "skill {name} was removed", mirror="skill-added"
)
SKILL_ADDED = define_rule(
    "A2A125 skill-added", "agent none I I I", "skill {name} was added", mirror="skill-removed"
)
SKILL_ID_CHANGED = define_rule(
    "A2A121 skill-id-changed", "agent both E E E", "skill {old} was renamed to {new}", mirror=ITSELF
)
STREAMING_CHANGED = define_rule(
    "A2A132 skill-streaming-changed",
    "agent both E E E",
    "skill {name} now answers {new}, before {old}",
    mirror=ITSELF,
)
MODE_REMOVED = define_rule(
    "A2A122 mode-removed",
    "agent narrows E E E",
    "{name} no longer {new} {old}",
    mirror="mode-added",
)
MODE_ADDED = define_rule(
    "A2A126 mode-added", "agent none I I I", "{name} also {new} {old}", mirror="mode-removed"
)
SECURITY_TIGHTENED = define_rule(
    "A2A123 security-tightened",
    "agent narrows E E E",
    "{name} requires more authentication than before",
    mirror="security-loosened",
)
SECURITY_LOOSENED = define_rule(
    "A2A127 security-loosened",
    "agent none I I I",
    "{name} requires less authentication than before",
    mirror="security-tightened",
)
CAPABILITY_WITHDRAWN = define_rule(
    "A2A124 capability-withdrawn",
    "agent narrows E E E",
    "capability {name} was removed",
    mirror="capability-added",
)
CAPABILITY_ADDED = define_rule(
    "A2A128 capability-added",
    "agent none I I I",
    "capability {name} was added",
    mirror="capability-withdrawn",
)
EXTENSION_DEMANDED = define_rule(
    "A2A129 extension-demanded",
    "agent narrows E E E",
    "extension {name} is now required",
    waiver="requiring less breaks no client",
)
VERSION_NOT_BUMPED = define_rule(
    "A2A130 version-not-bumped",
    "policy none I I I",
    "the agent changed, but its version is still {old}",
    "increase the version",
    waiver="a policy has no reverse",
)
MAJOR_NOT_BUMPED = define_rule(
    "A2A131 major-not-bumped",
    "policy none I I I",
    "the change breaks clients, but the version only changed from {old} to {new}",
    "increase the major version",
    waiver="a policy has no reverse",
)

RULES = (
    SURFACE_REMOVED,
    SURFACE_ADDED,
    SKILL_REMOVED,
    SKILL_ADDED,
    SKILL_ID_CHANGED,
    STREAMING_CHANGED,
    MODE_REMOVED,
    MODE_ADDED,
    SECURITY_TIGHTENED,
    SECURITY_LOOSENED,
    CAPABILITY_WITHDRAWN,
    CAPABILITY_ADDED,
    EXTENSION_DEMANDED,
    VERSION_NOT_BUMPED,
    MAJOR_NOT_BUMPED,
)


def compare_agents(old: AgentDescription, new: AgentDescription) -> Iterator[SchemaChange]:
    """Compare two agents."""
    yield from _compare_surfaces(old, new)
    yield from _compare_skills(old, new)
    yield from _compare_security(
        old.security, new.security, "the agent", ((old.file, ""), (new.file, ""))
    )
    for found, names in (
        (CAPABILITY_WITHDRAWN, old.capabilities - new.capabilities),
        (CAPABILITY_ADDED, new.capabilities - old.capabilities),
        (EXTENSION_DEMANDED, new.extensions - old.extensions),
    ):
        yield from (
            _build_change(
                found, ((old.file, "/capabilities"), (new.file, "/capabilities")), name=name
            )
            for name in sorted(names)
        )


def compare_versions(
    old: AgentDescription, new: AgentDescription, changes: list[SchemaChange]
) -> Iterator[SchemaChange]:
    """Check that the version of an agent changed along with its contract."""
    places = ((old.file, old.version_pointer), (new.file, new.version_pointer))
    if changes and old.version and old.version == new.version:
        yield _build_change(VERSION_NOT_BUMPED, places, old=old.version)
    elif (
        any(change.effect.is_narrowing for change in changes)
        and old.version.partition(".")[0] == new.version.partition(".")[0] != ""
    ):
        yield _build_change(MAJOR_NOT_BUMPED, places, old=old.version, new=new.version)


def _compare_surfaces(old: AgentDescription, new: AgentDescription) -> Iterator[SchemaChange]:
    places = ((old.file, "/surfaces"), (new.file, "/surfaces"))
    for path, dialects in old.surfaces.items():
        removed = sorted(dialects - new.surfaces.get(path, frozenset()))
        if removed:
            yield _build_change(
                SURFACE_REMOVED,
                places,
                name=path,
                old=f" in {', '.join(removed)}" if path in new.surfaces else "",
            )
    for path, dialects in new.surfaces.items():
        added = sorted(dialects - old.surfaces.get(path, frozenset()))
        if added:
            yield _build_change(
                SURFACE_ADDED,
                places,
                name=path,
                new=f" in {', '.join(added)}" if path in old.surfaces else "",
            )


def _compare_skills(old: AgentDescription, new: AgentDescription) -> Iterator[SchemaChange]:
    renamed = _find_renamed(old, new)
    for before, after in renamed.items():
        yield _build_change(
            SKILL_ID_CHANGED,
            (old.skills[before].location, new.skills[after].location),
            old=before,
            new=after,
        )
    for identity, skill in old.skills.items():
        if identity in new.skills:
            other = new.skills[identity]
            yield from _compare_modes(skill, other)
            if skill.is_streaming != other.is_streaming:
                yield _build_change(
                    STREAMING_CHANGED,
                    (skill.location, other.location),
                    name=identity,
                    old=_describe_streaming(skill),
                    new=_describe_streaming(other),
                )
            yield from _compare_security(
                skill.security,
                other.security,
                f"the skill {identity}",
                (skill.location, other.location),
            )
        elif identity not in renamed:
            yield _build_change(
                SKILL_REMOVED, (skill.location, (new.file, "/skills")), name=identity
            )
    for identity, skill in new.skills.items():
        if identity not in old.skills and identity not in renamed.values():
            yield _build_change(SKILL_ADDED, ((old.file, "/skills"), skill.location), name=identity)


def _describe_streaming(skill: SkillDescription) -> str:
    if skill.is_streaming:
        return "in chunks"
    return "once"


def _find_renamed(old: AgentDescription, new: AgentDescription) -> dict[str, str]:
    """Find skills with an equal name and description under another id."""
    added = {
        (skill.name, skill.description): identity
        for identity, skill in new.skills.items()
        if identity not in old.skills
    }
    removed = {
        (skill.name, skill.description): identity
        for identity, skill in old.skills.items()
        if identity not in new.skills
    }
    return {
        removed[description]: added[description]
        for description in removed
        if description in added and any(description)
    }


def _compare_modes(old: SkillDescription, new: SkillDescription) -> Iterator[SchemaChange]:
    places = (old.location, new.location)
    name = f"the skill {new.id}"
    for verb, before, after in (
        ("takes", old.input_modes, new.input_modes),
        ("gives", old.output_modes, new.output_modes),
    ):
        if before and after:
            yield from (
                _build_change(MODE_REMOVED, places, name=name, new=verb, old=each)
                for each in before
                if each not in after
            )
            yield from (
                _build_change(MODE_ADDED, places, name=name, new=verb, old=each)
                for each in after
                if each not in before
            )


def _compare_security(
    old: Json, new: Json, name: str, places: tuple[Location, Location]
) -> Iterator[SchemaChange]:
    """Compare security requirements: one of the alternatives suffices, so more alternatives are
    looser, and none is loosest.
    """
    before = _list_alternatives(old)
    after = _list_alternatives(new)
    if before == after:
        return
    is_looser = not after or (bool(before) and before < after)
    yield _build_change(SECURITY_LOOSENED if is_looser else SECURITY_TIGHTENED, places, name=name)


def _list_alternatives(security: Json) -> set[str]:
    if not security:
        return set()
    listed = security if isinstance(security, list) else [security]
    return {canonical.to_key(each) for each in listed}


def _build_change(
    rule: ChangeRule, places: tuple[Location, Location], **arguments: str
) -> SchemaChange:
    return SchemaChange(rule, *places, tuple(sorted(arguments.items())))
