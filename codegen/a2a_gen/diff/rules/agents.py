"""Agents: what a card or a project offers to callers."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff import canonical
from a2a_gen.diff.agent import Agent, Skill
from a2a_gen.diff.change import Change
from a2a_gen.diff.rules.rule import SAME, Rule, rule
from a2a_gen.diff.schema_node import At
from a2a_gen.source.json_text import Json

SURFACE_REMOVED = rule("A2A001 surface-removed", "agent narrows E E E", "nothing answers at {name} any more{old}", mirror="surface-added")
SURFACE_ADDED = rule("A2A019 surface-added", "agent none I I I", "the agent also answers at {name}{new}", mirror="surface-removed")
SKILL_REMOVED = rule("A2A120 skill-removed", "agent narrows E E E", "the skill {name} was removed", mirror="skill-added")
SKILL_ADDED = rule("A2A125 skill-added", "agent none I I I", "the skill {name} was added", mirror="skill-removed")
SKILL_ID_CHANGED = rule("A2A121 skill-id-changed", "agent both E E E", "the skill {old} has the id {new} now", mirror=SAME)
STREAMING_CHANGED = rule(
    "A2A132 skill-streaming-changed", "agent both E E E", "the skill {name} answers {new}, and answered {old} before", mirror=SAME
)
MODE_REMOVED = rule("A2A122 mode-removed", "agent narrows E E E", "{name} no longer {new} {old}", mirror="mode-added")
MODE_ADDED = rule("A2A126 mode-added", "agent none I I I", "{name} also {new} {old}", mirror="mode-removed")
SECURITY_TIGHTENED = rule(
    "A2A123 security-tightened", "agent narrows E E E", "callers of {name} must prove more than before", mirror="security-loosened"
)
SECURITY_LOOSENED = rule(
    "A2A127 security-loosened", "agent none I I I", "callers of {name} need to prove less than before", mirror="security-tightened"
)
CAPABILITY_WITHDRAWN = rule(
    "A2A124 capability-withdrawn", "agent narrows E E E", "the agent is no longer capable of {name}", mirror="capability-added"
)
CAPABILITY_ADDED = rule("A2A128 capability-added", "agent none I I I", "the agent is capable of {name} now", mirror="capability-withdrawn")
EXTENSION_DEMANDED = rule(
    "A2A129 extension-demanded", "agent narrows E E E", "callers must know the extension {name} now", waiver="to ask for less harms nobody"
)
VERSION_NOT_BUMPED = rule(
    "A2A130 version-not-bumped", "policy none I I I", "the agent changed, and its version is still {old}", "count its version up",
    waiver="a policy has no way back",
)  # fmt: skip
MAJOR_NOT_BUMPED = rule(
    "A2A131 major-not-bumped", "policy none I I I", "the change breaks callers, and the version went only from {old} to {new}",
    "count the first part of the version up", waiver="a policy has no way back",
)  # fmt: skip

RULES = (
    SURFACE_REMOVED, SURFACE_ADDED, SKILL_REMOVED, SKILL_ADDED, SKILL_ID_CHANGED, STREAMING_CHANGED, MODE_REMOVED, MODE_ADDED, SECURITY_TIGHTENED,
    SECURITY_LOOSENED, CAPABILITY_WITHDRAWN, CAPABILITY_ADDED, EXTENSION_DEMANDED, VERSION_NOT_BUMPED, MAJOR_NOT_BUMPED,
)  # fmt: skip


def compare_agents(old: Agent, new: Agent) -> Iterator[Change]:
    """Compare two agents."""
    yield from _surfaces(old, new)
    yield from _skills(old, new)
    yield from _security(old.security, new.security, "the agent", ((old.file, ""), (new.file, "")))
    for found, names in (
        (CAPABILITY_WITHDRAWN, old.capabilities - new.capabilities),
        (CAPABILITY_ADDED, new.capabilities - old.capabilities),
        (EXTENSION_DEMANDED, new.extensions - old.extensions),
    ):
        yield from (_change(found, ((old.file, "/capabilities"), (new.file, "/capabilities")), name=name) for name in sorted(names))


def compare_versions(old: Agent, new: Agent, changes: list[Change]) -> Iterator[Change]:
    """Hold the version of an agent to what happened to it."""
    places = ((old.file, old.version_at), (new.file, new.version_at))
    if changes and old.version and old.version == new.version:
        yield _change(VERSION_NOT_BUMPED, places, old=old.version)
    elif any(change.effect.narrows for change in changes) and old.version.partition(".")[0] == new.version.partition(".")[0] != "":
        yield _change(MAJOR_NOT_BUMPED, places, old=old.version, new=new.version)


def _surfaces(old: Agent, new: Agent) -> Iterator[Change]:
    places = ((old.file, "/surfaces"), (new.file, "/surfaces"))
    for path, dialects in old.surfaces.items():
        gone = sorted(dialects - new.surfaces.get(path, frozenset()))
        if gone:
            yield _change(SURFACE_REMOVED, places, name=path, old=f" in {', '.join(gone)}" if path in new.surfaces else "")
    for path, dialects in new.surfaces.items():
        added = sorted(dialects - old.surfaces.get(path, frozenset()))
        if added:
            yield _change(SURFACE_ADDED, places, name=path, new=f" in {', '.join(added)}" if path in old.surfaces else "")


def _skills(old: Agent, new: Agent) -> Iterator[Change]:
    renamed = _renamed(old, new)
    for before, after in renamed.items():
        yield _change(SKILL_ID_CHANGED, (old.skills[before].at, new.skills[after].at), old=before, new=after)
    for identity, skill in old.skills.items():
        if identity in new.skills:
            other = new.skills[identity]
            yield from _modes(skill, other)
            if skill.streams != other.streams:
                yield _change(STREAMING_CHANGED, (skill.at, other.at), name=identity, old=_way(skill), new=_way(other))
            yield from _security(skill.security, other.security, f"the skill {identity}", (skill.at, other.at))
        elif identity not in renamed:
            yield _change(SKILL_REMOVED, (skill.at, (new.file, "/skills")), name=identity)
    for identity, skill in new.skills.items():
        if identity not in old.skills and identity not in renamed.values():
            yield _change(SKILL_ADDED, ((old.file, "/skills"), skill.at), name=identity)


def _way(skill: Skill) -> str:
    return "in chunks" if skill.streams else "once"


def _renamed(old: Agent, new: Agent) -> dict[str, str]:
    """Find skills that say the same about themselves under another id."""
    added = {(skill.name, skill.description): identity for identity, skill in new.skills.items() if identity not in old.skills}
    gone = {(skill.name, skill.description): identity for identity, skill in old.skills.items() if identity not in new.skills}
    return {gone[said]: added[said] for said in gone if said in added and any(said)}


def _modes(old: Skill, new: Skill) -> Iterator[Change]:
    places, name = (old.at, new.at), f"the skill {new.id}"
    for verb, before, after in (("takes", old.inputs, new.inputs), ("gives", old.outputs, new.outputs)):
        if before and after:
            yield from (_change(MODE_REMOVED, places, name=name, new=verb, old=each) for each in before if each not in after)
            yield from (_change(MODE_ADDED, places, name=name, new=verb, old=each) for each in after if each not in before)


def _security(old: Json, new: Json, name: str, places: tuple[At, At]) -> Iterator[Change]:
    """Compare what callers must prove: ways of which one is enough; more ways are looser, none at all is loosest."""
    before, after = (
        {canonical.key(each) for each in value} if isinstance(value, list) else {canonical.key(value)} for value in (old or [], new or [])
    )
    if before == after:
        return
    is_looser = not after or (bool(before) and before < after)
    yield _change(SECURITY_LOOSENED if is_looser else SECURITY_TIGHTENED, places, name=name)


def _change(found: Rule, places: tuple[At, At], **words: str) -> Change:
    return Change(found, *places, tuple(sorted(words.items())))
