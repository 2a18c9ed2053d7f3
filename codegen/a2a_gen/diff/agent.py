"""Description of an agent, read from a card of any dialect or from its ``a2a.toml``.

A card is read by the members that it has, not by its version: the spellings of all dialects are
tried in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from a2a_gen.agent.remote.card import parse_card
from a2a_gen.diff.tree.schema_node import Location
from a2a_gen.source.json_text import Json, escape_key


@dataclass(frozen=True, slots=True)
class SkillDescription:
    """One skill: media types, schema addresses by use, and whether it streams."""

    id: str
    location: Location
    name: str = ""
    description: str = ""
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()
    security: Json = None
    schemas: Mapping[str, str] = field(default_factory=dict[str, str])
    is_streaming: bool = False


@dataclass(frozen=True, slots=True)
class AgentDescription:
    """The parts of an agent that its clients depend on."""

    file: str
    version: str
    skills: Mapping[str, SkillDescription]
    surfaces: Mapping[str, frozenset[str]]
    capabilities: frozenset[str]
    security: Json
    extensions: frozenset[str]
    version_pointer: str = "/version"

    @property
    def has_schemas(self) -> bool:
        """True if any skill has a schema."""
        return any(skill.schemas for skill in self.skills.values())


def agent_from_card(file: str, card: dict[str, Json]) -> AgentDescription:
    """Read an agent card."""
    modes = (
        _as_strings(_get_first(card, "defaultInputModes", "default_input_modes")),
        _as_strings(_get_first(card, "defaultOutputModes", "default_output_modes")),
    )
    capabilities = _as_object(card.get("capabilities"))
    extensions = (_as_object(each) for each in _as_list(capabilities.get("extensions")))
    on = {_normalize_capability(name) for name, value in capabilities.items() if value is True}
    if _get_first(card, "supportsAuthenticatedExtendedCard") is True:
        on.add("extended card")
    return AgentDescription(
        file=file,
        version=str(card.get("version") or ""),
        skills={skill.id: skill for skill in _parse_card_skills(file, card, modes)},
        surfaces=dict(_parse_card_surfaces(card)),
        capabilities=frozenset(on),
        security=_get_first(card, "securityRequirements", "security", "authentication"),
        extensions=frozenset(
            str(each.get("uri")) for each in extensions if each.get("required") is True
        ),
    )


def _parse_card_skills(
    file: str, card: dict[str, Json], modes: tuple[tuple[str, ...], tuple[str, ...]]
) -> Iterator[SkillDescription]:
    typed = parse_card(card)
    for index, each in enumerate(_as_list(card.get("skills"))):
        skill = _as_object(each)
        identity = str(skill.get("id") or skill.get("name") or index)
        yield SkillDescription(
            identity,
            (file, f"/skills/{index}"),
            str(skill.get("name") or ""),
            str(skill.get("description") or ""),
            _as_strings(_get_first(skill, "inputModes")) or modes[0],
            _as_strings(_get_first(skill, "outputModes")) or modes[1],
            _get_first(skill, "securityRequirements", "security"),
            is_streaming=typed.get(identity, {}).get("streaming") is True,
        )


def _parse_card_surfaces(card: dict[str, Json]) -> Iterator[tuple[str, frozenset[str]]]:
    found: dict[str, set[str]] = {}
    main = card.get("url")
    if isinstance(main, str):
        found.setdefault(main, set()).add(str(_get_first(card, "preferredTransport") or "JSONRPC"))
    for each in (
        *_as_list(card.get("supportedInterfaces")),
        *_as_list(card.get("additionalInterfaces")),
    ):
        interface = _as_object(each)
        binding = _get_first(interface, "protocolBinding", "transport") or ""
        found.setdefault(str(interface.get("url")), set()).add(
            " ".join(filter(None, (str(binding), str(interface.get("protocolVersion") or ""))))
        )
    return ((url, frozenset(bindings)) for url, bindings in found.items())


def agent_from_project(file: str, table: dict[str, Json]) -> AgentDescription:
    """Read an ``a2a.toml``."""
    agent = _as_object(table.get("agent"))
    capabilities = _as_object(table.get("capabilities"))
    modes = (_as_strings(agent.get("input_modes")), _as_strings(agent.get("output_modes")))
    on = {_normalize_capability(name) for name, value in capabilities.items() if value is True}
    extensions = (_as_object(each) for each in _as_list(capabilities.get("extensions")))
    surfaces = {
        str(_as_object(each).get("path")): _as_object(each)
        for each in _as_list(table.get("surfaces"))
    } or {"/": {}}
    otherwise = _as_strings(table.get("dialects")) or ("1.0", "0.3")
    return AgentDescription(
        file=file,
        version=str(agent.get("version") or ""),
        skills={
            identity: _parse_project_skill(file, identity, _as_object(each), modes)
            for identity, each in _as_object(table.get("skills")).items()
        },
        surfaces={
            path: frozenset(_as_strings(each.get("dialects")) or otherwise)
            for path, each in surfaces.items()
        },
        capabilities=frozenset(
            on if capabilities.get("streaming") is False else {*on, "streaming"}
        ),
        security=[str(each.get("auth")) for each in surfaces.values() if each.get("auth")] or None,
        extensions=frozenset(
            str(each.get("uri")) for each in extensions if each.get("required") is True
        ),
        version_pointer="/agent/version",
    )


def _parse_project_skill(
    file: str, identity: str, skill: dict[str, Json], modes: tuple[tuple[str, ...], tuple[str, ...]]
) -> SkillDescription:
    schemas = {
        use: str(skill[use]) for use in ("input", "output") if isinstance(skill.get(use), str)
    }
    schemas |= {
        f"reply to {name}": str(each) for name, each in _as_object(skill.get("asks")).items()
    }
    kinds: dict[str, tuple[str, ...]] = {"input": (), "output": ()}
    for use in kinds.keys() & schemas.keys():
        kinds[use] = ("application/json",)
    return SkillDescription(
        identity,
        (file, f"/skills/{escape_key(identity)}"),
        str(skill.get("name") or ""),
        str(skill.get("description") or ""),
        _as_strings(skill.get("input_modes")) or modes[0] or kinds["input"],
        _as_strings(skill.get("output_modes")) or modes[1] or kinds["output"],
        None,
        schemas,
        skill.get("streaming") is True,
    )


def _get_first(members: dict[str, Json], *names: str) -> Json:
    return next((members[name] for name in names if members.get(name) is not None), None)


def _normalize_capability(name: str) -> str:
    """Convert a capability name to one spelling for all dialects."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).lower()
    return words.replace("agent card", "card")


def _as_list(value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    return []


def _as_object(value: Json) -> dict[str, Json]:
    if isinstance(value, dict):
        return value
    return {}


def _as_strings(value: Json) -> tuple[str, ...]:
    return tuple(str(each) for each in _as_list(value))
