"""Project configuration: where the schemas are, and where the generated package goes.

A project is a folder with an ``a2a.toml`` (an agent), with an ``a2a-gen.toml``, or with a
``pyproject.toml`` that has a ``[tool.a2a-gen]`` table. The last two name a folder of schemas: with
the tables of a protocol it is a contract, such as the protocol's; without any of them its schemas
are plain, and the package has models alone. Commands work from any folder inside a project.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from difflib import get_close_matches
from functools import cached_property
from keyword import iskeyword
from pathlib import Path
from typing import Literal, TypeAlias

from a2a_gen.problems import Place, Problem, ProjectError
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import escape_key
from a2a_gen.support import project_rules
from a2a_gen.support.project_rules import find_line

_RESERVED_PACKAGES = frozenset({"a2a_contract", "a2a_gen", "a2a_runtime"})


def explain_invalid_name(name: str) -> str | None:
    """Return the reason that a name without dots cannot be imported, or ``None``."""
    if not name.isidentifier():
        return f"{name!r} is not a Python identifier"
    if iskeyword(name):
        return f"{name!r} is a Python keyword"
    return None


def explain_invalid_package(package: str) -> str | None:
    """Return the reason that a dotted package name cannot be used, or ``None``."""
    first, *others = package.split(".")
    for name in (first, *others):
        if why := explain_invalid_name(name):
            return why
    if first in sys.stdlib_module_names:
        return f"{first!r} is a module of the standard library"
    if first in _RESERVED_PACKAGES:
        return f"{first!r} is a package that agents import"
    return None


KindName: TypeAlias = Literal["contract", "agent", "models"]
TomlValue: TypeAlias = (
    "bool | int | float | str | date | time | list[TomlValue] | dict[str, TomlValue]"
)

_NAME_CURE = "choose a name of letters, digits and underscores"
_KEYS = {"schema": "schema", "package": "my_contract", "out": "generated/my_contract"}
_COMPAT_KEYS = ("baselines", "profile", "fail_on")
_AGENT_FILE = "a2a.toml"
OWN_FILE = "a2a-gen.toml"
_PYTHON_FILE = "pyproject.toml"
SCHEMA_SUFFIXES = (".json", ".yaml", ".yml")
SKIPPED_FOLDERS = frozenset({"examples", "node_modules"})
TABLE_FILES = frozenset({"dialects.json", "errors.json", "lifecycle.json", "operations.json"})
"""The tables of a protocol, at the top of the folder of a contract."""


@dataclass(frozen=True, slots=True)
class Compat:
    """Defaults of the breaking-change check: baselines, profile and level, from ``[compat]``."""

    baselines: tuple[str, ...] = ()
    profile: str = ""
    fail_on: str = "error"


@dataclass(frozen=True, slots=True)
class Project:
    """Paths of a project, and the package that is generated."""

    root: Path
    kind: KindName
    config: Path
    schema: Path
    package: str
    out: Path
    compat: Compat = Compat()

    @property
    def options(self) -> dict[str, str]:
        """The configuration that affects the output, for the lock; holds no absolute path."""
        out, schema = (path.relative_to(self.root).as_posix() for path in (self.out, self.schema))
        return {"kind": self.kind, "out": out, "package": self.package, "schema": schema}


class OutputsError(ProjectError):
    """The table ``[outputs]`` of an agent is invalid; ``project`` has no package, and the rest of
    it can be checked.
    """

    def __init__(self, project: Project, pointer: str, text: str, cure: str) -> None:
        steps = tuple(pointer.split("/")[1:])
        line = find_line(project.config.read_text(encoding="utf-8"), steps)
        self.project = project
        self.problem = Problem(Place(project.config.name, line, pointer), "A2A-K03", text, cure)
        super().__init__(f"{project.config}:{line}: {text}", cure)


def find_project(start: Path) -> Project:
    """Find the project that contains a folder."""
    root = find_root(start)
    if root is None:
        raise ProjectError(
            f"{start}: no project in this folder or above it",
            (
                "change to a folder with an a2a.toml, or name a folder of schemas in an "
                "a2a-gen.toml or in [tool.a2a-gen] of the pyproject.toml"
            ),
        )
    agent = root / _AGENT_FILE
    own = root / OWN_FILE
    python = root / _PYTHON_FILE
    if own.is_file():
        if agent.is_file() or _read_contract_table(python) is not None:
            other = _AGENT_FILE if agent.is_file() else f"[tool.a2a-gen] of {_PYTHON_FILE}"
            raise ProjectError(
                f"{own}: {other} describes this project too",
                "keep one of them, or move one to a folder of its own",
            )
        return _parse_schema_project(root, own, _read_toml(own))
    if agent.is_file():
        return _parse_agent_project(root, agent, _read_toml(agent))
    return _parse_schema_project(root, python, _read_contract_table(python))


def find_root(start: Path) -> Path | None:
    """Find the root folder of the project, whatever its settings; ``None`` without a project."""
    return next(
        (folder for folder in (start.absolute(), *start.absolute().parents) if _is_root(folder)),
        None,
    )


def _is_root(folder: Path) -> bool:
    return (
        any((folder / name).is_file() for name in (_AGENT_FILE, OWN_FILE))
        or _read_contract_table(folder / _PYTHON_FILE) is not None
    )


def _read_contract_table(file: Path) -> TomlValue | None:
    """Read ``[tool.a2a-gen]``, if present."""
    tool = _read_toml(file).get("tool") if file.is_file() else None
    if isinstance(tool, dict):
        return tool.get("a2a-gen")
    return None


def _read_toml(file: Path) -> dict[str, TomlValue]:
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ProjectError(
            f"{file}: cannot be read: {error.strerror}", "correct its permissions"
        ) from None
    except UnicodeDecodeError as error:
        raise ProjectError(
            f"{file}: byte {error.start} is not UTF-8", "save the file as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ProjectError(
            f"{file}: invalid TOML: {error}", "correct the syntax at this place"
        ) from None


def _parse_schema_project(root: Path, config: Path, table: TomlValue | None) -> Project:
    """Read the settings of a folder of schemas: a contract if it has tables, else plain schemas."""
    at = "" if config.name == OWN_FILE else "[tool.a2a-gen]: "
    if not isinstance(table, dict):
        raise ProjectError(
            f"{config}: tool.a2a-gen is not a table",
            'write [tool.a2a-gen] with its keys below it, such as schema = "schema"',
        )
    _refuse_unknown_keys(config, at, table, (*_KEYS, "compat"))
    schema = _resolve_inside(root, config, _get_text(config, at, table, "schema"))
    kind: KindName = (
        "contract" if any((schema / name).is_file() for name in TABLE_FILES) else "models"
    )
    package = _get_text(config, at, table, "package")
    explain = explain_invalid_package if kind == "models" else explain_invalid_name
    if why := explain(package):
        raise ProjectError(f"{config}: package: {why}", _NAME_CURE)
    if kind == "models" and "out" not in table:
        out = package.replace(".", "/")
    else:
        out = _get_text(config, at, table, "out")
    target = _resolve_inside(root, config, out)
    if schema.is_relative_to(target):
        raise ProjectError(
            f"{config}: the schemas are inside of the package {out}",
            "name another folder: the package holds generated files only",
        )
    compat = table.get("compat", {})
    if not isinstance(compat, dict):
        raise ProjectError(
            f"{config}: compat is not a table",
            'write a table with its keys below it, such as baselines = ["origin/main"]',
        )
    _refuse_unknown_keys(config, "compat: ", compat, _COMPAT_KEYS)
    return Project(root, kind, config, schema, package, target, _parse_compat(compat))


def find_schema_files(folder: Path, out: Path) -> Iterator[Path]:
    """List the schemas below a folder, sorted; the output, examples, hidden folders and vendored
    packages hold none.
    """
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry == out:
            continue
        if entry.is_dir():
            if entry.name not in SKIPPED_FOLDERS and not entry.is_symlink():
                yield from find_schema_files(entry, out)
        elif entry.suffix in SCHEMA_SUFFIXES:
            yield entry


def _refuse_unknown_keys(
    config: Path, at: str, table: Mapping[str, TomlValue], known: Sequence[str]
) -> None:
    for key in sorted(set(table) - set(known)):
        similar = get_close_matches(key, known, 1)
        where = f"{config}:{_find_key_line(config, key)}"
        cure = f"did you mean {similar[0]}?" if similar else f"use only {', '.join(known)}"
        if key in _COMPAT_KEYS and "compat" in known:
            cure = f"move it below [{'tool.a2a-gen.' if config.name == _PYTHON_FILE else ''}compat]"
        raise ProjectError(f"{where}: {at}unknown key {key}", cure)


def _find_key_line(config: Path, key: str) -> int:
    lines = config.read_text(encoding="utf-8").splitlines()
    return next(
        (
            number
            for number, line in enumerate(lines, 1)
            if re.match(rf"\s*\[?[\"']?{re.escape(key)}[\"']?\s*[=.\]]", line)
        ),
        1,
    )


def _parse_agent_project(root: Path, config: Path, table: Mapping[str, TomlValue]) -> Project:
    """Read the location of the generated package; the steps of the build read the rest of the
    file.
    """
    project = Project(root, "agent", config, root, "", root, _parse_compat(table.get("compat")))
    outputs = table.get("outputs")
    if not isinstance(outputs, dict):
        similar = (
            "" if "outputs" in table else next(iter(get_close_matches("outputs", table, 1)), "")
        )
        cure = 'add [outputs] with package = "my_agent.contract"'
        if similar:
            cure = f"rename {similar} to outputs"
        raise OutputsError(
            project, f"/{similar or 'outputs'}", "the table [outputs] is missing", cure
        )
    for key in sorted(set(outputs) - {"package", "folder"}):
        similar = next(iter(get_close_matches(key, ("package", "folder"), 1)), "")
        cure = f"did you mean {similar}?" if similar else "use only package, folder"
        raise OutputsError(
            project, f"/outputs/{escape_key(key)}", f"outputs: unknown key {key}", cure
        )
    package = outputs.get("package")
    folder = outputs.get("folder", ".")
    if not isinstance(package, str):
        problem = "missing" if package is None else f"{package!r} is not a string"
        raise OutputsError(
            project,
            "/outputs/package",
            f"outputs.package: {problem}",
            'write package = "my_agent.contract"',
        )
    if why := explain_invalid_package(package):
        raise OutputsError(project, "/outputs/package", f"outputs.package: {why}", _NAME_CURE)
    if not isinstance(folder, str):
        raise OutputsError(
            project,
            "/outputs/folder",
            f"outputs.folder: {folder!r} is not a string",
            'write folder = "src", or omit it',
        )
    out = f"{folder}/{package.replace('.', '/')}"
    if not (root / out).resolve().is_relative_to(root.resolve()):
        cure = f"use a path below {root}, relative to that folder"
        raise OutputsError(project, "/outputs/folder", f"{out} leads out of the project", cure)
    return replace(project, package=package, out=root / out)


def _parse_compat(table: TomlValue | None) -> Compat:
    """Read ``[compat]`` leniently; the rules of the project file report its problems."""
    if not isinstance(table, dict):
        return Compat()
    baselines: TomlValue | None = table.get("baselines")
    profile = table.get("profile")
    fail_on = table.get("fail_on")
    if isinstance(baselines, list):
        names = tuple(each for each in baselines if isinstance(each, str))
    else:
        names = ()
    return Compat(
        names,
        profile if isinstance(profile, str) else "",
        fail_on if isinstance(fail_on, str) else "error",
    )


def _get_text(config: Path, at: str, table: dict[str, TomlValue], key: str) -> str:
    match table.get(key):
        case str(text) if text:
            return text
        case None:
            raise ProjectError(
                f"{config}: {at}{key} is missing", f'add {key}, such as {key} = "{_KEYS[key]}"'
            )
        case other:
            raise ProjectError(
                f"{config}: {key}: {other!r} is not a string", f'write it as {key} = "{_KEYS[key]}"'
            )


def _resolve_inside(root: Path, config: Path, path: str) -> Path:
    if not (root / path).resolve().is_relative_to(root.resolve()):
        raise ProjectError(
            f"{config}: {path} leads out of the project",
            f"use a path below {root}, relative to that folder",
        )
    return root / path


class TomlDocument(Document):
    """A TOML document; ``tomllib`` parses the values, this class finds their lines."""

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of every table and key, by JSON pointer."""
        lines: dict[str, int] = {}
        for path, line in project_rules.map_lines(self.text).items():
            pointer = "".join(f"/{escape_key(str(step))}" for step in path)
            lines[pointer] = line
        return lines
