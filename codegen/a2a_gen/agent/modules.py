"""The modules of a package beside its types: the table of skills, the service base class, the
agent, the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import chain

from a2a_gen.agent.ir import AgentIR, SkillIR, TypedSchemaIR
from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.settings import FILE
from a2a_gen.emit.render import Code, docstring, literal, render
from a2a_gen.ir.model import Json as Frozen
from a2a_gen.source.json_text import Json

_AGENT = ("name", "description", "version", "url", "documentation_url", "icon_url")
_MODES = {"input_modes": "default_input_modes", "output_modes": "default_output_modes"}
_SURFACE_TABLES = ("dialects", "surfaces", "limits", "rates")
_CAPABILITIES = {
    "streaming": "streaming",
    "push_notifications": "push_notifications",
    "extended_agent_card": "extended_agent_card",
}


def emit(agent: AgentIR) -> dict[str, bytes]:
    """Emit the modules and the published schemas, by path relative to the package."""
    documents = {f"schemas/{form.file}": form.document for form in _list_all_schemas(agent)}
    return {**documents, **emit_client_modules(agent), **_emit_server_modules(agent)}


def _list_all_schemas(agent: AgentIR) -> list[TypedSchemaIR]:
    """List the schemas of all skills that are in files."""
    forms = chain.from_iterable(_emit_schemas(skill) for skill in agent.skills)
    return [form for form in forms if form.file]


def _list_types(skills: Iterable[SkillIR]) -> set[str]:
    """List the types that skills take and return."""
    forms = chain.from_iterable((skill.input, skill.output) for skill in skills)
    return {form.type for form in forms if form.file}


def emit_client_modules(agent: AgentIR) -> dict[str, bytes]:
    """Emit the modules that a caller of the agent needs."""
    write = partial(render, sources=(agent.source,), command=agent.command)
    used = {form.type for form in _list_all_schemas(agent)}
    sent = _list_types(agent.skills)
    said = (
        schemas.text(agent.settings.agent, "description")
        or f"Client of the skills of {agent.class_name}."
    )
    return {
        "py.typed": b"",
        **({"types/schemas.json": agent.branches} if agent.branches else {}),
        "skills.py": write(
            "skills.py.jinja",
            skills=agent.skills,
            imports=_imports(used, agent),
            has_schemas=bool(used),
        ),
        "client.py": write(
            "agent_client.py.jinja",
            agent=agent,
            description=docstring(said),
            imports=_imports(sent, agent),
        ),
        "types/__init__.py": write(
            "package.py.jinja",
            says="The types of all skills.",
            homes=list_homes(agent.modules),
            names=sorted(agent.modules),
        ),
    }


def _emit_server_modules(agent: AgentIR) -> dict[str, bytes]:
    own = _list_types(agent.own_skills)
    homes = {
        "agent": ["make_agent", "make_surfaces"],
        "client": [f"{agent.class_name}Client"],
        "service": [f"{agent.class_name}Service"],
        "types": sorted(agent.modules),
    }
    names = sorted(chain.from_iterable(homes.values()))
    facts = [(skill, _emit_facts(skill)) for skill in agent.skills]
    mounted = _code(
        {key: agent.settings.data[key] for key in _SURFACE_TABLES if key in agent.settings.data}
    )
    says = (
        f"The contract of {agent.class_name}: its types, the service to subclass, the agent to "
        "mount, and a client."
    )
    return {
        "__init__.py": render(
            "package.py.jinja",
            sources=(FILE,),
            says=says,
            homes=[each for each in homes.items() if each[1]],
            names=names,
        ),
        "service.py": render(
            "agent_service.py.jinja",
            sources=(FILE,),
            agent=agent,
            skills=agent.own_skills,
            imports=_imports(own, agent),
        ),
        "agent.py": render(
            "agent.py.jinja",
            sources=(FILE,),
            agent=agent,
            arguments=_arguments(agent),
            router=schemas.text(agent.settings.agent, "router"),
            skills=facts,
            mounted=mounted,
        ),
    }


def _emit_schemas(skill: SkillIR) -> tuple[TypedSchemaIR, ...]:
    return (skill.input, skill.output, *skill.replies.values())


def _imports(
    names: Iterable[str], agent: AgentIR, below: str = "types."
) -> list[tuple[str, list[str]]]:
    by_module: dict[str, list[str]] = {}
    for name in names:
        by_module.setdefault(agent.modules[name], []).append(name)
    return [(f".{below}{module}", sorted(listed)) for module, listed in sorted(by_module.items())]


def list_homes(modules: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """List the types of each module."""
    homes: dict[str, list[str]] = {}
    for name, module in modules.items():
        homes.setdefault(module, []).append(name)
    return [(module, sorted(names)) for module, names in sorted(homes.items())]


def _emit_facts(skill: SkillIR) -> dict[str, Code]:
    return {key: _code(value) for key, value in skill.facts.items()}


def _code(value: Json) -> Code:
    return literal(_to_literal(value))


def _to_literal(value: Json) -> Frozen:
    match value:
        case dict():
            return {key: _to_literal(each) for key, each in value.items()}
        case list():
            return tuple(map(_to_literal, value))
        case _:
            return value


def _arguments(agent: AgentIR) -> dict[str, Code]:
    """List the arguments that construct the agent, by name."""
    said = agent.settings.agent
    able = schemas.members(agent.settings.data, "capabilities")
    written = {key: _code(said[key]) for key in _AGENT if key in said}
    written |= {name: _code(said[key]) for key, name in _MODES.items() if key in said}
    if provider := schemas.members(said, "provider"):
        written["provider"] = _call("AgentProvider", provider)
    capabilities = {name: _code(able[key]) for key, name in _CAPABILITIES.items() if key in able}
    if extensions := [
        _call("AgentExtension", each)
        for each in schemas.items(able, "extensions")
        if isinstance(each, dict)
    ]:
        capabilities["extensions"] = Code(f"({', '.join(extensions)},)")
    if capabilities:
        written["capabilities"] = Code(
            f"Capabilities({', '.join(f'{key}={value}' for key, value in capabilities.items())})"
        )
    return written


def _call(name: str, members: Mapping[str, Json]) -> Code:
    return Code(f"{name}({', '.join(f'{key}={_code(value)}' for key, value in members.items())})")
