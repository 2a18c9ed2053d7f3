"""What in an ``a2a.toml`` does not fit together, although each setting is right by itself: names that nothing has, two surfaces at one place. Pure.

Whoever builds and whoever serves a project asks here, so that neither takes what the other refuses. What is wrong with a setting by itself says the
schema of the file; here it is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from .json_types import is_json_array, is_json_object

_BEARER: Final = "bearer"
"""The gate that needs no entry: any token comes in."""
_MESH: Final = "mesh"
_SHOWN: Final = ("name", "description", "tags", "input_modes", "output_modes")
"""How a surface shows its only skill."""

_USUAL: Final[list[dict[str, object]]] = [{}]
_WHO: Final = 'for a2a-gen serve, name the class that does it: service = "module:Class", above all tables; or a function: handler = "module:function"'


class RuleViolation(NamedTuple):
    """What does not fit, where it stands (the names that lead to it), and what to write instead."""

    path: tuple[str | int, ...]
    text: str
    cure: str


def check_project(data: Mapping[str, object]) -> Iterator[RuleViolation]:
    """Find what can be neither built nor served."""
    skills, auth = _table(data, "skills"), [_BEARER, *_table(data, "auth")]
    surfaces = data.get("surfaces", _USUAL)
    taken: dict[str, int] = {}
    for number, surface in enumerate(surfaces if is_json_array(surfaces) else ()):
        if not is_json_object(surface):
            continue
        yield from _of_surface(surface, number, data)
        yield from _unknown_skills(surface, number, skills)
        if isinstance(gate := surface.get("auth"), str) and gate not in auth:
            yield RuleViolation(("surfaces", number, "auth"), *_unknown_gate(gate, auth))
        if isinstance(path := surface.get("path"), str) and (other := taken.setdefault(path.rstrip("/"), number)) != number:
            yield RuleViolation(("surfaces", number, "path"), f"surfaces[{other}] is at {path} already", "give one of them another path")
    for skill, facts in skills.items():
        required = facts.get("require") if is_json_object(facts) else None
        for number, each in enumerate(required if is_json_array(required) else ()):
            for gate in each if is_json_object(each) else ():
                if gate not in auth:
                    yield RuleViolation(("skills", skill, "require", number), *_unknown_gate(gate, auth))
    yield from _unbuilt(data, skills)


def _unbuilt(data: Mapping[str, object], skills: Mapping[str, object]) -> Iterator[RuleViolation]:
    """Find what needs a generated package where none is written."""
    if "outputs" in data:
        return
    cure = 'add [outputs] with package = "my_agent.contract"'
    if "service" in data:
        yield RuleViolation(("service",), "there is no generated class that it could subclass", cure)
    for skill, facts in skills.items():
        schema = next((each for each in ("input", "output", "asks") if is_json_object(facts) and each in facts), None)
        if schema is not None:
            yield RuleViolation(("skills", skill, schema), "no package holds the skill to its schema", cure)


def _unknown_gate(gate: str, known: Sequence[str]) -> tuple[str, str]:
    return f"auth {gate!r} is not known", f"name one of {', '.join(known)}, or add [auth.{gate}]"


def check_handlers(data: Mapping[str, object]) -> Iterator[RuleViolation]:
    """Find the skills that nobody does when the project is served; in an app of one's own somebody may."""
    left = [skill for skill, facts in _table(data, "skills").items() if is_json_object(facts) and "handler" not in facts]
    if left and "service" not in data:
        yield RuleViolation(("skills", left[0]), f"{', '.join(left)}: nothing says who does this", _WHO)


def _of_surface(surface: Mapping[str, object], number: int, data: Mapping[str, object]) -> Iterator[RuleViolation]:
    offered = _offered(surface, data)
    dialects = surface.get("dialects", data.get("dialects"))
    if len(offered) != 1:
        cure = 'choose one: skill_id = "…"'
        if is_json_array(dialects) and _MESH in dialects:
            yield RuleViolation(("surfaces", number), f"a mesh surface has one skill, and this has {len(offered)}", cure)
        elif shown := next((each for each in _SHOWN if each in surface), None):
            yield RuleViolation(("surfaces", number, shown), f"{shown} shows the only skill of a surface, and this has {len(offered)}", cure)


def _unknown_skills(surface: Mapping[str, object], number: int, skills: Mapping[str, object]) -> Iterator[RuleViolation]:
    for key in ("skill_id", "skills"):
        named = surface.get(key)
        for skill in named if is_json_array(named) else [named]:
            if isinstance(skill, str) and skill not in skills:
                yield RuleViolation(
                    ("surfaces", number, key), f"there is no skill {skill}", f"name one of {', '.join(skills)}, or add [skills.{skill}]"
                )


def _offered(surface: Mapping[str, object], data: Mapping[str, object]) -> Sequence[object]:
    chosen = surface.get("skills", [surface["skill_id"]] if "skill_id" in surface else list(_table(data, "skills")))
    return chosen if is_json_array(chosen) else []


def _table(data: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = data.get(name)
    return found if is_json_object(found) else {}


# Where in a TOML text a setting stands. Pure.
#
# ``tomllib`` does the reading; it knows every rule but no position. This knows only as much of TOML as it takes to find tables and keys at the begin
# of
# lines, and expects a text that ``tomllib`` has taken. What is written within a value is where the value begins.
#

_TABLE = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_SETTING = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'|\s*\.\s*)+?)\s*=""")
_STEP = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_QUOTES = re.compile(r'"""|\'\'\'')

Path: TypeAlias = tuple[str | int, ...]
"""The names of the tables that lead to a setting, and its own; in a list of tables, their numbers."""


def find_line(text: str, path: Sequence[str | int]) -> int:
    """Say on which line a setting stands, or the nearest table around it; 1 if there is none."""
    return nearest_line(map_lines(text), path)


def map_lines(text: str) -> Mapping[Path, int]:
    """Map every table and setting, by the names that lead to it, to its line."""
    return dict(reversed([*_places(text)]))


def nearest_line(lines: Mapping[Path, int], path: Sequence[str | int]) -> int:
    """Find the line of a setting among all of them, or that of the nearest table around it; 1 if there is none."""
    return next((lines[place] for length in range(len(path), 0, -1) if (place := tuple(path[:length])) in lines), 1)


def _places(text: str) -> Iterator[tuple[Path, int]]:
    table: Path = ()
    counts: dict[Path, int] = {}
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            quote = "" if quote in line else quote
            continue
        if match := _TABLE.fullmatch(line):
            table = _steps(match[2], counts)
            if match[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif match := _SETTING.match(line):
            yield (*table, *_steps(match[1], {})), number
            opened = _QUOTES.findall(line[match.end() :])
            quote = opened[0] if len(opened) == 1 else ""


def _steps(dotted: str, counts: dict[Path, int]) -> Path:
    """Read a dotted name; where it passes through a list of tables, the last of them is meant."""
    steps: Path = ()
    names = [step.strip("\"'") for step in _STEP.findall(dotted)]
    for place, name in enumerate(names, 1):
        steps = (*steps, name)
        if place < len(names) and steps in counts:
            steps = (*steps, counts[steps])
    return steps
