"""The package of a client for a remote agent: types, client and table of skills from the schemas on its card, beside what was seen of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from a2a_gen.agent import keywords, lint, models, modules, seen
from a2a_gen.agent.catalogue import Catalogue
from a2a_gen.agent.contract import TEXT, AgentIR, FormIR, SkillIR
from a2a_gen.agent.grouping import modules_of
from a2a_gen.agent.library import Library, Target
from a2a_gen.agent.merge import Merged
from a2a_gen.agent.settings import AgentSettings
from a2a_gen.agent.shaping import Shaper
from a2a_gen.agent.shown import Remote
from a2a_gen.emit.render import render
from a2a_gen.ir.names import skill_constant, skill_methods
from a2a_gen.problems import ContractError, Level, ProjectError

_SOURCE = "the card of the agent"


def emit(remote: Remote, command: str) -> dict[str, bytes]:
    """Write the files of the package; ``command`` is what makes all of this again."""
    agent = _agent(remote, _methods(remote), command)
    name = f"{agent.class_name}Client"
    homes = [(home, names) for home, names in (("client", [name]), ("types", sorted(agent.modules))) if names]
    names = sorted(each for _, listed in homes for each in listed)
    says = f"A typed client of {agent.class_name}, made from its card."
    return {
        **models.emit(agent.definitions, agent.modules, _SOURCE, command),
        **modules.client_side(agent),
        "__init__.py": render("package.py.jinja", sources=(_SOURCE,), command=command, says=says, homes=homes, names=names),
        **seen.files(remote),
    }


def _methods(remote: Remote) -> Mapping[str, str]:
    """Name the method of each skill, or say that there is none to call, or no telling which."""
    counts = Counter(skill for skill, _ in remote.skills)
    if not counts:
        raise ProjectError("the card names no skill: there is nothing to call", "give the card of an agent that has some")
    if twice := [skill for skill, count in counts.items() if count > 1]:
        raise ProjectError(f"the card has several skills with the id {', '.join(map(repr, twice))}", "ask whoever runs the agent to rename them")
    return skill_methods(counts)


def _agent(remote: Remote, methods: Mapping[str, str], command: str) -> AgentIR:
    merged = Merged(remote.schemas)
    with TemporaryDirectory(prefix="a2a-gen-") as folder:
        for name, content in merged.files.items():
            Path(folder, name).write_bytes(content)
        library = Library(Path(folder))
        roots = {key: library.resolve(text, Target("card")) for key, text in merged.references.items()}
        catalogue = Catalogue(library, {target: "" for target in roots.values() if target})
        wrong = [*library.problems, *(each for each in lint.check(library) if each.level is Level.ERROR)]
        if wrong:
            raise ContractError(wrong)
        definitions = Shaper(catalogue).definitions
    forms = {(each.skill, each.use): (roots[each.skill, each.use], each) for each in remote.schemas}

    def form(skill: str, use: str) -> FormIR:
        target, served = forms.get((skill, use), (None, None))
        return TEXT if target is None or served is None else FormIR(catalogue.names[target], served.file, served.document)

    settings = AgentSettings({"agent": dict(remote.card)}, ())
    skills = tuple(
        SkillIR(
            id=skill,
            method=methods[skill],
            constant=skill_constant(methods[skill]),
            description=keywords.text(facts, "description") or skill,
            input=form(skill, "input"),
            output=form(skill, "output"),
            replies={},
            streams=skill in remote.streaming,
            handler=None,
            facts={},
        )
        for skill, facts in remote.skills
    )
    return AgentIR(settings, skills, definitions, modules_of(definitions), _SOURCE, command)
