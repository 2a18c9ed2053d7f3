"""What an agent offers, read from a card of any dialect or from its ``a2a.toml``: skills, surfaces, modes, security and capabilities.

A card is read by the members that it has, not by its version: names that dialects spell in their own way are listed beside each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from a2a_gen.agent.remote import described
from a2a_gen.diff.schema_node import At
from a2a_gen.source.json_text import Json, escaped


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill: what it is, the media types it takes and gives, where its schemas are, and whether its output comes in chunks."""

    id: str
    at: At
    name: str = ""
    description: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    security: Json = None
    schemas: Mapping[str, str] = field(default_factory=dict[str, str])
    streams: bool = False


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as its callers see it."""

    file: str
    version: str
    skills: Mapping[str, Skill]
    surfaces: Mapping[str, frozenset[str]]
    capabilities: frozenset[str]
    security: Json
    extensions: frozenset[str]
    version_at: str = "/version"

    @property
    def skills_have_schemas(self) -> bool:
        """Whether any skill says what it takes or gives as a schema."""
        return any(skill.schemas for skill in self.skills.values())


def from_card(file: str, card: dict[str, Json]) -> Agent:
    """Read a card."""
    modes = (_texts(_any(card, "defaultInputModes", "default_input_modes")), _texts(_any(card, "defaultOutputModes", "default_output_modes")))
    capabilities = _object(card.get("capabilities"))
    extensions = (_object(each) for each in _list(capabilities.get("extensions")))
    on = {_plain(name) for name, value in capabilities.items() if value is True}
    if _any(card, "supportsAuthenticatedExtendedCard") is True:
        on.add("extended card")
    return Agent(
        file=file,
        version=str(card.get("version") or ""),
        skills={skill.id: skill for skill in _card_skills(file, card, modes)},
        surfaces=dict(_card_surfaces(card)),
        capabilities=frozenset(on),
        security=_any(card, "securityRequirements", "security", "authentication"),
        extensions=frozenset(str(each.get("uri")) for each in extensions if each.get("required") is True),
    )


def _card_skills(file: str, card: dict[str, Json], modes: tuple[tuple[str, ...], tuple[str, ...]]) -> Iterator[Skill]:
    typed = described(card)
    for index, each in enumerate(_list(card.get("skills"))):
        skill = _object(each)
        identity = str(skill.get("id") or skill.get("name") or index)
        yield Skill(
            identity,
            (file, f"/skills/{index}"),
            str(skill.get("name") or ""),
            str(skill.get("description") or ""),
            _texts(_any(skill, "inputModes")) or modes[0],
            _texts(_any(skill, "outputModes")) or modes[1],
            _any(skill, "securityRequirements", "security"),
            streams=typed.get(identity, {}).get("streaming") is True,
        )


def _card_surfaces(card: dict[str, Json]) -> Iterator[tuple[str, frozenset[str]]]:
    found: dict[str, set[str]] = {}
    main = card.get("url")
    if isinstance(main, str):
        found.setdefault(main, set()).add(str(_any(card, "preferredTransport") or "JSONRPC"))
    for each in (*_list(card.get("supportedInterfaces")), *_list(card.get("additionalInterfaces"))):
        interface = _object(each)
        binding = _any(interface, "protocolBinding", "transport") or ""
        found.setdefault(str(interface.get("url")), set()).add(" ".join(filter(None, (str(binding), str(interface.get("protocolVersion") or "")))))
    return ((url, frozenset(bindings)) for url, bindings in found.items())


def from_project(file: str, table: dict[str, Json]) -> Agent:
    """Read an ``a2a.toml``."""
    agent, capabilities = _object(table.get("agent")), _object(table.get("capabilities"))
    modes = (_texts(agent.get("input_modes")), _texts(agent.get("output_modes")))
    on = {_plain(name) for name, value in capabilities.items() if value is True}
    extensions = (_object(each) for each in _list(capabilities.get("extensions")))
    surfaces = {str(_object(each).get("path")): _object(each) for each in _list(table.get("surfaces"))} or {"/": {}}
    otherwise = _texts(table.get("dialects")) or ("1.0", "0.3")
    return Agent(
        file=file,
        version=str(agent.get("version") or ""),
        skills={identity: _toml_skill(file, identity, _object(each), modes) for identity, each in _object(table.get("skills")).items()},
        surfaces={path: frozenset(_texts(each.get("dialects")) or otherwise) for path, each in surfaces.items()},
        capabilities=frozenset(on if capabilities.get("streaming") is False else {*on, "streaming"}),
        security=[str(each.get("auth")) for each in surfaces.values() if each.get("auth")] or None,
        extensions=frozenset(str(each.get("uri")) for each in extensions if each.get("required") is True),
        version_at="/agent/version",
    )


def _toml_skill(file: str, identity: str, skill: dict[str, Json], modes: tuple[tuple[str, ...], tuple[str, ...]]) -> Skill:
    schemas = {word: str(skill[word]) for word in ("input", "output") if isinstance(skill.get(word), str)}
    schemas |= {f"reply to {name}": str(each) for name, each in _object(skill.get("asks")).items()}
    kinds = {word: ("application/json",) if word in schemas else () for word in ("input", "output")}
    return Skill(
        identity,
        (file, f"/skills/{escaped(identity)}"),
        str(skill.get("name") or ""),
        str(skill.get("description") or ""),
        _texts(skill.get("input_modes")) or modes[0] or kinds["input"],
        _texts(skill.get("output_modes")) or modes[1] or kinds["output"],
        None,
        schemas,
        skill.get("streaming") is True,
    )


def _any(members: dict[str, Json], *names: str) -> Json:
    return next((members[name] for name in names if members.get(name) is not None), None)


def _plain(name: str) -> str:
    """Spell a capability as no dialect does, so that all spellings are one."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).lower()
    return words.replace("agent card", "card")


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(each) for each in _list(value))
