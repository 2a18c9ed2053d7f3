"""Surfaces from the tables of an ``a2a.toml``, for apps and for generated packages.

A generated package holds the tables of surfaces, limits and rates, so that it can be mounted
without the file. It does not hold ``[auth.*]``: those tables are read where the agent runs.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from a2a_contract.dialects import V0_3, V0_3_PROTO, V1_0
from a2a_contract.project_file import (
    GrpcTable,
    LimitsTable,
    ProjectFile,
    RatesTable,
    SurfacesTable,
    SurfaceTable,
)
from a2a_runtime.agent import Agent, SkillOverride
from a2a_runtime.auth.gate import BEARER, Gate, OpenGate, PresenceGate
from a2a_runtime.auth.rate_limit import RateLimit, RateLimiter
from a2a_runtime.base.importing import ImportFromStringError, import_from_string
from a2a_runtime.features.grpc.options import GrpcOptions, check_grpc
from a2a_runtime.features.project.auth import build_gates
from a2a_runtime.features.project.errors import ConfigError, ConfigProblem, locate_problems
from a2a_runtime.features.project.file import parse_auth, parse_surfaces
from a2a_runtime.ports.registry import VARIANTS
from a2a_runtime.ports.wire_variant import VariantKey
from a2a_runtime.surface import Limits, Surface, find_dialect

PROJECT_FILE = "a2a.toml"
_BUILT_IN_GATES: Mapping[str, Gate] = {BEARER: PresenceGate(), "open": OpenGate()}
_DEFAULT_DIALECTS = (V1_0.name, V0_3.name)
_FORMS = {"protojson": V0_3_PROTO.name, "kind": V0_3.name}
_DEFAULT_SURFACES = (SurfaceTable(path="/"),)


def surfaces_from_tables(
    agent: Agent, tables: SurfacesTable | ProjectFile, gates: Mapping[str, Gate]
) -> tuple[Surface, ...]:
    """Build the surfaces of an agent, or raise ``ConfigError`` with the problems of all of them."""
    rate_limiter = _build_rate_limiter(tables.rates)
    limits = Limits(
        **(tables.limits or LimitsTable()).model_dump(
            exclude={"timeout", "shutdown_grace"}, exclude_unset=True
        )
    )
    surfaces: list[Surface] = []
    problems: list[ConfigProblem] = []
    for number, table in enumerate(tables.surfaces or _DEFAULT_SURFACES):
        only = table.skills if table.skill_id is None else [table.skill_id]
        try:
            surface = Surface(
                agent,
                table.path.rstrip("/"),
                dialects=parse_dialects(*(table.dialects or tables.dialects or _DEFAULT_DIALECTS)),
                gate=_find_gate(table.auth, {**_BUILT_IN_GATES, **gates}),
                limits=limits,
                rate_limiter=rate_limiter,
                only=None if only is None else frozenset(only),
                override=_build_override(table),
                cancel_on_disconnect=table.cancel_on_disconnect,
                deduplicate_messages=table.deduplicate_messages,
                answer_within=table.answer_within,
                public_card=table.public_card,
                default_v0_3_form=_FORMS[table.v0_3_form],
                variants=_select_variants(table),
            )
        except ValueError as error:
            problems.append(ConfigProblem(("surfaces", number), str(error)))
        else:
            surfaces.append(surface)
    if problems:
        raise ConfigError(problems)
    return tuple(surfaces)


def _select_variants(table: SurfaceTable) -> list[VariantKey]:
    """Select the variants that are switched on, and the patch of 1.0."""
    selected: list[VariantKey] = [key for key in VARIANTS if getattr(table, key, False)]
    if table.profile != "1.0.0":  # the first patch, which needs no variant
        selected.append(table.profile)
    return selected


def attach_grpc(surfaces: Sequence[Surface], table: GrpcTable, folder: Path) -> tuple[Surface, ...]:
    """Give the gRPC port of a project file to its surface; files are below the folder of the
    project file.
    """
    given: dict[str, Any] = table.model_dump(exclude={"surface"}, exclude_unset=True)
    given.update(
        {
            name: folder / given[name]
            for name in ("certificate", "private_key", "client_authorities")
            if name in given
        }
    )
    chosen = [
        each for each in surfaces if table.surface is None or each.path == table.surface.rstrip("/")
    ]
    if len(chosen) != 1:
        known = ", ".join(each.path or "/" for each in surfaces)
        raise ConfigError(
            [
                ConfigProblem(
                    ("grpc", "surface"), f"a port belongs to one surface; name one of {known}"
                )
            ]
        )
    try:
        attached = tuple(
            replace(each, grpc=GrpcOptions(**given)) if each is chosen[0] else each
            for each in surfaces
        )
        check_grpc(attached)
    except ValueError as error:
        raise ConfigError([ConfigProblem(("grpc",), str(error))]) from error
    return attached


def build_surfaces(
    agent: Agent, tables: Mapping[str, object], module_path: str, gates: Mapping[str, Gate] | None
) -> tuple[Surface, ...]:
    """Build the surfaces of a generated package from the tables that it holds; ``gates`` replace
    those of the file.
    """
    try:
        parsed = parse_surfaces(tables)
    except ConfigError as error:
        raise ConfigError(
            [
                *error.problems,
                ConfigProblem((), "the package was built by another version; run a2a-gen build"),
            ]
        ) from error
    if gates is None:
        is_guarded = any(
            each.auth not in {None, *_BUILT_IN_GATES} for each in parsed.surfaces or ()
        )
        gates = _load_gates(Path(module_path)) if is_guarded else {}
    return surfaces_from_tables(agent, parsed, gates)


def find_project_file(*folders: Path) -> Path | None:
    """Find the project file in one of some folders, or above it."""
    for folder in folders:
        for each in (folder, *folder.parents):
            if (each / PROJECT_FILE).is_file():
                return each / PROJECT_FILE
    return None


def _load_gates(module_path: Path) -> Mapping[str, Gate]:
    """Build the gates of the project file above a package, else of the one above the working
    directory.
    """
    path = find_project_file(module_path.parent, Path.cwd())
    if path is None:
        raise ValueError(
            f"auth: no {PROJECT_FILE} found; run this in the folder of the project, or pass "
            "the gates to make_surfaces"
        )
    with locate_problems(path):
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("auth", {})
        return build_gates(parse_auth(entries), path.parent, os.environ)


def parse_dialects(*versions: str) -> frozenset[str]:
    """Find dialects by version, or by name for those without a version."""
    return frozenset(map(find_dialect, versions))


def import_callable(name: str) -> Callable[..., object]:
    """Import a function or class by ``module:name``."""
    found = import_from_string(name)
    if not callable(found):
        raise ImportFromStringError(f"{name} is not callable; name a function or a class")
    return found


def _find_gate(name: str | None, gates: Mapping[str, Gate]) -> Gate | None:
    if name is not None and name not in gates:
        raise ValueError(
            f"auth: unknown entry {name!r}; use one of {', '.join(gates)}, or leave it out"
        )
    if name:
        return gates[name]
    return None


def _build_rate_limiter(table: RatesTable | None) -> RateLimiter | None:
    limits = {}
    if table:
        limits = {
            name: RateLimit(each.requests, each.seconds)
            for name, each in (table.operations or {}).items()
        }
    if table and limits:
        return RateLimiter(limits, shared=table.shared)
    return None


def _build_override(table: SurfaceTable) -> SkillOverride | None:
    override = SkillOverride(
        table.name,
        table.description,
        table.tags or (),
        table.input_modes or (),
        table.output_modes or (),
    )
    if override == SkillOverride():
        return None
    return override
