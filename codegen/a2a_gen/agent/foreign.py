"""The package of a client for a remote agent: types, client and table of skills from the schemas on its card, and a lock of what was seen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from a2a_gen.agent import keywords, models, modules
from a2a_gen.agent.catalogue import Catalogue
from a2a_gen.agent.contract import TEXT, AgentIR, FormIR, SkillIR
from a2a_gen.agent.grouping import modules_of
from a2a_gen.agent.library import Library, Target
from a2a_gen.agent.merge import Merged
from a2a_gen.agent.remote import Remote
from a2a_gen.agent.settings import AgentSettings, SkillSettings
from a2a_gen.agent.shaping import Shaper
from a2a_gen.emit.render import render
from a2a_gen.problems import ContractError, ProjectError
from a2a_gen.source.json_text import Json

LOCK = "client.lock.json"
_SOURCES = ("the card of the agent",)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of an agent when its client was made: the hash of every schema, by skill and use."""

    source: str
    skills: tuple[str, ...]
    schemas: Mapping[str, str]

    def to_bytes(self) -> bytes:
        """Write the lock."""
        written = {"source": self.source, "skills": list(self.skills), "schemas": dict(self.schemas)}
        return f"{json.dumps(written, indent=2, sort_keys=True)}\n".encode()


def seen(remote: Remote, source: str) -> Seen:
    """Sum up what an agent shows."""
    hashes = {f"{each.skill}.{each.use}": sha256(each.document).hexdigest() for each in remote.schemas}
    return Seen(source, tuple(sorted(skill for skill, _ in remote.skills)), hashes)


def read_seen(folder: Path) -> Seen:
    """Read the lock of a client."""
    try:
        data: dict[str, Json] = json.loads((folder / LOCK).read_bytes())
    except (OSError, ValueError):
        raise ProjectError(f"{folder} has no {LOCK} that can be read", "make the client first: a2a-gen client URL -o …") from None
    schemas = {key: value for key, value in keywords.members(data, "schemas").items() if isinstance(value, str)}
    skills = tuple(each for each in keywords.items(data, "skills") if isinstance(each, str))
    return Seen(keywords.text(data, "source"), skills, schemas)


def drift(old: Seen, new: Seen) -> Iterator[str]:
    """Say what has changed since."""
    yield from (f"skill {skill} is gone" for skill in old.skills if skill not in new.skills)
    yield from (f"skill {skill} is new" for skill in new.skills if skill not in old.skills)
    for name in sorted({*old.schemas, *new.schemas}):
        if old.schemas.get(name) != new.schemas.get(name):
            how = "has a schema now" if name not in old.schemas else "has no schema any more" if name not in new.schemas else "has another schema"
            yield f"{name} {how}"


def emit(remote: Remote, source: str) -> dict[str, bytes]:
    """Write the files of the package."""
    agent = _agent(remote)
    name = f"{agent.class_name}Client"
    homes = [("client", [name]), ("types", sorted(agent.modules))]
    says = f"A typed client of {agent.class_name}, made from its card."
    names = sorted(each for _, listed in homes for each in listed)
    return {
        **{f"schemas/{each.file}": each.document for each in remote.schemas},
        **models.emit(agent.definitions, agent.modules),
        **modules.client_side(agent, _SOURCES),
        "__init__.py": render("package.py.jinja", sources=_SOURCES, says=says, homes=[each for each in homes if each[1]], names=names),
        LOCK: seen(remote, source).to_bytes(),
    }


def _agent(remote: Remote) -> AgentIR:
    merged = Merged(remote.schemas)
    with TemporaryDirectory(prefix="a2a-gen-") as folder:
        for name, content in merged.files.items():
            Path(folder, name).write_bytes(content)
        library = Library(Path(folder))
        roots = {key: library.resolve(text, Target("card")) for key, text in merged.references.items()}
        catalogue = Catalogue(library, {target: "" for target in roots.values() if target})
        if library.problems:
            raise ContractError(library.problems)
        definitions = Shaper(catalogue).definitions
    forms = {(each.skill, each.use): (roots[each.skill, each.use], each) for each in remote.schemas}

    def form(skill: str, use: str) -> FormIR:
        target, served = forms.get((skill, use), (None, None))
        return TEXT if target is None or served is None else FormIR(catalogue.names[target], served.file, served.document)

    settings = AgentSettings({"agent": dict(remote.card)}, ())
    skills = tuple(
        SkillIR(
            id=skill,
            method=SkillSettings.method_of(skill),
            constant=SkillSettings.method_of(skill).upper().rstrip("_"),
            description=keywords.text(facts, "description") or skill,
            input=form(skill, "input"),
            output=form(skill, "output"),
            replies=(),
            streams=skill in remote.streaming,
            handler=None,
            facts={},
        )
        for skill, facts in remote.skills
    )
    return AgentIR(settings, skills, definitions, modules_of(definitions))
