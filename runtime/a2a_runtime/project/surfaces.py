"""Where and how an agent is mounted, as an ``a2a.toml`` says it: the one reading of its surfaces, for apps and for generated code.

A generated package holds what the file says of surfaces, limits and rates, so that it can be mounted without the file. Who may come in is not in it:
that is read where the agent runs.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from a2a_contract.dialects import DIALECTS
from a2a_contract.json_types import is_json_object
from a2a_contract.operations import OPERATIONS
from a2a_runtime.agent import Agent, SkillOverride
from a2a_runtime.auth.gate import BEARER, Gate, PresenceGate
from a2a_runtime.auth.rate_limit import ANY_OPERATION, RateLimit, RateLimiter
from a2a_runtime.importing import ImportFromStringError, import_from_string
from a2a_runtime.project.auth import build_gates
from a2a_runtime.project.errors import ConfigError, ConfigProblem, format_problems, to_config_problems
from a2a_runtime.project.tables import LimitsTable, RatesTable, SurfacesTable, SurfaceTable
from a2a_runtime.surface import Limits, Surface

PROJECT_FILE = "a2a.toml"
_BUILT_IN_GATES: Mapping[str, Gate] = {BEARER: PresenceGate()}


def surfaces_from_tables(agent: Agent, table: SurfacesTable, gates: Mapping[str, Gate]) -> tuple[Surface, ...]:
    """Make the surfaces of an agent, or raise ``ComplaintsError`` with everything that is wrong with any of them."""
    rates = _build_rate_limiter(table.rates)
    surfaces: list[Surface] = []
    complaints: list[ConfigProblem] = []
    for number, each in enumerate(table.surfaces):
        try:
            made = _build_surface(each, agent, {**_BUILT_IN_GATES, **gates})
            dialects = parse_dialects(*(each.dialects or table.dialects))
            surfaces.append(replace(made, dialects=dialects, limits=_build_limits(table.limits), rate_limiter=rates))
        except ValueError as error:
            complaints.append(ConfigProblem(("surfaces", number), str(error)))
    if complaints:
        raise ConfigError(complaints)
    return tuple(surfaces)


def build_surfaces(agent: Agent, tables: Mapping[str, object], module_path: str, gates: Mapping[str, Gate] | None) -> tuple[Surface, ...]:
    """Make the surfaces of a generated package: what it holds of the file, where it was built, and gates instead of those of the file."""
    try:
        table = SurfacesTable.model_validate(tables)
    except ValidationError as error:
        raise ConfigError(
            [*to_config_problems(error, SurfacesTable), ConfigProblem((), "run a2a-gen build with the version that runs here")]
        ) from error
    if gates is None:
        is_guarded = any(each.auth not in {None, *_BUILT_IN_GATES} for each in table.surfaces)
        gates = _load_gates(Path(module_path)) if is_guarded else {}
    return surfaces_from_tables(agent, table, gates)


def _load_gates(module_path: Path) -> Mapping[str, Gate]:
    """Make the gates of the file above a package, or else of that above the folder in which the process runs."""
    above = (*module_path.parents, Path.cwd(), *Path.cwd().parents)
    path = next((folder / PROJECT_FILE for folder in above if (folder / PROJECT_FILE).is_file()), None)
    if path is None:
        raise ValueError(f"there is no {PROJECT_FILE} that says who may come in; run this where it is, or give make_surfaces the gates")
    text = path.read_text(encoding="utf-8")
    entries = tomllib.loads(text).get("auth", {})
    try:
        return build_gates(entries if is_json_object(entries) else {}, path.parent, os.environ)
    except ConfigError as error:
        raise ValueError(format_problems(error.problems, path, text)) from error


def parse_dialects(*versions: str) -> frozenset[str]:
    """Find dialects by their versions, or by their names where they have none."""
    return frozenset(map(_parse_dialect, versions))


def import_callable(name: str) -> Callable[..., object]:
    """Import what is named as ``module:name``: a function, or a class."""
    found = import_from_string(name)
    if not callable(found):
        raise ImportFromStringError(f"{name} is neither a function nor a class")
    return found


def _parse_dialect(version: str) -> str:
    found = next((each.name for each in DIALECTS.values() if version in {each.version, each.name} and each.form_of is None), None)
    if found is None:
        known = ", ".join(each.version or each.name for each in DIALECTS.values() if not each.form_of)
        raise ValueError(f"dialects: {version!r} is not known; there are {known}")
    return found


def _build_surface(table: SurfaceTable, agent: Agent, gates: Mapping[str, Gate]) -> Surface:
    only = table.skills if table.skill_id is None else [table.skill_id]
    if table.auth is not None and table.auth not in gates:
        raise ValueError(f"auth = {table.auth!r} is not known; there is {', '.join(gates)}, and none")
    return Surface(
        agent,
        table.path.rstrip("/"),
        gate=gates[table.auth] if table.auth else None,
        only=None if only is None else frozenset(only),
        override=_build_override(table),
        cancel_on_disconnect=table.cancel_on_disconnect,
        deduplicate_messages=table.deduplicate_messages,
    )


def _build_limits(table: LimitsTable) -> Limits:
    return Limits(
        body_bytes=table.body_bytes,
        body_seconds=table.body_seconds,
        parts=table.parts,
        part_bytes=table.part_bytes,
        depth=table.depth,
        history=table.history,
        webhooks=table.webhooks,
        concurrency=table.concurrency,
    )


def _build_rate_limiter(table: RatesTable) -> RateLimiter | None:
    operations = {name: RateLimit(each.requests, each.seconds) for name, each in table.operations.items()}
    unknown = [name for name in operations if name not in {ANY_OPERATION, *OPERATIONS}]
    if unknown:
        known = f"{', '.join(OPERATIONS)}, and {ANY_OPERATION!r} for the rest"
        raise ConfigError([ConfigProblem(("rates", "operations", name), f"there is no such operation; there is {known}") for name in unknown])
    return RateLimiter(operations, shared=table.shared) if operations else None


def _build_override(table: SurfaceTable) -> SkillOverride | None:
    view = SkillOverride(table.name, table.description, tuple(table.tags), tuple(table.input_modes), tuple(table.output_modes))
    return None if view == SkillOverride() else view
