"""Rules across the settings of an ``a2a.toml``: undefined names, two surfaces at one path. Pure.

The generator and the server apply the same rules, so neither accepts what the other rejects. The
schema of the file reports settings that are invalid by themselves; here they are skipped.

The end of the module maps settings to lines: ``tomllib`` parses values but reports no positions.
The map finds tables and keys at the beginning of lines in a text that ``tomllib`` accepted;
settings within a value get the line where the value begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple, TypeAlias

from .json_types import is_json_array, is_json_object

_BUILT_IN_GATES: Final = ("bearer", "open")
"""The gates that need no entry: ``bearer`` accepts any token, ``open`` every request."""
_MESH: Final = "mesh"
_SKILL_KEYS: Final = ("name", "description", "tags", "input_modes", "output_modes")
"""Settings of a surface that describe its only skill."""

_DEFAULT_SURFACES: Final[list[dict[str, object]]] = [{}]
_ADD_HANDLER: Final = (
    'to run a2a-gen serve, set service = "module:Class" above all tables, or handler = '
    '"module:function" on the skill'
)


class RuleViolation(NamedTuple):
    """A violated rule: the path of names to the setting, the problem, and the fix."""

    path: tuple[str | int, ...]
    text: str
    cure: str


def check_project(data: Mapping[str, object]) -> Iterator[RuleViolation]:
    """Report settings that can be neither built nor served."""
    skills = _table(data, "skills")
    auth = [*_BUILT_IN_GATES, *_table(data, "auth")]
    surfaces = data.get("surfaces", _DEFAULT_SURFACES)
    taken: dict[str, int] = {}
    for number, surface in enumerate(surfaces if is_json_array(surfaces) else ()):
        if not is_json_object(surface):
            continue
        yield from _check_surface(surface, number, data)
        yield from _check_skills(surface, number, skills)
        if isinstance(gate := surface.get("auth"), str) and gate not in auth:
            yield RuleViolation(("surfaces", number, "auth"), *_unknown_gate(gate, auth))
        if (
            isinstance(path := surface.get("path"), str)
            and (other := taken.setdefault(path.rstrip("/"), number)) != number
        ):
            yield RuleViolation(
                ("surfaces", number, "path"),
                f"surfaces[{other}] already has the path {path}",
                "change one of the paths",
            )
    for skill, facts in skills.items():
        required = facts.get("require") if is_json_object(facts) else None
        for number, each in enumerate(required if is_json_array(required) else ()):
            for gate in each if is_json_object(each) else ():
                if gate not in auth:
                    yield RuleViolation(
                        ("skills", skill, "require", number), *_unknown_gate(gate, auth)
                    )
    yield from _check_default(skills)
    yield from _check_outputs(data, skills)


def _check_default(skills: Mapping[str, object]) -> Iterator[RuleViolation]:
    """Report a second default skill."""
    first, *others = [
        name
        for name, facts in skills.items()
        if is_json_object(facts) and facts.get("default") is True
    ] or [""]
    for name in others:
        yield RuleViolation(
            ("skills", name, "default"),
            f"skills.{first} is the default already",
            "keep default = true on one of them",
        )


def _check_outputs(
    data: Mapping[str, object], skills: Mapping[str, object]
) -> Iterator[RuleViolation]:
    """Report settings that need a generated package when none is configured."""
    if "outputs" in data:
        return
    cure = 'add [outputs] with package = "my_agent.contract"'
    if "service" in data:
        yield RuleViolation(("service",), "a service needs a generated base class", cure)
    for skill, facts in skills.items():
        key = next(
            (
                each
                for each in ("input", "output", "asks", "streaming")
                if is_json_object(facts) and facts.get(each)
            ),
            None,
        )
        if key is not None:
            yield RuleViolation(("skills", skill, key), f"{key} needs a generated package", cure)


def _unknown_gate(gate: str, known: Sequence[str]) -> tuple[str, str]:
    return f"unknown auth {gate!r}", _suggest(gate, known, "auth")


def _suggest(name: str, known: Sequence[str], table: str) -> str:
    """Say which entry of a table was meant, or which there are."""
    close = get_close_matches(name, known, 1)
    if close:
        return f"did you mean {close[0]}?"
    return f"use one of {', '.join(known)}, or add [{table}.{name}]"


_MAX_NAMES = 5


def check_handlers(data: Mapping[str, object]) -> Iterator[RuleViolation]:
    """Report skills without a handler when the project is served; an application can register
    handlers of its own.
    """
    left = [
        skill
        for skill, facts in _table(data, "skills").items()
        if is_json_object(facts) and "handler" not in facts
    ]
    if left and "service" not in data:
        listed = ", ".join(left[:_MAX_NAMES]) + (
            f" and {len(left) - _MAX_NAMES} others" if len(left) > _MAX_NAMES else ""
        )
        yield RuleViolation(
            ("skills", left[0]), f"{listed}: no service and no handler", _ADD_HANDLER
        )


def _check_surface(
    surface: Mapping[str, object], number: int, data: Mapping[str, object]
) -> Iterator[RuleViolation]:
    offered = _list_skills(surface, data)
    dialects = surface.get("dialects", data.get("dialects"))
    if len(offered) != 1:
        cure = 'choose one: skill_id = "…"'
        if is_json_array(dialects) and _MESH in dialects:
            yield RuleViolation(
                ("surfaces", number),
                f"a mesh surface has exactly one skill, this one has {len(offered)}",
                cure,
            )
        elif key := next((each for each in _SKILL_KEYS if each in surface), None):
            yield RuleViolation(
                ("surfaces", number, key),
                f"{key} describes the only skill of a surface, this one has {len(offered)}",
                cure,
            )


def _check_skills(
    surface: Mapping[str, object], number: int, skills: Mapping[str, object]
) -> Iterator[RuleViolation]:
    for key in ("skill_id", "skills"):
        value = surface.get(key)
        for skill in value if is_json_array(value) else [value]:
            if isinstance(skill, str) and skill not in skills:
                yield RuleViolation(
                    ("surfaces", number, key),
                    f"unknown skill {skill}",
                    _suggest(skill, [*skills], "skills"),
                )


def _list_skills(surface: Mapping[str, object], data: Mapping[str, object]) -> Sequence[object]:
    chosen = surface.get(
        "skills", [surface["skill_id"]] if "skill_id" in surface else list(_table(data, "skills"))
    )
    if is_json_array(chosen):
        return chosen
    return []


def _table(data: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = data.get(name)
    if is_json_object(found):
        return found
    return {}


# --- lines of settings ---

_TABLE = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_SETTING = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'|\s*\.\s*)+?)\s*=""")
_STEP = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_QUOTES = re.compile(r'"""|\'\'\'')

Path: TypeAlias = tuple[str | int, ...]
"""The names of the tables around a setting, and its own; in a list of tables, their indexes."""


def find_line(text: str, path: Sequence[str | int]) -> int:
    """Return the line of a setting, or of the nearest table around it; 1 if there is none."""
    return nearest_line(map_lines(text), path)


def map_lines(text: str) -> Mapping[Path, int]:
    """Map every table and setting, by its path, to its line."""
    return dict(reversed([*_places(text)]))


def nearest_line(lines: Mapping[Path, int], path: Sequence[str | int]) -> int:
    """Return the line of a setting in a map, or of the nearest table around it; 1 if there is
    none.
    """
    for length in range(len(path), 0, -1):
        place = tuple(path[:length])
        if place in lines:
            return lines[place]
    return 1


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
    """Parse a dotted name; within a list of tables it means the last of them."""
    steps: Path = ()
    names = [step.strip("\"'") for step in _STEP.findall(dotted)]
    for place, name in enumerate(names, 1):
        steps = (*steps, name)
        if place < len(names) and steps in counts:
            steps = (*steps, counts[steps])
    return steps
